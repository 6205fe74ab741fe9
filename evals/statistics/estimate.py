"""The one shape in which every statistic leaves this folder."""

import math
from dataclasses import dataclass, replace

FEW_CASES = 10
"""Cases below which an estimate says how few there are, and is shown in grey."""


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
    p: float = math.nan
    """The two-sided p of a true value of zero, where the method has one."""
    of: int = 0
    """The cases that there were, of which `n` could be used; 0 where nobody counted."""
    unit: str = "cases"
    """What `n` and `of` count."""

    @property
    def defined(self) -> bool:
        return not math.isnan(self.value)

    @property
    def few(self) -> str:
        """How few of the cases it rests on, where these are fewer than ten or less than half; otherwise nothing."""
        if not self.defined or not self.of or (self.n >= FEW_CASES and 2 * self.n >= self.of):
            return ""
        return f"from {self.n} of {self.of} {self.unit}"

    def out_of(self, cases: int, unit: str = "cases") -> "Estimate":
        """The estimate, told how many cases there were, or scores: where it rests on few, its note begins with that."""
        estimate = replace(self, of=cases, unit=unit)
        return replace(estimate, note="; ".join(filter(None, (estimate.few, self.note))))


def undefined(note: str, *, method: str, n: int = 0, confidence: float = 0.95) -> Estimate:
    """An estimate that could not be made, and why."""
    return Estimate(math.nan, math.nan, math.nan, n, method, confidence, note)
