"""Who agrees with whom: quadratic kappa of every two raters, people and arms alike."""

from __future__ import annotations

import math

import pandas as pd

from .axes import name_axis
from .drawing import COLOURS, Figure
from .panel import Panel

CELL = 52


def heatmap_figure(table: pd.DataFrame) -> Figure:
    """A triangle of cells; below zero the shade is of another colour.

    Args:
        table: Columns `first`, `second`, `kappa_quadratic`; one row for every two raters.
    """
    raters = list(dict.fromkeys([*table["first"], *table["second"]]))
    side = (len(raters) - 1) * CELL
    panel = Panel(name_axis(raters[:-1], turned=-35), name_axis(raters[1:]), side, side)
    for first, second, kappa in table[["first", "second", "kappa_quadratic"]].itertuples(index=False):
        add_correlation(panel, raters.index(first), raters.index(second) - 1, kappa)
    return Figure("Agreement of every two raters", [panel.picture()])


def add_correlation(panel: Panel, column: int, row: int, value: float, *, size: int = 12) -> None:
    """A cell for a number from -1 to 1; a dash where it is unknown."""
    if math.isnan(value):
        panel.cell(column, row, 0.0, "-", COLOURS[0], size=size)
    else:
        shade = COLOURS[0] if value >= 0 else COLOURS[1]
        panel.cell(column, row, min(abs(value), 1.0), f"{value:.2f}", shade, size=size)
