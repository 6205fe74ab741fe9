"""Correlations among attributes: a triangle of cells for each evaluator, side by side."""

from __future__ import annotations

import math

import pandas as pd

from .drawing import COLOURS, Block, clipped, rect, stacked, text, wide

CELL = 36
MOST = 12
"""Evaluators drawn; the table holds the rest."""


def correlation_figure(correlations: pd.DataFrame, attributes: list[str]) -> str:
    """Below zero the shade is of another colour; attributes are numbered, their names stand in the margin."""
    evaluators = list(dict.fromkeys(correlations["evaluator"]))[:MOST]
    rho = {
        (row["evaluator"], row["first"], row["second"]): float(row["spearman"])
        for row in correlations.to_dict("records")
    }
    side = (len(attributes) - 1) * CELL
    room = max(side, 150) + 56
    across = max(1, min(len(evaluators), 940 // room))
    margin = wide(f"{n} {name}" for n, name in enumerate(attributes, 1)) + 12
    top = 40
    parts = [text(8, 48 + n * 18, f"{n + 1} {clipped(name)}", soft=True) for n, name in enumerate(attributes)]
    blocks = [Block(max(top + side + 26, 60 + len(attributes) * 18), parts)]
    for number, evaluator in enumerate(evaluators):
        if number and number % across == 0:
            parts = []
            blocks.append(Block(top + side + 26, parts))
        left = margin + 24 + (number % across) * room
        parts.append(text(left, top - 14, clipped(evaluator, 30), bold=True))
        for row, second in enumerate(attributes[1:]):
            y = top + row * CELL
            parts.append(text(left - 8, y + CELL / 2 + 4, str(row + 2), anchor="end", soft=True))
            for column, first in enumerate(attributes[: row + 1]):
                parts += _cell(left + column * CELL, y, rho[evaluator, first, second])
        for column in range(len(attributes) - 1):
            x = left + column * CELL + CELL / 2
            parts.append(text(x, top + side + 14, str(column + 1), anchor="middle", soft=True))
    return stacked(margin + 24 + across * room, "Correlations among attributes", blocks)


def _cell(x: float, y: float, value: float) -> list[str]:
    known = not math.isnan(value)
    share = min(abs(value), 1.0) if known else 0.0
    shade = COLOURS[0] if not known or value >= 0 else COLOURS[1]
    fill = "#ffffff" if share > 0.6 else "currentColor"
    told = f"{value:.2f}".replace("0.", ".", 1) if known else "-"
    return [
        rect(x, y, CELL - 2, CELL - 2, shade, opacity=0.06 + 0.84 * share),
        text(x + CELL / 2 - 1, y + CELL / 2 + 4, told, anchor="middle", fill=fill, size=11),
    ]
