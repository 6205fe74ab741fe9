"""Severe error rates: one row for each evaluator, with its interval."""

from __future__ import annotations

import math

import pandas as pd

from .axes import Tick, name_axis, number_axis
from .drawing import COLOURS, Figure, below, clip, legend
from .panel import Panel

ROW = 22
SHADES = dict(zip(("jury", "single judge", "juror", "person", "second panel"), COLOURS, strict=False))


def severe_rates_figure(rates: pd.DataFrame) -> Figure:
    """Colour tells juries, single judges, jurors and people apart."""
    rows = rates.to_dict("records")
    highs = [row["high"] for row in rows if not math.isnan(row["high"])]
    x = number_axis(0.0, min(1.0, math.ceil(max([0.2, *highs]) * 10) / 10), lines=True)
    names = [Tick(0, clip(str(row["evaluator"]), 34), "plain" if row["harmful"] else "soft") for row in rows]
    panel = Panel(x, name_axis(names), 440, len(rows) * ROW, title="Severe error rate")
    for number, row in enumerate(rows):
        if row["harmful"] > 0:
            panel.whisker_across(number, row["rate"], row["low"], row["high"], SHADES[row["kind"]])
        panel.note(number, f"{row['severe']} of {row['harmful']}" if row["harmful"] else "none judged")
    kinds = [kind for kind in SHADES if kind in set(rates["kind"])]
    key = legend(kinds, [SHADES[kind] for kind in kinds])
    return Figure("Severe error rates", [below([panel.picture(), key])])
