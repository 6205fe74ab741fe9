"""What systems cost against how often they win, and the frontier that nothing beats in both."""

from __future__ import annotations

from itertools import pairwise

import pandas as pd

from .axes import number_axis, padded_range
from .drawing import COLOURS, INK, Figure, clip
from .panel import DASHED, Panel


def system_costs_figure(systems: pd.DataFrame) -> Figure:
    """Dollars along, win rate up; hollow where another system is no dearer and no worse.

    Args:
        systems: Columns `system`, `usd`, `win_rate`, `dominated`; every number known.
    """
    low, high = padded_range(systems["win_rate"].tolist())
    most = max(systems["usd"].max(), 1e-9) * 1.25
    y = number_axis(max(0.0, low), min(1.0, high), about=6, title="win rate", lines=True)
    panel = Panel(number_axis(0.0, most, about=6, title="dollars"), y, 500, 280)
    front = systems[~systems["dominated"]].sort_values("usd")
    for (left, before), (right, after) in pairwise(zip(front["usd"], front["win_rate"], strict=True)):
        panel.line([(left, before), (right, before), (right, after)], INK, width=1, dashes=DASHED)
    for row in systems.to_dict("records"):
        panel.point(row["usd"], row["win_rate"], COLOURS[0], radius=5, hollow=bool(row["dominated"]))
        panel.words(row["usd"], row["win_rate"], clip(str(row["system"]), 24), shift=(8, -6))
    return Figure("Cost against win rate", [panel.picture()])
