"""Scores of systems on scenarios or categories, as shaded cells."""

from __future__ import annotations

import math

import pandas as pd

from .axes import name_axis
from .drawing import CHARACTER, COLOURS, Figure, clip, text_width
from .panel import Panel

WIDE, TALL = 52, 26
TURN = 60
REACH = math.cos(math.radians(TURN))
LONGEST = 28
"""Characters of a name that are drawn."""


def score_heatmap(shares: pd.DataFrame, *, title: str) -> Figure:
    """One row a system, one column a scenario; the darker, the better, and a dash where there is no score.

    Args:
        shares: Scores from 0 (worst) to 1 (best), systems as rows.
    """
    names = [clip(str(name), LONGEST) for name in shares.columns]
    rows = [clip(str(name), LONGEST) for name in shares.index]
    # Turned names reach to the left of their columns: the axis of systems is made wide enough to hold them.
    reach = max(text_width(name) * REACH - (number + 0.5) * WIDE for number, name in enumerate(names))
    rows = [name.rjust(min(LONGEST, math.ceil(reach / CHARACTER))) for name in rows]
    panel = Panel(name_axis(names, turned=-TURN), name_axis(rows), WIDE * len(names), TALL * len(rows))
    for row, values in enumerate(shares.to_numpy(float)):
        for column, value in enumerate(values):
            known = not math.isnan(value)
            words = f"{value:.2f}" if known else "-"
            panel.cell(column, row, min(max(value, 0.0), 1.0) if known else 0.0, words, COLOURS[0], size=11)
    return Figure(title, [panel.picture()], description=f"{title}: the table beside it has the numbers.")
