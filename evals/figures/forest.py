"""The forest plot: every arm's agreement with people, attribute by attribute, with its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..statistics.estimate import Estimate
from .axes import Tick, name_axis, number_axis
from .drawing import Figure, clip, series_colour
from .numbers import decimal
from .panel import Panel, level

ROW = 20


def forest_figure(
    found: Mapping[str, Mapping[str, Estimate]], title: str, *, highest: float | None = 1.0
) -> Figure:
    """Attributes as blocks, arms as rows; an arm without a value is named and left blank.

    The axis stands above and below, for a figure that goes on over several pages.

    Args:
        found: By arm, then by attribute.
        highest: The end of the axis; None for a measure without one, whose axis ends beyond the highest interval.
    """
    attributes = list(next(iter(found.values())))
    each_of = [each for of_arm in found.values() for each in of_arm.values() if each.defined]
    lows = [each.value if math.isnan(each.low) else each.low for each in each_of]
    highs = [each.value if math.isnan(each.high) else each.high for each in each_of]
    end = math.ceil(max([0.25, *highs]) * 4) / 4 if highest is None else highest
    x = number_axis(max(-1.0, math.floor(min([0.0, *lows]) * 4) / 4), end, about=8, lines=True)
    panels = []
    for attribute in attributes:
        first, last = attribute == attributes[0], attribute == attributes[-1]
        mine = {arm: of_arm[attribute] for arm, of_arm in found.items()}
        arms = [Tick(0, clip(arm), "plain" if each.defined else "soft") for arm, each in mine.items()]
        rows = name_axis([Tick(0, attribute, "heading"), *arms])
        panel = Panel(
            x, rows, 520, len(rows.ticks) * ROW, title=title if first else "", above=first, beneath=last
        )
        for number, each in enumerate(mine.values()):
            panel.note(number + 1, _interval(each))
            if each.defined:
                panel.whisker_across(number + 1, each.value, each.low, each.high, series_colour(number))
        panels.append(panel)
    return Figure(title, level(panels))


def _interval(each: Estimate) -> str:
    if not each.defined:
        return "undefined"
    ends = "" if math.isnan(each.low) else f" [{decimal(each.low, 2)}, {decimal(each.high, 2)}]"
    return decimal(each.value, 2) + ends
