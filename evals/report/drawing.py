"""What figures are made of: shapes, pictures that know their size, legends. `svg.py` writes them as SVG.

Ink takes the page's colour, so that a figure reads on paper and in the dark.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

CHANCES = ("p", "p_holm", "wilcoxon_p")
"""Columns of p-values."""


def chance(value: float) -> str:
    """A p-value as a table has it."""
    return "<0.001" if value < 0.001 else decimal(value)


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


def amount(value: float, digits: int = 4) -> str:
    """An amount in words: to so many digits, whole where it has more of them, and never as a power of ten."""
    if not math.isfinite(value) or value == 0:
        return decimal(value, 0)
    places = digits - 1 - math.floor(math.log10(abs(value)))
    text = f"{value:,.{max(0, places)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def tick_label(value: float) -> str:
    """A round number in as few digits as it takes."""
    return f"{round(value, 6):g}" if abs(value) >= 1e-9 else "0"


def tick_labels(values: Sequence[float]) -> list[str]:
    """The round numbers of one axis, all to the same decimal; zero as 0."""
    short = [tick_label(value) for value in values]
    if any("e" in text for text in short):
        return short
    places = max((len(text.partition(".")[2]) for text in short), default=0)
    return ["0" if text == "0" else f"{value:.{places}f}" for value, text in zip(values, short, strict=True)]


COLOURS = ("#2a7f8e", "#c8682c", "#7b68a8", "#5f9150", "#b5527a", "#9a8430", "#4d79c7", "#a05a4a")
"""For arms in their order; of a middle tone, to stand on white and on black."""
DASHES = ("", "7 3", "2 3", "9 3 2 3", "12 4", "4 2", "1 2", "12 3 2 3 2 3")
"""For lines in the same order, to be told apart where colours are not."""
INK = "currentColor"
CHARACTER = 6.6
"""How wide a letter of twelve pixels is taken to be."""
LEGEND = 900
"""A legend that would be wider goes on in the next line."""

XY = tuple[float, float]


class Shape(NamedTuple):
    """One element of a drawing: an SVG tag, its attributes and what it holds."""

    tag: str
    attributes: Mapping[str, object]
    children: tuple[Shape | str, ...] = ()


class Picture(NamedTuple):
    """Shapes drawn from the upper left corner, and the room they take."""

    width: float
    height: float
    shapes: Sequence[Shape]


class Figure(NamedTuple):
    """A whole figure: blocks one below the other, between which a printed page may end."""

    title: str
    blocks: Sequence[Picture]
    description: str = ""
    """What it shows, in words, for readers who do not see it."""

    @property
    def width(self) -> float:
        return max((block.width for block in self.blocks), default=0.0)


def series_colour(number: int) -> str:
    """The colour of the arm, juror or attribute with this number; they come round again."""
    return COLOURS[number % len(COLOURS)]


def text_width(words: str, size: float = 12) -> float:
    broad = sum(letter in "mwMW@%" for letter in words)
    return (len(words) + 0.6 * broad) * CHARACTER * size / 12


def clip(words: str, most: int = 28) -> str:
    """Cuts a name to what a figure has room for."""
    return words if len(words) <= most else words[: most - 1] + "…"


# Shapes


def text(
    x: float,
    y: float,
    words: str,
    *,
    anchor: str = "start",
    size: int = 12,
    bold: bool = False,
    soft: bool = False,
    turned: int = 0,
) -> Shape:
    """Words at a place; `soft` ones recede, `turned` ones are rotated by so many degrees."""
    return Shape(
        "text",
        {
            "x": _pixel(x),
            "y": _pixel(y),
            "text-anchor": None if anchor == "start" else anchor,
            "font-size": None if size == 12 else size,
            "font-weight": "600" if bold else None,
            "opacity": "0.7" if soft else None,
            "transform": f"rotate({turned} {_pixel(x)} {_pixel(y)})" if turned else None,
        },
        (words,),
    )


def line(
    points: Iterable[XY], *, colour: str = INK, width: float = 1, dashes: str = "", faint: bool = False
) -> Shape:
    """A line through points."""
    return Shape(
        "polyline",
        {
            "points": _points(points),
            "fill": "none",
            "stroke": colour,
            "stroke-width": width,
            "stroke-dasharray": dashes or None,
            "opacity": "0.2" if faint else None,
        },
    )


def polygon(points: Iterable[XY], fill: str, *, opacity: float = 1) -> Shape:
    return Shape("polygon", {"points": _points(points), "fill": fill, "fill-opacity": _opacity(opacity)})


def rect(x: float, y: float, width: float, height: float, fill: str, *, opacity: float = 1) -> Shape:
    place = {"x": _pixel(x), "y": _pixel(y), "width": _pixel(width), "height": _pixel(height)}
    return Shape("rect", {**place, "fill": fill, "fill-opacity": _opacity(opacity)})


def circle(x: float, y: float, radius: float, colour: str, *, hollow: bool = False, tip: str = "") -> Shape:
    """A dot, or a ring where `hollow`; a reader who points at it is shown `tip`."""
    look = {"fill": "none", "stroke": colour, "stroke-width": 1.5} if hollow else {"fill": colour}
    place = {"cx": _pixel(x), "cy": _pixel(y), "r": radius}
    return Shape("circle", {**place, **look}, (Shape("title", {}, (tip,)),) if tip else ())


def translate(shapes: Sequence[Shape], x: float, y: float) -> Shape:
    """Shapes drawn as a group whose corner stands at (x, y)."""
    return Shape("g", {"transform": f"translate({_pixel(x)} {_pixel(y)})"}, tuple(shapes))


# Pictures


def beside(pictures: Sequence[Picture], gap: float = 24) -> Picture:
    """Pictures in a row, their upper edges level."""
    shapes, x = [], 0.0
    for picture in pictures:
        shapes.append(translate(picture.shapes, x, 0))
        x += picture.width + gap
    return Picture(max(x - gap, 0.0), max((picture.height for picture in pictures), default=0.0), shapes)


def below(pictures: Sequence[Picture], gap: float = 8) -> Picture:
    """Pictures in a column, their left edges level."""
    shapes, y = [], 0.0
    for picture in pictures:
        shapes.append(translate(picture.shapes, 0, y))
        y += picture.height + gap
    return Picture(max((picture.width for picture in pictures), default=0.0), max(y - gap, 0.0), shapes)


def in_rows(pictures: Sequence[Picture], across: int) -> list[Picture]:
    """Pictures in rows of `across`, a row a picture."""
    return [beside(pictures[start : start + across]) for start in range(0, len(pictures), across)]


def caption(words: str, *, bold: bool = False) -> Picture:
    """A line of words."""
    return Picture(text_width(words) + 16, 22, [text(8, 15, words, bold=bold, soft=not bold)])


def legend(names: Sequence[str], colours: Sequence[str] = COLOURS, *, lines: bool = False) -> Picture:
    """What each colour stands for: a dot and a name each, or a piece of its dashed line."""
    sample = 34 if lines else 16
    shapes, x, y, widest = list[Shape](), 8.0, 12.0, 0.0
    for number, name in enumerate(names):
        room = sample + text_width(name) + 18
        if x > 8 and x + room > LEGEND:
            x, y = 8.0, y + 20
        colour = colours[number % len(colours)]
        dashes = DASHES[number % len(DASHES)]
        shapes.append(
            line([(x, y), (x + 28, y)], colour=colour, width=2, dashes=dashes)
            if lines
            else circle(x + 5, y, 4.5, colour)
        )
        shapes.append(text(x + sample, y + 4, name, soft=True))
        x += room
        widest = max(widest, x)
    return Picture(widest, y + 12, shapes)


def _pixel(value: float) -> str:
    return f"{round(value, 1) + 0.0:g}"


def _points(points: Iterable[XY]) -> str:
    return " ".join(f"{_pixel(x)},{_pixel(y)}" for x, y in points)


def _opacity(share: float) -> str | None:
    return None if share == 1 else f"{share:.3f}"
