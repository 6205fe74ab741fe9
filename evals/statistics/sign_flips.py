"""The sign-flip test of paired differences: were two things alike, each cluster's difference could as well have the other sign."""

import numpy as np

from .draws import Draws
from .matrix import FloatArray

EXACT = 14
"""Clusters that differ up to which all ways to flip are counted; beyond that they are drawn."""


def flip_p(sums: FloatArray, draws: Draws) -> float:
    """The one-sided mid-p of a mean above zero: 1 where nothing differs.

    Args:
        sums: One sum of differences for each cluster, which is flipped as a whole.

    References:
        Fisher (1935), "The Design of Experiments", section 21; Lancaster (1961), JASA 56:223-234, for the mid-p.
    """
    differing = sums[sums != 0]
    if not len(differing):
        return 1.0
    if len(differing) <= EXACT:
        ways = np.arange(2 ** len(differing))[:, None] >> np.arange(len(differing)) & 1
    else:
        ways = draws.rng().integers(0, 2, (max(draws.resamples, 2000), len(differing)))
        ways[0] = 0
    totals = (1 - 2 * ways) @ differing
    found, near = totals[0], 1e-12 * np.abs(differing).sum()
    return float(np.mean(totals > found + near) + np.mean(np.abs(totals - found) <= near) / 2)
