"""Power: the minimum detectable difference, and the sample size that a smaller one takes.

A paired design: every case is judged by both. With the standard deviation s of the difference in a case, n cases
detect (z[1 - alpha/2] + z[power]) s / sqrt(n), as in Appendix E of Bedi et al. (2025), "MedHELM".
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.special import ndtri

from ..statistics.matrix import FloatArray, IntArray
from .paired_means import by_cluster

EFFECTS = (0.05, 0.02)
"""The differences that `cases_for` answers."""
COLUMNS = [
    "first", "second", "n", "difference", "sd", "detectable", *(f"cases_for_{effect}" for effect in EFFECTS)
]  # fmt: skip


def detectable(sd: float, n: int, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The minimum detectable difference: the least true one that n cases show with that power.

    NaN without a case, or where no two differ: they do not show how far others would lie apart.
    """
    return _reach(alpha, power) * sd / math.sqrt(n) if n and sd > 0 else math.nan


def cases_for(effect: float, sd: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The sample size: how many cases show a true difference of `effect` with that power; two at least."""
    return (
        float(max(2, math.ceil((_reach(alpha, power) * sd / abs(effect)) ** 2 - 1e-9)))
        if effect
        else math.inf
    )


def pairs_power(
    pairs: Mapping[tuple[str, str], FloatArray], cluster: IntArray, *, widening: float = 1.0
) -> pd.DataFrame:
    """One row for each two arms, from their credits' difference on the same questions; cases or groups are the units.

    `widening` is what intervals of these differences are widened by; `sd` includes it.
    """
    rows = []
    for (first, second), difference in pairs.items():
        means = by_cluster(difference, cluster)
        means = means[~np.isnan(means)]
        n = len(means)
        sd = float(means.std(ddof=1)) * widening if n > 1 and np.ptp(means) > 0 else math.nan
        rows.append(
            {
                "first": first,
                "second": second,
                "n": n,
                "difference": float(means.mean()) if n else math.nan,
                "sd": sd,
                "detectable": detectable(sd, n),
                **{
                    f"cases_for_{effect}": int(cases_for(effect, sd)) if sd > 0 else math.nan
                    for effect in EFFECTS
                },
            }
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def typical(credits: FloatArray, cluster: IntArray) -> tuple[float, float]:
    """Mean and standard deviation, over the pairs of columns that differ, of the minimum detectable difference."""
    means = by_cluster(credits, cluster)
    found = []
    for first in range(means.shape[1]):
        gaps = means[:, first, None] - means[:, first + 1 :]
        n = (~np.isnan(gaps)).sum(axis=0)
        found += [detectable(float(np.nanstd(gap, ddof=1)), int(k)) for gap, k in zip(gaps.T, n, strict=True) if k > 1]  # fmt: skip
    found = [each for each in found if not math.isnan(each)]
    if not found:
        return math.nan, math.nan
    return float(np.mean(found)), float(np.std(found, ddof=1)) if len(found) > 1 else math.nan


def _reach(alpha: float, power: float) -> float:
    return float(ndtri(1 - alpha / 2) + ndtri(power))
