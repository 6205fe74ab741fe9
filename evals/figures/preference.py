"""Self-preference by attribute and juror, with intervals about zero."""

from __future__ import annotations

import math

import pandas as pd

from .drawing import COLOURS, Axis, clipped, line, short, svg, text, whisker, wide

ROW = 22


def preference_figure(effects: pd.DataFrame) -> str:
    """Right of zero, own outputs are favoured."""
    rows = effects.to_dict("records")
    jurors = list(dict.fromkeys(effects["juror"]))
    names = [clipped(str(row["juror"]), 34) for row in rows]
    attributes = list(dict.fromkeys(effects["attribute"]))
    left = wide([*names, *attributes]) + 20
    ends = [abs(row[end]) for row in rows for end in ("low", "high") if not math.isnan(row[end])]
    reach = max([0.1, *ends]) * 1.05
    axis = Axis(-reach, reach, left, left + 440)
    bottom = 34 + len(rows) * ROW + len(attributes) * 26
    parts = [text(axis.start, 18, "Points in favour of one's own provider", bold=True)]
    for tick in axis.ticks(6):
        parts.append(line(axis.at(tick), 28, axis.at(tick), bottom, faint=abs(tick) > 1e-9))
        parts.append(text(axis.at(tick), bottom + 16, short(round(tick, 4)), anchor="middle", soft=True))
    y, last = 30.0, ""
    for row, name in zip(rows, names, strict=True):
        if row["attribute"] != last:
            y, last = y + 26, row["attribute"]
            parts.append(text(8, y - 6, last, bold=True))
        y += ROW
        known = not math.isnan(row["value"])
        parts.append(text(left - 12, y - 4, name, anchor="end", soft=not known))
        if known:
            colour = COLOURS[jurors.index(row["juror"]) % len(COLOURS)]
            parts += whisker(axis, y - 8, row["value"], row["low"], row["high"], colour)
            told = f"{row['value']:+.2f} [{row['low']:+.2f}, {row['high']:+.2f}]"
        else:
            told = "undefined"
        parts.append(text(axis.end + 14, y - 4, told, soft=True))
    return svg(axis.end + 160, bottom + 28, "Self-preference", parts)
