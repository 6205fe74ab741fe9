"""Contribution bars: what each juror adds on average over all juries."""

from __future__ import annotations

import math

import pandas as pd

from .drawing import COLOURS, Axis, circle, clipped, line, rect, short, svg, text, wide

MOST = 30
"""Of more jurors, those who add most and least are drawn."""
ROW = 18


def contributions(table: pd.DataFrame) -> str:
    """Bars of Shapley values with intervals, a dot for leaving the juror out of everybody; seated jurors in bold.

    Args:
        table: One row a juror: `juror`, `shapley`, `shapley_low`, `shapley_high`, `leave_one_out`, `in_jury`.
    """
    rows, left_out = _drawn(table)
    ends = ["shapley", "shapley_low", "shapley_high", "leave_one_out"]
    values = rows[ends].to_numpy(float).ravel()
    values = values[values == values]
    left = wide(map(clipped, rows["juror"])) + 12
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    pad = (high - low) * 0.05 or 0.01
    axis = Axis(low - pad if low < 0 else 0.0, high + pad, left, left + 460)
    height = (len(rows) + bool(left_out)) * ROW + 88
    parts = [text(axis.start, 18, "What each juror adds to agreement", bold=True)]
    for tick in axis.ticks(6):
        parts.append(line(axis.at(tick), 28, axis.at(tick), height - 56, faint=tick != 0))
        parts.append(text(axis.at(tick), height - 40, short(round(tick, 6)), anchor="middle", soft=True))
    for number, row in enumerate(rows.to_dict("records")):
        y = 42 + number * ROW + (ROW if left_out and number >= MOST // 2 else 0)
        colour = COLOURS[0] if row["shapley"] >= 0 else COLOURS[1]
        zero, end = axis.at(0.0), axis.at(row["shapley"])
        parts.append(text(left - 12, y + 4, clipped(row["juror"]), anchor="end", bold=row["in_jury"]))
        parts.append(rect(min(zero, end), y - 6, abs(end - zero), 11, colour, opacity=0.75))
        if not math.isnan(row["shapley_low"]):
            parts.append(line(axis.at(row["shapley_low"]), y, axis.at(row["shapley_high"]), y, width=1.5))
        if not math.isnan(row["leave_one_out"]):
            parts.append(circle(axis.at(row["leave_one_out"]), y, 2.5, COLOURS[2]))
    if left_out:
        parts.append(text(left - 12, 42 + MOST // 2 * ROW + 4, f"{left_out} more", anchor="end", soft=True))
    told = "bar: Shapley value with 95% interval; dot: lost when the juror leaves the whole pool; bold: in the jury"
    parts.append(text(8, height - 12, told, soft=True))
    return svg(max(axis.end + 20, 640), height, "What each juror adds", parts)


def _drawn(table: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    if len(table) <= MOST:
        return table, 0
    return pd.concat([table.head(MOST // 2), table.tail(MOST // 2 - 1)]), len(table) - MOST + 1
