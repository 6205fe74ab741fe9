"""Convergence of the scatter of repeats: one panel for each judge, one line for each attribute."""

from __future__ import annotations

import pandas as pd

from .axes import Axis, Tick, number_axis
from .drawing import Figure, below, clip, in_rows, legend, series_colour
from .panel import Panel, level

ACROSS = 3
MOST = 6
"""Judges drawn; the table holds the rest."""


def convergence_figure(curves: pd.DataFrame) -> Figure:
    """SD within a case against the number of repeats it is read from."""
    judges = list(dict.fromkeys(curves["judge"]))[:MOST]
    attributes = list(dict.fromkeys(curves["attribute"]))
    y = number_axis(0.0, max(0.1, float(curves["high"].max())) * 1.1, about=4, lines=True)
    panels = []
    for judge in judges:
        mine = curves[curves["judge"] == judge]
        most = int(mine["repeats"].max())
        ticks = tuple(Tick(m, str(m)) for m in range(2, most + 1, max(1, most // 8)))
        x = Axis(2.0, max(3.0, float(most)), ticks, "repeats; upwards, SD within a case")
        panel = Panel(x, y, 300, 180, title=clip(judge, 40))
        for number, attribute in enumerate(attributes):
            _add_scatter(panel, mine[mine["attribute"] == attribute], number)
        panels.append(panel)
    rows = in_rows(level(panels), ACROSS)
    named = below([*rows[-1:], legend(attributes, lines=True)])
    return Figure("Scatter by number of repeats", [*rows[:-1], named])


def _add_scatter(panel: Panel, rows: pd.DataFrame, number: int) -> None:
    """A line in its band; a point where there is one number of repeats only."""
    panel.band(list(zip(rows["repeats"], rows["low"], rows["high"], strict=True)), series_colour(number))
    panel.curve(zip(rows["repeats"], rows["sd"], strict=True), number)
    if len(rows) == 1:
        panel.point(float(rows["repeats"].iloc[0]), float(rows["sd"].iloc[0]), series_colour(number))
