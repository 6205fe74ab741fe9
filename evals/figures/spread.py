"""How the votes on one attribute came together, round by round."""

from __future__ import annotations

from collections.abc import Sequence

from .axes import Axis
from .drawing import COLOURS, Figure
from .panel import Panel


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
