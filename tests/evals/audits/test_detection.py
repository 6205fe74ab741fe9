"""A label from outside, found from the lowest score up, and a second panel beside an arm; both by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from audit_worlds import LIKERT, evidence, ratings
from scipy.stats import spearmanr, t

from venire import VenireError
from venire.evals.audits.detection import OutsideLabel, _review_share, detection_section, outside_label
from venire.evals.audits.rescoring import MEASURES, _win, against_panel, rescore_section
from venire.evals.ratings.pooling import OVERALL
from venire.evals.ratings.score_tables import lay_marks
from venire.evals.statistics.draws import Draws

NAN = float("nan")


def test_a_label_is_read_from_its_column_and_outputs_of_one_case_share_it() -> None:
    cases = pd.DataFrame({"case": ["a", "b", "c", "d", "e"], "disagrees": [1.0, "True", 0, None, "yes"], "ward": ["w1", "w1", 2.0, None, None]})  # fmt: skip
    found = outside_label(cases, "disagrees", wrong=[True], pool="ward")

    assert found.wrong.to_dict() == pytest.approx({"a": 1, "b": 1, "c": 0, "d": NAN, "e": 0}, nan_ok=True)
    assert found.pooled.to_dict() == {"a": "w1", "b": "w1", "c": "2", "d": "d", "e": "e"}
    assert outside_label(cases, "disagrees", wrong=["yes", 1]).wrong["e"] == 1
    with pytest.raises(VenireError, match=r"cases that belong together \(w1\) have different labels"):
        outside_label(cases.assign(disagrees=[1, 0, 0, 0, 0]), "disagrees", wrong=[1], pool="ward")


def test_wrong_cases_are_looked_for_from_the_lowest_mean_of_their_outputs() -> None:
    """Five cases; the first has two outputs, of 1 and 5, whose mean is 3. By score: e 1, then d 2, a 3, b 4, c 5; d and c are wrong."""
    names = ["a1", "a2", "b", "c", "d", "e", "f"]
    scores = [1.0, 5.0, 4.0, 5.0, 2.0, 1.0, 1.0]
    arm = ratings("jury", scores).assign(case=names)
    other = arm.assign(attribute="brief", value=3.0)
    marks = lay_marks(evidence({"safe": LIKERT, "brief": LIKERT}, arms=[arm, other]))
    wrong = pd.Series([0.0, 0.0, 0.0, 1.0, 1.0, 0.0, NAN], names)
    pooled = pd.Series(["a", "a", "b", "c", "d", "e", "f"], names)
    found = detection_section(marks, OutsideLabel(wrong, pooled, ("safe",)), Draws(0, 50)).tables

    curve = found["curve"]
    assert curve["reviewed"].tolist() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert curve["found"].tolist() == [0, 0, 0.5, 0.5, 0.5, 1.0]
    (area,) = found["areas"].to_dict("records")
    assert area["area"] == pytest.approx((0 + 0.25 + 0.5 + 0.5 + 0.75) / 5)
    assert (area["wrong"], area["n"], area["outputs"]) == (2, 5, 6)
    assert area["rho"] == pytest.approx(spearmanr([3, 4, 5, 2, 1], [0, 0, 1, 1, 0]).statistic)
    saved = found["saved"].set_index("found")
    assert saved["reviewed"].to_dict() == pytest.approx({0.5: 0.4, 0.8: 0.92, 0.9: 0.96, 0.95: 0.98, 1.0: 1.0})  # fmt: skip
    assert saved["saved"].tolist() == pytest.approx((1 - saved["reviewed"]).tolist())
    assert saved["random"].tolist() == pytest.approx([0.5, 0.2, 0.1, 0.05, 0.0])
    by_label = found["by_label"].set_index("label")
    assert (by_label.loc["wrong", "n"], by_label.loc["wrong", "mean"]) == (2, pytest.approx((1.0 + 0.25) / 2))
    assert (by_label.loc["right", "lowest"], by_label.loc["right", "highest"]) == (0.0, 0.75)
    # All attributes count where none is named: the mean of both.
    every = detection_section(marks, OutsideLabel(wrong, pooled), Draws(0, 20)).tables["by_label"].set_index("label")  # fmt: skip
    assert every.loc["wrong", "mean"] == pytest.approx(((1.0 + 0.5) / 2 + (0.25 + 0.5) / 2) / 2)
    none = detection_section(marks, OutsideLabel(wrong * 0, pooled), Draws(0, 20))
    assert not none.tables and "0 of 5 labelled cases as wrong" in none.sentences[0]


def test_a_case_that_is_drawn_twice_is_reviewed_twice() -> None:
    """Three cases in the order of their keys; the second and third are wrong."""
    values = np.array([[3.0, 0.0], [2.0, 1.0], [1.0, 1.0]])
    weights = np.array([[1.0, 1.0, 1.0], [2.0, 1.0, 0.0], [0.0, 1.0, 3.0], [2.0, 0.0, 0.0]])

    assert _review_share(values, 0.5)(weights).tolist() == pytest.approx([2 / 3, (2 / 3 + 1) / 2, 0.5, NAN], nan_ok=True)  # fmt: skip


def test_cases_of_one_group_are_left_out_together_when_outputs_are_pooled() -> None:
    """Two outputs of each of twenty cases, of which two are of one group: ten areas, each without a group."""
    rng = np.random.default_rng(3)
    scores, wrong = rng.integers(1, 6, 40).astype(float), (np.arange(20) % 3 == 0).astype(float)
    world = evidence({"safe": LIKERT}, arms=[ratings("jury", scores)], groups=[f"g{n // 4}" for n in range(40)])  # fmt: skip
    names = [f"c{n}" for n in range(40)]
    label = OutsideLabel(pd.Series(np.repeat(wrong, 2), names), pd.Series([f"w{n // 2}" for n in range(40)], names))  # fmt: skip
    (found,) = detection_section(lay_marks(world), label, Draws(0, 20)).tables["areas"].to_dict("records")

    means, group = scores.reshape(20, 2).mean(axis=1), np.arange(20) // 2

    def area(kept: np.ndarray) -> float:
        """By pairs: a wrong case before another, half for a tie and for itself."""
        own, low = means[kept], means[kept][wrong[kept] == 1][:, None]
        return float(((low < own) + 0.5 * (low == own)).mean())

    gaps = np.array([area(group != number) for number in range(10)])
    gaps -= gaps.mean()
    error = np.sqrt(9 / 10 * (gaps**2).sum())
    kurtosis = 10 * (gaps**4).sum() / (gaps**2).sum() ** 2
    freedom = max(1, 2 / (2 / 9 + max(kurtosis - 3, 0) / 10))
    assert (found["n"], found["wrong"]) == (20, 7) and found["area"] == pytest.approx(area(group >= 0))
    assert found["p"] == pytest.approx(2 * t.sf(abs(found["area"] - 0.5) / error, freedom))


@pytest.mark.parametrize(
    ("low", "high", "rate", "told"),
    [(0.1, 0.3, 0.98, "RMSE 98% (clearly nearer)"), (-0.3, -0.1, 0.02, "RMSE 2% (clearly further away)"), (-0.1, 0.1, 0.5, "RMSE 50%"), (NAN, NAN, 0.9, "RMSE 90%"), (NAN, NAN, NAN, "RMSE undefined")],
)  # fmt: skip
def test_a_win_is_clear_where_the_interval_leaves_out_zero(low: float, high: float, rate: float, told: str) -> None:  # fmt: skip
    assert _win({"low": low, "high": high, "win_rate": rate}, "rmse").casefold() == told.casefold()


def test_a_second_panel_is_held_against_the_first_as_the_arm_is() -> None:
    """On the four cases that all three scored the arm is off by 1, 0, 1, 0 and the panel by 2, 0, 0, 2, always above."""
    people, arm, panel = [1.0, 2.0, 3.0, 2.0, 4.0], [2.0, 2.0, 4.0, 2.0, 5.0], [3.0, 2.0, 3.0, 4.0]
    rescored = [ratings("Cy", panel), ratings("Di", panel)]
    given = evidence({"safe": LIKERT}, arms=[ratings("jury", arm)], people=[ratings("Ana", people)], rescored=pd.concat(rescored))  # fmt: skip
    scores = pd.DataFrame({"case": [f"c{n}" for n in range(5)], "cluster": range(5), "fold": 0, "attribute": "safe", "before": arm, "after": people, "people": people})  # fmt: skip
    found = against_panel(given, "jury", scores, Draws(0, 200)).set_index(["side", "attribute", "measure"])

    offset = found.loc[("before", "safe", "offset")]
    assert (offset["of_arm"], offset["of_panel"], offset["n"]) == (0.5, 1.0, 4)
    assert offset["advantage"] == pytest.approx(0.5), "nearer, for its offset is the smaller"
    below = against_panel(given, "jury", scores.assign(before=np.array(people) - 1.0), Draws(0, 50))
    below = below.set_index(["side", "attribute", "measure"])
    row = below.loc[("before", "safe", "offset")]
    assert (row["of_arm"], row["advantage"]) == (-1.0, pytest.approx(0.0)), (
        "as far below as the panel is above"
    )
    rmse = found.loc[("before", OVERALL, "rmse")]
    assert (rmse["of_arm"], rmse["of_panel"]) == pytest.approx((np.sqrt(2 / 4), np.sqrt(8 / 4)))
    assert rmse["advantage"] == pytest.approx(np.sqrt(2) - np.sqrt(0.5)) and rmse["win_rate"] > 0.8
    rho = found.loc[("before", "safe", "spearman")]
    assert rho["of_arm"] == pytest.approx(spearmanr(arm[:4], people[:4]).statistic)
    assert rho["of_panel"] == pytest.approx(spearmanr(panel, people[:4]).statistic)
    assert found.loc[("after", "safe", "rmse"), "of_arm"] == 0.0
    (words,) = rescore_section(given, {"jury": scores}, Draws(0, 200)).sentences  # type: ignore[union-attr]
    assert words.startswith("On the 4 scores that jury and the second panel both gave, jury is nearer to the first panel")  # fmt: skip
    before, after = (", ".join(_win(found.loc[(side, OVERALL, measure)], measure) for measure in MEASURES) for side in ("before", "after"))  # fmt: skip
    assert before != after and words.endswith(f"resamples: not calibrated, {before}; calibrated, {after}.")
    section = rescore_section(given, {"jury": scores, "other": scores.iloc[:0]}, Draws(0, 20))
    assert section is not None and "other is not compared" in section.notes[0] and len(section.sentences) == 1
    assert rescore_section(evidence({"safe": LIKERT}, arms=[ratings("jury", arm)]), {}, Draws(0)) is None
