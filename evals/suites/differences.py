"""Differences of systems with intervals: on each scenario by the cases that both answered, and on the macro average."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from ..statistics.estimate import Estimate
from ..statistics.significance import LEVEL, holm, interval_phrase, p_words, signed_number

MACRO = "macro average"
METHOD = "paired t over cases"
MACRO_METHOD = (
    "mean of the scenarios' paired differences, Satterthwaite's t; the scenarios are taken as fixed"
)
_ALIKE = "the two systems' scores differ by the same amount in every case"


@dataclass(frozen=True, slots=True)
class SystemDifference:
    """How far the first system is ahead of the second, on the scale from 0 (worst) to 1 (best)."""

    scenario: str
    """Or `MACRO`."""
    first: str
    second: str
    estimate: Estimate
    p_holm: float
    """Over all pairs on the macro average; over all pairs and scenarios elsewhere."""

    @property
    def ahead(self) -> str | None:
        """The system that is demonstrably ahead; None where neither is."""
        if not self.p_holm < LEVEL:
            return None
        return self.first if self.estimate.value > 0 else self.second

    def __str__(self) -> str:
        found = self.estimate
        return (
            f"{self.first} minus {self.second}, {self.scenario}: {signed_number(found.value, 3)} "
            f"({interval_phrase(found.low, found.high, '.3f')}, {p_words(self.p_holm)})"
        )


def system_differences(cases: Mapping[str, pd.DataFrame], *, whole: bool) -> tuple[SystemDifference, ...]:
    """Every pair on every scenario and, where the scenarios are the `whole` of the macro average, on that.

    Args:
        cases: By scenario, its cases as rows, systems as columns, scores from 0 to 1.

    References:
        Satterthwaite (1946), Biometrics Bulletin 2:110-114.
    """
    scores = {
        name: {system: frame[system].to_numpy(float) for system in frame.columns}
        for name, frame in cases.items()
    }
    systems = list(dict.fromkeys(system for columns in scores.values() for system in columns))
    parts: list[SystemDifference] = []
    macro: list[SystemDifference] = []
    for first, second in combinations(systems, 2):
        found = {}
        for name, columns in scores.items():
            gaps = columns[first] - columns[second]
            gaps = gaps[~np.isnan(gaps)]
            if len(gaps):
                found[name] = _mean_gap(gaps)
                parts.append(SystemDifference(name, first, second, found[name], math.nan))
        if whole and len(found) == len(scores) > 1:
            macro.append(SystemDifference(MACRO, first, second, _macro_gap(list(found.values())), math.nan))
    return (*_with_holm(macro), *_with_holm(parts))


def macro_leader(differences: tuple[SystemDifference, ...]) -> str | None:
    """The system that is demonstrably ahead of every other on the macro average; None where there is none."""
    macro = [each for each in differences if each.scenario == MACRO]
    systems = {name for each in macro for name in (each.first, each.second)}
    ahead = [each.ahead for each in macro]
    return next((name for name in systems if ahead.count(name) == len(systems) - 1), None)


def _with_holm(family: list[SystemDifference]) -> list[SystemDifference]:
    corrected = holm([each.estimate.p for each in family])
    return [replace(each, p_holm=float(p)) for each, p in zip(family, corrected, strict=True)]


def _mean_gap(gaps: np.ndarray) -> Estimate:
    n, mean = len(gaps), float(gaps.mean())
    if n < 2 or np.ptp(gaps) == 0:
        note = "only one case" if n < 2 else _ALIKE
        same = math.nan if n < 2 or mean else 1.0
        return Estimate(mean, math.nan, math.nan, n, METHOD, note=f"no interval: {note}", p=same)
    return _estimate(mean, float(gaps.std(ddof=1)) / math.sqrt(n), n - 1, n, METHOD)


def _macro_gap(found: list[Estimate]) -> Estimate:
    mean, n = float(np.mean([each.value for each in found])), sum(each.n for each in found)
    errors = np.array([0.0 if each.note.endswith(_ALIKE) else each.se for each in found]) / len(found)
    if not (errors > 0).any() or np.isnan(errors).any():
        return Estimate(
            mean,
            math.nan,
            math.nan,
            n,
            MACRO_METHOD,
            note="no interval: the two systems' scores differ in too few cases",
        )
    variance = float((errors**2).sum())
    freedom = variance**2 / sum(error**4 / (each.n - 1) for error, each in zip(errors, found, strict=True))
    return _estimate(mean, math.sqrt(variance), freedom, n, MACRO_METHOD)


def _estimate(mean: float, error: float, freedom: float, n: int, method: str) -> Estimate:
    reach = float(stdtrit(freedom, 0.975)) * error
    p = 2 * float(stdtr(freedom, -abs(mean) / error))
    return Estimate(mean, mean - reach, mean + reach, n, method, se=error, p=p)
