"""What deliberation did: final verdicts against the count of the same seats' blind ballots, in worlds whose truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from venire.evals.comparison.deliberation import (
    _difference,
    _with_outcomes,
    blind_advice,
    deliberation_section,
    effect_cells,
    effect_sentence,
    effects_in_short,
)
from venire.evals.comparison.objectives import OBJECTIVES, AnswerScale, scored_votes
from venire.evals.ratings.question import Question
from venire.evals.report.section import Section
from venire.rubrics.scale import Scale

QUESTIONS = {
    "quality": Question(Scale(level="ordinal", anchors={n: str(n) for n in range(1, 6)}), "high"),
    "safe": Question(Scale(level="binary", anchors={0: "no", 1: "yes"}), "high"),
}
COSTS = {"calls": 9.0, "tokens": 90.0, "usd": np.nan, "seconds": 3.0}
BLIND_COSTS = {"blind_calls": 3.0, "blind_tokens": 30.0, "blind_usd": np.nan, "blind_seconds": 1.0}


def effects(
    verdicts: dict[str, list[tuple[float | None, float | None, float]]], *, objective: str = "credit", margin: float = 0.02,
    attribute: str = "quality", groups: dict[str, str] | None = None, costs: Sequence[dict[str, float]] = (),
) -> tuple[dict[str, dict[str, Any]], tuple[str, ...]]:  # fmt: skip
    """The effect rows by arm, and the sentences, of arms with (final, blind, truth) case by case."""
    counts = [
        {"arm": arm, "case": f"c{at}", "attribute": attribute, "final": final, "blind": blind, "rule": "median", **COSTS, **BLIND_COSTS, **dict(enumerate(costs)).get(at, {})}
        for arm, rows in verdicts.items()
        for at, (final, blind, _) in enumerate(rows)
    ]  # fmt: skip
    votes = [
        {"arm": arm, "case": f"c{at}", "juror": "ann", "attribute": attribute, "first": blind, "last": final}
        for arm, rows in verdicts.items()
        for at, (final, blind, _) in enumerate(rows)
        if final is not None and blind is not None
    ]
    truth = [
        {"case": f"c{at}", "attribute": attribute, "value": row[2]}
        for at, row in enumerate(next(iter(verdicts.values())))
    ]
    section = deliberation_section(
        pd.DataFrame(counts), pd.DataFrame(votes), pd.DataFrame(truth), QUESTIONS, groups or {},
        objective=OBJECTIVES[objective], margin=margin, unit="calls",
    )  # fmt: skip
    assert section is not None
    rows = section.tables["effects"].to_dict("records")
    return {row["arm"]: row for row in rows}, section.sentences


def world(rng: np.random.Generator, cases: int, final: Any) -> list[tuple[float, float, float]]:
    """Three jurors a case whose errors are even; `final` makes the last votes of (votes, truth)."""
    rows = []
    for truth in rng.integers(2, 5, cases):
        votes = np.clip(truth + rng.choice([-1, 0, 0, 1], 3), 1, 5)
        rows.append((float(np.median(final(votes, truth))), float(np.median(votes)), float(truth)))
    return rows


def test_the_row_has_the_difference_and_the_counts_by_hand() -> None:
    # Credits with it 1, 1, .75, 1 ..., blind .75, 1, 1, 1 ...: two cases better, one worse, of ten.
    rows = [(3, 4, 3), (2, 3, 2), (3, 2, 2), *[(4, 4, 4)] * 7]
    (row,) = effects({"jury": rows})[0].values()

    assert row["value"] == pytest.approx((0.25 + 0.25 - 0.25) / 10)
    assert (row["final"], row["blind"]) == (pytest.approx(0.975), pytest.approx(0.95))
    assert (row["verdicts_wrong_to_right"], row["verdicts_right_to_wrong"]) == (2, 1)
    assert (row["votes_towards"], row["votes_away"]) == (2, 1)
    assert row["verdicts_p"] == 1.0
    # The variance of a mean of ten, (n - 1) / n times the sum of squares of leave-one-out means.
    differences = np.array([0.25, 0.25, -0.25, *[0.0] * 7])
    error = differences.std(ddof=1) / np.sqrt(10)
    assert (row["high"] - row["low"]) / 2 > 2.2 * error


def test_herding_is_called_harm_and_the_blind_count_is_advised_with_what_it_saves() -> None:
    rng = np.random.default_rng(1)
    found, sentences = effects({"herd": world(rng, 80, lambda votes, truth: [max(votes)] * 3)})

    assert found["herd"]["outcome"] == "harmed" and found["herd"]["high"] < 0
    assert found["herd"]["verdicts_p"] < 0.01
    assert any("Count the blind ballots of herd (median)" in each and "67% of the calls" in each for each in sentences)  # fmt: skip


def test_a_cost_that_is_not_known_of_every_case_is_not_told() -> None:
    rows = [(3.0, 4.0, 3.0), (4.0, 4.0, 4.0), (2.0, 3.0, 3.0)]
    (known,) = effects({"jury": rows}, costs=[{"calls": 12.0}])[0].values()
    assert (known["cost"], known["blind_cost"], known["saved"]) == pytest.approx((10, 3, 0.7))
    for unknown in ({"calls": np.nan}, {"blind_calls": np.nan}):
        (row,) = effects({"jury": rows}, costs=[unknown])[0].values()
        assert np.isnan(row["saved"]) and np.isnan(row["cost"]) == ("calls" in unknown)


def test_help_is_called_help_and_no_blind_count_is_advised() -> None:
    rng = np.random.default_rng(2)
    found, sentences = effects({"wise": world(rng, 80, lambda votes, truth: [truth] * 3)})

    assert found["wise"]["outcome"] == "helped" and found["wise"]["low"] > 0
    assert not any(each.startswith("Count the blind ballots") for each in sentences)


def test_an_error_that_falls_is_help() -> None:
    rng = np.random.default_rng(2)
    found, _ = effects({"wise": world(rng, 80, lambda votes, truth: [truth] * 3)}, objective="mae")

    assert found["wise"]["outcome"] == "helped" and found["wise"]["value"] < 0


def test_changes_that_even_out_within_the_margin_are_no_difference() -> None:
    rows = [(3, 3, 3)] * 180 + [(3, 4, 3)] * 10 + [(4, 3, 3)] * 10
    found, sentences = effects({"jury": rows})

    assert found["jury"]["outcome"] == "no difference larger than the margin"
    assert any("shown to make no difference larger than the margin of 0.02" in each for each in sentences)


@pytest.mark.parametrize(
    ("cases", "outcome"), [(12, "not shown"), (400, "no difference larger than the margin")]
)
def test_verdicts_that_never_change_show_as_much_as_their_number_allows(cases: int, outcome: str) -> None:
    found, _ = effects({"jury": [(3, 3, 3), (2, 2, 4)] * (cases // 2)})

    assert found["jury"]["p"] == 1 and found["jury"]["outcome"] == outcome


def test_p_is_corrected_over_arms_and_cases_of_one_group_count_once() -> None:
    rng = np.random.default_rng(3)
    rows = world(rng, 40, lambda votes, truth: [max(votes)] * 3)
    alone, _ = effects({"one": rows})
    three, _ = effects({"one": rows, "two": rows, "three": rows})
    assert three["one"]["p_holm"] == pytest.approx(3 * alone["one"]["p"])

    # Each case twice, in one group, says no more than each case once.
    twice = [row for row in rows for _ in range(2)]
    grouped, _ = effects({"one": twice}, groups={f"c{at}": f"g{at // 2}" for at in range(80)})
    assert grouped["one"]["verdicts_p"] == pytest.approx(alone["one"]["verdicts_p"])
    assert grouped["one"]["low"] == pytest.approx(alone["one"]["low"])


def test_a_verdict_left_open_on_a_scale_of_two_values_is_a_miss() -> None:
    rows: list[tuple[float | None, float | None, float]] = [(None, 1, 1)] * 4 + [(1, 1, 1)] * 16
    found, _ = effects({"jury": rows}, attribute="safe")

    assert found["jury"]["value"] == pytest.approx(-0.2)


@pytest.mark.parametrize("objective", ["credit", "mae"])
@pytest.mark.parametrize(("attribute", "value"), [("quality", 3), ("safe", 1)])
def test_nobody_who_voted_blind_is_said(attribute: str, value: int, objective: str) -> None:
    counts = pd.DataFrame(
        [{"arm": "debate", "case": f"c{number}", "attribute": attribute, "final": value, "blind": None, "rule": "", **COSTS, **dict.fromkeys(BLIND_COSTS, np.nan)} for number in range(20)]
    )  # fmt: skip
    votes = pd.DataFrame(columns=["arm", "case", "juror", "attribute", "first", "last"])
    truth = pd.DataFrame([{"case": case, "attribute": attribute, "value": value} for case in counts["case"]])
    section = deliberation_section(
        counts, votes, truth, QUESTIONS, {}, objective=OBJECTIVES[objective], margin=0.02, unit="calls"
    )

    assert section is not None
    assert section.tables["effects"]["n"].tolist() == [0]
    assert section.sentences == ("debate: the effect of deliberation is unknown: no juror voted blind (before seeing the votes of other jurors), so there is no blind count to compare the verdicts with.",)  # fmt: skip


@pytest.mark.parametrize("name", ["credit", "mae"])
def test_an_objective_that_is_a_mean_is_jackknifed_by_its_sums(name: str) -> None:
    """Equal to counting every weighting anew, answers left open among them."""
    rng = np.random.default_rng(3)
    votes = rng.integers(1, 6, (60, 2)).astype(float)
    votes[rng.random((60, 2)) < 0.1] = np.nan
    scales = {
        word: AnswerScale.of(Scale(level=level, anchors={n: str(n) for n in range(1, 6)}))
        for word, level in (("clear", "ordinal"), ("kind", "ordinal" if name == "mae" else "nominal"))
    }
    scored = scored_votes(
        votes, rng.integers(1, 6, 60).astype(float), ["clear", "kind"] * 30, np.arange(60) // 3, scales
    )
    by_sums = _difference(scored, OBJECTIVES[name], "")
    anew = _difference(scored, replace(OBJECTIVES[name], averaged=False), "")

    assert by_sums.p == pytest.approx(anew.p, abs=1e-12)
    for end in ("value", "low", "high"):
        assert getattr(by_sums.difference, end) == pytest.approx(getattr(anew.difference, end), abs=1e-12)


ROW = {
    "arm": "a", "value": 0.1, "low": 0.05, "high": 0.15, "p": 0.001, "n": 90, "cases": 30, "margin": 0.02, "objective": "credit", "better": 1.0,
    "final": 0.8, "blind": 0.7, "rule": "median", "unit": "tokens", "cost": 200.0, "blind_cost": 50.0, "saved": 0.75, "seconds_saved": 0.0, "method": "", "note": "",
    **{f"{what}_{change}": 0 for what in ("verdicts", "votes") for change in ("wrong_to_right", "right_to_wrong", "p", "towards", "away")},
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "outcome", "count_blind", "cell"),
    [
        ({}, "helped", False, "+0.10 [+0.05, +0.15] helped"),
        ({"better": -1.0}, "harmed", True, "+0.10 [+0.05, +0.15] harmed"),
        ({"value": -0.1, "low": -0.15, "high": -0.05}, "harmed", True, "-0.10 [-0.15, -0.05] harmed"),
        ({"value": 0.02, "low": 0.01, "high": 0.03}, "helped", False, "+0.02 [+0.01, +0.03] helped"),
        ({"value": -0.02, "low": -0.03, "high": -0.01}, "harmed", True, "-0.02 [-0.03, -0.01] harmed"),
        ({"value": 0.01, "low": -0.01, "high": 0.02, "p": 0.4}, "no difference larger than the margin", True, "+0.01 [-0.01, +0.02] no difference"),
        ({"value": 0.01, "low": -0.021, "high": 0.02, "p": 0.4}, "not shown", False, "+0.01 [-0.02, +0.02] not shown"),
        ({"value": -0.01, "low": -0.03, "high": 0.01, "p": 0.4}, "not shown", True, "-0.01 [-0.03, +0.01] not shown"),
        ({"value": 0.0, "low": np.nan, "high": np.nan, "p": 1.0, "cases": 200}, "no difference larger than the margin", True, "+0.00 no difference"),
        ({"value": 0.0, "low": np.nan, "high": np.nan, "p": 1.0, "cases": 30}, "not shown", True, "+0.00 not shown"),
        ({"value": np.nan, "low": np.nan, "high": np.nan, "p": np.nan}, "not shown", False, "unknown"),
    ],
)  # fmt: skip
def test_what_deliberation_did_follows_from_the_interval_and_the_margin(
    changed: dict[str, float], outcome: str, count_blind: bool, cell: str
) -> None:
    table = _with_outcomes([ROW | changed])
    section = Section("deliberation", "", (), {"effects": table})

    assert (table["outcome"][0], table["count_blind"][0]) == (outcome, count_blind)
    assert effect_cells(section) == {"a": cell}
    (row,) = table.to_dict("records")
    sentence = effect_sentence(row)
    assert ("by no more than the margin of 0.02" in sentence) == (outcome in ("helped", "harmed") and abs(row["value"]) <= 0.02)  # fmt: skip
    assert ("deliberation helped" in sentence, "deliberation harmed" in sentence) == (outcome == "helped", outcome == "harmed")  # fmt: skip
    advice = blind_advice(table)
    assert bool(advice) == count_blind and all("saves 75% of the tokens (50 instead of 200 per case)." in each for each in advice)  # fmt: skip
    short = effects_in_short(section)
    assert ("count the blind ballots" in short) == (count_blind and outcome != "not shown")
    assert ("is unknown" in short) == (cell == "unknown")


def test_p_is_corrected_over_the_rows_and_arms_are_named_by_what_deliberation_did_to_them() -> None:
    rows = [ROW | {"arm": name, "p": p, "value": value} for name, p, value in (("a", 0.03, 0.1), ("b", 0.02, -0.1), ("c", 0.01, -0.1), ("d", np.nan, np.nan))]  # fmt: skip
    table = _with_outcomes(rows)
    short = effects_in_short(Section("deliberation", "", (), {"effects": table}))

    assert table["p_holm"].tolist() == pytest.approx([0.04, 0.04, 0.03, np.nan], nan_ok=True)
    assert "harmed b, c, helped a; count the blind ballots" in short and "on d is unknown" in short
