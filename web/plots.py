"""Small plots: bars, how votes came together, who moved towards whom, who leans which way."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..evals.pages.markup import Html, element
from ..orchestration.reading.analysis.census import Flow, Share


def bar(share: float, label: str) -> Html:
    """A bar as long as `share` of its room; the label is read, not drawn."""
    width = round(100 * min(1.0, max(0.0, share)), 1)
    return element(
        "svg",
        {
            "class": "bar",
            "viewBox": "0 0 100 8",
            "preserveAspectRatio": "none",
            "role": "img",
            "aria-label": label,
        },
        element("rect", {"class": "room", "width": 100, "height": 8}),
        element("rect", {"class": "filled", "width": width, "height": 8}),
    )


def curve(points: Sequence[tuple[int, float]], label: str) -> Html:
    """How far apart the votes lay after each round: 0 at the foot is agreement, 1 the whole scale."""
    width, height, foot = 150, 54, 44
    last = max((number for number, _ in points), default=1)
    step = (width - 24) / max(1, last - 1)
    places = [(12 + (number - 1) * step, foot - 36 * value, value) for number, value in points]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in places)
    area = f"{places[0][0]:.1f},{foot} {line} {places[-1][0]:.1f},{foot}" if places else ""
    told = ", ".join(f"round {number}: {value:.2f}" for number, value in points)
    return element(
        "svg",
        {"class": "curve", "viewBox": f"0 0 {width} {height}", "role": "img", "aria-label": f"{label}, {told}"},
        element("line", {"class": "tick", "x1": 4, "x2": width - 4, "y1": foot, "y2": foot}),
        element("polygon", {"class": "area", "points": area}),
        element("polyline", {"class": "line", "points": line}),
        [
            element("circle", {"class": "point", "cx": round(x, 1), "cy": round(y, 1), "r": 3}, element("title", None, f"{v:.2f}"))
            for x, y, v in places
        ],
    )  # fmt: skip


def flows(jurors: Sequence[str], found: Sequence[Flow], label: str) -> Html:
    """The jurors in a ring; an arrow from whoever moved to the juror it moved towards, as wide as often it did."""
    width, height, radius = 320, 190, 74
    centre = (width / 2, height / 2 + 12)
    most = max((flow.credit for flow in found), default=1.0) or 1.0
    place = {
        juror: (
            centre[0] + radius * math.sin(2 * math.pi * number / max(1, len(jurors))),
            centre[1] - radius * math.cos(2 * math.pi * number / max(1, len(jurors))),
        )
        for number, juror in enumerate(jurors)
    }
    arrows = [
        _arrow(place[flow.mover], place[flow.source], flow, most)
        for flow in found
        if flow.mover in place and flow.source in place and flow.credit > 0
    ]
    names = [
        element(
            "g",
            None,
            element("circle", {"class": "node", "cx": round(x, 1), "cy": round(y, 1), "r": 8}),
            element("text", {"class": "name", "x": round(x, 1), "y": round(y + (-15 if y < centre[1] else 24), 1)}, juror[:14]),
        )
        for juror, (x, y) in place.items()
    ]  # fmt: skip
    told = (
        "; ".join(f"{flow.mover} towards {flow.source} {flow.credit:.1f}" for flow in found) or "nobody moved"
    )
    return element(
        "svg",
        {
            "class": "flows",
            "viewBox": f"0 0 {width} {height}",
            "role": "img",
            "aria-label": f"{label}: {told}",
        },
        arrows,
        names,
    )


def leanings(shares: Sequence[Share], label: str) -> Html:
    """Each name's distance from the others on one line: left of the middle is harsher, right more lenient."""
    width, row, middle = 320, 26, 200
    known = [share for share in shares if share.value is not None]
    # Never less than a quarter of the scale, so that a lean of next to nothing looks like it.
    reach = max(0.25, *(abs(share.value or 0.0) for share in known)) if known else 0.25
    height = row * max(1, len(known)) + 22
    parts: list[Html] = [
        element("line", {"class": "edge", "x1": middle, "x2": middle, "y1": 18, "y2": height}),
        element("text", {"class": "column", "x": middle - 55, "y": 11}, "harsher"),
        element("text", {"class": "column", "x": middle + 55, "y": 11}, "more lenient"),
    ]
    for number, share in enumerate(known):
        y = 20 + row * number + row / 2
        x = middle + 96 * (share.value or 0.0) / reach
        parts += [
            element("text", {"class": "juror", "x": 92, "y": y + 4}, share.name[:15]),
            element("line", {"class": "stem", "x1": middle, "x2": round(x, 1), "y1": y, "y2": y}),
            element(
                "circle",
                {"class": "point", "cx": round(x, 1), "cy": y, "r": 5},
                element("title", None, f"{share.name}: {share.value:+.3f} of the scale, n={share.n}"),
            ),
        ]
    told = ", ".join(f"{share.name} {share.value:+.2f}" for share in known)
    return element(
        "svg", {"class": "leanings", "viewBox": f"0 0 {width} {height}", "role": "img", "aria-label": f"{label}: {told}"}, parts
    )  # fmt: skip


def _arrow(start: tuple[float, float], end: tuple[float, float], flow: Flow, most: float) -> Html:
    """A bent line with its head at `end`, so that the two directions between a pair do not cover each other."""
    across, down = end[0] - start[0], end[1] - start[1]
    length = math.hypot(across, down) or 1.0
    bend = (start[0] + end[0]) / 2 - down / length * 18, (start[1] + end[1]) / 2 + across / length * 18
    into = math.atan2(end[1] - bend[1], end[0] - bend[0])
    out = math.atan2(bend[1] - start[1], bend[0] - start[0])
    wide = 1 + 5 * flow.credit / most
    tip = end[0] - 13 * math.cos(into), end[1] - 13 * math.sin(into)
    head = tip[0] - (5 + wide) * math.cos(into), tip[1] - (5 + wide) * math.sin(into)
    side = 3 + wide * 0.7
    corners = (
        f"{tip[0]:.1f},{tip[1]:.1f} {head[0] - side * math.sin(into):.1f},{head[1] + side * math.cos(into):.1f} "
        f"{head[0] + side * math.sin(into):.1f},{head[1] - side * math.cos(into):.1f}"
    )
    begin = start[0] + 12 * math.cos(out), start[1] + 12 * math.sin(out)
    path = f"M{begin[0]:.1f} {begin[1]:.1f} Q{bend[0]:.1f} {bend[1]:.1f} {head[0]:.1f} {head[1]:.1f}"
    return element(
        "g",
        {"class": "flow"},
        element("path", {"class": "shaft", "d": path, "stroke-width": round(wide, 1)}),
        element("polygon", {"class": "head", "points": corners}),
        element("title", None, f"{flow.mover} moved towards {flow.source}: {flow.credit:.1f} moves"),
    )
