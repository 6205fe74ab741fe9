"""Convergence of the scatter of repeats: one panel for each judge, one line for each attribute."""

from __future__ import annotations

from itertools import pairwise

import pandas as pd

from .drawing import COLOURS, Axis, clipped, line, outline, short, svg, text, wide

WIDTH, HEIGHT = 300, 180
MOST = 6
"""Judges drawn; the table holds the rest."""


def convergence_figure(curve: pd.DataFrame) -> str:
    """SD within a case against the number of repeats it is read from."""
    judges = list(dict.fromkeys(curve["judge"]))[:MOST]
    attributes = list(dict.fromkeys(curve["attribute"]))
    shade = {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(attributes)}
    top = max(0.1, float(curve["high"].max())) * 1.1
    across = min(3, len(judges)) or 1
    parts = []
    for number, judge in enumerate(judges):
        left = 60 + (number % across) * (WIDTH + 60)
        up = 36 + (number // across) * (HEIGHT + 80)
        rows = curve[curve["judge"] == judge]
        most = int(rows["repeats"].max())
        x = Axis(2.0, max(3.0, float(most)), left, left + WIDTH)
        y = Axis(0.0, top, up + HEIGHT, up)
        parts.append(text(left, up - 12, clipped(judge, 40), bold=True))
        for tick in y.ticks(4):
            parts.append(line(x.start, y.at(tick), x.end, y.at(tick), faint=True))
            parts.append(text(left - 8, y.at(tick) + 4, short(round(tick, 4)), anchor="end", soft=True))
        for m in range(2, most + 1, max(1, most // 8)):
            parts.append(text(x.at(m), up + HEIGHT + 16, str(m), anchor="middle", soft=True))
        parts.append(
            text(
                left + WIDTH / 2,
                up + HEIGHT + 34,
                "repeats; upwards, SD within a case",
                anchor="middle",
                soft=True,
            )
        )
        for attribute in attributes:
            parts += _line(rows[rows["attribute"] == attribute], x, y, shade[attribute])
    down = -(-len(judges) // across)
    bottom = 36 + down * (HEIGHT + 80)
    at = 60.0
    for name in attributes:
        parts += [line(at, bottom - 22, at + 16, bottom - 22, colour=shade[name], width=2)]
        parts += [text(at + 22, bottom - 18, name, soft=True)]
        at += wide([name]) + 28
    return svg(max(60 + across * (WIDTH + 60), at), bottom, "Scatter by number of repeats", parts)


def _line(rows: pd.DataFrame, x: Axis, y: Axis, colour: str) -> list[str]:
    points = [
        (x.at(m), y.at(sd), y.at(low), y.at(high))
        for m, sd, low, high in zip(rows["repeats"], rows["sd"], rows["low"], rows["high"], strict=True)
    ]
    parts = []
    if len(points) > 1:
        band = [(at, high) for at, _, _, high in points] + [(at, low) for at, _, low, _ in reversed(points)]
        parts.append(f'<g opacity="0.25">{outline(band, colour)}</g>')
    for (a, b, *_), (c, d, *_) in pairwise(points):
        parts.append(line(a, b, c, d, colour=colour, width=2))
    return (
        parts
        if len(points) > 1
        else [line(a - 5, b, a + 5, b, colour=colour, width=2) for a, b, *_ in points]
    )
