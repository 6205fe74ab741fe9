"""How far each metric tells severe cases from the others: bars by metric, coloured by family."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..statistics.estimate import Estimate
from .axes import Tick, name_axis, number_axis
from .drawing import COLOURS, Figure, below, clip, legend
from .numbers import decimal
from .panel import Panel

ROW = 20


class MetricDelta(NamedTuple):
    """One bar: the delta of a metric as quality, so that below zero is the right side for all."""

    title: str
    family: str
    delta: Estimate


def metric_deltas_figure(deltas: Sequence[MetricDelta]) -> Figure:
    """Bars from zero, each with its interval; the more to the left, the better a metric follows people."""
    shown = [each for each in deltas if each.delta.defined]
    families = list(dict.fromkeys(each.family for each in shown))
    ends = [end for each in shown for end in (each.delta.low, each.delta.high, each.delta.value) if not math.isnan(end)]  # fmt: skip
    reach = math.ceil(max([0.1, *(abs(end) for end in ends)]) * 10) / 10
    x = number_axis(-reach, reach, about=6, lines=True)
    rows = name_axis([Tick(0, clip(each.title), "plain") for each in shown])
    panel = Panel(x, rows, 440, max(1, len(shown)) * ROW, title="Severe less none, as quality")
    for number, each in enumerate(shown):
        colour = COLOURS[families.index(each.family) % len(COLOURS)]
        panel.bar(number, each.delta.value, colour)
        panel.interval((each.delta.low, number), (each.delta.high, number))
        panel.note(number, decimal(each.delta.value, 3))
    panel.rule(x=0.0)
    key = legend(families, [COLOURS[number % len(COLOURS)] for number in range(len(families))])
    return Figure("Do metrics follow people?", [below([panel.picture(), key])])
