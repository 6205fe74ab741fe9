"""Who agrees with whom: quadratic kappa of every two raters, people and arms alike."""

from __future__ import annotations

import math

import pandas as pd

from .drawing import COLOURS, clipped, rect, svg, text, wide

CELL = 52


def heatmap(table: pd.DataFrame) -> str:
    """A triangle of cells; below zero the shade is of another colour.

    Args:
        table: Columns `first`, `second`, `kappa_quadratic`; one row for every two raters.
    """
    raters = list(dict.fromkeys([*table["first"], *table["second"]]))
    kappa = {
        (first, second): float(value)
        for first, second, value in zip(
            table["first"], table["second"], table["kappa_quadratic"], strict=True
        )
    }
    left = wide(map(clipped, raters)) + 6
    parts = []
    for row, second in enumerate(raters[1:]):
        y = 12 + row * CELL
        parts.append(text(left - 10, y + CELL / 2 + 4, clipped(second), anchor="end"))
        for column, first in enumerate(raters[: row + 1]):
            value = kappa[first, second]
            x, known = left + column * CELL, not math.isnan(value)
            shade = COLOURS[0] if not known or value >= 0 else COLOURS[1]
            share = min(abs(value), 1.0) if known else 0.0
            parts.append(rect(x, y, CELL - 2, CELL - 2, shade, opacity=0.06 + 0.84 * share))
            fill = "#ffffff" if share > 0.6 else "currentColor"
            told = f"{value:.2f}" if known else "-"
            parts.append(text(x + CELL / 2 - 1, y + CELL / 2 + 4, told, anchor="middle", fill=fill))
    bottom = 12 + (len(raters) - 1) * CELL
    for column, name in enumerate(raters[:-1]):
        parts.append(
            text(left + column * CELL + CELL / 2 + 4, bottom + 14, clipped(name), anchor="end", turned=-35)
        )
    drop = wide(map(clipped, raters)) * 0.62 + 16
    return svg(
        left + max(len(raters) - 1, 1) * CELL + 30, bottom + drop, "Agreement of every two raters", parts
    )
