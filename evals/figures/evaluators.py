"""Spearman's rho against quadratic kappa of every two evaluators, attribute by attribute."""

from __future__ import annotations

import pandas as pd

from .axes import number_axis, padded_range
from .drawing import INK, Figure, below, beside, legend, series_colour
from .panel import DASHED, Panel

SIDE = 200
ACROSS = 3


def evaluators_figure(pairs: pd.DataFrame) -> Figure:
    """One panel an attribute, kinds of pairs by colour; on the dashed line rho and kappa are equal.

    Args:
        pairs: Columns `group`, `attribute`, `spearman`, `kappa_quadratic`.
    """
    known = pairs.dropna(subset=["spearman", "kappa_quadratic"])
    groups = list(dict.fromkeys(known["group"]))
    low, high = padded_range([*known["spearman"], *known["kappa_quadratic"]])
    panels = []
    for attribute, rows in known.groupby("attribute", sort=False):
        x = number_axis(low, high, about=4, title="quadratic kappa")
        panel = Panel(
            x, number_axis(low, high, about=4, title="Spearman", lines=True), SIDE, SIDE, title=str(attribute)
        )
        panel.line([(low, low), (high, high)], INK, width=1, dashes=DASHED)
        for row in rows.to_dict("records"):
            panel.point(
                row["kappa_quadratic"], row["spearman"], series_colour(groups.index(row["group"])), radius=4
            )
        panels.append(panel.picture())
    blocks = [beside(panels[at : at + ACROSS]) for at in range(0, len(panels), ACROSS)]
    return Figure(
        "Who agrees with whom",
        [*blocks, below([legend(groups, [series_colour(n) for n in range(len(groups))])])],
    )
