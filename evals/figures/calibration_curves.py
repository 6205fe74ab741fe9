"""Calibration drawn: what each juror's score is worth, by fold; and how the error falls as labels grow."""

from __future__ import annotations

import math

import pandas as pd

from .axes import Axis, Tick, number_axis, padded_range
from .drawing import INK, Figure, Picture, below, beside, caption, clip, in_rows, legend, series_colour
from .panel import DASHED, Panel, level

SIDE, ACROSS = 170, 4
ALL = "all"
"""The fold that leaves nothing out."""


def curves_figure(curves: pd.DataFrame) -> Figure:
    """A square an attribute: the juror's score across, people's up; thin lines leave one fold out, thick ones none."""
    blocks: list[Picture] = []
    for arm, mine in curves.groupby("arm", sort=False):
        jurors = list(dict.fromkeys(mine["juror"]))
        squares = [
            _square(str(attribute), held, jurors) for attribute, held in mine.groupby("attribute", sort=False)
        ]
        head = beside(
            [
                caption(clip(str(arm), 40), bold=True),
                legend([clip(juror, 24) for juror in jurors], lines=True),
            ],
            gap=4,
        )
        first, *more = in_rows(level(squares), ACROSS)
        blocks += [below([head, first]), *more]
    return Figure("Calibration curves by fold", blocks)


def _square(attribute: str, held: pd.DataFrame, jurors: list[str]) -> Panel:
    low, high = float(held["score"].min()), float(held["score"].max())
    x, y = (number_axis(low, high, title=title, lines=True) for title in ("juror's score", "people's"))
    panel = Panel(x, y, SIDE, SIDE, title=clip(attribute, 26))
    panel.line([(low, low), (high, high)], INK, width=1, dashes=DASHED)
    curves: dict[tuple[str, str], list[tuple[float, float]]] = {}
    columns = (held[name].tolist() for name in ("juror", "fold", "score", "people"))
    for juror, fold, score, people in zip(*columns, strict=True):
        curves.setdefault((juror, fold), []).append((score, people))
    for (juror, fold), points in curves.items():
        panel.curve(points, jurors.index(juror), width=2.5 if fold == ALL else 0.8)
    return panel


def learning_figure(curves: pd.DataFrame) -> Figure:
    """Labelled cases across, each step as wide as its ratio; the error up, from the lowest that was met."""
    arms = list(dict.fromkeys(curves["arm"]))
    low, high = padded_range([*curves["rmse"], *curves["low"], *curves["high"]], least=0.01)
    y = number_axis(max(low, 0.0), high, title="RMSE out of fold", lines=True)
    panel = Panel(_sizes(sorted(set(curves["cases"]))), y, 490, 266)
    for number, arm in enumerate(arms):
        rows, colour = curves[curves["arm"] == arm], series_colour(number)
        shift = (number - (len(arms) - 1) / 2) * 5
        panel.line(zip(rows["cases"], rows["rmse"], strict=True), colour, shift=shift)
        for row in rows.to_dict("records"):
            panel.whisker_upright(
                row["cases"], row["rmse"], row["low"], row["high"], colour, radius=3.5, shift=shift
            )
        panel.words(rows["cases"].iloc[-1], rows["rmse"].iloc[-1], clip(arm), shift=(shift + 12, 4))
    return Figure("How many labelled cases are enough", [panel.picture()])


def _sizes(sizes: list[int]) -> Axis:
    """Sizes on a logarithmic axis, each with its number where there is room for it."""
    ticks = list[Tick]()
    for size in sizes:
        share = math.log(sizes[-1] * 1.001 / sizes[0]) * 0.055
        if not ticks or math.log(size / ticks[-1].at) > share:
            ticks.append(Tick(size, str(size)))
    return Axis(sizes[0], sizes[-1] * 1.001, tuple(ticks), "labelled cases learned from", log=True)
