from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from rating_tables import KRIPPENDORFF, by_rater, long_table, seeded_bootstrap
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from venire.evals.statistics.alpha import alpha_coefficient, krippendorff_alpha
from venire.evals.statistics.bca import Reading
from venire.evals.statistics.bootstrap import Bootstrap, OfSums, leave_one_out, over_cases
from venire.evals.statistics.correlation import pearson
from venire.evals.statistics.error import offset
from venire.evals.statistics.icc import icc
from venire.evals.statistics.jackknife import CORRELATION, jackknife
from venire.evals.statistics.kappa import cohen_kappa
from venire.evals.statistics.matrix import matrix, on_scale
from venire.evals.statistics.percent import percent_agreement
from venire.evals.statistics.resamples import _table, resamples


def normal_pairs(n: int = 60) -> np.ndarray:
    rng = np.random.default_rng(1)
    quality = rng.normal(0, 1, (n, 1))
    return quality + rng.normal(0, 0.7, (n, 2))


def correlation(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    x, y = (side - side.mean(axis=axis, keepdims=True) for side in (x, y))
    return (x * y).sum(axis=axis) / np.sqrt((x**2).sum(axis=axis) * (y**2).sum(axis=axis))


@pytest.mark.parametrize(("kind", "scipy_name"), [("percentile", "percentile"), ("bca", "BCa")])
def test_intervals_agree_with_scipy(kind, scipy_name):
    values = normal_pairs()
    ours = pearson(long_table(values), bootstrap=Bootstrap(np.random.default_rng(2), 20_000, kind=kind))
    theirs = stats.bootstrap(
        tuple(values.T),
        correlation,
        paired=True,
        vectorized=True,
        n_resamples=20_000,
        method=scipy_name,
        rng=np.random.default_rng(3),
    ).confidence_interval

    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.012)


def test_expanded_is_a_little_wider_than_bca():
    table = long_table(normal_pairs(20))
    plain = pearson(table, bootstrap=seeded_bootstrap(4000, kind="bca"))
    wider = pearson(table, bootstrap=seeded_bootstrap(4000, kind="expanded"))

    assert wider.low < plain.low and wider.high > plain.high


def test_the_same_seed_gives_the_same_interval():
    table = by_rater(KRIPPENDORFF)

    one, two = (krippendorff_alpha(table, level="ordinal", bootstrap=seeded_bootstrap()) for _ in range(2))
    assert (one.value, one.low, one.high, one.method) == (two.value, two.low, two.high, two.method)


@pytest.mark.parametrize("n", [2, 3, 7, 40, 256, 361])
def test_every_case_is_as_likely_to_be_drawn(n):
    table = long_table(np.random.default_rng(0).normal(size=(n, 3)))
    counts = np.zeros(n)

    def counting(values):
        def statistic(weights):
            counts[:] += weights.sum(axis=0)
            assert (weights.sum(axis=1) == n).all()
            return weights @ values[:, 0]

        return statistic

    Bootstrap(np.random.default_rng(1), 4000, kind="percentile").estimate(
        counting, matrix(table), method="counting", otherwise=""
    )
    assert stats.chisquare(counts - 1).pvalue > 1e-3


def test_clusters_are_drawn_whole():
    """Ten copies of each case say no more than the case."""
    values = np.round(normal_pairs(25) * 2)
    once = long_table(values)
    copies = pd.concat(
        [once.assign(cluster=once["case"], case=once["case"] + f" copy {copy}") for copy in range(10)]
    )
    apart = offset(once, bootstrap=seeded_bootstrap(2000))
    together = offset(copies, bootstrap=seeded_bootstrap(2000, by="cluster"))
    naive = offset(copies, bootstrap=seeded_bootstrap(2000))

    assert together.value == pytest.approx(apart.value)
    assert together.high - together.low == pytest.approx(apart.high - apart.low, rel=0.15)
    assert naive.high - naive.low < 0.5 * (together.high - together.low)
    assert "25 clusters" in together.method


def test_the_interval_of_a_resampled_icc_is_near_the_f_interval():
    rng = np.random.default_rng(5)
    table = long_table(rng.normal(0, 1, (150, 1)) + rng.normal(0, 0.6, (150, 4)))
    analytic, resampled = icc(table), icc(table, bootstrap=seeded_bootstrap(2000))

    assert resampled.value == analytic.value
    assert (resampled.low, resampled.high) == pytest.approx((analytic.low, analytic.high), abs=0.02)


def test_unanimity_still_leaves_doubt():
    found = percent_agreement(long_table([[1, 1]] * 10))

    assert found.value == found.high == 1
    assert found.low == pytest.approx(0.7225, abs=1e-4)


@pytest.mark.parametrize("n", [5, 32, 60, 360])
def test_resamples_are_multinomial(n):
    """Each row holds n draws, a case's count is binomial, and two cases' counts pull against each other."""
    rng, rows = np.random.default_rng(n), 720_000 // n
    counts = np.concatenate(list(resamples(rng, np.ones(n, dtype=np.int64), rows))).astype(float)

    assert counts.shape == (rows, n) and (counts.sum(axis=1) == n).all()
    seen = np.bincount(counts.astype(int).ravel(), minlength=7)[:7] / counts.size
    wanted = stats.binom.pmf(np.arange(7), n, 1 / n)
    assert seen == pytest.approx(wanted, abs=4 * np.sqrt(0.25 / counts.size))
    assert counts.var(axis=0).mean() == pytest.approx(1 - 1 / n, rel=0.02)
    # The mean product of neighbours is 1 - 1/n; its standard error is about one in the root of all pairs.
    neighbours = (counts[:, :-1] * counts[:, 1:]).mean()
    assert neighbours == pytest.approx(1 - 1 / n, abs=4 / np.sqrt(counts.size))
    assert counts.mean(axis=0) == pytest.approx(np.ones(n), abs=5 / np.sqrt(rows))


@pytest.mark.parametrize("n", [32, 100, 360, 5_000, 100_000])
def test_what_a_byte_decides_and_what_it_does_not_make_a_poisson_count(n):
    table = _table(n)
    bytes_of = np.diff([0, *map(int, table.floors), 256])
    found = table.seldom * np.diff(table.rest, prepend=0.0)
    found[: len(bytes_of)] += (1 - table.seldom) * bytes_of / 256
    counts = np.arange(len(found))

    assert found == pytest.approx(stats.poisson.pmf(counts, found @ counts), abs=1e-12)
    assert 0 < table.seldom < 0.02


def test_kinds_of_cases_are_drawn_as_often_as_they_occur():
    frequency = np.array([1, 2, 3, 1, 1] * 12)
    rows = np.concatenate(list(resamples(np.random.default_rng(0), frequency, 20_000)))

    assert (rows.sum(axis=1) == frequency.sum()).all()
    assert rows.mean(axis=0) == pytest.approx(frequency, abs=5 * np.sqrt(3 / 20_000))
    assert rows.var(axis=0) == pytest.approx(frequency * (1 - frequency / frequency.sum()), rel=0.06)


def test_totals_of_whole_numbers_are_exact_in_single_precision():
    rng = np.random.default_rng(4)
    sums = rng.integers(-900, 900, (300, 11)).astype(float)
    weights = np.concatenate(list(resamples(rng, np.ones(300, dtype=np.int64), 50)))
    for scale in (1.0, 0.1, 1e6):
        found = OfSums(sums * scale, lambda total: total[:, 0]).totals([weights], 300)
        assert found == pytest.approx(weights.astype(float) @ (sums * scale), rel=1e-12)


def test_few_cases_that_carry_a_coefficient_leave_few_degrees_of_freedom():
    """Interval alpha of ratings in which three cases of forty carry all disagreement."""
    rows = [[4, 4]] * 20 + [[3, 3]] * 17 + [[1, 3], [1, 5], [2, 5]]
    grid, scale = on_scale(matrix(long_table(rows)))
    statistic, frequency = over_cases(alpha_coefficient(scale, "interval"), grid)
    value = float(statistic(frequency[None].astype(float))[0])
    found = jackknife(value, leave_one_out(statistic, frequency), frequency, CORRELATION)

    assert found is not None and found.freedom < 10
    low, high = found.bounds(0.95)
    assert -1 <= low <= value <= high <= 1


def students_t(value: float, each: np.ndarray, freedom_lost: float) -> np.ndarray:
    """Bounds from leaving one out, as Efron and Stein (1981) and the kurtosis of what is left out have it."""
    n, mean = len(each), each.mean()
    squared = (each - mean) ** 2
    freedom = min(n - 1 - freedom_lost, 2 * n / (np.mean(squared**2) / squared.mean() ** 2 - 1))
    bias = (n - 1) * (mean - value)
    error = np.sqrt((n - 1) * squared.sum() / n + bias**2 / 2)
    return value - bias / 2 + stats.t(freedom).ppf([0.025, 0.975]) * error


def test_kappas_of_several_pairs_of_raters_have_their_interval_on_the_arcsine_scale() -> None:
    rng = np.random.default_rng(4)
    scores = np.clip(np.round(3 + rng.normal(0, 1, (30, 1)) + rng.normal(0, 0.7, (30, 3))), 1, 5)

    def mean_kappa(rows: np.ndarray) -> float:
        pairs = combinations(rows.T, 2)
        return float(np.mean([cohen_kappa_score(a, b, weights="quadratic") for a, b in pairs]))

    without = np.arcsin([mean_kappa(np.delete(scores, row, axis=0)) for row in range(30)])
    seeded = Bootstrap(np.random.default_rng(0))
    found = cohen_kappa(long_table(scores), weighting="quadratic", bootstrap=seeded)

    assert found.value == pytest.approx(mean_kappa(scores))
    assert (found.low, found.high) == pytest.approx(np.sin(students_t(np.arcsin(found.value), without, 0)))


def test_percent_agreement_of_groups_has_its_interval_on_its_own_scale() -> None:
    rng = np.random.default_rng(5)
    agree = rng.random((12, 3)) < np.linspace(0.3, 0.9, 12)[:, None]
    scores = np.column_stack([np.arange(36) % 4, np.where(agree.ravel(), np.arange(36) % 4, 4)])
    grouped = long_table(scores.astype(float))
    grouped["group"] = grouped["case"].map(
        dict(zip(grouped["case"].unique(), np.arange(36) // 3, strict=True))
    )
    found = percent_agreement(grouped, bootstrap=Bootstrap(np.random.default_rng(0), by="group"))

    without = (agree.sum() - agree.sum(axis=1)) / 33
    assert found.value == pytest.approx(agree.mean())
    assert (found.low, found.high) == pytest.approx(students_t(agree.mean(), without, 0.5))


def test_fewer_resamples_than_an_interval_needs_give_none() -> None:
    """Thirty resamples have no p below 0.05, so an interval that excluded zero would contradict it."""
    ratings = long_table(np.column_stack([np.arange(12.0), np.arange(12.0) - 3]))
    for drawn, given in ((38, False), (39, True)):
        boot = Bootstrap(np.random.default_rng(0), drawn, kind="expanded")
        found, p = boot.estimate_and_p(
            lambda values: lambda weights: weights @ values[:, 0] / weights.sum(axis=1),
            matrix(ratings),
            method="mean",
            otherwise="",
        )
        assert np.isfinite(found.low) == given == np.isfinite(p)
        assert given or "too few" in found.note


@pytest.mark.parametrize("seed", range(40))
def test_a_p_is_below_its_level_exactly_where_the_interval_excludes_the_truth(seed: int) -> None:
    rng = np.random.default_rng(seed)
    drawn = np.sort(
        np.round(rng.normal(rng.uniform(-3, 3), 1, int(rng.integers(60, 400))), int(rng.integers(0, 3)))
    )
    read = Reading(drawn, rng.normal(0, 0.3), rng.normal(0, 0.05), [None, 12][seed % 2])
    for level in (0.05, 0.1, 0.2):
        low, high = read.bounds(1 - level)
        assert (read.p(0.0) < level) == (low > 0 or high < 0), (low, high, read.p(0.0))
