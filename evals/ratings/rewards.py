"""A scale's classes as places, and what answers are worth by its cost matrix, for whole arrays of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...rubrics.scale import Scale, Value
from ..statistics.class_scores import ABSTAINED, with_abstention
from ..statistics.matrix import FloatArray, IntArray
from .sheet import nearest_legal


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
        worth = [[scale.costs.reward(true, given) for given in scale.values] for true in scale.values]
        return cls(scale.values, np.array(worth, dtype=float), scale.costs.abstention)

    def rewards(self, said: npt.ArrayLike, truth: npt.ArrayLike) -> FloatArray:
        """What each answer on a scale of numbers is worth, for arrays of any shape that fit each other.

        A value between two counts as the nearest, in the middle as the lower. NaN in `said` is an abstention; NaN in
        `truth` is no right answer, and what is said there is worth NaN.
        """
        steps = np.array([float(value) for value in self.values])
        given, right = np.broadcast_arrays(np.asarray(said, dtype=float), np.asarray(truth, dtype=float))
        places = np.where(np.isnan(given), ABSTAINED, _places(given, steps))
        paid = with_abstention(self.worth, self.abstention)[_places(right, steps), places]
        return np.where(np.isnan(right), np.nan, paid)


def _places(numbers: FloatArray, steps: FloatArray) -> IntArray:
    """The place of the nearest step; of NaN, any."""
    nearest = nearest_legal(np.nan_to_num(numbers, nan=steps[0]).ravel(), list(steps))
    return np.searchsorted(steps, nearest).reshape(numbers.shape).astype(np.int64)
