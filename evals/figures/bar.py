"""A bar as long as a share of its room."""

from __future__ import annotations

from .drawing import COLOURS, INK, Figure, Picture, rect


def bar_figure(share: float, description: str) -> Figure:
    """A bar to be stretched over a cell of a table; what it shows is read, not drawn."""
    room = rect(0, 0, 100, 8, INK, opacity=0.08)
    filled = rect(0, 0, 100 * min(1.0, max(0.0, share)), 8, COLOURS[0])
    return Figure("", [Picture(100, 8, [room, filled])], description)
