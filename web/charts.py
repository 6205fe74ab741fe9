"""The charts of the inspector: flows between scores, leanings of jurors, spread over rounds, bars."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..evals.report.drawing import COLOURS, INK, XY, Figure, Picture, Shape, circle, clip, polygon, rect, text
from ..evals.report.panel import Axis, Panel, Tick, name_axis, number_axis
from ..orchestration.reading.analysis.census import Flow, Share
from .scales import difference_words

WIDTH, HEIGHT, RADIUS = 340, 190, 66
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
        shapes.append(_outside(turns[juror], clip(juror, 14)))
    told = [f"{flow.mover} towards {flow.source} {flow.credit:.1f}" for flow in found]
    return Figure("", [Picture(WIDTH, HEIGHT, shapes)], f"{label}: {'; '.join(told) or 'no juror moved'}")


def _outside(turn: float, name: str) -> Shape:
    """A juror's name beyond its place on the circle, where no arrow goes."""
    across, down = math.sin(turn), -math.cos(turn)
    x, y = CENTRE[0] + (RADIUS + 13) * across, CENTRE[1] + (RADIUS + 13) * down
    anchor = "middle" if abs(across) < 0.3 else "start" if across > 0 else "end"
    return text(x, y + 4 + 4 * down, name, anchor=anchor)


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


SIDE, STEPS = 210, 60
"""Of a scatter: its side in pixels, and into how many steps either axis is divided before equal places are counted."""


def scatter_figure(points: Mapping[XY, int], span: XY, label: str) -> Figure:
    """People's median along, the verdict upright, a dot for each place as large as the scores there are many."""
    low, high = span
    step = (high - low) / STEPS
    places = Counter[tuple[int, int]]()
    for (x, y), times in points.items():
        places[round((x - low) / step), round((y - low) / step)] += times
    most = max(places.values())
    axis = number_axis(low, high, lines=True)
    panel = Panel(replace(axis, title="people"), replace(axis, title="verdict"), SIDE, SIDE)
    panel.line([(low, low), (high, high)], INK, width=1, dashes="4 3")
    for (right, up), times in places.items():
        panel.point(low + right * step, low + up * step, COLOURS[0], radius=round(2 + 8 * math.sqrt(times / most), 1), tip=f"{times} scores")  # fmt: skip
    return Figure(
        "", [panel.picture()], f"{label}: verdicts compared with people's medians, {places.total()} scores"
    )


ROW = 26
LEAST = 0.25
"""The axis never shows less of the scale than this, so that a lean of next to nothing looks like it."""


def leanings_figure(shares: Sequence[Share], label: str) -> Figure:
    """Each name's distance from the others on one line: left of the middle is harsher, right more lenient."""
    known = [(share.name, share.value, share.n) for share in shares if share.value is not None]
    reach = max([LEAST, *(abs(value) for _, value, _ in known)])
    x = Axis(-reach, reach, (Tick(-reach / 2, "harsher"), Tick(reach / 2, "more lenient")))
    names = name_axis([Tick(0, clip(name, 15), "plain") for name, _, _ in known])
    panel = Panel(x, names, 200, ROW * max(1, len(known)), above=True, beneath=False)
    panel.rule(x=0)
    for row, (name, value, n) in enumerate(known):
        panel.interval((0, row), (value, row), COLOURS[0])
        panel.point(
            value, row, COLOURS[0], radius=5, tip=f"{name}: {difference_words(value, 3)} of the scale, n={n}"
        )
    told = ", ".join(f"{name} {difference_words(value)}" for name, value, _ in known)
    return Figure("", [panel.picture()], f"{label}: {told}")


def spread_figure(points: Sequence[tuple[int, float]], label: str) -> Figure:
    """How far apart the votes lay after each round: 0 at the foot is agreement, 1 the whole scale."""
    last = max((number for number, _ in points), default=1)
    panel = Panel(Axis(1.0, max(2.0, float(last))), Axis(0.0, 1.0), 126, 36)
    panel.line([(1, 0), (max(2, last), 0)], COLOURS[0], width=0.5)
    panel.band([(number, 0.0, apart) for number, apart in points], COLOURS[0])
    panel.line(points, COLOURS[0], width=1.8)
    for number, apart in points:
        panel.point(number, apart, COLOURS[0], radius=3, tip=f"{apart:.2f}")
    told = ", ".join(f"round {number}: {apart:.2f}" for number, apart in points)
    return Figure("", [panel.picture()], f"{label}, {told}")


def bar_figure(share: float, description: str) -> Figure:
    """A bar to be stretched over a cell of a table; what it shows is read, not drawn."""
    room = rect(0, 0, 100, 8, INK, opacity=0.08)
    filled = rect(0, 0, 100 * min(1.0, max(0.0, share)), 8, COLOURS[0])
    return Figure("", [Picture(100, 8, [room, filled])], description)
