"""The panel: two axes and the marks between them, placed in the units of the data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from .drawing import (
    DASHES,
    INK,
    XY,
    Picture,
    Shape,
    circle,
    clip,
    line,
    polygon,
    rect,
    series_colour,
    text,
    text_width,
    tick_label,
    tick_labels,
    translate,
)

Look = Literal["soft", "plain", "bold", "heading"]


class Tick(NamedTuple):
    """A place on an axis and the words that stand there."""

    at: float
    words: str
    look: Look = "soft"
    """A heading stands at the picture's edge, above the rows it is about."""


@dataclass(frozen=True, slots=True)
class Axis:
    """Numbers from `low` to `high`, and where they are marked."""

    low: float
    high: float
    ticks: tuple[Tick, ...] = ()
    title: str = ""
    lines: bool = False
    """Whether a line crosses the plot at every tick; the one at zero is in full ink."""
    log: bool = False
    names: bool = False
    """Whether it has a name for every step of one, counted from 0; upright, such an axis runs downwards."""
    turned: int = 0
    """By how many degrees its words are turned."""

    def share(self, value: float) -> float:
        """Where a value lies: 0 at `low`, 1 at `high`, and never beyond."""
        value = value + 0.5 if self.names else value
        low, high, at = (math.log10(n) if self.log else n for n in (self.low, self.high, value))
        return min(max((at - low) / (high - low), 0.0), 1.0)


def number_axis(
    low: float, high: float, *, about: int = 5, title: str = "", lines: bool = False, log: bool = False
) -> Axis:
    """An axis with round numbers on it, `about` so many; powers of ten on a logarithmic one."""
    places = _powers(low, high) if log else round_numbers(low, high, about)
    words = map(tick_label, places) if log else tick_labels(places)
    return Axis(low, high, tuple(map(Tick, places, words)), title, lines, log)


def name_axis(names: Iterable[str | Tick], *, title: str = "", turned: int = 0) -> Axis:
    """An axis with a step for each name, which stands in its middle."""
    listed = list(names)
    ticks = [
        name._replace(at=step) if isinstance(name, Tick) else Tick(step, clip(name), "plain")
        for step, name in enumerate(listed)
    ]
    return Axis(0.0, float(max(len(listed), 1)), tuple(ticks), title, names=True, turned=turned)


def round_numbers(low: float, high: float, about: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten between two numbers."""
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= raw * 0.999)
    start = math.ceil(low / step - 1e-9)
    return [step * number for number in range(start, math.floor(high / step + 1e-9) + 1)]


def padded_range(values: Iterable[float], *, share: float = 0.08, least: float = 0.02) -> tuple[float, float]:
    """The ends of the values that are known, with some room beyond both."""
    numbers = [value for value in values if not math.isnan(value)]
    room = max((max(numbers) - min(numbers)) * share, least)
    return min(numbers) - room, max(numbers) + room


def _powers(low: float, high: float) -> list[float]:
    return [10.0**power for power in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]


EDGE = 8.0
"""Room kept free along the edges of a picture."""
DASHED = "4 3"
BAR = 11
"""How thick a bar is, in pixels."""


class Panel:
    """Two axes with `width` by `height` pixels between them. Marks are added; `picture` draws it all."""

    def __init__(self, x: Axis, y: Axis, width: float, height: float, *, title: str = "", above: bool = False, beneath: bool = True) -> None:  # fmt: skip
        """`above` and `beneath` say where the horizontal axis has its numbers."""
        self.x, self.y, self.width, self.height, self.title = x, y, width, height, title
        self._above, self._beneath = above, beneath
        self._marks: list[Shape] = []
        self._reach = 0.0

    def at(self, x: float, y: float) -> XY:
        """The pixel of a place in the data."""
        return self._across(x), self._down(y)

    def add(self, *shapes: Shape) -> None:
        """Shapes in pixels, counted from the upper left corner of the plot."""
        self._marks += shapes

    def point(self, x: float, y: float, colour: str, *, radius: float = 4, hollow: bool = False, shift: XY = (0, 0), tip: str = "") -> None:  # fmt: skip
        """A dot, moved by so many pixels."""
        left, top = self.at(x, y)
        self.add(circle(left + shift[0], top + shift[1], radius, colour, hollow=hollow, tip=tip))

    def interval(
        self, start: XY, end: XY, colour: str = INK, *, width: float = 2, shift: XY = (0, 0)
    ) -> None:
        """A line between two places; none where an end is unknown."""
        if not any(math.isnan(coordinate) for coordinate in (*start, *end)):
            ends = [self.at(*start), self.at(*end)]
            self.add(line([(x + shift[0], y + shift[1]) for x, y in ends], colour=colour, width=width))

    def whisker_across(self, row: float, value: float, low: float, high: float, colour: str, *, shift: float = 0) -> None:  # fmt: skip
        """A point with its interval along the horizontal axis."""
        self.interval((low, row), (high, row), colour, shift=(0, shift))
        self.point(value, row, colour, shift=(0, shift))

    def whisker_upright(self, x: float, value: float, low: float, high: float, colour: str, *, radius: float = 4, shift: float = 0) -> None:  # fmt: skip
        """A point with its interval along the vertical axis."""
        self.interval((x, low), (x, high), colour, shift=(shift, 0))
        self.point(x, value, colour, radius=radius, shift=(shift, 0))

    def line(self, points: Iterable[XY], colour: str, *, width: float = 2, dashes: str = "", shift: float = 0) -> None:  # fmt: skip
        """A line through points, moved sideways by so many pixels."""
        placed = [self.at(*point) for point in points]
        if len(placed) > 1:
            self.add(line([(x + shift, y) for x, y in placed], colour=colour, width=width, dashes=dashes))

    def curve(self, points: Iterable[XY], number: int, *, width: float = 2, shift: float = 0) -> None:
        """A line in the colour and the dashes of its number, as `legend(lines=True)` shows them."""
        self.line(
            points, series_colour(number), width=width, dashes=DASHES[number % len(DASHES)], shift=shift
        )

    def band(self, rows: Sequence[tuple[float, float, float]], colour: str, *, opacity: float = 0.18) -> None:
        """The room between the lower and the upper end at each place along, as (x, low, high)."""
        upper = [self.at(x, high) for x, _, high in rows]
        lower = [self.at(x, low) for x, low, _ in rows]
        if len(rows) > 1:
            self.add(polygon([*upper, *reversed(lower)], colour, opacity=opacity))

    def rule(self, *, x: float | None = None, y: float | None = None, colour: str = INK) -> None:
        """A dashed line across the whole plot at one value."""
        if x is not None:
            self.add(
                line([(self._across(x), 0), (self._across(x), self.height)], colour=colour, dashes=DASHED)
            )
        if y is not None:
            self.add(line([(0, self._down(y)), (self.width, self._down(y))], colour=colour, dashes=DASHED))

    def bar(self, row: float, value: float, colour: str) -> None:
        """A bar from zero along the horizontal axis."""
        (zero, y), (end, _) = self.at(0.0, row), self.at(value, row)
        self.add(rect(min(zero, end), y - BAR / 2, abs(end - zero), BAR, colour, opacity=0.75))

    def cell(self, column: int, row: int, share: float, words: str, colour: str, *, size: int = 12) -> None:
        """A cell of a matrix, as dark as its share of 1; ink stays readable on the darkest, on white and on black paper."""
        wide, tall = self.width / self.x.high, self.height / self.y.high
        self.add(
            rect(column * wide, row * tall, wide - 2, tall - 2, colour, opacity=0.06 + 0.7 * share),
            text(
                (column + 0.5) * wide - 1,
                (row + 0.5) * tall + 4,
                words,
                anchor="middle",
                size=size,
            ),
        )

    def words(self, x: float, y: float, words: str, *, shift: XY = (10, 4)) -> None:
        """A name beside a place."""
        left, top = self.at(x, y)
        self._reach = max(self._reach, left + shift[0] + text_width(words) - self.width)
        self.add(text(left + shift[0], top + shift[1], words))

    def note(self, row: float, words: str) -> None:
        """Words to the right of a row."""
        self._reach = max(self._reach, 14 + text_width(words))
        self.add(text(self.width + 14, self._down(row) + 4, words, soft=True))

    @property
    def left(self) -> float:
        """How much room the words left of the plot take."""
        widest = max((text_width(tick.words) for tick in self.y.ticks), default=0.0)
        return max(EDGE + widest + 12 + (20 if self.y.title else 0), 2 * EDGE)

    @property
    def right(self) -> float:
        """How much room the words right of the plot take."""
        return max(self._reach, text_width(self.title, 13) - self.width) + 2 * EDGE

    def picture(self, left: float | None = None, right: float | None = None) -> Picture:
        """The plot with its words; `left` and `right` are its margins, where it must be level with others."""
        left, right = left or self.left, right or self.right
        top = (26 if self.title else 0 if self.y.names else EDGE) + (20 if self._above else 0)
        shapes = [translate([*self._grid(), *self._marks, *self._sideways(left)], left, top)]
        if self.title:
            shapes.append(text(left, 16, self.title, bold=True))
        if self._above:
            shapes += [
                _tick(tick, left + self._across(tick.at), top - 8, self.x.turned) for tick in self.x.ticks
            ]
        bottom = top + self.height + (EDGE if self._beneath and self.x.ticks else 0)
        if self._beneath and self.x.ticks:
            shapes += [
                _tick(tick, left + self._across(tick.at), bottom + 8, self.x.turned) for tick in self.x.ticks
            ]
            bottom += _depth(self.x)
        if self.x.title:
            shapes.append(text(left + self.width / 2, bottom + 16, self.x.title, anchor="middle", soft=True))
            bottom += 24
        return Picture(left + self.width + right, bottom, shapes)

    def _across(self, x: float) -> float:
        return self.x.share(x) * self.width

    def _down(self, y: float) -> float:
        share = self.y.share(y)
        return (share if self.y.names else 1 - share) * self.height

    def _grid(self) -> list[Shape]:
        lines = []
        for tick in self.x.ticks if self.x.lines else ():
            at = self._across(tick.at)
            lines.append(line([(at, 0), (at, self.height)], faint=abs(tick.at) > 1e-9))
        for tick in self.y.ticks if self.y.lines else ():
            at = self._down(tick.at)
            lines.append(line([(0, at), (self.width, at)], faint=abs(tick.at) > 1e-9))
        return lines

    def _sideways(self, left: float) -> list[Shape]:
        """The words of the vertical axis."""
        shapes = []
        for tick in self.y.ticks:
            heading = tick.look == "heading"
            x, anchor = (EDGE - left, "start") if heading else (-10.0, "end")
            bold, soft = tick.look in ("bold", "heading"), tick.look == "soft"
            shapes.append(text(x, self._down(tick.at) + 4, tick.words, anchor=anchor, bold=bold, soft=soft))
        if self.y.title:
            shapes.append(
                text(EDGE + 8 - left, self.height / 2, self.y.title, anchor="middle", soft=True, turned=-90)
            )
        return shapes


def level(panels: Sequence[Panel]) -> list[Picture]:
    """The panels with the same margins left and right, so that they stand level in rows and columns."""
    left, right = (max((getattr(panel, side) for panel in panels), default=0.0) for side in ("left", "right"))
    return [panel.picture(left, right) for panel in panels]


def _tick(tick: Tick, x: float, y: float, turned: int) -> Shape:
    anchor = "end" if turned else "middle"
    return text(
        x + (4 if turned else 0), y, tick.words, anchor=anchor, soft=tick.look == "soft", turned=turned
    )


def _depth(axis: Axis) -> float:
    """How far the words of a horizontal axis reach down."""
    if not axis.turned:
        return 14
    longest = max((text_width(tick.words) for tick in axis.ticks), default=0.0)
    return longest * abs(math.sin(math.radians(axis.turned))) + 16
