"""What agreement costs: every arm, and the front that no other arm beats in both."""

from __future__ import annotations

from itertools import pairwise

import pandas as pd

from .axes import number_axis, padded_range
from .drawing import COLOURS, INK, Figure, below, clip, legend, text_width
from .panel import DASHED, Panel

KINDS = {"single judge": COLOURS[1], "jury": COLOURS[0]}
FEW = 8
"""Of a kind of arm with no more than these, all are named."""
FAR = 30.0
"""From this ratio of costs on, the axis is logarithmic."""


def pareto_figure(arms: pd.DataFrame, *, recommended: str, unit: str, measure: str) -> Figure:
    """Cost along, agreement up; names and intervals of the front, of the arm advised and of few arms, the rest as dots.

    Args:
        arms: Columns `arm`, `kind`, `cost`, `score`, `low`, `high`, `front`.
        unit: What `cost` counts, and `measure` what `score` is, in words.
    """
    table = arms.dropna(subset=["score", "cost"])
    few = table["kind"].map(table["kind"].value_counts()) <= FEW
    named = table[table["front"] | (table["arm"] == recommended) | few]
    low, high = padded_range([*table["score"], *named["low"], *named["high"]])
    y = number_axis(max(0.0, low), min(1.0, high), about=6, title=measure, lines=True)
    least, most, log = _ends(table["cost"].tolist())
    panel = Panel(number_axis(least, most, about=6, title=unit, log=log), y, 536, 306)
    front = named[named["front"]].sort_values("cost")
    for (left, before), (right, after) in pairwise(zip(front["cost"], front["score"], strict=True)):
        panel.line([(left, before), (right, before), (right, after)], INK, width=1, dashes=DASHED)
    for row in table.drop(named.index).to_dict("records"):
        panel.point(row["cost"], row["score"], KINDS.get(str(row["kind"]), COLOURS[2]), radius=3)
    for row in named.to_dict("records"):
        colour = KINDS.get(str(row["kind"]), COLOURS[2])
        panel.whisker_upright(row["cost"], row["score"], row["low"], row["high"], colour, radius=5)
    _name_arms(panel, named)
    return Figure(
        "Cost against agreement", [below([panel.picture(), legend(list(KINDS), list(KINDS.values()))])]
    )


def _ends(costs: list[float]) -> tuple[float, float, bool]:
    """From where to where the axis of costs goes, and whether it is logarithmic."""
    least, most = min(costs), max(costs)
    if least > 0 and most / least > FAR:
        room = (most / least) ** 0.08
        return least / room, most * room, True
    room = (most - least) * 0.08 or 1.0
    return least - room if least > room else 0.0, most + room, False


def _name_arms(panel: Panel, named: pd.DataFrame) -> None:
    """Names above their points, moved down where they would stand on each other."""
    taken = list[tuple[float, float, float]]()
    for row in named.sort_values("score", ascending=False).to_dict("records"):
        words, drop = clip(str(row["arm"])), -7
        left, level = panel.at(row["cost"], row["score"])
        right = left + text_width(words) + 7
        while any(
            left < end and start < right and abs(level + drop - height) < 14 for start, end, height in taken
        ):
            drop += 14
        taken.append((left, right, level + drop))
        panel.words(row["cost"], row["score"], words, shift=(7, drop))
