"""Who moved towards whom: the jurors in a ring, with arrows between them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...orchestration.reading.analysis.census import Flow
from .drawing import COLOURS, INK, XY, Figure, Picture, Shape, circle, clip, polygon, text

WIDTH, HEIGHT, RADIUS = 320, 190, 74
CENTRE = (WIDTH / 2, HEIGHT / 2 + 6)


def flows_figure(jurors: Sequence[str], found: Sequence[Flow], label: str) -> Figure:
    """An arrow from whoever moved to the juror it moved towards, as wide as often it did."""
    most = max((flow.credit for flow in found), default=1.0) or 1.0
    turns = {juror: 2 * math.pi * number / len(jurors) for number, juror in enumerate(jurors)}
    place = {
        juror: (CENTRE[0] + RADIUS * math.sin(turn), CENTRE[1] - RADIUS * math.cos(turn))
        for juror, turn in turns.items()
    }
    shapes = [
        _arrow(place[flow.mover], place[flow.source], flow, 1 + 5 * flow.credit / most)
        for flow in found
        if flow.mover in place and flow.source in place and flow.credit > 0
    ]
    for juror, (x, y) in place.items():
        shapes.append(circle(x, y, 8, INK))
        shapes.append(text(x, y + (-13 if y < CENTRE[1] else 21), clip(juror, 14), anchor="middle"))
    told = [f"{flow.mover} towards {flow.source} {flow.credit:.1f}" for flow in found]
    return Figure("", [Picture(WIDTH, HEIGHT, shapes)], f"{label}: {'; '.join(told) or 'nobody moved'}")


def _arrow(start: XY, end: XY, flow: Flow, thick: float) -> Shape:
    """A bent line with its head at `end`, so that the two directions between a pair do not cover each other."""
    across, down = end[0] - start[0], end[1] - start[1]
    length = math.hypot(across, down) or 1.0
    bend = (start[0] + end[0]) / 2 - down / length * 18, (start[1] + end[1]) / 2 + across / length * 18
    into = math.atan2(end[1] - bend[1], end[0] - bend[0])
    out = math.atan2(bend[1] - start[1], bend[0] - start[0])
    tip, head, side = _along(end, into, -13), _along(end, into, -18 - thick), 3 + thick * 0.7
    corners = [tip, _along(head, into + math.pi / 2, side), _along(head, into - math.pi / 2, side)]
    begin = _along(start, out, 12)
    path = f"M{begin[0]:.1f} {begin[1]:.1f} Q{bend[0]:.1f} {bend[1]:.1f} {head[0]:.1f} {head[1]:.1f}"
    stroke = {"fill": "none", "stroke": COLOURS[0], "stroke-opacity": "0.75", "stroke-width": round(thick, 1)}
    told = f"{flow.mover} moved towards {flow.source}: {flow.credit:.1f} moves"
    return Shape(
        "g",
        {},
        (Shape("path", {"d": path, **stroke}), polygon(corners, COLOURS[0]), Shape("title", {}, (told,))),
    )


def _along(place: XY, direction: float, far: float) -> XY:
    return place[0] + far * math.cos(direction), place[1] + far * math.sin(direction)
