"""What agreement costs: each arm's ICC(3,k) with people against what a case took."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from ..statistics.estimate import Estimate
from .axes import number_axis
from .drawing import COLOURS, Figure, clip, series_colour
from .panel import Panel

UNITS = {"usd": "US dollars a case", "tokens": "tokens a case", "calls": "model calls a case"}


def cost_figure(costs: pd.DataFrame, agreement: Mapping[str, Estimate], people: Sequence[float]) -> Figure:
    """Along the axis dollars, or tokens where no price is known or nothing was charged, or calls without tokens.

    Args:
        costs: One row an arm: `arm`, `cases`, `usd`, `tokens`, `calls`.
        agreement: By arm.
        people: The same of each person against the rest.
    """
    unit = next((name for name in UNITS if costs[name].notna().all() and (costs[name] > 0).any()), "calls")
    spent = dict(zip(costs["arm"], costs[unit] / costs["cases"], strict=True))
    shown = {arm: agreement[arm] for arm in spent if agreement[arm].defined}
    lows = [each.value if math.isnan(each.low) else each.low for each in shown.values()]
    along = UNITS[unit] + ("; dashed: each person against the rest" if people else "")
    x = number_axis(0.0, max([*spent.values(), 1e-9]) * 1.15, title=along)
    low = max(-1.0, math.floor(min([0.0, *lows]) * 4) / 4)
    panel = Panel(x, number_axis(low, 1.0, title="ICC(3,k) with people", lines=True), 496, 276)
    for value in (value for value in people if not math.isnan(value)):
        panel.rule(y=value, colour=COLOURS[-1])
    for number, (arm, each) in enumerate(shown.items()):
        panel.whisker_upright(spent[arm], each.value, each.low, each.high, series_colour(number), radius=5)
        panel.words(spent[arm], each.value, clip(arm))
    return Figure("Cost against agreement", [panel.picture()])
