"""The growth curve: agreement against the size of the jury, drawn at random and chosen on other cases."""

from __future__ import annotations

from itertools import pairwise

import pandas as pd

from .drawing import COLOURS, Axis, circle, line, outline, short, svg, text

WAYS = {"chosen": COLOURS[0], "random": COLOURS[1]}


def growth(table: pd.DataFrame, measure: str) -> str:
    """A line for each way, its interval as a band; thin lines for the weakest and strongest of random juries.

    Args:
        table: Columns `how` (chosen or random), `size`, `score`, `low`, `high`, `weakest`, `strongest`.
        measure: What `score` is, in words.
    """
    sizes = sorted(set(table["size"]))
    edges = ["score", "low", "high", "weakest", "strongest"]
    values = table[edges].to_numpy(float).ravel()
    values = values[values == values]
    pad = max((values.max() - values.min()) * 0.06, 0.02)
    x = Axis(0.0, float(len(sizes)) - 0.5, 64, 600)
    y = Axis(max(0.0, values.min() - pad), min(1.0, values.max() + pad), 330, 24)
    where = {size: x.at(number + 0.25) for number, size in enumerate(sizes)}
    parts = []
    for tick in y.ticks(6):
        parts.append(line(x.start, y.at(tick), x.end, y.at(tick), faint=True))
        parts.append(text(x.start - 8, y.at(tick) + 4, short(round(tick, 4)), anchor="end", soft=True))
    for size, at in where.items():
        parts.append(text(at, 348, str(size), anchor="middle", soft=True))
    for way, colour in WAYS.items():
        mine = table[table["how"] == way].sort_values("size")
        if mine.empty:
            continue
        parts += _band(mine, where, y, colour)
        for name, width in (("score", 2.0), ("weakest", 0.8), ("strongest", 0.8)):
            points = [
                (where[size], y.at(v)) for size, v in zip(mine["size"], mine[name], strict=True) if v == v
            ]
            parts += [
                line(*first, *second, colour=colour, width=width, dashed=width < 1)
                for first, second in pairwise(points)
            ]
            parts += [circle(*point, 4, colour) for point in points if name == "score"]
    named = {"chosen": "chosen on other cases", "random": "drawn at random (dashed: 5th and 95th percentile)"}
    for number, (way, colour) in enumerate(WAYS.items()):
        parts += [
            circle(80 + number * 180, 392, 5, colour),
            text(92 + number * 180, 396, named[way], soft=True),
        ]
    parts.append(text((x.start + x.end) / 2, 370, "jurors", anchor="middle", soft=True))
    parts.append(text(16, 177, measure, anchor="middle", soft=True, turned=-90))
    return svg(x.end + 20, 406, "Agreement and the size of the jury", parts)


def _band(mine: pd.DataFrame, where: dict[int, float], y: Axis, colour: str) -> list[str]:
    kept = mine.dropna(subset=["low", "high"])
    upper = [(where[size], y.at(v)) for size, v in zip(kept["size"], kept["high"], strict=True)]
    lower = [(where[size], y.at(v)) for size, v in zip(kept["size"], kept["low"], strict=True)]
    return [outline([*upper, *lower[::-1]], colour, opacity=0.18)] if len(kept) > 1 else []
