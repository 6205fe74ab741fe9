"""Whether jurors fail together: severe errors on the same cases, against what independent jurors would share."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import gammaln

from ..ratings.marks import Marks
from ..ratings.sheet import OVERALL
from ..statistics.draws import Draws
from ..statistics.matrix import FloatArray
from ..statistics.multiplicity import holm
from .severe import failures
from .severity import Severity

PAIRS = ["arm", "first", "second", "harmful", "both", "expected", "phi", "p", "p_holm", "note"]
JURIES = ["arm", "jurors", "harmful", "any", "most", "expected", "low", "high", "p", "note"]
FLAT = "a juror made no severe error, or nothing else"


def failing_pairs(marks: Marks, severity: Severity) -> pd.DataFrame:
    """One row for each two jurors of an arm: the harmful cases on which both made a severe error.

    `expected` is what independence would give; `p` is the one-sided hypergeometric chance of so many or more in
    common, given how often each fails, and `p_holm` the same after Holm's method over an arm's pairs.
    """
    found = []
    for arm, jurors in marks.jurors.items():
        whole = failures(marks, list(jurors), severity)[OVERALL]
        rows = []
        for (i, first), (j, second) in combinations(enumerate(jurors), 2):
            both = whole[~np.isnan(whole[:, i] + whole[:, j])] > 0
            rows.append((arm, first, second, *_overlap(both[:, i], both[:, j])))
        table = pd.DataFrame(rows, columns=[name for name in PAIRS if name != "p_holm"])
        found.append(table.assign(p_holm=holm(table["p"].tolist()))[PAIRS])
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=PAIRS)


def failing_juries(marks: Marks, severity: Severity, draws: Draws) -> pd.DataFrame:
    """One row for each arm: on how many harmful cases most of its jurors failed, of those where any did.

    `expected`, `low` and `high` are the mean and 95% range when each juror's errors are dealt to the cases anew;
    `p` is the share of such deals, the data among them, with as many cases or more.
    """
    found = []
    for arm, jurors in marks.jurors.items():
        whole = failures(marks, list(jurors), severity)[OVERALL]
        failed = whole[~np.isnan(whole).any(axis=1)]
        n = len(failed)
        if not n:
            found.append(
                (arm, len(jurors), 0, 0, 0, *[np.nan] * 4, "no harmful case that every juror judged")
            )
            continue
        most = int(_most(failed[None])[0])
        dealt = np.concatenate([_most(deal) for deal in _deals(failed, draws)])
        low, high = np.quantile(dealt, [0.025, 0.975])
        p = (1 + int((dealt >= most).sum())) / (1 + draws.resamples)
        note = "" if np.ptp(failed, axis=0).any() else FLAT
        row = (int(failed.any(axis=1).sum()), most, float(dealt.mean()), float(low), float(high), p, note)
        found.append((arm, len(jurors), n, *row))
    return pd.DataFrame(found, columns=JURIES)


def _overlap(first: np.ndarray, second: np.ndarray) -> tuple[object, ...]:
    n, k, m, both = len(first), int(first.sum()), int(second.sum()), int((first & second).sum())
    if not n:
        return 0, 0, np.nan, np.nan, np.nan, "no harmful case that both judged"
    if k in (0, n) or m in (0, n):
        return n, both, k * m / n, np.nan, np.nan, FLAT
    phi = (n * both - k * m) / np.sqrt(float(k * (n - k)) * m * (n - m))
    return n, both, k * m / n, phi, _chance_of_overlap(both, n, k, m), ""


def _chance_of_overlap(both: int, n: int, k: int, m: int) -> float:
    """The hypergeometric chance that k and m of n cases, drawn apart, have `both` in common or more."""
    shared = np.arange(both, min(k, m) + 1)
    shared = shared[m - shared <= n - k]
    ways = _log_ways(k, shared) + _log_ways(n - k, m - shared) - _log_ways(n, m)
    return min(float(np.exp(ways).sum()), 1.0)


def _log_ways(n: int, k: npt.ArrayLike) -> FloatArray:
    """The logarithm of how many ways there are to choose k of n."""
    chosen = np.asarray(k, dtype=float)
    return np.asarray(gammaln(n + 1) - gammaln(chosen + 1) - gammaln(n - chosen + 1))


def _most(failed: FloatArray) -> FloatArray:
    """In each deal, the cases on which more than half of the jurors failed."""
    return np.asarray((2 * failed.sum(axis=2) > failed.shape[2]).sum(axis=1), dtype=float)


def _deals(failed: FloatArray, draws: Draws, at_once: int = 200) -> list[FloatArray]:
    """Every juror's errors shuffled over the cases, apart from the others'."""
    rng, most = draws.rng(), draws.resamples
    sizes = [min(at_once, most - start) for start in range(0, most, at_once)]
    return [rng.permuted(np.repeat(failed[None], size, axis=0), axis=1) for size in sizes]
