"""The one shape in which every statistic leaves this folder."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic, how sure we are of it, and how it was made."""

    value: float
    low: float
    high: float
    n: int
    method: str
    confidence: float = 0.95
    note: str = ""
    """Why `value` (or its interval) is NaN, when it is; otherwise what a reader must know."""
    se: float = math.nan
    """The standard error, where the method has one."""

    @property
    def defined(self) -> bool:
        return not math.isnan(self.value)


def undefined(note: str, *, method: str, n: int = 0, confidence: float = 0.95) -> Estimate:
    """An estimate that could not be made, and why."""
    return Estimate(math.nan, math.nan, math.nan, n, method, confidence, note)
