"""Self-preference by attribute and juror, with intervals about zero."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import pandas as pd

from .axes import Tick, name_axis, number_axis
from .drawing import Figure, clip, series_colour
from .panel import Panel

ROW = 22


def preference_figure(effects: pd.DataFrame) -> Figure:
    """Right of zero, own outputs are favoured."""
    jurors = list(dict.fromkeys(effects["juror"]))
    ends = [abs(end) for end in (*effects["low"], *effects["high"]) if not math.isnan(end)]
    reach = max([0.1, *ends]) * 1.05
    names, rows = list[Tick](), list[tuple[int, dict[Hashable, Any]]]()
    for attribute, mine in effects.groupby("attribute", sort=False):
        names.append(Tick(0, str(attribute), "heading"))
        for row in mine.to_dict("records"):
            rows.append((len(names), row))
            names.append(
                Tick(0, clip(str(row["juror"]), 34), "soft" if math.isnan(row["value"]) else "plain")
            )
    x = number_axis(-reach, reach, about=6, lines=True)
    panel = Panel(x, name_axis(names), 440, len(names) * ROW, title="Points in favour of one's own provider")
    for place, row in rows:
        value, low, high = row["value"], row["low"], row["high"]
        if math.isnan(value):
            panel.note(place, "undefined")
            continue
        panel.whisker_across(place, value, low, high, series_colour(jurors.index(row["juror"])))
        panel.note(place, f"{value:+.2f} [{low:+.2f}, {high:+.2f}]")
    return Figure("Self-preference", [panel.picture()])
