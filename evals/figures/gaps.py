"""How far each arm stands from people: a histogram for few distinct differences, a violin for many."""

from __future__ import annotations

import numpy as np
import pandas as pd

from .drawing import COLOURS, Axis, clipped, line, outline, rect, short, svg, text, wide

FEW = 17
"""Up to so many distinct differences, each has its bar."""
HEIGHT, WIDTH = 64, 210


def gaps(table: pd.DataFrame) -> str:
    """Attributes down, arms across; right of zero, the arm scored higher than people.

    Args:
        table: Columns `arm`, `attribute`, `difference`, `count`, `share`.
    """
    arms, attributes = list(dict.fromkeys(table["arm"])), list(dict.fromkeys(table["attribute"]))
    left = wide(attributes)
    reach = max(float(table["difference"].abs().max()), 1.0) if len(table) else 1.0
    tallest = float(table["share"].max()) if len(table) else 1.0
    few = table["difference"].nunique() <= FEW
    parts, bottom = [], 34 + len(attributes) * HEIGHT
    for number, arm in enumerate(arms):
        start = left + number * (WIDTH + 24)
        axis = Axis(-reach - 0.5, reach + 0.5, start, start + WIDTH)
        parts.append(text(start + WIDTH / 2, 18, clipped(arm, 30), anchor="middle", bold=True))
        for row, attribute in enumerate(attributes):
            base = 34 + (row + 1) * HEIGHT - 10
            if number == 0:
                parts.append(text(left - 12, base - 10, attribute, anchor="end"))
            parts.append(line(axis.start, base, axis.end, base, faint=True))
            mine = table[(table["arm"] == arm) & (table["attribute"] == attribute)]
            colour = COLOURS[number % len(COLOURS)]
            parts += _bars(axis, base, mine, tallest, colour) if few else [_violin(axis, base, mine, colour)]
        parts.append(line(axis.at(0), 30, axis.at(0), bottom, dashed=True))
        for tick in axis.ticks(6):
            parts.append(text(axis.at(tick), bottom + 14, short(tick), anchor="middle", soft=True))
    middle = left + len(arms) * (WIDTH + 24) / 2
    parts.append(text(middle, bottom + 34, "arm minus people", anchor="middle", soft=True))
    return svg(left + len(arms) * (WIDTH + 24) + 10, bottom + 46, "Differences from people", parts)


def _bars(axis: Axis, base: float, mine: pd.DataFrame, tallest: float, colour: str) -> list[str]:
    steps = np.diff(np.sort(mine["difference"].unique()))
    room = (axis.end - axis.start) / (axis.high - axis.low) * float(min([1.0, *steps])) * 0.8
    heights = mine["share"] / tallest * (HEIGHT - 16)
    return [
        rect(axis.at(gap) - room / 2, base - tall, room, tall, colour, opacity=0.85)
        for gap, tall in zip(mine["difference"], heights, strict=True)
    ]


def _violin(axis: Axis, base: float, mine: pd.DataFrame, colour: str) -> str:
    """A Gaussian kernel density, its bandwidth by Silverman's rule, mirrored about a line."""
    gap, count = mine["difference"].to_numpy(float), mine["count"].to_numpy(float)
    if not len(gap):
        return ""
    mean = np.average(gap, weights=count)
    spread = float(np.sqrt(np.average((gap - mean) ** 2, weights=count)))
    width = max(1.06 * spread * count.sum() ** -0.2, 0.05)
    at = np.linspace(axis.low, axis.high, 80)
    density = (count * np.exp(-0.5 * ((at[:, None] - gap) / width) ** 2)).sum(axis=1)
    half = density / density.max() * (HEIGHT - 18) / 2
    middle = base - (HEIGHT - 18) / 2
    upper = [(axis.at(float(x)), middle - float(h)) for x, h in zip(at, half, strict=True)]
    lower = [(axis.at(float(x)), middle + float(h)) for x, h in zip(at[::-1], half[::-1], strict=True)]
    return outline([*upper, *lower], colour)
