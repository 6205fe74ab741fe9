"""A Wright map: cases, raters, attributes and steps on one ruler of logits."""

from __future__ import annotations

from collections.abc import Sequence

from .axes import name_axis, number_axis, padded_range
from .drawing import COLOURS, Figure, clip, rect
from .panel import Panel

HEIGHT, COLUMN, BINS = 420, 150, 24
LINE = 14
"""Pixels that a line of words takes."""

Placed = Sequence[tuple[str, float]]


def wright_map(cases: Sequence[float], raters: Placed, attributes: Placed, steps: Placed) -> Figure:
    """Measures upwards: good cases, harsh raters, hard attributes and high steps stand at the top."""
    every = [*cases, *(value for side in (raters, attributes, steps) for _, value in side)]
    low, high = padded_range(every)
    columns = ("cases", "raters", "attributes", "steps")
    panel = Panel(name_axis(columns), number_axis(low, high, about=8, title="logits", lines=True), COLUMN * len(columns), HEIGHT)  # fmt: skip
    size = (high - low) / BINS
    counts = [sum(low + size * at <= value < low + size * (at + 1) for value in cases) for at in range(BINS)]
    left = panel.at(-0.5, low)[0]
    for at, count in enumerate(counts):
        if count:
            _, top = panel.at(0, low + size * (at + 1))
            width = (COLUMN - 20) * count / max(counts)
            panel.add(rect(left, top, width, HEIGHT / BINS - 1, COLOURS[0], opacity=0.6))
    for column, placed in enumerate((raters, attributes, steps), 1):
        for name, value in placed:
            panel.point(column - 0.35, value, COLOURS[column], radius=4, tip=f"{name}: {value:+.2f}")
        for names, value in _joined_labels(placed, LINE * (high - low) / HEIGHT):
            panel.words(column - 0.35, value, clip(names, 18))
    told = "; ".join(
        f"{title}: {', '.join(f'{name} {value:+.2f}' for name, value in placed)}"
        for title, placed in zip(columns[1:], (raters, attributes, steps), strict=True)
    )
    return Figure(
        "", [panel.picture()], f"{len(cases)} cases from {min(cases):+.2f} to {max(cases):+.2f}; {told}"
    )


def _joined_labels(placed: Placed, least: float) -> list[tuple[str, float]]:
    """The names with their places, from the top; those less than `least` below the last go into its line."""
    found: list[tuple[str, float]] = []
    for name, value in sorted(placed, key=lambda each: -each[1]):
        if found and found[-1][1] - value < least:
            found[-1] = (f"{found[-1][0]}, {name}", found[-1][1])
        else:
            found.append((name, value))
    return found
