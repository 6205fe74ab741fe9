"""Two runs of a jury side by side: which cases both judged, how far its scores moved on them, and what is left of a difference."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp, ttest_1samp
from written_transcripts import Votes, written_run

from venire import Case, Rubric, Store, VenireError
from venire.evals.inference.estimates import jury_mean
from venire.evals.inference.facets import _joined_labels, _turned_values, rating_facets, run_facets
from venire.evals.inference.labelled_verdicts import LabelledVerdicts, labelled_verdicts
from venire.evals.inference.labelling import Labelling
from venire.evals.inference.many_facets import many_facets
from venire.evals.inference.shift import run_shift, shift_test
from venire.evals.ratings.question import rubric_questions

RUBRIC = Rubric.model_validate(
    {
        "name": "note",
        "version": 1,
        "scales": {
            "agree5": {"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}},
            "kind": {"level": "nominal", "anchors": {"plain": "a", "odd": "b"}},
        },
        "attributes": [
            {"name": "accurate", "question": "Is it?", "scale": "agree5"},
            {"name": "risk", "question": "Is it?", "scale": "agree5", "better": "low"},
            {"name": "tone", "question": "Which?", "scale": "kind"},
        ],
    }
)
BEFORE = [1, 2, 3, 4, 5, 2, 3, 4, 1, 2, 3, 3, 3, 4]
NOW = [2, 2, 5, 5, 5, 4, 2, 4, 1, 5, 4, 5, 3]


def run(folder: Path, seat: str, scores: list[int], tones: list[str], *, changed: tuple[int, ...] = ()) -> Path:  # fmt: skip
    cases = [Case(id=f"c{n}", output=f"Text {n}{' anew' if n in changed else ''}.", group=f"g{n // 2}") for n in range(len(scores))]  # fmt: skip
    votes: Votes = {f"c{n}": {seat: {"accurate": score, "risk": 3, "tone": tone}} for n, (score, tone) in enumerate(zip(scores, tones, strict=True))}  # fmt: skip
    return written_run(folder, RUBRIC, cases, {"jury": votes})


def test_the_shift_is_of_the_cases_that_both_judged_with_the_same_words(tmp_path: Path) -> None:
    """c12 has other words, c13 was judged once: twelve anchors in six groups."""
    early = run(tmp_path / "before", "a", BEFORE, ["plain"] * 14)
    late = run(tmp_path / "now", "b", NOW, ["odd", "odd", "odd", *["plain"] * 10], changed=(12,))
    found = run_shift(late, early)

    gaps = np.array(NOW[:12]) - np.array(BEFORE[:12])
    assert (found.arm, found.anchors) == ("jury", 12) and found.changes
    assert found.shifts["accurate"].value == pytest.approx(gaps.mean()) and found.shifts["accurate"].n == 12
    assert found.shifts["risk"].value == 0.0
    assert found.shifts["tone"].value == pytest.approx(3 / 12), "of words, the share that changed"
    # Six groups of two cases each: the means of groups are what varies.
    interval = ttest_1samp(gaps.reshape(6, 2).mean(axis=1), 0).confidence_interval(0.95)
    assert (found.shifts["accurate"].low, found.shifts["accurate"].high) == pytest.approx((interval.low, interval.high), abs=0.05)  # fmt: skip
    means = found.means.set_index("attribute")
    assert list(means.index) == ["accurate", "risk"]
    row = means.loc["accurate"]
    assert (row["before"], row["now"]) == pytest.approx((np.mean(BEFORE), np.mean(NOW)))
    assert row["difference"] == pytest.approx(np.mean(NOW) - np.mean(BEFORE))
    assert row["corrected"] == pytest.approx(row["difference"] - gaps.mean())


def test_the_same_jury_needs_no_anchors_and_another_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = iter(range(9))

    def read(store: Store, people: None) -> LabelledVerdicts:
        """As if each run were made at another time, by another version, at other prices and with another seed."""
        found, number = labelled_verdicts(store, people), next(made)
        arms = [arm._replace(manifest={**arm.manifest, **dict.fromkeys(("made_with", "prices", "venire", "seed"), number)}) for arm in found.arms]  # fmt: skip
        return replace(found, arms=arms)

    monkeypatch.setattr("venire.evals.inference.shift.labelled_verdicts", read)
    first = run(tmp_path / "first", "a", BEFORE, ["plain"] * 14)
    same = run(tmp_path / "same", "a", NOW, ["plain"] * 13, changed=tuple(range(13)))
    other = run(tmp_path / "other", "b", NOW, ["plain"] * 13, changed=tuple(range(9)))

    found = run_shift(same, first)
    assert found.changes == () and found.anchors == 0
    row = found.means.set_index("attribute").loc["accurate"]
    assert row["corrected"] == pytest.approx(row["difference"]) and "may be compared as they are" in found.sentences[0]  # fmt: skip
    with pytest.raises(VenireError, match="Only 4 cases were judged in both runs"):
        run_shift(other, first)
    with pytest.raises(VenireError, match="no arm named 'jurry'"):
        run_shift(same, first, arm="jurry")


def test_the_distances_are_scipys_and_half_the_difference_of_shares() -> None:
    rng = np.random.default_rng(2)
    old, new = rng.normal(0, 1, 30).round(1), rng.normal(0.8, 1, 40).round(1)
    one, two = np.arange(30), np.arange(40)
    numbers = shift_test({"x": old}, {"x": new}, one, two, np.random.default_rng(0))
    assert numbers.distance == pytest.approx(ks_2samp(old, new).statistic)
    exact = ks_2samp(old, new).pvalue
    assert numbers.signal == "x" and abs(numbers.p - exact) < 0.01 + exact / 2
    words = shift_test({"w": np.array(list("aaab"))}, {"w": np.array(list("abcc"))}, one[:4], two[:4], np.random.default_rng(0))  # fmt: skip
    assert words.distance == pytest.approx((0.5 + 0 + 0.5) / 2)
    # Of two signals the more surprising one is named, though the other lies further apart.
    flat = {"few": np.array(["a"] * 30), "many": old}
    moved = {"few": np.array(["a"] * 39 + ["b"]), "many": new}
    assert shift_test(flat, moved, one, two, np.random.default_rng(0)).signal == "many"
    assert np.isnan(shift_test({"x": old}, {"x": new[:0]}, one, two[:0], np.random.default_rng(0)).p)
    assert "nothing is labelled" in shift_test({"x": old[:0]}, {"x": new}, one[:0], two, np.random.default_rng(0)).sentence  # fmt: skip


def panel(folder: Path) -> tuple[Path, pd.DataFrame]:
    """Three jurors on ten cases, and their votes as a table."""
    rng = np.random.default_rng(5)
    level = rng.integers(2, 5, 10)
    rows = [(f"c{n}", juror, name, int(np.clip(value + shift + rng.integers(-1, 2), 1, 5))) for n, value in enumerate(level) for shift, juror in ((-1, "x"), (0, "y"), (1, "z")) for name in ("accurate", "risk")]  # fmt: skip
    votes: dict[str, Any] = {}
    for case, juror, name, value in rows:
        votes.setdefault(case, {}).setdefault(juror, {"tone": "plain"})[name] = value
    cases = [Case(id=f"c{n}", output=f"Text {n}.") for n in range(10)]
    table = pd.DataFrame(rows, columns=["case", "rater", "attribute", "value"]).astype({"value": float})
    return written_run(folder, RUBRIC, cases, {"panel": votes}), table


def test_a_runs_facets_are_of_one_stage_with_the_good_end_up_and_people_beside_jurors(tmp_path: Path) -> None:  # fmt: skip
    folder, table = panel(tmp_path / "run")
    turned = table.assign(value=np.where(table["attribute"] == "risk", 6 - table["value"], table["value"]))
    wanted, found = many_facets(turned), run_facets(folder)

    assert found.raters.set_index("rater")["n"].to_dict() == {"x": 20, "y": 20, "z": 20}
    pd.testing.assert_frame_equal(
        found.raters.sort_values("rater", ignore_index=True),
        wanted.raters.sort_values("rater", ignore_index=True),
    )
    people = pd.DataFrame({"case": [f"c{n}" for n in range(10)], "rater": "Ana", "attribute": "risk", "value": 2})  # fmt: skip
    beside = run_facets(folder, human=people).raters.set_index("rater")
    assert (beside.loc["Ana", "n"], beside.loc["Ana", "mean"]) == (10, 4.0)
    named_alike = run_facets(folder, human=people.assign(rater="x")).raters.set_index("rater")["n"].to_dict()
    assert named_alike == {"x": 20, "y": 20, "z": 20, "x (person)": 10}
    with pytest.raises(VenireError, match="no arm named 'pannel'"):
        run_facets(folder, arm="pannel")


def test_facets_are_of_the_arm_the_stage_and_the_model_asked_for(tmp_path: Path) -> None:
    """x of the panel scores a point lower once it has heard the others; the board scores as the panel began, y a point higher."""
    _, table = panel(tmp_path / "told")
    steps = {"panel": table, "board": table.assign(value=np.where(table["rater"] == "y", np.minimum(table["value"] + 1, 5), table["value"]))}  # fmt: skip
    lower = table[table["rater"] == "x"].assign(value=lambda rows: np.maximum(rows["value"] - 1, 1))

    def votes(rows: pd.DataFrame) -> Votes:
        found: dict[str, Any] = {f"c{n}": {} for n in range(10)}
        for row in rows.to_dict("records"):
            found[row["case"]].setdefault(row["rater"], {})[row["attribute"]] = int(row["value"])
        return found

    cases = [Case(id=f"c{n}", output=f"Text {n}.") for n in range(10)]
    alone = {"alone": votes(table[table["rater"] == "z"])}
    folder = written_run(tmp_path / "run", RUBRIC, cases, alone | {name: votes(rows) for name, rows in steps.items()}, revised={"panel": votes(lower)})  # fmt: skip

    def means(**asked: Any) -> dict[str, float]:
        return run_facets(folder, **asked).raters.set_index("rater")["mean"].to_dict()

    def wanted(rows: pd.DataFrame) -> Any:
        turned = rows.assign(value=np.where(rows["attribute"] == "risk", 6 - rows["value"], rows["value"]))
        return pytest.approx(turned.groupby("rater")["value"].mean().to_dict())

    final = pd.concat([lower, table[table["rater"] != "x"]])
    assert means() == means(stage="final") == wanted(final), "the first arm of several seats"
    assert means(stage="first") == means(arm="panel", stage="first") == wanted(table)
    assert means(stage="first")["x"] > means()["x"]
    assert means(arm="board") == means(arm="board", stage="first") == wanted(steps["board"])
    assert [run_facets(folder, model=model).model for model in ("rating-scale", "partial-credit")] == ["rating-scale", "partial-credit"]  # fmt: skip


def test_ratings_as_they_are_last_are_analysed_and_words_are_left_out() -> None:
    table = pd.DataFrame([(f"c{n}", rater, "accurate", str(1 + (n + at) % 4), number) for n in range(8) for at, rater in enumerate("ab") for number in (1, 2)], columns=["case", "rater", "attribute", "value", "round"])  # fmt: skip
    table.loc[table["round"] == 1, "value"] = "5"
    words = pd.DataFrame([("c0", "a", "tone", "plain", 1)], columns=table.columns)
    found = rating_facets(pd.concat([table, words]))

    assert found.raters["n"].tolist() == [8, 8] and found.raters["mean"].max() < 5
    assert any("tone" in note for note in found.notes)
    with pytest.raises(VenireError, match="no rating is a number"):
        rating_facets(words)


def test_a_value_is_turned_about_the_middle_of_its_scale() -> None:
    table = pd.DataFrame({"attribute": ["accurate", "risk", "risk", "risk"], "value": [2, 2, 1, 5]})
    assert _turned_values(table, rubric_questions(RUBRIC)).tolist() == [2, 4, 5, 1]
    assert _joined_labels([("a", 1.0), ("b", 0.95), ("c", 0.5), ("d", 0.9)], 0.2) == [("a, b, d", 1.0), ("c", 0.5)]  # fmt: skip


def test_too_few_anchors_are_called_anchors_and_too_few_verdicts_verdicts(tmp_path: Path) -> None:
    """Of six anchors in three groups nothing can be said; nor of four verdicts of a jury, which are no labels."""
    early = run(tmp_path / "before", "a", BEFORE[:6], ["plain"] * 6)
    late = run(tmp_path / "now", "b", NOW[:6], ["plain"] * 6)
    found = run_shift(late, early).shifts["accurate"]
    assert found.note == "too few anchor cases or groups have a verdict in both runs (3): 5 are needed" and found.n == 6  # fmt: skip

    scores = np.array([1.0, 2.0, 4.0, 5.0, np.nan, np.nan])
    few = jury_mean(scores, Labelling.random(np.ones(6, dtype=bool)))
    assert (
        few.note == "the jury reached a verdict on too few cases or groups (4): 5 are needed" and few.n == 4
    )
    enough = jury_mean(np.append(scores, 3.0), Labelling.random(np.ones(7, dtype=bool)))
    assert enough.value == pytest.approx(3.0) and enough.n == 5
