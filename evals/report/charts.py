"""Charts that several reports draw: forest plots, confusion matrices, heat maps, histograms of gaps."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from ..statistics.estimate import Estimate
from .drawing import (
    CHARACTER,
    COLOURS,
    Figure,
    Shape,
    beside,
    clip,
    decimal,
    in_rows,
    line,
    polygon,
    rect,
    series_colour,
    text_width,
    tick_label,
)
from .panel import Axis, Panel, Tick, level, name_axis, number_axis

FOREST_ROW = 20


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
    each_of = [e for of_arm in found.values() for e in of_arm.values() if e.defined]
    lows = [e.value if math.isnan(e.low) else e.low for e in each_of]
    highs = [e.value if math.isnan(e.high) else e.high for e in each_of]
    end = math.ceil(max([0.25, *highs]) * 4) / 4 if highest is None else highest
    x = number_axis(max(-1.0, math.floor(min([0.0, *lows]) * 4) / 4), end, about=8, lines=True)
    panels = []
    for attribute in attributes:
        is_first, is_last = attribute == attributes[0], attribute == attributes[-1]
        by_arm = {arm: of_arm[attribute] for arm, of_arm in found.items()}
        arms = [Tick(0, clip(arm), "plain" if e.defined else "soft") for arm, e in by_arm.items()]
        rows = name_axis([Tick(0, attribute, "heading"), *arms])
        panel = Panel(
            x,
            rows,
            520,
            len(rows.ticks) * FOREST_ROW,
            title=title if is_first else "",
            above=is_first,
            beneath=is_last,
        )
        for number, e in enumerate(by_arm.values()):
            panel.note(number + 1, _interval(e))
            if e.defined:
                panel.whisker_across(number + 1, e.value, e.low, e.high, series_colour(number))
        panels.append(panel)
    return Figure(title, level(panels))


def _interval(estimate: Estimate) -> str:
    if not estimate.defined:
        return "undefined"
    ends = "" if math.isnan(estimate.low) else f" [{decimal(estimate.low, 2)}, {decimal(estimate.high, 2)}]"
    return decimal(estimate.value, 2) + ends


CONFUSION_CELL, ACROSS = 44, 3


def confusion_figure(counts: pd.DataFrame) -> Figure:
    """One matrix an arm; a cell's shade is its share of people's column.

    Args:
        counts: Columns `arm`, `arm_value`, `people_value`, `count`; words are in the scale's order.
    """
    legal = list(dict.fromkeys(counts["people_value"]))
    if not any(isinstance(value, str) for value in legal):
        legal = sorted(legal)
    names = [clip(value, 12) if isinstance(value, str) else tick_label(value) for value in legal]
    x = name_axis(names, title="people")
    y = name_axis(reversed(names), title="arm")
    panels = []
    for arm, arm_counts in counts.groupby("arm", sort=False):
        grid = arm_counts.pivot(index="arm_value", columns="people_value", values="count")
        cells = grid.loc[legal, legal].to_numpy(int)
        panel = Panel(
            x, y, len(legal) * CONFUSION_CELL, len(legal) * CONFUSION_CELL, title=clip(str(arm), 34)
        )
        for column in range(len(legal)):
            total = int(cells[:, column].sum()) or 1
            for row, count in enumerate(cells[::-1, column].tolist()):
                panel.cell(column, row, count / total, str(count), COLOURS[0])
        panels.append(panel)
    return Figure("Confusion with people's median", in_rows(level(panels), ACROSS) if panels else [])


HEATMAP_CELL = 52


def heatmap_figure(table: pd.DataFrame) -> Figure:
    """A triangle of cells; below zero the shade is of another colour.

    Args:
        table: Columns `first`, `second`, `kappa_quadratic`; one row for every two raters.
    """
    raters = list(dict.fromkeys([*table["first"], *table["second"]]))
    side = (len(raters) - 1) * HEATMAP_CELL
    panel = Panel(name_axis(raters[:-1], turned=-35), name_axis(raters[1:]), side, side)
    for rater, other_rater, kappa in table[["first", "second", "kappa_quadratic"]].itertuples(index=False):
        add_correlation(panel, raters.index(rater), raters.index(other_rater) - 1, kappa)
    return Figure("Agreement between every two raters", [panel.picture()])


def add_correlation(panel: Panel, column: int, row: int, value: float, *, size: int = 12) -> None:
    """A cell for a number from -1 to 1; a dash where it is unknown."""
    if math.isnan(value):
        panel.cell(column, row, 0.0, "-", COLOURS[0], size=size)
    else:
        shade = COLOURS[0] if value >= 0 else COLOURS[1]
        panel.cell(column, row, min(abs(value), 1.0), f"{value:.2f}", shade, size=size)


WIDE, TALL = 52, 26
TURN = 60
REACH = math.cos(math.radians(TURN))
LONGEST = 28
"""Characters of a name that are drawn."""


def score_heatmap(shares: pd.DataFrame, *, title: str) -> Figure:
    """One row a system, one column a scenario; the darker, the better, and a dash where there is no score.

    Args:
        shares: Scores from 0 (worst) to 1 (best), systems as rows.
    """
    names = [clip(str(name), LONGEST) for name in shares.columns]
    rows = [clip(str(name), LONGEST) for name in shares.index]
    # Turned names reach to the left of their columns: the axis of systems is made wide enough to hold them.
    reach = max(text_width(name) * REACH - (number + 0.5) * WIDE for number, name in enumerate(names))
    rows = [name.rjust(min(LONGEST, math.ceil(reach / CHARACTER))) for name in rows]
    panel = Panel(name_axis(names, turned=-TURN), name_axis(rows), WIDE * len(names), TALL * len(rows))
    for row, values in enumerate(shares.to_numpy(float)):
        for column, value in enumerate(values):
            known = not math.isnan(value)
            words = f"{value:.2f}" if known else "-"
            panel.cell(column, row, min(max(value, 0.0), 1.0) if known else 0.0, words, COLOURS[0], size=11)
    return Figure(
        title, [panel.picture()], description=f"{title}: the table next to this figure has the numbers."
    )


FEW = 17
"""Up to so many distinct differences, each has its bar."""
GAP_HEIGHT, GAP_WIDTH = 64, 210
GAP_TALL = GAP_HEIGHT - 16
"""How tall the tallest bar is."""


def gaps_figure(table: pd.DataFrame) -> Figure:
    """Attributes down, arms across; right of zero, the arm scored higher than people.

    Args:
        table: Columns `arm`, `attribute`, `difference`, `count`, `share`.
    """
    arms, attributes = list(dict.fromkeys(table["arm"])), list(dict.fromkeys(table["attribute"]))
    reach = max(float(table["difference"].abs().max()), 1.0) if len(table) else 1.0
    x = number_axis(-reach - 0.5, reach + 0.5, about=6, title="arm minus people")
    few, tallest = (table["difference"].nunique() <= FEW, float(table["share"].max()) if len(table) else 1.0)
    panels = []
    for number, arm in enumerate(arms):
        names = attributes if number == 0 else [Tick(0, "") for _ in attributes]
        panel = Panel(x, name_axis(names), GAP_WIDTH, len(attributes) * GAP_HEIGHT, title=clip(arm, 30))
        panel.rule(x=0)
        for row, attribute in enumerate(attributes):
            gaps = table[(table["arm"] == arm) & (table["attribute"] == attribute)]
            base, colour = (row + 1) * GAP_HEIGHT - 10, series_colour(number)
            panel.add(line([(0, base), (GAP_WIDTH, base)], faint=True))
            panel.add(*(_bars(x, base, gaps, tallest, colour) if few else _violin(x, base, gaps, colour)))
        panels.append(panel.picture())
    return Figure("Differences from people", [beside(panels, gap=0)])


def _bars(axis: Axis, base: float, cell_gaps: pd.DataFrame, tallest: float, colour: str) -> list[Shape]:
    steps = np.diff(np.sort(cell_gaps["difference"].unique()))
    room = GAP_WIDTH / (axis.high - axis.low) * float(min([1.0, *steps])) * 0.8
    return [
        rect(axis.share(gap) * GAP_WIDTH - room / 2, base - tall, room, tall, colour, opacity=0.85)
        for gap, tall in zip(cell_gaps["difference"], cell_gaps["share"] / tallest * GAP_TALL, strict=True)
    ]


def _violin(axis: Axis, base: float, cell_gaps: pd.DataFrame, colour: str) -> list[Shape]:
    """A Gaussian kernel density, its bandwidth by Silverman's rule, mirrored about a line."""
    gap, count = cell_gaps["difference"].to_numpy(float), cell_gaps["count"].to_numpy(float)
    if not len(gap):
        return []
    mean = np.average(gap, weights=count)
    spread = float(np.sqrt(np.average((gap - mean) ** 2, weights=count)))
    width = max(1.06 * spread * count.sum() ** -0.2, 0.05)
    places = np.linspace(axis.low, axis.high, 80)
    density = (count * np.exp(-0.5 * ((places[:, None] - gap) / width) ** 2)).sum(axis=1)
    half = density / density.max() * GAP_TALL / 2
    across = np.linspace(0, GAP_WIDTH, len(places))
    upper = list(zip(across.tolist(), (base - GAP_TALL / 2 - half).tolist(), strict=True))
    lower = list(zip(across.tolist(), (base - GAP_TALL / 2 + half).tolist(), strict=True))
    return [polygon([*upper, *reversed(lower)], colour, opacity=0.75)]
