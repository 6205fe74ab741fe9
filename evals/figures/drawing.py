"""Plain SVG: shapes, words and axes. Ink takes the page's colour, so a figure reads on paper and in the dark."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

COLOURS = ("#2a7f8e", "#c8682c", "#7b68a8", "#5f9150", "#b5527a", "#9a8430", "#4d79c7", "#a05a4a")
"""For arms in their order; of a middle tone, to stand on white and on black."""
DASHES = ("", "7 3", "2 3", "9 3 2 3", "12 4", "4 2", "1 2", "12 3 2 3 2 3")
"""For lines in the same order, to be told apart where colours are not."""
CHARACTER = 6.3
"""How wide a letter of twelve pixels is taken to be."""


class Axis(NamedTuple):
    """Numbers from `low` to `high` laid from pixel `start` to pixel `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The pixel of a value, kept within the axis."""
        inside = min(max(value, self.low), self.high)
        return self.start + (inside - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, about: int = 5) -> list[float]:
        """Round numbers on the axis."""
        raw = (self.high - self.low) / about
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(power * times for times in (1, 2, 5, 10) if power * times >= raw * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        return [step * number for number in range(first, math.floor(self.high / step + 1e-9) + 1)]


def svg(width: float, height: float, title: str, parts: Iterable[str]) -> str:
    """A whole figure."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" font-family="system-ui, sans-serif" font-size="12">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )


class Block(NamedTuple):
    """A part of a tall figure with a height of its own, drawn from zero downwards."""

    height: float
    parts: Sequence[str]


def stacked(width: float, title: str, blocks: Sequence[Block]) -> str:
    """A figure of blocks one below the other; `apart` gives them one by one."""
    parts, top = [], 0.0
    for block in blocks:
        parts.append(
            f'<svg class="block" y="{top:.0f}" width="{width:.0f}" height="{block.height:.0f}" '
            f'viewBox="0 0 {width:.0f} {block.height:.0f}" role="img" font-family="system-ui, sans-serif" '
            f'font-size="12"><title>{escape(title)}</title>{"".join(block.parts)}</svg>'
        )
        top += round(block.height)
    return svg(width, top, title, parts)


def apart(drawn: str) -> list[str]:
    """The blocks of a figure, each a figure that paper need not cut; one without blocks is one."""
    return re.findall(r'<svg class="block".*?</svg>', drawn, re.DOTALL) or [drawn]


def text(
    x: float,
    y: float,
    words: str,
    *,
    anchor: str = "start",
    size: int = 12,
    bold: bool = False,
    soft: bool = False,
    fill: str = "currentColor",
    turned: int = 0,
) -> str:
    look = ' font-weight="600"' if bold else ""
    look += ' opacity="0.7"' if soft else ""
    look += f' transform="rotate({turned} {x:.1f} {y:.1f})"' if turned else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{fill}"{look}>'
        f"{escape(words)}</text>"
    )


def line(x1: float, y1: float, x2: float, y2: float, *, colour: str = "currentColor", width: float = 1, faint: bool = False, dashed: bool = False) -> str:  # fmt: skip
    look = ' opacity="0.2"' if faint else ""
    look += ' stroke-dasharray="4 3"' if dashed else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"{look}/>'


def curve(points: Iterable[tuple[float, float]], number: int, *, width: float = 2) -> str:
    """A line through points, in the colour and the dashes of its number."""
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashes = DASHES[number % len(DASHES)]
    look = f' stroke-dasharray="{dashes}"' if dashes else ""
    colour = COLOURS[number % len(COLOURS)]
    return f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="{width}"{look}/>'


def rect(x: float, y: float, width: float, height: float, fill: str, *, opacity: float = 1) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}" fill-opacity="{opacity:.3f}"/>'


def circle(x: float, y: float, radius: float, fill: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{fill}"/>'


def outline(points: Sequence[tuple[float, float]], fill: str, *, opacity: float = 0.75) -> str:
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polygon points="{joined}" fill="{fill}" fill-opacity="{opacity:.2f}"/>'


def whisker(axis: Axis, y: float, value: float, low: float, high: float, colour: str) -> list[str]:
    """A point with its interval, along a horizontal axis."""
    parts = []
    if not math.isnan(low):
        parts.append(line(axis.at(low), y, axis.at(high), y, colour=colour, width=2))
    return [*parts, circle(axis.at(value), y, 4, colour)]


def wide(words: Iterable[str]) -> float:
    """How much room the longest of `words` takes."""
    return max((len(word) for word in words), default=0) * CHARACTER + 12


def short(number: float) -> str:
    return f"{number:g}" if abs(number) >= 1e-9 else "0"


def clipped(words: str, most: int = 28) -> str:
    return words if len(words) <= most else words[: most - 1] + "…"


def decimal(value: Any, places: int = 3) -> str:
    """A number as it is printed: whole ones whole, others to so many places, and no negative zero."""
    if not isinstance(value, float):
        return str(value)
    if not math.isfinite(value):
        return "–" if math.isnan(value) else f"{'-' if value < 0 else ''}∞"
    if value == round(value) and abs(value) >= 10:
        return f"{value:.0f}"
    if places > 2 and 1e-9 < abs(value) < 0.001:
        return f"{value:.2g}"
    return f"{round(value, places) + 0.0:.{places}f}"
