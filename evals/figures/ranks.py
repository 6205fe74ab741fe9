"""Ranks of systems: by people, by the arm as it is, and calibrated, each with its interval."""

from __future__ import annotations

import math

import pandas as pd

from .drawing import COLOURS, Axis, Block, circle, clipped, line, stacked, text, wide

ROW = 34
NAMES = {"people": "people", "before": "arm", "after": "arm, calibrated"}


def ranks_figure(ranks: pd.DataFrame) -> str:
    """A block for each arm and composite, best on the left; a hollow point has too few cases for an interval."""
    left = wide(clipped(str(name)) for name in ranks["system"]) + 70
    blocks = []
    top = 8.0
    for (arm, by), mine in ranks.groupby(["arm", "by"], sort=False):
        people = mine[mine["side"] == "people"].sort_values(["rank", "system"])
        systems = list(people["system"])
        axis = Axis(0.6, len(systems) + 0.4, left, left + max(420, 44 * len(systems)))
        parts = [text(8, top + 14, f"{clipped(str(arm), 40)}: by {by}", bold=True)]
        bottom = top + 52 + len(systems) * ROW
        for rank in range(1, len(systems) + 1):
            parts.append(line(axis.at(rank), top + 44, axis.at(rank), bottom, faint=True))
            parts.append(text(axis.at(rank), bottom + 14, str(rank), anchor="middle", soft=True))
        sides = [side for side in NAMES if side in set(mine["side"])]
        x = left
        for number, side in enumerate(sides):
            parts += [circle(x, top + 32, 4, COLOURS[number]), text(x + 9, top + 36, NAMES[side], soft=True)]
            x += 24 + wide([NAMES[side]])
        for row, system in enumerate(systems):
            y = top + 52 + row * ROW + ROW / 2
            n = int(people["n"][people["system"] == system].iloc[0])
            parts.append(text(left - 22, y + 4, f"{clipped(str(system))}  n = {n}", anchor="end"))
            for number, side in enumerate(sides):
                (found,) = mine[(mine["side"] == side) & (mine["system"] == system)].to_dict("records")
                parts += _point(axis, y + (number - 1) * 8, found, COLOURS[number])
        parts.append(
            text((axis.start + axis.end) / 2, bottom + 32, "rank (1 is best)", anchor="middle", soft=True)
        )
        blocks.append(Block(bottom + 46, parts))
    most = int(ranks.groupby(["arm", "by", "side"]).size().max())
    return stacked(left + max(420, 44 * most) + 20, "Ranks of systems", blocks)


def _point(axis: Axis, y: float, found: dict[object, object], colour: str) -> list[str]:
    rank, low, high = (float(str(found[name])) for name in ("rank", "low", "high"))
    if math.isnan(low):
        return [
            f'<circle cx="{axis.at(rank):.1f}" cy="{y:.1f}" r="3.5" fill="none" stroke="{colour}" stroke-width="1.5"/>'
        ]
    return [
        line(axis.at(low), y, axis.at(high), y, colour=colour, width=2),
        circle(axis.at(rank), y, 4, colour),
    ]
