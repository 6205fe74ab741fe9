"""The sentences of a comparison and of a study agree with the intervals that stand in them."""

import numpy as np
import pandas as pd
import pytest

from venire.evals.comparison.arm_tables import sentences
from venire.evals.statistics.significance import signed_number
from venire.evals.studies.deliberated_arms import weigh


def contrast(**cells: object) -> dict[str, object]:
    usual = {"first": "jury", "second": "judge", "attribute": "overall", "measure": "absolute error", "n": 40}
    return {
        **usual,
        "value": -0.2,
        "low": -0.3,
        "high": -0.1,
        "p": 0.001,
        "p_holm": 0.006,
        "note": "",
        **cells,
    }


def told(**cells: object) -> str:
    other = contrast(second="always the best score", p=0.2, p_holm=0.2, low=-0.1, high=0.3, value=0.1)
    return sentences(pd.DataFrame([contrast(**cells), other]))[0]


@pytest.mark.parametrize(
    ("measure", "value", "said"),
    [("absolute error", -0.2, "better"), ("absolute error", 0.2, "worse"), ("icc3k", 0.2, "better"), ("icc3k", -0.2, "worse")],
)  # fmt: skip
def test_a_difference_is_claimed_where_interval_and_corrected_p_both_say_so(
    measure: str, value: float, said: str
):
    found = told(measure=measure, value=value, low=value - 0.1, high=value + 0.1)
    assert found.startswith(f"jury agrees {said} with people than judge: difference in")
    assert f"{value:+.2f} (95% interval {value - 0.1:+.2f} to {value + 0.1:+.2f}, n = 40 scores, p = 0.001, Holm-corrected p = 0.006)" in found  # fmt: skip


def test_what_only_the_correction_forbids_is_said_to_be_so():
    said = told(p=0.03, p_holm=0.18, high=-0.02)

    assert "as a single comparison, but not after correction for 2" in said
    assert "-0.30 to -0.02" in said


def test_an_interval_with_zero_in_it_makes_no_claim():
    assert "is not shown to differ" in told(p=0.2, p_holm=0.2, high=0.05)
    assert "is not shown to differ" in told(p=1.0, p_holm=1.0, value=0.0, low=-0.1, high=0.1)
    assert "the same mean absolute error against people on every case" in told(p=1.0, p_holm=1.0, value=0.0, low=np.nan, high=np.nan)  # fmt: skip


def test_without_an_interval_the_note_says_why():
    said = told(low=np.nan, high=np.nan, p=np.nan, p_holm=np.nan, note="no interval: 2 groups of cases")

    assert said == "jury and judge cannot be compared by mean absolute error: no interval: 2 groups of cases."


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "+0.00"), (-0.0, "+0.00"), (-0.004, "-0.004"), (0.25, "+0.25"), (2e-5, "+2e-05")],
)
def test_an_end_that_is_not_zero_is_never_printed_as_zero(value: float, shown: str):
    assert signed_number(value) == shown


@pytest.mark.parametrize(("groups", "given"), [(4, False), (6, False), (7, True), (20, True)])
def test_a_study_has_intervals_and_advice_only_with_groups_enough(groups: int, given: bool):
    rng = np.random.default_rng(groups)
    rows = [
        {
            "arm": arm,
            "kind": kind,
            "case": f"c{group}-{case}",
            "attribute": "a",
            "credit": rng.uniform(skill, 1),
        }
        | {"group": f"g{group}"}
        for arm, kind, skill in (("jury", "jury", 0.6), ("judge", "single judge", 0.2))
        for group in range(groups)
        for case in range(3)
    ]
    study = weigh(pd.DataFrame(rows))

    assert study.frontier["low"].notna().all() == given
    assert study.answers["p"].notna().any() == given
    assert study.advice[0].startswith("Use ") == given
    if not given:
        assert study.advice[0].startswith("No arm can be recommended yet: jury scored best")
        assert "7 or more are needed" in study.advice[0]
