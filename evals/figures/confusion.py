"""Confusion matrices: what each arm gave where people gave what."""

from __future__ import annotations

import pandas as pd

from .axes import name_axis
from .drawing import COLOURS, Figure, clip, in_rows
from .numbers import tick_label
from .panel import Panel, level

CELL, ACROSS = 44, 3


def confusion_figure(counts: pd.DataFrame) -> Figure:
    """One matrix an arm; a cell's shade is its share of people's column.

    Args:
        counts: Columns `arm`, `arm_value`, `people_value`, `count`; words are in the scale's order.
    """
    legal = list(dict.fromkeys(counts["people_value"]))
    if not any(isinstance(value, str) for value in legal):
        legal = sorted(legal)
    names = [clip(value, 12) if isinstance(value, str) else tick_label(value) for value in legal]
    x = name_axis(names, title="people")
    y = name_axis(reversed(names), title="arm")
    panels = []
    for arm, mine in counts.groupby("arm", sort=False):
        grid = mine.pivot(index="arm_value", columns="people_value", values="count")
        cells = grid.loc[legal, legal].to_numpy(int)
        panel = Panel(x, y, len(legal) * CELL, len(legal) * CELL, title=clip(str(arm), 34))
        for column in range(len(legal)):
            total = int(cells[:, column].sum()) or 1
            for row, count in enumerate(cells[::-1, column].tolist()):
                panel.cell(column, row, count / total, str(count), COLOURS[0])
        panels.append(panel)
    return Figure("Confusion with people's median", in_rows(level(panels), ACROSS) if panels else [])
