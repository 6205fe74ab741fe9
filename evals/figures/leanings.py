"""Who is harsher than the others, and who more lenient."""

from __future__ import annotations

from collections.abc import Sequence

from ...orchestration.reading.analysis.census import Share
from .axes import Axis, Tick, name_axis
from .drawing import COLOURS, Figure, clip
from .panel import Panel

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
        panel.point(value, row, COLOURS[0], radius=5, tip=f"{name}: {value:+.3f} of the scale, n={n}")
    told = ", ".join(f"{name} {value:+.2f}" for name, value, _ in known)
    return Figure("", [panel.picture()], f"{label}: {told}")
