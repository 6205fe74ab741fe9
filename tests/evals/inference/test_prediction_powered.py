"""People's mean from few labels and many scores: an independent implementation's figures, designs, ends of the scale, useless judges."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import binomtest, t

from venire import VenireError
from venire.evals.inference.labelling import Labelling, _allocation, _inclusion, draw_labels, load_draw
from venire.evals.inference.prediction_powered import (
    _merged_strata,
    _share_bounds,
    rarest_share,
    rectified_difference,
    rectified_mean,
    rectified_quantile,
    rectified_slopes,
)
from venire.evals.report.files import csv_text
from venire.evals.statistics.estimate import Estimate

LABELS, OTHERS = 40, 160
PLACE = np.arange(LABELS + OTHERS)
X = np.sin(PLACE * 1.7)
Y = 1 + 0.7 * X + np.cos(PLACE * PLACE * 0.37)
F = Y * 0.8 + 0.5 * np.sin(PLACE * 3.1) + 0.3
RANDOM = Labelling.random(PLACE < LABELS)
KNOWN = np.where(PLACE < LABELS, Y, np.nan)
COLUMNS = np.column_stack([np.ones(len(X)), X])
# By ppi-python 0.2.3 (Angelopoulos and others), on the same arrays: ppi_mean_*, ppi_ols_* with lam=.7, ppi_quantile_pointestimate.
MEAN = (1.035718910503, 0.865441225475, 1.205996595532)
OLS = [
    (1.085043202704, 0.9288264080123549, 1.241259997396631),
    (0.705930536884, 0.4899960490639856, 0.9218650247043587),
]
TUNED = (1.051452362583, 0.674547165271)
MEDIAN = 1.1353703024147297


def test_mean_slopes_and_quantile_are_those_of_ppi_python() -> None:
    mean = rectified_mean(KNOWN, F, RANDOM, normal=True).estimate
    assert (mean.value, mean.low, mean.high) == pytest.approx(MEAN, abs=1e-8)
    for found, known in zip(
        rectified_slopes(KNOWN, F, COLUMNS, RANDOM, power=0.7, normal=True), OLS, strict=True
    ):
        assert (found.estimate.value, found.estimate.low, found.estimate.high) == pytest.approx(
            known, abs=1e-8
        )
    tuned = [each.estimate.value for each in rectified_slopes(KNOWN, F, COLUMNS, RANDOM, normal=True)]
    assert tuned == pytest.approx(TUNED, abs=1e-8)
    median = rectified_quantile(KNOWN, F, RANDOM, 0.5, power=1.0, normal=True).estimate
    assert median.value == pytest.approx(MEDIAN, abs=1e-8)


def test_without_scores_it_is_the_mean_of_the_labels_and_a_useless_judge_costs_little() -> None:
    rng = np.random.default_rng(0)
    ratios = []
    for _ in range(200):
        y, f = rng.normal(size=(2, 400))
        found = rectified_mean(
            np.where(np.arange(400) < 30, y, np.nan), f, Labelling.random(np.arange(400) < 30)
        )
        assert found.labels_alone.value == pytest.approx(y[:30].mean())
        ratios.append(
            (found.estimate.high - found.estimate.low) / (found.labels_alone.high - found.labels_alone.low)
        )
    assert np.mean(ratios) <= 1.02
    silent = rectified_mean(KNOWN, np.full(len(Y), np.nan), RANDOM)
    assert silent.power == 0 and silent.estimate.value == pytest.approx(Y[:LABELS].mean())


def test_an_interval_stays_on_the_scale_and_labels_that_are_all_the_same_have_one() -> None:
    rng = np.random.default_rng(1)
    labels = np.where(np.arange(300) < 30, 5.0, np.nan)
    flat = rectified_mean(
        labels, rng.integers(1, 6, 300).astype(float), Labelling.random(np.arange(300) < 30), ends=(1, 5)
    )
    assert flat.labels_alone.value == 5 and flat.labels_alone.high == 5
    assert flat.labels_alone.low == pytest.approx(5 - 4 * (1 - 0.025 ** (1 / 30)))
    labels[3] = 1.0
    near = rectified_mean(
        labels, np.full(300, 5.0), Labelling.random(np.arange(300) < 30), ends=(1, 5)
    ).estimate
    assert 1 < near.low < near.value < near.high < 5
    few = rectified_mean(
        np.where(np.arange(300) < 4, labels, np.nan), labels, Labelling.random(np.arange(300) < 4)
    )
    assert not few.estimate.defined and "too few" in few.estimate.note


def test_pairs_cancel_what_they_share() -> None:
    rng = np.random.default_rng(2)
    cluster = np.repeat(np.arange(200), 2)
    first = np.arange(400) % 2 == 0
    y = np.repeat(rng.normal(0, 3, 200), 2) + 0.5 * first + rng.normal(0, 0.1, 400)
    labelled = cluster < 40
    known = np.where(labelled, y, np.nan)
    paired = rectified_difference(known, np.zeros(400), Labelling.random(labelled, cluster), first, ~first)
    loose = rectified_difference(known, np.zeros(400), Labelling.random(labelled), first, ~first)

    assert paired.estimate.value == pytest.approx(0.5, abs=0.1)
    few = Labelling.random(labelled & (first | (np.arange(400) < 8)))
    lopsided = rectified_difference(np.where(few.labelled, y, np.nan), np.zeros(400), few, first, ~first)
    assert "4 labelled cases or groups are too few" in lopsided.estimate.note, "on the side with the fewest"
    assert paired.estimate.high - paired.estimate.low < 0.1 < loose.estimate.high - loose.estimate.low


@pytest.mark.parametrize("design", ["random", "stratified", "active"])
def test_a_draw_has_the_probabilities_it_says(design: str) -> None:
    rng = np.random.default_rng(3)
    way = rng.choice(["unanimous at once", "converged", "split", "hung"], 60, p=[0.5, 0.3, 0.15, 0.05])
    sure = np.where(way == "hung", np.nan, rng.random(60))
    table = pd.DataFrame(
        {"case": [f"c{n}" for n in range(60)], "arm": "a", "attribute": "x", "way": way, "confidence": sure}
    )
    drawn = np.zeros(60)
    said = np.full(60, np.nan)
    for seed in range(200):
        found = draw_labels(table, 20, design, np.random.default_rng(seed))  # type: ignore[arg-type]
        at = found["case"].str[1:].astype(int).to_numpy()
        assert len(set(at)) == 20
        drawn[at] += 1
        said[at] = found["probability"]
    assert drawn / 200 == pytest.approx(said, abs=0.13) and said.sum() == pytest.approx(20)
    with pytest.raises(VenireError, match="cannot be drawn"):
        draw_labels(table, 61, design, rng)  # type: ignore[arg-type]


def test_weights_undo_a_draw_that_prefers_some_cases() -> None:
    rng = np.random.default_rng(4)
    held = []
    for _ in range(200):
        y = rng.integers(1, 6, 600).astype(float)
        chance = np.where(y > 3, 0.3, 0.1)
        labelled = rng.random(600) < chance
        labelling = Labelling(labelled, 1 / chance, np.zeros(600, dtype=int), np.arange(600))
        assert labelling.design == "active"
        found = rectified_mean(
            np.where(labelled, y, np.nan), y + rng.normal(0, 1, 600), labelling, ends=(1, 5)
        ).estimate
        held.append(found.low <= 3 <= found.high)
    assert np.mean(held) >= 0.9


def test_a_stratum_in_doubt_is_drawn_from_more_often_than_its_cases_ask_for() -> None:
    """Split cases count twice, those that converged one and a half times; each stratum has two at least and no more than it has."""
    ways = np.array(["unanimous at once"] * 40 + ["split"] * 20 + ["hung"] * 3, dtype=object)

    assert _allocation(ways[:60], 20) == {"unanimous at once": 10, "split": 10}
    assert _allocation(ways, 63) == {"unanimous at once": 40, "split": 20, "hung": 3}
    assert _allocation(ways, 7) == {"unanimous at once": 3, "split": 2, "hung": 2}
    even = np.array(["unanimous at once"] * 30 + ["converged"] * 30, dtype=object)
    assert _allocation(even, 25) == {"unanimous at once": 10, "converged": 15}


@pytest.mark.parametrize("groups", [5, 30])
def test_of_labels_all_alike_the_rarest_other_is_clopper_and_pearsons_bound(groups: int) -> None:
    assert rarest_share(groups, 0.95) == pytest.approx(binomtest(0, groups).proportion_ci(0.95, "exact").high)


def test_the_interval_of_a_quantile_lies_on_both_sides_of_it() -> None:
    for share in (0.25, 0.5, 0.75):
        found = rectified_quantile(KNOWN, F, RANDOM, share).estimate
        inside = (found.low <= Y) & (found.high >= Y)

        assert found.low < found.value < found.high and 0.05 < inside.mean() < 0.6
        assert np.quantile(Y, share) == pytest.approx(found.value, abs=0.4)


def test_a_stratum_with_one_label_joins_the_one_with_most() -> None:
    stratum = np.array([0, 0, 0, 1, 1, 2, 2, 2])
    labelled = np.array([True, True, True, True, False, True, True, False])
    everyone = np.ones(8, dtype=bool)

    assert _merged_strata(stratum, labelled, everyone).tolist() == [0, 0, 0, 0, 0, 2, 2, 2]
    # On one side alone the third stratum has one label too.
    assert _merged_strata(stratum, labelled, np.arange(8) != 6).tolist() == [0, 0, 0, 0, 0, 0, 2, 0]


def test_with_every_label_slopes_have_the_errors_of_hc3_and_students_t() -> None:
    every = Labelling.random(np.ones(60, dtype=bool))
    x = COLUMNS[:60]
    known = sm.OLS(Y[:60], x).fit(cov_type="HC3")
    for at, found in enumerate(rectified_slopes(Y[:60], F[:60], x, every, power=0.0)):
        error = known.bse[at] * np.sqrt(60 / 59)
        reach = t.ppf(0.975, 58) * error
        assert (found.estimate.value, found.estimate.se) == pytest.approx((known.params[at], error))
        assert (found.estimate.low, found.estimate.high) == pytest.approx(
            (known.params[at] - reach, known.params[at] + reach)
        )


def test_a_difference_without_scores_is_the_two_sample_interval() -> None:
    y, first = np.tile([0.0, 1.0, 1.0, 2.0], 20), np.arange(80) < 32
    known, labelling = np.where(np.arange(80) % 8 < 4, y, np.nan), Labelling.random(np.arange(80) % 8 < 4)
    alone = rectified_difference(known, np.full(80, np.nan), labelling, first, ~first).labels_alone
    a, b = known[first & ~np.isnan(known)], known[~first & ~np.isnan(known)]
    error = np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b))
    assert (alone.value, alone.se) == pytest.approx((a.mean() - b.mean(), error))
    assert alone.high - alone.value == pytest.approx(t.ppf(0.975, len(a) + len(b) - 2) * error)


def test_of_a_share_that_does_not_vary_the_bounds_are_how_rare_another_may_be() -> None:
    flat = Estimate(0.2, 0.2, 0.2, 30, "", se=0.0)
    assert _share_bounds(flat, 0.5, 30) == pytest.approx((0.2 - rarest_share(30, 0.95), 0.2 + rarest_share(30, 0.95)))  # fmt: skip
    # Its error is what it would be at the share asked for: at 0.2 the spread is 0.4, at a half it is 0.5.
    assert _share_bounds(Estimate(0.2, 0.1, 0.3, 30, "", se=0.05), 0.5, 30) == pytest.approx((0.075, 0.325))


def test_chances_go_with_doubt_above_a_floor_and_none_is_above_one() -> None:
    """Two in doubt of a hundred, ten to draw: both are sure to be drawn, and the others share eight places."""
    assert _inclusion(np.repeat([1.0, 0.0], [2, 98]), 10) == pytest.approx(np.repeat([1, 8 / 98], [2, 98]))
    # Half of the mean chance is everyone's; the other half goes with doubt.
    assert _inclusion(np.array([0.1, 0.3, 0.1, 0.3]), 2) == pytest.approx([0.375, 0.625, 0.375, 0.625])
    assert _inclusion(np.zeros(4), 1) == pytest.approx([0.25] * 4)
    assert sum(_allocation(np.array(["split"] * 9 + ["hung"] * 9, dtype=object), 3).values()) == 3


@pytest.mark.parametrize("design", ["random", "stratified", "active"])
def test_a_draw_is_read_as_it_was_written(design: str, tmp_path: Path) -> None:
    table = pd.DataFrame(
        {"case": [f"c{n}" for n in range(12)], "arm": "a", "attribute": "x", "way": ["split", "hung"] * 6, "confidence": np.linspace(0, 1, 12)}
    )  # fmt: skip
    drawn = draw_labels(table, 6, design, np.random.default_rng(0))  # type: ignore[arg-type]
    # An id that a spreadsheet would take for a formula is written as one that it does not, and read back as it was.
    drawn.loc[0, "case"] = "=c0"
    (tmp_path / "draw.csv").write_text(csv_text(drawn))
    assert "'=c0" in (tmp_path / "draw.csv").read_text()
    pd.testing.assert_frame_equal(load_draw(tmp_path / "draw.csv"), drawn, check_dtype=False)


def test_of_a_draw_without_a_design_every_probability_counts(tmp_path: Path) -> None:
    (tmp_path / "draw.csv").write_text("case,probability\na,0.5\nb,1\n")
    assert load_draw(tmp_path / "draw.csv").iloc[0].tolist() == ["a", 0.5, "all", "active", "", ""]


@pytest.mark.parametrize("rows", ["", "a,0", "a,1.1", "a,-0.2", "a,", "a,half", "a,0.5\na,0.5"])
def test_a_draw_with_no_probability_no_case_or_a_case_twice_is_refused(rows: str, tmp_path: Path) -> None:
    (tmp_path / "draw.csv").write_text(f"case,probability\n{rows}\n")
    with pytest.raises(VenireError):
        load_draw(tmp_path / "draw.csv")


def test_where_every_case_has_a_label_scores_change_nothing() -> None:
    found = rectified_mean(Y, F, Labelling.random(np.ones(len(Y), dtype=bool)), power=0.7)
    assert found.estimate.value == pytest.approx(Y.mean()) == found.labels_alone.value


def test_a_slope_on_what_does_not_vary_among_labels_is_not_defined() -> None:
    columns = np.column_stack([np.ones(len(X)), np.where(PLACE < LABELS, 1.0, X)])
    assert not rectified_slopes(KNOWN, F, columns, RANDOM)[1].estimate.defined
