"""Contribution bars: what each juror adds on average over all juries."""

from __future__ import annotations

import math

import pandas as pd

from .axes import Look, Tick, name_axis, number_axis, padded_range
from .drawing import COLOURS, INK, Figure, below, caption, clip
from .panel import Panel

MOST = 30
"""Of more jurors, those who add most and least are drawn."""
ROW = 18
EXPLAINED = (
    "bar: Shapley value with 95% interval; dot: lost when the juror leaves the whole pool; bold: in the jury"
)


def contributions_figure(table: pd.DataFrame) -> Figure:
    """Bars of Shapley values with intervals, a dot for leaving the juror out of everybody; seated jurors in bold.

    Args:
        table: One row a juror: `juror`, `shapley`, `shapley_low`, `shapley_high`, `leave_one_out`, `in_jury`.
    """
    columns = ["juror", "in_jury", "shapley", "shapley_low", "shapley_high", "leave_one_out"]
    rows = list(_most_and_least(table)[columns].itertuples(index=False, name=None))
    if len(rows) < len(table):
        rows.insert(MOST // 2, (f"{len(table) - len(rows)} more", None, *[math.nan] * 4))
    low, high = padded_range([0.0, *(value for row in rows for value in row[2:])], share=0.05, least=0.01)
    looks: dict[bool | None, Look] = {True: "bold", False: "plain", None: "soft"}
    names = name_axis(Tick(0, clip(str(juror)), looks[seated]) for juror, seated, *_ in rows)
    panel = Panel(number_axis(low, high, about=6, lines=True), names, 460, len(rows) * ROW, title="What each juror adds to agreement")  # fmt: skip
    for number, (_, _, value, worst, best, alone) in enumerate(rows):
        if not math.isnan(value):
            panel.bar(number, value, COLOURS[0] if value >= 0 else COLOURS[1])
        panel.interval((worst, number), (best, number), INK, width=1.5)
        if not math.isnan(alone):
            panel.point(alone, number, COLOURS[2], radius=2.5)
    return Figure("What each juror adds", [below([panel.picture(), caption(EXPLAINED)])])


def _most_and_least(table: pd.DataFrame) -> pd.DataFrame:
    return table if len(table) <= MOST else pd.concat([table.head(MOST // 2), table.tail(MOST // 2 - 1)])
