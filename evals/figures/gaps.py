"""How far each arm stands from people: a histogram for few distinct differences, a violin for many."""

from __future__ import annotations

import numpy as np
import pandas as pd

from .axes import Axis, Tick, name_axis, number_axis
from .drawing import Figure, Shape, beside, clip, line, polygon, rect, series_colour
from .panel import Panel

FEW = 17
"""Up to so many distinct differences, each has its bar."""
HEIGHT, WIDTH = 64, 210
TALL = HEIGHT - 16
"""How tall the tallest bar is."""


def gaps_figure(table: pd.DataFrame) -> Figure:
    """Attributes down, arms across; right of zero, the arm scored higher than people.

    Args:
        table: Columns `arm`, `attribute`, `difference`, `count`, `share`.
    """
    arms, attributes = list(dict.fromkeys(table["arm"])), list(dict.fromkeys(table["attribute"]))
    reach = max(float(table["difference"].abs().max()), 1.0) if len(table) else 1.0
    x = number_axis(-reach - 0.5, reach + 0.5, about=6, title="arm minus people")
    few, tallest = table["difference"].nunique() <= FEW, float(table["share"].max()) if len(table) else 1.0
    panels = []
    for number, arm in enumerate(arms):
        names = attributes if number == 0 else [Tick(0, "") for _ in attributes]
        panel = Panel(x, name_axis(names), WIDTH, len(attributes) * HEIGHT, title=clip(arm, 30))
        panel.rule(x=0)
        for row, attribute in enumerate(attributes):
            mine = table[(table["arm"] == arm) & (table["attribute"] == attribute)]
            base, colour = (row + 1) * HEIGHT - 10, series_colour(number)
            panel.add(line([(0, base), (WIDTH, base)], faint=True))
            panel.add(*(_bars(x, base, mine, tallest, colour) if few else _violin(x, base, mine, colour)))
        panels.append(panel.picture())
    return Figure("Differences from people", [beside(panels, gap=0)])


def _bars(axis: Axis, base: float, mine: pd.DataFrame, tallest: float, colour: str) -> list[Shape]:
    steps = np.diff(np.sort(mine["difference"].unique()))
    room = WIDTH / (axis.high - axis.low) * float(min([1.0, *steps])) * 0.8
    return [
        rect(axis.share(gap) * WIDTH - room / 2, base - tall, room, tall, colour, opacity=0.85)
        for gap, tall in zip(mine["difference"], mine["share"] / tallest * TALL, strict=True)
    ]


def _violin(axis: Axis, base: float, mine: pd.DataFrame, colour: str) -> list[Shape]:
    """A Gaussian kernel density, its bandwidth by Silverman's rule, mirrored about a line."""
    gap, count = mine["difference"].to_numpy(float), mine["count"].to_numpy(float)
    if not len(gap):
        return []
    mean = np.average(gap, weights=count)
    spread = float(np.sqrt(np.average((gap - mean) ** 2, weights=count)))
    width = max(1.06 * spread * count.sum() ** -0.2, 0.05)
    places = np.linspace(axis.low, axis.high, 80)
    density = (count * np.exp(-0.5 * ((places[:, None] - gap) / width) ** 2)).sum(axis=1)
    half = density / density.max() * TALL / 2
    across = np.linspace(0, WIDTH, len(places))
    upper = list(zip(across.tolist(), (base - TALL / 2 - half).tolist(), strict=True))
    lower = list(zip(across.tolist(), (base - TALL / 2 + half).tolist(), strict=True))
    return [polygon([*upper, *reversed(lower)], colour, opacity=0.75)]
