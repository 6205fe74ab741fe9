"""Severe error rates: one row for each evaluator, with its interval."""

from __future__ import annotations

import math

import pandas as pd

from .drawing import COLOURS, Axis, circle, clipped, line, short, svg, text, whisker, wide

ROW = 22
SHADES = dict(zip(("jury", "single judge", "juror", "person", "second panel"), COLOURS, strict=False))


def severe_rates_figure(rates: pd.DataFrame) -> str:
    """Colour tells juries, single judges, jurors and people apart."""
    rows = rates.to_dict("records")
    names = [clipped(str(row["evaluator"]), 34) for row in rows]
    left = wide(names) + 12
    highs = [row["high"] for row in rows if not math.isnan(row["high"])]
    axis = Axis(0.0, min(1.0, math.ceil(max([0.2, *highs]) * 10) / 10), left, left + 440)
    bottom = 34 + len(rows) * ROW
    parts = [text(axis.start, 18, "Severe error rate", bold=True)]
    for tick in axis.ticks(6):
        parts.append(line(axis.at(tick), 28, axis.at(tick), bottom, faint=tick != 0))
        parts.append(text(axis.at(tick), bottom + 16, short(round(tick, 4)), anchor="middle", soft=True))
    for number, row in enumerate(rows):
        y, known = 44 + number * ROW, row["harmful"] > 0
        parts.append(text(left - 12, y + 4, names[number], anchor="end", soft=not known))
        if known:
            parts += whisker(axis, y, row["rate"], row["low"], row["high"], SHADES[row["kind"]])
        told = f"{row['severe']} of {row['harmful']}" if known else "none judged"
        parts.append(text(axis.end + 14, y + 4, told, soft=True))
    parts += legend(axis.start, bottom + 40, [kind for kind in SHADES if kind in set(rates["kind"])])
    return svg(axis.end + 110, bottom + 52, "Severe error rates", parts)


def legend(x: float, y: float, kinds: list[str]) -> list[str]:
    """The colours of kinds of evaluators, in a row."""
    parts = []
    for kind in kinds:
        parts += [circle(x + 4, y - 4, 4, SHADES[kind]), text(x + 14, y, kind, soft=True)]
        x += wide([kind]) + 22
    return parts
