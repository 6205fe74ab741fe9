"""The forest plot: every arm's agreement with people, attribute by attribute, with its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..statistics.estimate import Estimate
from .drawing import COLOURS, Axis, Block, clipped, decimal, line, short, stacked, text, whisker, wide

ROW = 20


def forest(found: Mapping[str, Mapping[str, Estimate]], title: str) -> str:
    """Attributes as blocks, arms as rows; an arm without a value is named and left blank.

    The axis stands above and below, for a figure that goes on over several pages.

    Args:
        found: By arm, then by attribute.
    """
    arms, attributes = list(found), list(next(iter(found.values())))
    each_of = [each for of_arm in found.values() for each in of_arm.values()]
    lows = [e.low if not math.isnan(e.low) else e.value for e in each_of if e.defined]
    left = wide(map(clipped, arms)) + 12
    low = max(-1.0, math.floor(min([0.0, *lows]) * 4) / 4)
    axis = Axis(low, 1.0, left, left + 520)
    blocks = []
    for place, attribute in enumerate(attributes):
        y = 60.0 if place == 0 else 14.0
        height = y + len(arms) * ROW + 14
        parts = [text(8, y, attribute, bold=True)]
        for tick in axis.ticks(8):
            parts.append(line(axis.at(tick), y - 14, axis.at(tick), height, faint=tick != 0))
        if place == 0:
            parts += [text(axis.start, 16, title, bold=True), *_numbers(axis, 38)]
        for number, arm in enumerate(arms):
            y += ROW
            each = found[arm][attribute]
            parts.append(text(left - 12, y + 4, clipped(arm), anchor="end", soft=not each.defined))
            if each.defined:
                colour = COLOURS[number % len(COLOURS)]
                parts += whisker(axis, y, each.value, each.low, each.high, colour)
                ends = "" if math.isnan(each.low) else f" [{decimal(each.low, 2)}, {decimal(each.high, 2)}]"
                parts.append(text(axis.end + 14, y + 4, decimal(each.value, 2) + ends, soft=True))
            else:
                parts.append(text(axis.end + 14, y + 4, "undefined", soft=True))
        if attribute == attributes[-1]:
            parts += _numbers(axis, height + 16)
            height += 24
        blocks.append(Block(height, parts))
    return stacked(axis.end + 150, title, blocks)


def _numbers(axis: Axis, y: float) -> list[str]:
    return [text(axis.at(tick), y, short(tick), anchor="middle", soft=True) for tick in axis.ticks(8)]
