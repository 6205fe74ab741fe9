"""Correlations among attributes: a triangle of cells for each evaluator, side by side."""

from __future__ import annotations

import pandas as pd

from .axes import Tick, name_axis
from .drawing import Figure, Picture, beside, clip, in_rows, text, text_width
from .heatmap import add_correlation
from .panel import Panel, level

CELL = 36
WIDE = 940
"""How wide the figure may become."""
MOST = 12
"""Evaluators drawn; the table holds the rest."""


def correlation_figure(correlations: pd.DataFrame, attributes: list[str]) -> Figure:
    """Below zero the shade is of another colour; attributes are numbered, their names stand in the margin."""
    side = (len(attributes) - 1) * CELL
    numbers = [Tick(0, str(number)) for number in range(1, len(attributes) + 1)]
    panels = []
    for evaluator, mine in list(correlations.groupby("evaluator", sort=False))[:MOST]:
        panel = Panel(
            name_axis(numbers[:-1]), name_axis(numbers[1:]), side, side, title=clip(str(evaluator), 30)
        )
        for first, second, rho in mine[["first", "second", "spearman"]].itertuples(index=False):
            column, row = sorted((attributes.index(first), attributes.index(second)))
            add_correlation(panel, column, row - 1, rho, size=11)
        panels.append(panel)
    names = _numbered_names(attributes)
    pictures = level(panels)
    rows = in_rows(pictures, max(1, int((WIDE - names.width) // (pictures[0].width + 24))))
    margin = Picture(names.width, 0, [])
    blocks = [beside([names if row is rows[0] else margin, row]) for row in rows]
    return Figure("Correlations among attributes", blocks)


def _numbered_names(attributes: list[str]) -> Picture:
    listed = [f"{number} {clip(name)}" for number, name in enumerate(attributes, 1)]
    words = [text(8, 44 + place * 18, each, soft=True) for place, each in enumerate(listed)]
    return Picture(max(map(text_width, listed)) + 16, 44 + len(words) * 18, words)
