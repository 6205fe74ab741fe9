"""Minimum detectable effects: how large a difference between two systems a scenario can show."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.special import ndtri

ALPHA, POWER = 0.05, 0.8
FACTOR = float(ndtri(1 - ALPHA / 2) + ndtri(POWER))
"""How many standard errors a difference must be to be found with this power."""
TARGETS = (0.05, 0.02)
"""Differences for which the number of cases needed is given."""


@dataclass(frozen=True, slots=True)
class DetectableEffect:
    """The minimum detectable effect, on the scale from 0 to 1, of every pair of systems and over all of them.

    That of a pair whose scores lie equally far apart in every case is not known (NaN), and has no part in the mean.
    """

    mean: float
    sd: float
    """Over the pairs; NaN where there is one."""
    pairs: Mapping[tuple[str, str], float]
    n: int
    """Cases that a pair shares, at least."""

    def cases_needed(self, effect: float) -> int | None:
        """How many cases would bring the mean down to `effect`; None where nothing is known."""
        return None if math.isnan(self.mean) else math.ceil(self.n * (self.mean / effect) ** 2 - 1e-9)


def scenario_effect(cases: pd.DataFrame) -> DetectableEffect | None:
    """The effect that one scenario can show; None where no two systems share two cases.

    Args:
        cases: Cases as rows, systems as columns, scores from 0 to 1.

    References:
        Bedi et al. (2025), "MedHELM", appendix E.
    """
    pairs, shared = {}, []
    for first, second in combinations(cases.columns, 2):
        apart = (cases[first] - cases[second]).dropna().to_numpy(float)
        if len(apart) >= 2:
            spread = float(apart.std(ddof=1)) if np.ptp(apart) > 0 else math.nan
            pairs[first, second] = FACTOR * spread / math.sqrt(len(apart))
            shared.append(len(apart))
    return _over(pairs, min(shared)) if pairs else None


def board_effect(scenarios: Mapping[str, DetectableEffect]) -> DetectableEffect | None:
    """The effect on the macro average of these scenarios, for pairs that all of them have; None where no pair is.

    Scenarios are taken as they are: the effect says what other cases of the same scenarios would show.
    """
    found = list(scenarios.values())
    if not found:
        return None
    common = [pair for pair in found[0].pairs if all(pair in each.pairs for each in found)]
    pairs = {pair: math.sqrt(sum(each.pairs[pair] ** 2 for each in found)) / len(found) for pair in common}
    return _over(pairs, sum(each.n for each in found)) if pairs else None


def _over(pairs: Mapping[tuple[str, str], float], n: int) -> DetectableEffect:
    effects = np.array([effect for effect in pairs.values() if not math.isnan(effect)])
    mean = float(effects.mean()) if len(effects) else math.nan
    sd = float(effects.std(ddof=1)) if len(effects) > 1 else math.nan
    return DetectableEffect(mean, sd, pairs, n)
