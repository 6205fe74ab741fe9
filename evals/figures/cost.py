"""What agreement costs: each arm's ICC(3,k) with people against what a case took."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from ..statistics.estimate import Estimate
from .drawing import COLOURS, Axis, circle, clipped, line, short, svg, text, wide

UNITS = {"usd": "US dollars a case", "tokens": "tokens a case", "calls": "model calls a case"}


def cost(costs: pd.DataFrame, agreement: Mapping[str, Estimate], people: Sequence[float]) -> str:
    """Along the axis dollars, or tokens where no price is known or nothing was charged, or calls without tokens.

    Args:
        costs: One row an arm: `arm`, `cases`, `usd`, `tokens`, `calls`.
        agreement: By arm.
        people: The same of each person against the rest.
    """
    unit = next((name for name in UNITS if costs[name].notna().all() and (costs[name] > 0).any()), "calls")
    spent = dict(zip(costs["arm"], costs[unit] / costs["cases"], strict=True))
    shown = {arm: agreement[arm] for arm in spent if agreement[arm].defined}
    lows = [e.low if not math.isnan(e.low) else e.value for e in shown.values()]
    most = max([*spent.values(), 1e-9]) * 1.15
    right = wide(map(clipped, shown))
    x = Axis(0.0, most, 64, 560)
    y = Axis(max(-1.0, math.floor(min([0.0, *lows]) * 4) / 4), 1.0, 300, 24)
    parts = []
    for tick in y.ticks(5):
        parts.append(line(x.start, y.at(tick), x.end, y.at(tick), faint=True))
        parts.append(text(x.start - 8, y.at(tick) + 4, short(round(tick, 4)), anchor="end", soft=True))
    for tick in x.ticks(5):
        parts.append(text(x.at(tick), 318, short(tick), anchor="middle", soft=True))
    for value in (value for value in people if not math.isnan(value)):
        parts.append(line(x.start, y.at(value), x.end, y.at(value), dashed=True, colour=COLOURS[-1]))
    for number, (arm, each) in enumerate(shown.items()):
        colour, at = COLOURS[number % len(COLOURS)], x.at(spent[arm])
        if not math.isnan(each.low):
            parts.append(line(at, y.at(each.low), at, y.at(each.high), colour=colour, width=2))
        parts += [circle(at, y.at(each.value), 5, colour), text(at + 10, y.at(each.value) + 4, clipped(arm))]
    told = UNITS[unit] + ("; dashed: each person against the rest" if people else "")
    parts.append(text((x.start + x.end) / 2, 340, told, anchor="middle", soft=True))
    parts.append(text(16, 162, "ICC(3,k) with people", anchor="middle", soft=True, turned=-90))
    return svg(x.end + right, 352, "Cost against agreement", parts)
