"""What is worked out once for many estimates, or without scipy.stats, is what it is alone or with it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from venire.evals.statistics.alpha import krippendorff_alpha
from venire.evals.statistics.chance import cohen_kappa, percent_agreement
from venire.evals.statistics.classical_tests import wilcoxon_signed_rank
from venire.evals.statistics.classification import ClassAnswers, class_scores, f1_coefficient
from venire.evals.statistics.correlation import mean_ranks, spearman, stratified_spearman_statistic
from venire.evals.statistics.error import mae, offset
from venire.evals.statistics.icc import icc
from venire.evals.statistics.jackknife import RATIO, Jackknife
from venire.evals.statistics.matrix import Matrix, matrix
from venire.evals.statistics.pairs import pair_tables
from venire.evals.statistics.weighted import over_clusters


def ratings(words: bool = False) -> pd.DataFrame:
    """Thirty cases in ten groups, two raters, one of whom left some out."""
    rng = np.random.default_rng(4)
    first = rng.integers(1, 6, 30)
    second = np.clip(first + rng.integers(-1, 2, 30), 1, 5)
    values = pd.Series([*first, *second]).map("-abcde".__getitem__) if words else np.append(first, second)
    table = pd.DataFrame(
        {"case": [*range(30)] * 2, "cluster": [n // 3 for n in range(30)] * 2, "rater": ["a"] * 30 + ["b"] * 30, "value": values}
    )  # fmt: skip
    return table.drop(index=[33, 41])


@pytest.mark.parametrize("by", ["case", "cluster"])
@pytest.mark.parametrize(
    "estimate",
    [
        lambda given, boot: icc(given, form="icc3k", jackknife=boot),
        lambda given, boot: cohen_kappa(given, weighting="quadratic", jackknife=boot, raters=("a", "b")),
        lambda given, boot: cohen_kappa(given, jackknife=boot, raters=("b", "a")),
        lambda given, boot: krippendorff_alpha(given, level="ordinal", jackknife=boot),
        lambda given, boot: spearman(given, jackknife=boot),
        lambda given, boot: offset(given, jackknife=boot, raters=("b", "a")),
        lambda given, boot: mae(given, jackknife=boot),
        lambda given, boot: percent_agreement(given, jackknife=boot),
    ],
)
def test_an_estimate_of_a_matrix_is_that_of_its_table(estimate, by) -> None:
    table = ratings()

    of_table = estimate(table, Jackknife(by=by))
    of_matrix = estimate(matrix(table, by="cluster"), Jackknife(by=by))

    assert of_table == of_matrix and of_table.defined


@pytest.mark.parametrize("words", [False, True])
def test_columns_side_by_side_are_the_matrix_of_what_both_rated(words) -> None:
    table = ratings(words)
    wide = table.pivot(index="case", columns="rater", values="value")

    found = Matrix.of_columns({"a": wide["a"], "b": wide["b"]}, [f"g{case // 3}" for case in wide.index])
    whole = matrix(table, by="cluster").complete()

    assert np.array_equal(found.values, whole.values) and found.labels == whole.labels
    assert found.cases == whole.cases and np.array_equal(found.cluster, whole.cluster)


def test_ranks_and_the_signed_rank_test_are_scipys() -> None:
    rng = np.random.default_rng(0)
    for number in range(60):
        n = int(rng.integers(2, 70))
        gap = rng.normal(0.2, 1, n) if number % 2 else rng.integers(-3, 4, n).astype(float)
        moved = gap[gap != 0]
        if not len(moved):
            continue
        exact = len(moved) <= 50 and len(np.unique(np.abs(moved))) == len(moved)
        rows = {"case": [*range(n)] * 2, "rater": ["a"] * n + ["b"] * n, "value": [*gap, *[0.0] * n]}

        found = wilcoxon_signed_rank(pd.DataFrame(rows), raters=("a", "b"))

        expected = stats.wilcoxon(moved, method="exact" if exact else "asymptotic")
        assert (found.statistic, found.p) == pytest.approx((expected.statistic, expected.pvalue), abs=1e-12)
        assert np.array_equal(mean_ranks(gap), stats.rankdata(gap))


def test_the_f1_of_every_class_is_that_of_the_class_alone() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, 40)
    said = np.where(rng.random(40) < 0.7, truth, rng.integers(-1, 3, 40))
    cluster = np.arange(40) // 2

    scores = class_scores(ClassAnswers(said, truth, cluster), 4)

    grid = Matrix(np.column_stack([said, truth]).astype(float), tuple(range(40)), ("said", "truth"), cluster)
    for place in range(3):
        coefficient = f1_coefficient(np.array([float(place)]))
        alone = Jackknife().estimate(coefficient, grid, method="F1 of a class", otherwise="", transform=RATIO)
        assert (scores[place].low, scores[place].high) == pytest.approx((alone.low, alone.high))
    assert not scores[3].defined and "neither" in scores[3].note


def test_strata_take_the_weights_of_clusters() -> None:
    rng = np.random.default_rng(2)
    values = np.column_stack([rng.integers(1, 6, (24, 2)), np.arange(24) % 3]).astype(float)
    cluster = np.arange(24) // 4
    grid = Matrix(values, tuple(range(24)), ("x", "y", "stratum"), cluster)
    weights = rng.integers(0, 3, (5, 6)).astype(float)

    def coefficient(rows):
        return stratified_spearman_statistic(rows[:, 0], rows[:, 1], rows[:, 2].astype(np.int64))

    statistic, _ = over_clusters(coefficient, grid)

    assert statistic(weights) == pytest.approx(coefficient(values)(weights[:, cluster]))


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("points", [5, 400])
def test_what_pairs_share_without_a_cluster_is_what_the_others_leave(points, size) -> None:
    rng = np.random.default_rng(5)
    values = rng.integers(1, points + 1, (20, 13)).astype(float)
    values[rng.random(values.shape) < 0.4] = np.nan
    cluster = np.arange(20) // size
    grid = Matrix(values, tuple(range(20)), tuple(f"r{n:02}" for n in range(13)), cluster)

    seen = 0
    for tables in pair_tables(grid):
        first, second = tables.values
        for place, cluster_out, row in zip(tables.pair, tables.cluster, tables.row, strict=True):
            x, y = tables.raters[place]
            kept = values[cluster != cluster_out]
            left = [((kept[:, x] == a) & (kept[:, y] == b)).sum() for a, b in zip(first, second, strict=True)]
            assert np.array_equal(tables.counts[row], left)
            seen += 1
        shared = ~np.isnan(values[:, tables.raters[:, 0]] + values[:, tables.raters[:, 1]])
        assert np.array_equal(tables.shared, shared.sum(axis=0))
        assert np.array_equal(tables.counts[: len(tables.raters)].sum(axis=1), tables.shared)
    both = ~np.isnan(values[:, :, None] + values[:, None, :])
    met = np.array([both[cluster == each].any(axis=0) for each in range(cluster[-1] + 1)])
    assert seen == np.triu(met, 1).sum()
