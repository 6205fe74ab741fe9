"""Which verdicts may stand unseen: exact bounds, too few labels, groups, ties, and a shift."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from venire.evals.inference.certificate import (
    _GroupTest,
    _starting_points,
    _thresholds,
    _upper_bound,
    certificate,
    fewest_labels,
    labels_needed,
)
from venire.evals.inference.labelling import draw_labels, even_draw
from venire.evals.inference.shift import shift_test

RNG = np.random.default_rng


def certified_at(confidence, wrong, cluster=None, *, risk=0.1, delta=0.05):
    known = np.asarray(confidence, dtype=float)
    alone = np.arange(len(known)) if cluster is None else np.asarray(cluster)
    return certificate(known, np.asarray(wrong, dtype=bool), alone, risk=risk, delta=delta, rng=RNG(0))


@pytest.mark.parametrize(
    ("risk", "delta", "number"), [(0.05, 0.05, 59), (0.1, 0.05, 29), (0.1, 0.1, 22), (0.01, 0.05, 299)]
)
def test_the_fewest_labels_that_show_anything(risk: float, delta: float, number: int) -> None:
    assert fewest_labels(risk, delta) == number
    assert binom.cdf(0, number, risk) <= delta < binom.cdf(0, number - 1, risk)
    assert certified_at(np.ones(number), np.zeros(number), risk=risk, delta=delta).threshold == 1.0
    assert certified_at(np.ones(number - 1), np.zeros(number - 1), risk=risk, delta=delta).threshold is None


def test_sure_verdicts_are_accepted_and_unsure_ones_are_not() -> None:
    confidence = np.repeat([1.0, 0.8, 0.5], [150, 100, 50])
    wrong = np.concatenate([np.zeros(150), np.arange(100) < 5, np.arange(50) < 30])
    found = certified_at(confidence, wrong)

    assert found.threshold == 0.8 and (found.accepted, found.errors) == (250, 5)
    assert found.bound == pytest.approx(0.0415, abs=1e-3)
    assert binom.cdf(5, 250, found.bound) == pytest.approx(0.05)


def test_it_holds_in_simulated_worlds_and_where_errors_stand_at_the_risk() -> None:
    rng = RNG(1)
    broken = 0
    for _ in range(600):
        confidence = rng.integers(1, 8, 120) / 7
        wrong = rng.random(120) < 0.105
        broken += certified_at(confidence, wrong).threshold is not None
    assert broken / 600 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 600)


def test_whole_groups_are_tested_where_cases_are_grouped() -> None:
    rng = RNG(2)
    broken = alone = 0
    for _ in range(300):
        # Groups of four that are wrong together: four labels are worth one.
        wrong = np.repeat(rng.random(60) < 0.11, 4)
        cluster = np.repeat(np.arange(60), 4)
        broken += certified_at(np.ones(240), wrong, cluster).threshold is not None
        alone += certified_at(np.ones(240), wrong).threshold is not None
    assert broken <= 0.05 * 300 < alone
    assert certified_at(np.ones(300), np.zeros(300), np.repeat(np.arange(100), 3)).threshold == 1.0


def test_how_many_labels_would_do() -> None:
    assert labels_needed(0.0, 0.1, 0.05) == 29
    needed = labels_needed(0.05, 0.1, 0.05)
    assert needed is not None and binom.cdf(round(0.05 * needed), needed, 0.1) <= 0.05
    assert labels_needed(0.1, 0.1, 0.05) is None


def test_no_label_and_one_label() -> None:
    for number in (0, 1):
        found = certified_at(np.ones(number), np.zeros(number))
        assert found.threshold is None and found.labels == number and found.fewest == 29


def test_labels_drawn_with_unequal_chances_are_thinned_to_equal_ones() -> None:
    rng = RNG(5)
    verdicts = pd.DataFrame(
        {"case": np.arange(800).astype(str), "arm": "a", "attribute": "x", "way": "split", "confidence": np.linspace(0, 1, 800)}
    )  # fmt: skip
    kept = []
    for _ in range(60):
        draw = draw_labels(verdicts, 150, "active", rng)
        used, said = even_draw(draw, 800, rng)
        kept += [float(verdicts["confidence"][int(case)]) for case in used]
    everyone, said_of_all = even_draw(draw_labels(verdicts, 150, "random", rng), 800, rng)

    assert "unequal probabilities" in said and np.mean(kept) == pytest.approx(0.5, abs=0.02)
    assert len(everyone) == 150 and "drawn at random, according to the file of drawn cases" in said_of_all


def test_an_active_draw_is_thinned_to_the_chance_of_the_least_likely_case_drawn_or_not() -> None:
    """150 of 800 with a floor of half the mean chance: whoever was drawn at 0.5 is kept with 0.09375 / 0.5."""
    draw = pd.DataFrame({"case": [f"c{n}" for n in range(150)], "probability": 0.5, "design": "active"})
    kept = [len(even_draw(draw, 800, RNG(seed))[0]) for seed in range(40)]

    assert np.mean(kept) == pytest.approx(150 * 0.5 * 150 / 800 / 0.5, abs=2)
    assert len(even_draw(draw.assign(design="stratified"), 800, RNG(0))[0]) == 150


def test_a_signal_that_is_not_known_is_no_zero() -> None:
    unknown, zero = np.full(30, np.nan), np.zeros(30)
    for old, new in ((unknown, zero), (zero, unknown), (unknown, -np.ones(30))):
        found = shift_test({"evidence": old}, {"evidence": new}, np.arange(30), np.arange(30), RNG(0))
        assert (found.signal, found.distance) == ("evidence", 1.0) and found.found
    same = shift_test({"evidence": unknown}, {"evidence": unknown}, np.arange(30), np.arange(30), RNG(0))
    assert same.distance == 0 and same.p == 1


def test_a_shift_is_seen_and_none_is_seen_where_there_is_none() -> None:
    rng = RNG(3)

    def sample(mean: float, size: int) -> dict[str, np.ndarray]:
        return {
            "confidence": rng.normal(mean, 1, size),
            "evidence": np.where(rng.random(size) < 0.3, np.nan, 1.0),
        }

    p = [
        shift_test(sample(0, 60), sample(0, 200), np.arange(60), np.arange(200), RNG(each)).p
        for each in range(100)
    ]
    assert np.mean(np.array(p) < 0.05) <= 0.12
    moved = shift_test(sample(0, 60), sample(0.8, 200), np.arange(60), np.arange(200), RNG(0))
    assert moved.found and moved.signal == "confidence" and "not a random draw" in moved.sentence
    systems = [np.array(["A"] * 55 + ["B"] * 5), np.array(["A"] * 100 + ["B"] * 100)]
    mixed = shift_test(
        {**sample(0, 60), "system": systems[0]},
        {**sample(0, 200), "system": systems[1]},
        np.arange(60),
        np.arange(200),
        RNG(0),
    )
    assert mixed.found and mixed.signal == "system" and mixed.distance == pytest.approx(55 / 60 - 0.5)
    nothing = shift_test(sample(0, 60), sample(0, 0), np.arange(60), np.arange(0), RNG(0))
    assert nothing.note and not nothing.found


def levels_with_errors(*errors: int, each: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Confidences 1.0, 0.9, ... with `each` labels at every one, so many of which are wrong."""
    confidence = np.repeat(1 - np.arange(len(errors)) / 10, each)
    wrong = np.concatenate([np.arange(each) < number for number in errors])
    return confidence, wrong


def test_each_of_two_starts_has_half_of_delta_and_no_more() -> None:
    """240 labels start at the 60 surest and at the 120 surest; 2 errors in 60 are shown at 4% and not at 2.5%."""
    risk = 0.105
    assert 0.025 < binom.cdf(2, 60, risk) < 0.05
    assert certified_at(*levels_with_errors(2, 7, 15, 15), risk=risk).threshold is None
    # What is tested once has the whole of it: below 116 labels there is one start.
    assert certified_at(np.ones(60), np.arange(60) < 2, risk=risk).threshold == 1.0


def test_a_start_that_is_reached_adds_its_half_and_one_that_is_not_adds_nothing() -> None:
    risk = 0.105
    assert binom.cdf(1, 60, risk) < 0.025 < binom.cdf(6, 120, risk) < 0.05
    # From the first start the second is reached, and has both halves.
    assert certified_at(*levels_with_errors(1, 5, 15, 15), risk=risk).threshold == 0.9
    # And no more than both: 7 errors in 120 are shown at 5.6%.
    assert certified_at(*levels_with_errors(1, 6, 15, 15), risk=risk).threshold == 1.0
    # From the second alone it has one half.
    assert certified_at(*levels_with_errors(2, 4, 15, 15), risk=risk).threshold is None
    # A later start may still stand where the first fell: 4 errors in 120 are shown at 1%.
    assert certified_at(*levels_with_errors(3, 1, 15, 15), risk=risk).threshold == 0.9


def test_a_threshold_below_one_that_failed_is_never_reached_by_skipping_it() -> None:
    found = certified_at(*levels_with_errors(0, 0, 40, 0, 0, 0, 0, 0, each=60))
    assert found.threshold == 0.9 and (found.accepted, found.errors) == (120, 0)


def test_no_more_than_delta_of_worlds_that_stand_at_the_risk_are_certified() -> None:
    """Both starts are independent enough that testing each at the whole of delta would certify one world in eleven."""
    rng = RNG(11)
    broken = 0
    for _ in range(1500):
        wrong = rng.random(1200) < 0.1
        confidence = np.repeat([1.0, 0.9, 0.8], [300, 300, 600])
        broken += certified_at(confidence, wrong, risk=0.1, delta=0.1).threshold is not None
    assert broken / 1500 <= 0.1 + 2 * np.sqrt(0.1 * 0.9 / 1500)


def betting_p(gains: list[float], risk: float, delta: float) -> float:
    """The p of Waudby-Smith and Ramdas' betting test, group by group: each stake is made from the groups before it."""
    log_wealth, most = 0.0, 0.0
    spread, total, squares = risk / 4, 0.0, 0.0
    for number, gain in enumerate(gains, 1):
        stake = min(math.sqrt(2 * math.log(1 / delta) / (len(gains) * spread)), 0.75 / (1 - risk))
        log_wealth += math.log(1 + stake * gain)
        most = max(most, log_wealth)
        total += gain
        squares += (gain - total / (number + 1)) ** 2
        spread = (risk / 4 + squares) / (number + 1)
    return math.exp(-most)


@pytest.mark.parametrize("seed", range(4))
def test_the_test_of_groups_is_the_betting_test_over_whole_groups_in_a_drawn_order(seed: int) -> None:
    rng = RNG(seed)
    cluster = np.sort(rng.integers(0, 25, 80))
    wrong, confidence = rng.random(80) < 0.05, rng.random(80)
    code = np.unique(cluster, return_inverse=True)[1]
    place = RNG(7).permutation(code.max() + 1)
    largest = np.bincount(code).max()
    for level in (0.0, 0.4):
        gains = [0.0] * len(place)
        for group, bad, sure in zip(code, wrong, confidence, strict=True):
            gains[place[group]] += (0.2 - bad) / largest if sure >= level else 0.0
        p = _GroupTest(confidence, wrong, cluster, 0.2, 0.1, RNG(7)).p(level)
        assert p == pytest.approx(betting_p(gains, 0.2, 0.1))
    assert _GroupTest(confidence, np.ones(80, dtype=bool), cluster, 0.2, 0.1, RNG(7)).p(0.0) == 1.0


def test_a_stake_is_set_by_the_groups_before_it_and_not_by_the_one_it_is_laid_on() -> None:
    """Of 2,000 groups of two the first one or two are right and all others wrong: the most is won after those.

    By hand, as no stake is bounded: 0.1 is won of each, and the spread is 0.1 / 4 before the first group and
    (0.1 / 4 + (0.1 - 0.1 / 2) ** 2) / 2 before the second.
    """
    cluster, aim = np.repeat(np.arange(2000), 2), 2 * math.log(1 / 0.1)
    in_order = SimpleNamespace(permutation=np.arange)
    # What is not accepted is a group that nothing is won of, and counts among them.
    sure = np.where(cluster < 1000, 1.0, 0.5)
    first, second = math.sqrt(aim / (2000 * 0.025)), math.sqrt(aim / (2000 * (0.025 + 0.05**2) / 2))
    for right, won in ((1, 1 + 0.1 * first), (2, (1 + 0.1 * first) * (1 + 0.1 * second))):
        found = _GroupTest(sure, cluster >= right, cluster, 0.1, 0.1, in_order)  # type: ignore[arg-type]
        assert found.p(1.0) == pytest.approx(1 / won)


def test_a_certificate_of_groups_says_so_and_bounds_at_the_risk() -> None:
    groups = certified_at(np.ones(300), np.zeros(300), np.repeat(np.arange(100), 3))
    assert (groups.grouped, groups.bound, groups.needed) == (True, 0.1, None)
    alone = certified_at(np.ones(300), np.zeros(300))
    assert (alone.grouped, alone.needed) == (False, None) and 0 < alone.bound < 0.1


def test_what_could_not_be_shown_says_how_many_labels_would_show_it() -> None:
    """40 labels at the highest confidence, one of them wrong, of 60 in all."""
    confidence = np.repeat([1.0, 0.5], [40, 20])
    found = certified_at(confidence, np.arange(60) < 1)

    assert found.threshold is None and math.isnan(found.bound)
    assert (found.labels, found.accepted, found.errors) == (60, 40, 1)
    assert found.needed == labels_needed(1 / 40, 0.1, 0.05, 60 / 40) != labels_needed(1 / 40, 0.1, 0.05)
    assert certified_at(confidence, np.arange(60) < 10).needed is None
    assert certified_at(np.ones(5), np.zeros(5)).needed == 29


def test_the_labels_needed_are_enough_and_not_many_more_than_enough() -> None:
    for rate in (0.01, 0.03, 0.05, 0.07):
        needed = labels_needed(rate, 0.1, 0.05)
        assert needed is not None and binom.cdf(math.ceil(rate * needed), needed, 0.1) <= 0.05
        fewer = int(needed / 1.02) - 3
        assert binom.cdf(math.ceil(rate * fewer), fewer, 0.1) > 0.05
    assert labels_needed(0.0, 0.1, 0.05, 2.5) == math.ceil(29 * 2.5)


def test_thresholds_are_all_confidences_or_forty_one_by_how_many_lie_between() -> None:
    assert _thresholds(np.array([0.2, 0.9, 0.2])).tolist() == [0.9, 0.2]
    assert _thresholds(np.append(np.arange(40.0), np.zeros(200))).tolist() == list(range(39, -1, -1))
    many = _thresholds(np.arange(201.0))
    assert many.tolist() == list(range(200, -1, -5))
    # Most of the labels are sure: most of the thresholds are.
    crowded = _thresholds(np.concatenate([np.linspace(0.9, 1, 900), np.linspace(0, 0.1, 100)]))
    assert crowded[0] == 1 and crowded[-1] == 0 and (crowded > 0.5).sum() == 37


def test_testing_starts_at_half_of_the_labels_and_where_there_are_plenty_at_a_quarter_too() -> None:
    counts = np.arange(1, 201)
    assert _starting_points(counts, 200, 29) == [49, 99]
    assert _starting_points(counts[:116], 116, 29) == [28, 57]
    assert _starting_points(counts[:115], 115, 29) == [56]
    assert _starting_points(counts[:40], 40, 29) == [28]
    assert _starting_points(counts[:41], 41, 10) == [9, 19]
    assert _starting_points(counts[:20], 20, 29) == []
    assert _starting_points(np.array([150, 200]), 200, 29) == [0]


def test_the_bound_is_clopper_and_pearsons_and_one_where_all_are_wrong() -> None:
    assert _upper_bound(5, 5, 0.05) == 1.0
    assert binom.cdf(3, 20, _upper_bound(3, 20, 0.05)) == pytest.approx(0.05)
