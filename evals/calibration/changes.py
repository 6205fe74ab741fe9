"""What calibration changed: offset, error, order and agreement with people, before and after."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import pandas as pd

from ..statistics.bootstrap import Coefficient
from ..statistics.draws import Draws
from ..statistics.estimate import Estimate
from ..statistics.matrix import Matrix
from ..statistics.paired_test import Contrast, swap_test
from .nearness import FLAT, MEASURES, Measure, grid, nearness, one_side, side

Sides = tuple[str, str]


class CalibrationChange(NamedTuple):
    """A measure of agreement on two sides, and the second's minus the first's on the same cases."""

    measure: str
    before: Estimate
    after: Estimate
    change: Estimate
    p: float

    def row(self, sides: Sides = ("before", "after")) -> dict[str, object]:
        """The cells of a table; the two sides are named as told."""
        return {
            "measure": self.measure,
            **_cells(sides[0], self.before),
            **_cells(sides[1], self.after),
            "change": self.change.value,
            "low": self.change.low,
            "high": self.change.high,
            "p": self.p,
            "n": self.change.n,
            "note": self.change.note or self.after.note or self.before.note,
        }


def changes(
    scores: pd.DataFrame,
    draws: Draws,
    *,
    sides: Sides = ("before", "after"),
    measures: Iterable[str] = tuple(MEASURES),
) -> list[CalibrationChange]:
    """Each measure of the two sides against `people`, over the rows that have all three.

    Args:
        scores: Columns `cluster`, `fold`, `attribute`, `people` and the two sides; what shares a cluster is resampled
            together, ranks are compared within a fold and an attribute, and agreement is taken within attributes.
        draws: Every measure sees the same resamples.
    """
    rows = grid(scores, sides)
    found = []
    for name in measures:
        measure = MEASURES[name]
        first, second = (
            draws.bootstrap().estimate(
                _one(measure, number), rows, method=name, otherwise=_undefined_note(rows)
            )
            for number in (0, 1)
        )
        found.append(CalibrationChange(name, first, second, *tested_change(name, rows, draws)))
    return found


def tested_change(name: str, rows: Matrix, draws: Draws) -> Contrast:
    """The measure `name` of the second side of a `grid` minus that of the first, tested by swapping the two."""
    before, after = (one_side(rows.values, number) for number in (0, 1))
    return swap_test(
        _score_measure(MEASURES[name]),
        after,
        before,
        rows.cluster,
        draws=draws,
        method=name,
        otherwise=_undefined_note(rows),
    )


def _undefined_note(rows: Matrix) -> str:
    """Why a measure of these rows is NaN, should it be."""
    return FLAT if len(rows.cases) else "no case has the scores and a label"


def _one(measure: Measure, number: int) -> Coefficient:
    return lambda values: side(measure, values, number)


def _score_measure(measure: Measure) -> Coefficient:
    return lambda rows: nearness(measure, rows)


def _cells(side: str, each: Estimate) -> dict[str, float]:
    return {side: each.value, f"{side}_low": each.low, f"{side}_high": each.high}
