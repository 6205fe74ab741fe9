"""What agreement costs: every arm, and the front that no other arm beats in both."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import pandas as pd

from .drawing import COLOURS, Axis, circle, clipped, line, short, svg, text, wide

KINDS = {"single judge": COLOURS[1], "jury": COLOURS[0]}
FEW = 8
"""Of a kind of arm with no more than these, all are named."""
FAR = 30.0
"""From this ratio of costs on, the axis is logarithmic."""


def pareto(arms: pd.DataFrame, *, recommended: str, unit: str, measure: str) -> str:
    """Cost along, agreement up; names and intervals of the front, of the arm advised and of few arms, the rest as dots.

    Args:
        arms: Columns `arm`, `kind`, `cost`, `score`, `low`, `high`, `front`.
        unit: What `cost` counts, and `measure` what `score` is, in words.
    """
    table = arms.dropna(subset=["score", "cost"])
    named = table[table["front"] | (table["arm"] == recommended) | _few(table)]
    costs = table["cost"].tolist()
    log = min(costs) > 0 and max(costs) / min(costs) > FAR
    place: Callable[[float], float] = math.log10 if log else float
    least, most = place(min(costs)), place(max(costs))
    room = (most - least) * 0.08 or 1.0
    x = Axis(least - room if log or least > room else 0.0, most + room, 64, 600)
    bounds = [*table["score"], *(v for name in ("low", "high") for v in named[name].dropna())]
    pad = max((max(bounds) - min(bounds)) * 0.08, 0.02)
    y = Axis(max(0.0, min(bounds) - pad), min(1.0, max(bounds) + pad), 330, 24)
    parts = []
    for tick in y.ticks(6):
        parts.append(line(x.start, y.at(tick), x.end, y.at(tick), faint=True))
        parts.append(text(x.start - 8, y.at(tick) + 4, short(round(tick, 4)), anchor="end", soft=True))
    for tick in range(math.ceil(x.low), math.floor(x.high) + 1) if log else x.ticks(6):
        parts.append(text(x.at(tick), 348, short(10.0**tick if log else tick), anchor="middle", soft=True))
    front = named[named["front"]].sort_values("cost")
    points = [
        (x.at(place(cost)), y.at(score)) for cost, score in zip(front["cost"], front["score"], strict=True)
    ]
    for (left, low), (right, high) in pairwise(points):
        parts += [line(left, low, right, low, dashed=True), line(right, low, right, high, dashed=True)]
    for row in table.to_dict("records"):
        at, colour = x.at(place(row["cost"])), KINDS.get(str(row["kind"]), COLOURS[2])
        if row["arm"] not in set(named["arm"]):
            parts.append(circle(at, y.at(row["score"]), 3, colour))
            continue
        if not math.isnan(row["low"]):
            parts.append(line(at, y.at(row["low"]), at, y.at(row["high"]), colour=colour, width=2))
        parts.append(circle(at, y.at(row["score"]), 5, colour))
    parts += _names(named, x, y, place)
    for number, (kind, colour) in enumerate(KINDS.items()):
        parts += [circle(80 + number * 110, 392, 5, colour), text(92 + number * 110, 396, kind, soft=True)]
    parts.append(text((x.start + x.end) / 2, 370, unit, anchor="middle", soft=True))
    parts.append(text(16, 177, measure, anchor="middle", soft=True, turned=-90))
    return svg(x.end + wide(map(clipped, named["arm"])), 406, "Cost against agreement", parts)


def _few(table: pd.DataFrame) -> pd.Series:
    """The arms that can all be named: of a kind that has no more than a few."""
    return table["kind"].map(table["kind"].value_counts()) <= FEW


def _names(named: pd.DataFrame, x: Axis, y: Axis, place: Callable[[float], float]) -> list[str]:
    """The names above their points, moved down where they would stand on each other."""
    parts, taken = [], list[tuple[float, float, float]]()
    for row in named.sort_values("score", ascending=False).to_dict("records"):
        words = clipped(str(row["arm"]))
        left, level = x.at(place(row["cost"])) + 7, y.at(row["score"]) - 7
        right = left + wide([words])
        while any(left < end and start < right and abs(level - height) < 14 for start, end, height in taken):
            level += 14
        taken.append((left, right, level))
        parts.append(text(left, level, words))
    return parts
