"""The growth curve: agreement against the size of the jury, drawn at random and chosen on other cases."""

from __future__ import annotations

import pandas as pd

from .axes import Tick, name_axis, number_axis, padded_range
from .drawing import COLOURS, Figure, below, legend
from .panel import DASHED, Panel

WAYS = {"chosen": "chosen on other cases", "random": "drawn at random (dashed: 5th and 95th percentile)"}


def growth_figure(table: pd.DataFrame, measure: str) -> Figure:
    """A line for each way, its interval as a band; thin lines for the weakest and strongest of random juries.

    Args:
        table: Columns `how` (chosen or random), `size`, `score`, `low`, `high`, `weakest`, `strongest`.
        measure: What `score` is, in words.
    """
    sizes = sorted(set(table["size"]))
    edges = ["score", "low", "high", "weakest", "strongest"]
    low, high = padded_range(table[edges].to_numpy(float).ravel(), share=0.06)
    y = number_axis(max(0.0, low), min(1.0, high), about=6, title=measure, lines=True)
    panel = Panel(name_axis([Tick(0, str(size)) for size in sizes], title="jurors"), y, 536, 306)
    for way, colour in zip(WAYS, COLOURS, strict=False):
        rows = (
            table[table["how"] == way].sort_values("size").assign(place=lambda t: t["size"].map(sizes.index))
        )
        ends = rows.dropna(subset=["low", "high"])
        panel.band(list(zip(ends["place"], ends["low"], ends["high"], strict=True)), colour)
        for edge in ("weakest", "strongest"):
            known = rows.dropna(subset=[edge])
            panel.line(zip(known["place"], known[edge], strict=True), colour, width=0.8, dashes=DASHED)
        panel.line(zip(rows["place"], rows["score"], strict=True), colour)
        for place, score in zip(rows["place"], rows["score"], strict=True):
            panel.point(place, score, colour)
    return Figure(
        "Agreement and the size of the jury", [below([panel.picture(), legend(list(WAYS.values()))])]
    )
