"""Axes: numbers or names from one end to the other, and the ticks that mark them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from .drawing import clip
from .numbers import tick_label, tick_labels

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
        low, high, at = (math.log10(each) if self.log else each for each in (self.low, self.high, value))
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
        each._replace(at=step) if isinstance(each, Tick) else Tick(step, clip(each), "plain")
        for step, each in enumerate(listed)
    ]
    return Axis(0.0, float(max(len(listed), 1)), tuple(ticks), title, names=True, turned=turned)


def round_numbers(low: float, high: float, about: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten between two numbers."""
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [step * number for number in range(first, math.floor(high / step + 1e-9) + 1)]


def padded_range(values: Iterable[float], *, share: float = 0.08, least: float = 0.02) -> tuple[float, float]:
    """The ends of the values that are known, with some room beyond both."""
    known = [value for value in values if not math.isnan(value)]
    room = max((max(known) - min(known)) * share, least)
    return min(known) - room, max(known) + room


def _powers(low: float, high: float) -> list[float]:
    return [10.0**power for power in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]
