"""What a rating answers: an attribute's scale, its good end, its classes, and what answers are worth by its costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...rubrics.rubric import Rubric
from ...rubrics.scale import NOT_APPLICABLE, Scale, Value
from ..statistics.classification import ABSTAINED, with_abstention
from ..statistics.matrix import FloatArray, IntArray


class Question(NamedTuple):
    """An attribute's scale, and which end of it is the good one."""

    scale: Scale
    better: Literal["high", "low"]
    pair: bool = False
    """Whether it asks which of two outputs is better: neither end is then the good one."""


def rubric_questions(*rubrics: Rubric, only: Iterable[str] | None = None) -> dict[str, Question]:
    """The questions that the rubrics ask, by attribute; where two ask the same, the first's counts."""
    names = None if only is None else set(only)
    return {
        attribute.name: Question(rubric.scale_of(attribute.name), attribute.better, rubric.compares)
        for rubric in reversed(rubrics)
        for attribute in rubric.attributes
        if names is None or attribute.name in names
    }


def half_step(scale: Scale) -> float | None:
    """Half of the shortest distance between two values of the scale, 0 where any number is legal; None for words."""
    if not scale.numeric:
        return None
    steps = [float(b) - float(a) for a, b in zip(scale.values, scale.values[1:], strict=False)]
    return min(steps, default=0.0) / 2


def off_scale(values: pd.Series, scale: Scale) -> pd.Series:
    """Which of a juror's values are no legal answer, as a ballot is checked; blank and `not_applicable` are none to check."""
    has_value = values.notna() & ~values.astype(str).isin(["", NOT_APPLICABLE])
    if not scale.numeric:
        return has_value & ~values.astype(str).isin(list(map(str, scale.values)))
    numbers = pd.to_numeric(values.where(has_value), errors="coerce")
    if scale.values:
        return has_value & ~numbers.isin(list(scale.values))
    low, high = map(float, scale.ends)
    return has_value & ~numbers.between(low, high)


def assumed_question(
    values: pd.Series, level: str | None, categories: Sequence[Value] = ()
) -> Question | None:
    """What ratings without a rubric seem to answer; None where they are the same throughout.

    Words are nominal, 0 and 1 a binary scale, other numbers an interval between the lowest and the highest.
    """
    numbers = pd.to_numeric(values, errors="coerce")
    words = bool(numbers.isna().any())
    values_seen = sorted(set(map(str, values))) if words else sorted(set(numbers.astype(float)))
    if len(values_seen) < 2:
        return None
    legal = list(categories) or values_seen
    if words or level == "nominal":
        scale = Scale(level="nominal", anchors={value: str(value) for value in legal})
    elif len(legal) == 2 and (level == "binary" or (level is None and set(legal) == {0.0, 1.0})):
        scale = Scale(level="binary", anchors={value: str(value) for value in legal})
    else:
        scale = Scale(level="interval", minimum=values_seen[0], maximum=values_seen[-1])
    return Question(scale, "high")


def nearest_legal(values: FloatArray, legal: Sequence[float]) -> FloatArray:
    """Each value at the nearest legal one, the lower of two that are as near."""
    points = np.asarray(legal, dtype=float)
    return points[np.abs(values[..., None] - points).argmin(axis=-1)]


def class_places(values: pd.Series, scale: Scale) -> IntArray:
    """Each value's place among the scale's, -1 where there is none.

    A number between two legal ones counts as the nearest, in the middle as the lower.
    """
    if not scale.numeric:
        places = {str(value): place for place, value in enumerate(scale.values)}
        return np.array([places.get(str(value), ABSTAINED) for value in values], dtype=np.int64)
    steps = np.array([float(value) for value in scale.values])
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(float)
    return np.where(np.isnan(numbers), ABSTAINED, _places(numbers, steps))


@dataclass(frozen=True, slots=True)
class RewardTable:
    """A cost matrix as an array, over the values of its scale."""

    values: tuple[Value, ...]
    worth: FloatArray
    """By the right answer (row) and the answer given (column), in the order of `values`."""
    abstention: float

    @classmethod
    def of(cls, scale: Scale) -> RewardTable | None:
        """The costs of a scale; None where it has none."""
        if scale.costs is None:
            return None
        worth = [[scale.costs.reward(true, value) for value in scale.values] for true in scale.values]
        return cls(scale.values, np.array(worth, dtype=float), scale.costs.abstention)

    def rewards(self, said: npt.ArrayLike, truth: npt.ArrayLike) -> FloatArray:
        """What each answer on a scale of numbers is worth, for arrays of any shape that fit each other.

        A value between two counts as the nearest, in the middle as the lower. NaN in `said` is an abstention; NaN in
        `truth` is no right answer, and what is said there is worth NaN.
        """
        steps = np.array([float(value) for value in self.values])
        answers, truths = np.broadcast_arrays(np.asarray(said, dtype=float), np.asarray(truth, dtype=float))
        places = np.where(np.isnan(answers), ABSTAINED, _places(answers, steps))
        paid = with_abstention(self.worth, self.abstention)[_places(truths, steps), places]
        return np.where(np.isnan(truths), np.nan, paid)


def _places(numbers: FloatArray, steps: FloatArray) -> IntArray:
    """The place of the nearest step; of NaN, any."""
    nearest = nearest_legal(np.nan_to_num(numbers, nan=steps[0]).ravel(), list(steps))
    return np.searchsorted(steps, nearest).reshape(numbers.shape).astype(np.int64)
