"""Errors found against cases reviewed, and the probability of an error by score."""

from __future__ import annotations

import pandas as pd

from .drawing import COLOURS, Axis, circle, clipped, curve, line, short, svg, text, wide

SIDE = 260


def triage_figure(found: pd.DataFrame, levels: pd.DataFrame) -> str:
    """Two panels, arms by colour."""
    arms = list(dict.fromkeys(found["arm"]))
    shade = {arm: COLOURS[number % len(COLOURS)] for number, arm in enumerate(arms)}
    parts = _panel(60, "Errors found", "share of cases reviewed")
    x, y = _axes(60)
    parts.append(line(x.at(0), y.at(0), x.at(1), y.at(1), dashed=True))
    for number, arm in enumerate(arms):
        rows = found[found["arm"] == arm]
        points = [(x.at(a), y.at(b)) for a, b in zip(rows["reviewed"], rows["found"], strict=True)]
        parts.append(curve(points, number))
    start = 60 + SIDE + 90
    parts += _panel(start, "Probability of an error", "mean score: 0 bad end, 1 good end", room=0.08)
    x, y = _axes(start, room=0.08)
    for number, arm in enumerate(arms):
        shift = (number - (len(arms) - 1) / 2) * 4
        points = []
        for row in levels[levels["arm"] == arm].to_dict("records"):
            at = x.at(row["score"]) + shift
            parts.append(line(at, y.at(row["low"]), at, y.at(row["high"]), colour=shade[arm], width=2))
            parts.append(circle(at, y.at(row["probability"]), 4, shade[arm]))
            points.append((at, y.at(row["probability"])))
        parts.append(curve(points, number, width=1))
    at = 60.0
    for number, arm in enumerate(arms):
        parts += [
            curve([(at, SIDE + 92), (at + 28, SIDE + 92)], number),
            text(at + 34, SIDE + 96, clipped(arm)),
        ]
        at += wide([clipped(arm)]) + 46
    return svg(max(start + SIDE + 30, at), SIDE + 108, "Triage", parts)


def _axes(left: float, room: float = 0.0) -> tuple[Axis, Axis]:
    """Shares across and up; `room` is kept beside the ends of the one across."""
    return Axis(-room, 1.0 + room, left, left + SIDE), Axis(0.0, 1.0, 36 + SIDE, 36)


def _panel(left: float, title: str, below: str, room: float = 0.0) -> list[str]:
    x, y = _axes(left, room)
    parts = [text(left, 20, title, bold=True)]
    for tick in y.ticks(5):
        parts.append(line(x.start, y.at(tick), x.end, y.at(tick), faint=True))
        parts.append(text(left - 8, y.at(tick) + 4, short(round(tick, 4)), anchor="end", soft=True))
        parts.append(text(x.at(tick), y.start + 16, short(round(tick, 4)), anchor="middle", soft=True))
    return [*parts, text(left + SIDE / 2, y.start + 36, below, anchor="middle", soft=True)]
