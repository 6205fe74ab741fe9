"""What a study's arms said, earned and took, from runs that are written by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from written_transcripts import written_run

from venire import Case, Rubric, Store
from venire.agents.cost import Receipt
from venire.evals.ratings.question import rubric_questions
from venire.evals.studies.judgements import _by_arm, _together, arm_values, blind_ballots, credit_table

RUBRIC = Rubric.model_validate(
    {
        "name": "r",
        "version": 1,
        "scales": {
            "five": {"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}},
            "two": {"level": "binary", "anchors": {0: "no", 1: "yes"}},
        },
        "attributes": [{"name": "clear", "question": "?", "scale": "five"}, {"name": "fine", "question": "?", "scale": "two"}],
    }
)  # fmt: skip


@pytest.fixture(scope="module")
def heard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A jury of two and a judge on three cases; the jury is hung on the last, and every ballot takes two calls' worth of one receipt."""
    cases = [Case(id=f"c{n}", output="x", group="g" if n < 2 else None) for n in range(3)]
    jury = {"c0": {"x": {"clear": 1, "fine": 1}, "y": {"clear": 3, "fine": 1}}, "c1": {"x": {"clear": 5, "fine": 0}, "y": {"clear": 5, "fine": 0}}, "c2": {"x": {}, "y": {}}}  # fmt: skip
    judge = {f"c{n}": {"z": {"clear": n + 1, "fine": 1}} for n in range(3)}
    spent = Receipt(calls=("k",), prompt=100, completion=10, usd=0.5, seconds=2.0)
    return written_run(tmp_path_factory.mktemp("judgements") / "run", RUBRIC, cases, {"jury": jury, "judge": judge}, spent=spent)  # fmt: skip


def test_what_arms_said_and_took_case_by_case(heard: Path) -> None:
    store = Store.read(heard)
    values, spent = arm_values(store, ["jury", "judge"], ["c0", "c2"], "tokens")
    store.release()

    found = {(row.rater, row.case, row.attribute): row.value for row in values.itertuples()}
    assert found == {("jury", "c0", "clear"): 2, ("jury", "c0", "fine"): 1, ("judge", "c0", "clear"): 1, ("judge", "c0", "fine"): 1, ("judge", "c2", "clear"): 3, ("judge", "c2", "fine"): 1}  # fmt: skip
    took = {(row.arm, row.case): (row.cost, row.seconds) for row in spent.itertuples()}
    assert took[("jury", "c0")] == (220, 2.0) and took[("judge", "c0")] == (110, 2.0) and set(took) == {("jury", "c0"), ("jury", "c2"), ("judge", "c0"), ("judge", "c2")}  # fmt: skip


def test_credit_is_by_nearness_and_a_hung_answer_is_a_miss_only_where_values_have_no_order(
    heard: Path,
) -> None:
    human = pd.DataFrame([(f"c{n}", who, name, value) for n, (clear, fine) in enumerate([(3, 1), (5, 1), (3, 1)]) for who in ("p", "q") for name, value in (("clear", clear), ("fine", fine))], columns=["case", "rater", "attribute", "value"])  # fmt: skip
    store = Store.read(heard)
    arms = {"jury": "none", "judge": "none"}
    table, _ = credit_table(store, arms, ["c0", "c1", "c2"], human, attributes=["clear", "fine"], rule=None, unit="usd", seed=0)  # type: ignore[arg-type]  # fmt: skip
    few, _ = credit_table(store, arms, ["c0"], human, attributes=["clear"], rule=None, unit="usd", seed=0)  # type: ignore[arg-type]  # fmt: skip
    ballots = blind_ballots(store, ["jury"], "usd")
    store.release()

    earned = table.set_index(["arm", "attribute", "case"])["credit"]
    assert earned["jury"]["clear"].tolist() == pytest.approx([0.75, 1.0, np.nan], nan_ok=True)
    assert earned["jury"]["fine"].tolist() == [1.0, 0.0, 0.0]
    assert earned["judge"]["clear"].tolist() == pytest.approx([0.5, 0.25, 1.0])
    by_arm = table.groupby("arm")[["cost", "seconds"]].first()
    assert by_arm.loc["judge"].tolist() == [0.5, 2.0] and by_arm.loc["jury", "cost"] == pytest.approx(2 / 3)
    assert dict(zip(table["case"], table["group"].fillna(""), strict=True)) == {
        "c0": "g",
        "c1": "g",
        "c2": "",
    }
    assert set(table.set_index("arm")["kind"].items()) == {("jury", "jury"), ("judge", "single judge")}
    assert set(few["case"]) == {"c0"} and set(few["attribute"]) == {"clear"}
    # Each seat is a juror of its own, and its cost stands once a ballot.
    assert ballots["juror"].nunique() == 2 and set(ballots["case"]) == {"c0", "c1"}
    assert (
        ballots.groupby(["juror", "case"])[["cost", "seconds"]].sum().to_numpy().tolist() == [[0.5, 2.0]] * 4
    )


def test_repeated_deliberations_are_one_arm_by_median_or_majority_and_cost_all_of_them() -> None:
    values = pd.DataFrame([("c", rater, name, value) for name, given in (("clear", [1, 5, 4]), ("fine", [0, 1, 1])) for rater, value in zip(("a", "a~2", "a~3"), given, strict=True)] + [("c", "b", "clear", 2)], columns=["case", "rater", "attribute", "value"])  # fmt: skip
    spent = pd.DataFrame([("a", "c", 1.0, 5.0), ("a~2", "c", 2.0, 9.0), ("a~3", "c", 4.0, 1.0), ("b", "c", 3.0, 1.0), ("b", "d", np.nan, 3.0)], columns=["arm", "case", "cost", "seconds"])  # fmt: skip
    asked = rubric_questions(RUBRIC)
    counted, cost = _together(values, spent, {"a": "a", "a~2": "a", "a~3": "a"}, asked)

    assert {(row.rater, row.attribute): row.value for row in counted.itertuples()} == {("a", "clear"): 4, ("a", "fine"): 1, ("b", "clear"): 2}  # fmt: skip
    assert cost.set_index(["arm", "case"]).loc[("a", "c")].tolist() == [7.0, 9.0]
    mean = _by_arm(cost).set_index("arm")
    assert mean.loc["a"].tolist() == [7.0, 9.0] and np.isnan(mean.loc["b", "cost"]) and mean.loc["b", "seconds"] == 2.0  # fmt: skip
