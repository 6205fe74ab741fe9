"""Where a score lies on its scale, and how it is written."""

from __future__ import annotations

from dataclasses import dataclass

from ..evals.report.drawing import amount
from ..rubrics.rubric import Rubric
from ..rubrics.scale import NOT_APPLICABLE, Value, value_words


def score_words(value: Value | None, *, pair: bool = False) -> str:
    """A score as words: three digits, n/a, or a dash for none; of a pair, A, tie or B."""
    if value is None:
        return "–"
    if value == NOT_APPLICABLE:
        return "n/a"
    if pair:
        return value_words(value, pair=True)
    return value if isinstance(value, str) else amount(value, 3)


def difference_words(value: float, places: int = 2) -> str:
    """A difference with its sign; what rounds to zero is never below it."""
    return f"{round(value, places) + 0.0:+.{places}f}"


@dataclass(frozen=True, slots=True)
class ScalePositions:
    """An attribute's scale as a line from 0, its lowest answer, to 1, its highest. `not_applicable` lies below it."""

    ticks: tuple[tuple[Value, float], ...]
    low: float
    high: float

    @classmethod
    def of(cls, rubric: Rubric, attribute: str) -> ScalePositions:
        scale = rubric.scale_of(attribute)
        if scale.ordered:
            low, high = (float(end) for end in scale.ends)
            values = scale.values or scale.ends
            return cls(tuple((v, (float(v) - low) / (high - low)) for v in values), low, high)
        last = max(len(scale.values) - 1, 1)
        return cls(tuple((v, number / last) for number, v in enumerate(scale.values)), 0.0, float(last))

    def at(self, value: Value) -> float:
        for tick, place in self.ticks:
            if tick == value:
                return place
        if isinstance(value, str):
            return -0.35
        return min(1.0, max(0.0, (float(value) - self.low) / (self.high - self.low)))
