"""Calibration drawn: what each juror's score is worth, by fold; and how the error falls as labels grow."""

from __future__ import annotations

import math
from itertools import pairwise

import pandas as pd

from .drawing import COLOURS, Axis, Block, circle, clipped, curve, line, short, stacked, svg, text, wide

SIDE, ACROSS = 170, 4
ALL = "all"


def curves_figure(curves: pd.DataFrame) -> str:
    """A square an attribute: the juror's score across, people's up; thin lines leave one fold out, thick ones none."""
    blocks: list[Block] = []
    widest = 0.0
    for arm, mine in curves.groupby("arm", sort=False):
        jurors = list(dict.fromkeys(mine["juror"]))
        top, parts = 8.0, [text(8, 22, clipped(str(arm), 40), bold=True)]
        x = 8 + wide([clipped(str(arm), 40)]) + 16
        for number, juror in enumerate(jurors):
            parts.append(curve([(x, top + 10), (x + 28, top + 10)], number, width=2.5))
            parts.append(text(x + 34, top + 14, clipped(juror, 24), soft=True))
            x += 40 + wide([clipped(juror, 24)])
        widest = max(widest, x)
        top += 30
        for place, (attribute, held) in enumerate(mine.groupby("attribute", sort=False)):
            left = 44 + (place % ACROSS) * (SIDE + 56)
            if place and place % ACROSS == 0:
                blocks.append(Block(top + SIDE + 58, parts))
                top, parts = 8.0, []
            parts += _square(str(attribute), held, jurors, left, top)
            widest = max(widest, left + SIDE + 14)
        blocks.append(Block(top + SIDE + 58, parts))
    return stacked(widest, "Calibration curves by fold", blocks)


def _square(attribute: str, held: pd.DataFrame, jurors: list[str], left: float, top: float) -> list[str]:
    low, high = float(held["score"].min()), float(held["score"].max())
    x, y = Axis(low, high, left, left + SIDE), Axis(low, high, top + 18 + SIDE, top + 18)
    parts = [text(left, top + 8, clipped(attribute, 26))]
    for tick in x.ticks(5):
        parts.append(line(x.at(tick), y.start, x.at(tick), y.end, faint=True))
        parts.append(line(x.start, y.at(tick), x.end, y.at(tick), faint=True))
        parts.append(text(x.at(tick), y.start + 16, short(round(tick, 6)), anchor="middle", soft=True))
        parts.append(text(x.start - 8, y.at(tick) + 4, short(round(tick, 6)), anchor="end", soft=True))
    parts.append(line(x.start, y.start, x.end, y.end, dashed=True))
    parts.append(text(left + SIDE / 2, y.start + 32, "juror's score", anchor="middle", soft=True, size=11))
    parts.append(
        text(left - 35, top + 18 + SIDE / 2, "people's", anchor="middle", soft=True, size=11, turned=-90)
    )
    for number, juror in enumerate(jurors):
        mine = held[held["juror"] == juror]
        for fold, points in mine.groupby("fold", sort=False):
            width = 2.5 if fold == ALL else 0.8
            drawn = [(x.at(a), y.at(b)) for a, b in zip(points["score"], points["people"], strict=True)]
            parts.append(curve(drawn, number, width=width))
    return parts


def learning_figure(curves: pd.DataFrame) -> str:
    """Labelled cases across, each step as wide as its ratio; the error up, from the lowest that was met."""
    x = Axis(math.log(float(curves["cases"].min())), math.log(float(curves["cases"].max()) * 1.001), 70, 560)
    ends = [*curves["rmse"], *curves["low"].dropna(), *curves["high"].dropna()]
    room = max((max(ends) - min(ends)) * 0.08, 0.01)
    y = Axis(max(min(ends) - room, 0.0), max(ends) + room, 290, 24)
    arms = list(dict.fromkeys(curves["arm"]))
    parts = []
    for tick in y.ticks(5):
        parts.append(line(x.start, y.at(tick), x.end, y.at(tick), faint=True))
        parts.append(text(x.start - 10, y.at(tick) + 4, f"{tick:.2f}", anchor="end", soft=True))
    shown = -math.inf
    for size in sorted(set(curves["cases"])):
        at = x.at(math.log(size))
        if at - shown > 26:
            parts.append(text(at, 310, str(size), anchor="middle", soft=True))
            shown = at
    for number, arm in enumerate(arms):
        mine, colour = curves[curves["arm"] == arm], _colour(number)
        shift = (number - (len(arms) - 1) / 2) * 5
        drawn = [
            (x.at(math.log(size)) + shift, y.at(value))
            for size, value in zip(mine["cases"], mine["rmse"], strict=True)
        ]
        parts += [line(*first, *second, colour=colour, width=2) for first, second in pairwise(drawn)]
        for (across, up), low, high in zip(drawn, mine["low"], mine["high"], strict=True):
            if not math.isnan(low):
                parts.append(line(across, y.at(low), across, y.at(high), colour=colour, width=1.2))
            parts.append(circle(across, up, 3.5, colour))
        parts.append(text(drawn[-1][0] + 12, drawn[-1][1] + 4, clipped(arm)))
    parts.append(text((x.start + x.end) / 2, 332, "labelled cases learned from", anchor="middle", soft=True))
    parts.append(text(18, 157, "RMSE out of fold", anchor="middle", soft=True, turned=-90))
    return svg(x.end + wide(map(clipped, arms)) + 20, 344, "How many labelled cases are enough", parts)


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]
