"""Convergence of the scatter of repeats: one panel for each judge, one line for each attribute."""

from __future__ import annotations

import pandas as pd

from .drawing import COLOURS, Axis, clipped, curve, line, outline, short, svg, text, wide

WIDTH, HEIGHT = 300, 180
MOST = 6
"""Judges drawn; the table holds the rest."""


def convergence_figure(curves: pd.DataFrame) -> str:
    """SD within a case against the number of repeats it is read from."""
    judges = list(dict.fromkeys(curves["judge"]))[:MOST]
    attributes = list(dict.fromkeys(curves["attribute"]))
    top = max(0.1, float(curves["high"].max())) * 1.1
    across = min(3, len(judges)) or 1
    parts = []
    for number, judge in enumerate(judges):
        left = 60 + (number % across) * (WIDTH + 60)
        up = 36 + (number // across) * (HEIGHT + 80)
        rows = curves[curves["judge"] == judge]
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
        for place, attribute in enumerate(attributes):
            parts += _line(rows[rows["attribute"] == attribute], x, y, place)
    down = -(-len(judges) // across)
    bottom = 36 + down * (HEIGHT + 80)
    at = 60.0
    for place, name in enumerate(attributes):
        parts += [curve([(at, bottom - 22), (at + 28, bottom - 22)], place)]
        parts += [text(at + 34, bottom - 18, name, soft=True)]
        at += wide([name]) + 40
    return svg(max(60 + across * (WIDTH + 60), at), bottom, "Scatter by number of repeats", parts)


def _line(rows: pd.DataFrame, x: Axis, y: Axis, place: int) -> list[str]:
    points = [
        (x.at(m), y.at(sd), y.at(low), y.at(high))
        for m, sd, low, high in zip(rows["repeats"], rows["sd"], rows["low"], rows["high"], strict=True)
    ]
    if len(points) == 1:
        ((at, sd, *_),) = points
        return [curve([(at - 5, sd), (at + 5, sd)], place)]
    if not points:
        return []
    band = [(at, high) for at, _, _, high in points] + [(at, low) for at, _, low, _ in reversed(points)]
    return [
        f'<g opacity="0.25">{outline(band, COLOURS[place % len(COLOURS)])}</g>',
        curve([(at, sd) for at, sd, *_ in points], place),
    ]
