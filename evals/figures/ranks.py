"""Ranks of systems: by people, by the arm as it is, and calibrated, each with its interval."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import pandas as pd

from .axes import Axis, Tick, name_axis
from .drawing import COLOURS, Figure, below, caption, clip, legend
from .panel import Panel, level

ROW = 34
SIDES = {"people": "people", "before": "arm", "after": "arm, calibrated"}


def ranks_figure(ranks: pd.DataFrame) -> Figure:
    """A block for each arm and composite, best on the left; a hollow point has too few cases for an interval."""
    panels, heads = [], []
    for (arm, by), mine in ranks.groupby(["arm", "by"], sort=False):
        people = mine[mine["side"] == "people"].sort_values(["rank", "system"])
        systems = list(people["system"])
        ticks = tuple(Tick(rank, str(rank)) for rank in range(1, len(systems) + 1))
        x = Axis(0.6, len(systems) + 0.4, ticks, "rank (1 is best)", lines=True)
        names = [
            Tick(0, f"{clip(str(system))}  n = {n}", "plain")
            for system, n in zip(systems, people["n"], strict=True)
        ]
        panel = Panel(x, name_axis(names), max(420, 44 * len(systems)), len(systems) * ROW)
        sides = [side for side in SIDES if side in set(mine["side"])]
        for number, side in enumerate(sides):
            for row in mine[mine["side"] == side].to_dict("records"):
                _add_rank(panel, systems.index(row["system"]), row, COLOURS[number], (number - 1) * 8)
        panels.append(panel)
        heads.append(
            [caption(f"{clip(str(arm), 40)}: by {by}", bold=True), legend([SIDES[side] for side in sides])]
        )
    blocks = [below([*head, picture]) for head, picture in zip(heads, level(panels), strict=True)]
    return Figure("Ranks of systems", blocks)


def _add_rank(panel: Panel, place: int, row: dict[Hashable, Any], colour: str, shift: float) -> None:
    rank, low, high = (row["rank"], row["low"], row["high"])
    if math.isnan(low):
        panel.point(rank, place, colour, radius=3.5, hollow=True, shift=(0, shift))
    else:
        panel.whisker_across(place, rank, low, high, colour, shift=shift)
