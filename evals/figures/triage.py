"""Errors found against cases reviewed, and the probability of an error by score."""

from __future__ import annotations

import pandas as pd

from .axes import Axis, number_axis
from .drawing import INK, Figure, below, beside, clip, legend, series_colour
from .panel import DASHED, Panel

SIDE = 260


def triage_figure(found: pd.DataFrame, levels: pd.DataFrame) -> Figure:
    """Two panels, arms by colour."""
    arms = list(dict.fromkeys(found["arm"]))
    shares = number_axis(0.0, 1.0, lines=True)
    order = Panel(
        number_axis(0.0, 1.0, title="share of cases reviewed"), shares, SIDE, SIDE, title="Errors found"
    )
    scores = Axis(-0.08, 1.08, shares.ticks, "mean score: 0 bad end, 1 good end")
    chance = Panel(scores, shares, SIDE, SIDE, title="Probability of an error")
    order.line([(0, 0), (1, 1)], INK, width=1, dashes=DASHED)
    for number, arm in enumerate(arms):
        mine, colour = levels[levels["arm"] == arm], series_colour(number)
        reviewed = found[found["arm"] == arm]
        order.curve(zip(reviewed["reviewed"], reviewed["found"], strict=True), number)
        shift = (number - (len(arms) - 1) / 2) * 4
        chance.curve(zip(mine["score"], mine["probability"], strict=True), number, width=1, shift=shift)
        for row in mine.to_dict("records"):
            chance.whisker_upright(
                row["score"], row["probability"], row["low"], row["high"], colour, shift=shift
            )
    both = beside([order.picture(), chance.picture()])
    return Figure("Triage", [below([both, legend([clip(arm) for arm in arms], lines=True)])])
