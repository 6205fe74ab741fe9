"""Paired tests: two arms judged on the same cases, their difference with an interval and a p that never contradict it.

The statistic is the difference over its jackknife standard error, whole clusters left out. Were the arms
interchangeable, swapping their scores within any cluster would change nothing but chance; so the statistic is held
against its own distribution over such swaps (all of them where they are few, draws by seed otherwise). Interval and p
are read from that one distribution: p is below 0.05 exactly where the 95% interval excludes 0.
"""

import math
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from .bootstrap import Coefficient, OfSums, Statistic, distinct_rows
from .draws import Draws
from .estimate import Estimate, undefined
from .matrix import FloatArray, IntArray
from .significance import LEVEL, shown_sign
from .stratified import OfStrata

MANY = 100
"""Beyond so many clusters the studentised difference is Student's t closely enough, and no swap is drawn."""
WORK, FEWEST_SWAPS = 2_000_000, 199
"""The most that is spent on swaps, as their number times clusters times what each adds, and the fewest swaps that serve. A
measure that is no function of a few sums (ranks of many distinct scores) gets fewer than asked for or, beyond, none."""
LEAST_CLUSTERS = 7
"""Clusters below which no interval is given. Of five or six that differ, the rarest swaps are one in sixteen, so that
arms which do not differ would be told apart in 6% of studies; from seven on it is 5% or less, and
`benchmarks/null_studies.py` shows that intervals hold."""
STRICT = 0.85
"""The least part of the plain p that p may be. Scores of few values leave swaps that are equally extreme, and where many
are, the mid-p alone would claim up to twice as often as its level; so a test at 5% claims in 5.9% at most."""
SWAPPED = "arms swapped in"
"""What the method of a difference says where swaps were drawn or listed."""
BLOCK = 60_000
"""Sums held at a time: few enough to stay in the processor's cache."""
WORD = 62
"""Clusters whose swaps can be written as one number."""

Swaps = npt.NDArray[np.bool_]
"""One row for each way to swap, one column a cluster."""


class Contrast(NamedTuple):
    """A difference with its interval, and the two-sided p of there being none."""

    difference: Estimate
    p: float

    @property
    def shown(self) -> float:
        """The sign of the difference where it is shown; 0 where it is not, NaN where that cannot be told."""
        return shown_sign(self.difference.value, self.p)


def swap_test(
    measure: Coefficient,
    first: FloatArray,
    second: FloatArray,
    cluster: IntArray,
    *,
    draws: Draws,
    method: str,
    otherwise: str,
    confidence: float = 0.95,
) -> Contrast:
    """The measure of `first` minus that of `second`, tested by swapping the two within clusters.

    Ties need no rule: clusters on which the arms agree are the same after a swap. p is the mid-p, which counts half of
    the swaps that are exactly as extreme; without it a test on few differing clusters is far below its level. Where many
    are exactly as extreme, most of the plain p (`STRICT`) takes its place.

    Args:
        measure: From rows of cases to the measure as a function of how often each counts. It is made once, for the
            rows of both arms together.
        first: One row a case, such as an arm's score and the people's.
        second: The same cases in the same order.
        cluster: For each case, the number of the cluster that is swapped and left out as a whole.
        otherwise: Why the difference is NaN, should it be.

    Returns:
        Neither interval nor p, and a note, where too few clusters differ between the arms for a claim.

    References:
        Chung and Romano (2013), "Exact and asymptotically robust permutation tests", Annals of Statistics 41:484-507.
        Lancaster (1961), "Significance tests in discrete distributions", JASA 56:223-234, for the mid-p.
    """
    n = len(first)
    if not n:
        return Contrast(undefined(otherwise, method=method, confidence=confidence), np.nan)
    arms = _Arms.of(measure, first, second, cluster)
    _, width, clusters = arms.sums.shape
    affordable = WORK // (clusters * width)
    by_t = clusters > MANY or affordable < FEWEST_SWAPS
    differing = np.flatnonzero((arms.sums[0] != arms.sums[1]).any(axis=0))
    affordably = replace(draws, resamples=min(draws.resamples, affordable))
    swaps, drawn = np.zeros((1, clusters), dtype=bool), ""
    if not by_t and len(differing) >= LEAST_CLUSTERS:
        swaps, drawn = _swaps(tuple(differing.tolist()), clusters, affordably)
    # The first row swaps nothing, and is of the data.
    found = arms.studentise(swaps)
    gap, error = float(found.gap[0]), float(found.error[0])
    if by_t or np.isnan(gap + error):
        return _by_t(gap, error, clusters, n, method, otherwise, confidence)
    if clusters < LEAST_CLUSTERS or 0 < len(differing) < LEAST_CLUSTERS:
        note = _too_few(len(differing), clusters, n)
        return Contrast(Estimate(gap, np.nan, np.nan, n, method, confidence, note, se=error), np.nan)
    if not len(differing):
        note = f"no interval: the two are the same on all {_clusters(clusters, n)}"
        return Contrast(Estimate(gap, np.nan, np.nan, n, method, confidence, note), 1.0)
    null = found.size
    sizes, chances = _p_values(null)
    told = f"{method}; jackknife over {_clusters(clusters, n)}, {SWAPPED} {drawn}"
    reach = _critical(sizes, chances, 1 - confidence) * error
    if not np.isfinite(reach):
        few = affordably.resamples < fewest_resamples(1, 1 - confidence)
        note = (
            f"no interval: {affordably.resamples} resamples are too few for one of {confidence:.0%}"
            if few
            else _too_few(len(differing), clusters, n)
        )
        return Contrast(Estimate(gap, np.nan, np.nan, n, told, confidence, note, se=error), np.nan)
    p = float(chances[np.searchsorted(sizes, null[0])])
    if np.isinf(null[0]):
        return Contrast(Estimate(gap, np.nan, np.nan, n, told, confidence, _alike(clusters, n)), p)
    return Contrast(Estimate(gap, gap - reach, gap + reach, n, told, confidence, se=error), p)


def fewest_resamples(tests: int, level: float = LEVEL) -> int:
    """The resamples below which no swap test can fall below `level` once it is corrected for so many tests by Holm's method."""
    return math.floor(STRICT * tests / level + 1e-9)


def jackknife_test(
    coefficient: Coefficient,
    values: FloatArray,
    cluster: IntArray,
    *,
    method: str,
    otherwise: str,
    confidence: float = 0.95,
) -> Contrast:
    """A coefficient that is zero where there is no difference, over its jackknife error, against Student's t.

    For changes whose two sides cannot be swapped, such as a panel with and without one more rater.
    """
    n = len(values)
    clusters = int(cluster.max()) + 1 if n else 0
    if not n:
        return Contrast(undefined(otherwise, method=method, confidence=confidence), np.nan)
    counted = np.vstack([np.ones(clusters), 1 - np.eye(clusters)])
    found = coefficient(values)(counted[:, cluster])
    return _by_t(
        float(found[0]), float(_jackknife(found[None, 1:])[0]), clusters, n, method, otherwise, confidence
    )


class _Studentised(NamedTuple):
    gap: FloatArray
    error: FloatArray

    @property
    def size(self) -> FloatArray:
        """The gap over its error, without sign; what is undefined counts as the most extreme."""
        gap, error = np.abs(self.gap), self.error
        nothing, exact = gap < 1e-12, error < 1e-9 * np.maximum(gap, 1e-12)
        ratio = np.divide(gap, error, out=np.full(len(gap), np.inf), where=~exact & ~np.isnan(error))
        return np.where(nothing, 0.0, np.round(np.where(np.isnan(gap), np.inf, ratio), 9))


class _Arms(NamedTuple):
    """What each cluster adds to the sums of each arm: (arm, sum, cluster); and the measure of totals."""

    sums: FloatArray
    measure: Statistic | OfStrata

    @classmethod
    def of(cls, measure: Coefficient, first: FloatArray, second: FloatArray, cluster: IntArray) -> "_Arms":
        rows = np.vstack([first, second])
        statistic = measure(rows)
        of_totals: Statistic | OfStrata
        if isinstance(statistic, OfSums):
            sums, of_totals = statistic.sums, statistic.value
        else:
            kinds, kind = distinct_rows(rows)
            sums, of_totals = np.eye(len(kinds))[kind], measure(kinds)
        added = np.zeros((2, int(cluster.max()) + 1, sums.shape[1]))
        if added.shape[1] == len(first):
            added[0, cluster], added[1, cluster] = sums[: len(first)], sums[len(first) :]
        else:
            np.add.at(added[0], cluster, sums[: len(first)])
            np.add.at(added[1], cluster, sums[len(first) :])
        return cls(np.ascontiguousarray(added.transpose(0, 2, 1)), of_totals)

    def studentise(self, swaps: Swaps) -> _Studentised:
        """The difference after each row of swaps, with its jackknife error."""
        if isinstance(self.measure, OfStrata):
            return _studentise_sides(*_strata_sides(self.sums, self.measure, swaps))
        _, width, clusters = self.sums.shape
        step = max(1, BLOCK // (clusters * width))
        parts = [
            _studentise_sides(
                *(
                    _side(arm, self.measure, swaps[start : start + step])
                    for arm in (self.sums, self.sums[::-1])
                )
            )
            for start in range(0, len(swaps), step)
        ]
        return _Studentised(*(np.concatenate(each) for each in zip(*parts, strict=True)))


class _Side(NamedTuple):
    """The measure of one arm after each row of swaps, and the same without each cluster in turn: (cluster, row)."""

    whole: FloatArray
    without: FloatArray


def _side(sums: FloatArray, measure: Statistic, swaps: Swaps) -> _Side:
    """One arm's side: `sums` are its own and then the other's. The rows of swaps come last, so that arithmetic runs along them."""
    swapped = np.ascontiguousarray(swaps.T)
    mine = np.where(swapped, sums[1][:, :, None], sums[0][:, :, None])
    total = mine.sum(axis=1)
    np.subtract(total[:, None, :], mine, out=mine)
    without = measure(mine.reshape(len(mine), -1).T)
    return _Side(measure(total.T), without.reshape(mine.shape[1:] + without.shape[1:]))


def _strata_sides(sums: FloatArray, measure: OfStrata, swaps: Swaps) -> tuple[_Side, _Side]:
    """Both arms' sides of a measure by strata: a cluster that is left out changes only the strata it is in.

    A stratum of few clusters is in few states, whatever is swapped; each state is worked out once, for both arms together.
    """
    _, _, clusters = sums.shape
    own, other = (measure.of_cases(arm) for arm in sums)
    present, group = np.unique((own + other).any(axis=1), axis=0, return_inverse=True)
    # By sum, arm, cluster and row of swaps, so that arithmetic runs along the rows.
    whole = np.zeros((measure.width, 2, 1, len(swaps)))
    change = np.zeros((measure.width, 2, clusters, len(swaps)))
    for number, clusters_here in enumerate(present):
        held, strata = np.flatnonzero(clusters_here), np.flatnonzero(group.ravel() == number)
        states, state = _states(swaps[:, held])
        # What is swapped out of one arm is swapped into the other.
        swapped = np.ascontiguousarray(np.concatenate([states, ~states]).T)
        mine = np.where(swapped, *(arm[strata][:, :, held, None] for arm in (other, own)))
        total = mine.sum(axis=2)
        left_out = (total[:, :, None] - mine).reshape(*total.shape[:2], -1)
        together = measure.part(strata, total).sum(axis=0).T.reshape(measure.width, 2, 1, -1)
        apart = measure.part(strata, left_out).sum(axis=0).T.reshape(measure.width, len(held), 2, -1)
        whole += together.take(state, axis=-1)
        change[:, :, held] += (apart.swapaxes(1, 2) - together).take(state, axis=-1)
    change += whole
    values, without = (measure.value(each.reshape(measure.width, -1).T) for each in (whole, change))
    first, second = map(_Side, values.reshape(2, -1), without.reshape(2, clusters, -1))
    return first, second


def _states(swaps: Swaps) -> tuple[Swaps, IntArray]:
    """The distinct rows of swaps and, for each row, which of them it is."""
    if swaps.shape[1] > WORD:
        return swaps, np.arange(len(swaps))
    key = swaps @ (1 << np.arange(swaps.shape[1]))
    _, first, state = np.unique(key, return_index=True, return_inverse=True)
    return swaps[first], state


def _studentise_sides(one: _Side, other: _Side) -> _Studentised:
    return _Studentised(one.whole - other.whole, _jackknife((one.without - other.without).T))


def _jackknife(without: FloatArray) -> FloatArray:
    """The standard error from values without one cluster each, row by row; NaN where one is undefined."""
    clusters = without.shape[1]
    apart = without - without.mean(axis=1, keepdims=True)
    return np.sqrt((clusters - 1) / clusters * (apart**2).sum(axis=1))


@lru_cache(maxsize=32)
def _swaps(differing: tuple[int, ...], clusters: int, draws: Draws) -> tuple[Swaps, str]:
    """Rows that mark the clusters to swap, the first marking none, and how they came about.

    A row and its complement differ by sign only; so the first differing cluster stays when all are listed. Arms and
    measures of one comparison share clusters and seed, hence the swaps.
    """
    free = len(differing) - 1
    if 2**free <= draws.resamples:
        chosen = np.arange(2**free)[:, None] >> np.arange(free) & 1
        swaps = np.zeros((2**free, clusters), dtype=bool)
        swaps[:, differing[1:]] = chosen.astype(bool)
        return swaps, f"all {2 ** (free + 1)} ways"
    swaps = np.zeros((draws.resamples + 1, clusters), dtype=bool)
    swaps[1:, differing] = draws.rng().random((draws.resamples, len(differing))) < 0.5
    return swaps, f"{draws.resamples} random ways"


def _p_values(null: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The distinct sizes of the null in order, and the mid-p of each: the share of the null that is larger, and half of what is
    as large; but `STRICT` of all."""
    sizes, count = np.unique(null, return_counts=True)
    reached = count[::-1].cumsum()[::-1]
    return sizes, np.maximum(reached - count / 2, STRICT * reached) / len(null)


def _critical(sizes: FloatArray, p: FloatArray, level: float) -> float:
    """The size beyond which p is below the level: between the largest that is not and the smallest that is."""
    # 1 - 0.95 is a hair above 0.05, and a p of exactly 0.05 is no claim.
    rare = p < level - 1e-12
    if not rare.any():
        return np.inf
    last = float(sizes[~rare].max(initial=0.0))
    return min((last + float(sizes[rare][0])) / 2, 2 * last)


def _by_t(
    gap: float, error: float, clusters: int, n: int, method: str, otherwise: str, confidence: float
) -> Contrast:
    if np.isnan(gap):
        return Contrast(undefined(otherwise, method=method, n=n, confidence=confidence), np.nan)
    told = f"{method}; jackknife over {_clusters(clusters, n)}, Student's t"
    if clusters < LEAST_CLUSTERS or np.isnan(error):
        note = (
            _too_few(clusters, clusters, n)
            if clusters < LEAST_CLUSTERS
            else "no interval: all but one case leave it undefined"
        )
        return Contrast(Estimate(gap, np.nan, np.nan, n, told, confidence, note), np.nan)
    size = float(_Studentised(np.array([gap]), np.array([error])).size[0])
    if error < 1e-9 * max(abs(gap), 1e-3):
        p = 1.0 if size == 0 else 2.0 ** (1 - clusters)
        return Contrast(Estimate(gap, np.nan, np.nan, n, told, confidence, _alike(clusters, n)), p)
    reach = float(stdtrit(clusters - 1, (1 + confidence) / 2)) * error
    p = float(2 * stdtr(clusters - 1, -size))
    return Contrast(Estimate(gap, gap - reach, gap + reach, n, told, confidence, se=error), p)


def _clusters(clusters: int, n: int) -> str:
    return f"{clusters} {'cases' if clusters == n else 'groups'}"


def _alike(clusters: int, n: int) -> str:
    return f"no interval: all {_clusters(clusters, n)} say the same"


def _too_few(differing: int, clusters: int, n: int) -> str:
    what = "cases" if clusters == n else "groups of cases"
    if clusters < LEAST_CLUSTERS:
        return f"no interval: {clusters} {what} cannot tell a difference from chance; more are needed"
    return f"no interval: the two differ on {differing} of {clusters} {what}, too few to tell from chance; more are needed"
