"""A metric: how like its reference a text is, by a program; looked up by entry point."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ...rubrics.plugins import registered_plugins

GROUP = "venire.metrics"
Progress = Callable[[int, int], None]
"""Told how many tokens were read, of how many."""


@dataclass(frozen=True, slots=True)
class Metric:
    """An automatic measure of a text against another."""

    name: str
    title: str
    """What readers call it."""
    measure: Callable[[Sequence[tuple[str, str]], Progress | None], Mapping[str, Sequence[float]]]
    """From pairs of output and reference to one value each, NaN without a reference; by what readers call it, as one reading
    may give several.

    Raises `MissingExtra` where it needs a package that is not installed.
    """
    place: int = 1000
    """Where it stands among the others: the lowest first, equals by name."""


def registered_metrics() -> list[Metric]:
    """Every metric that is registered, in the order in which they are shown."""
    metrics: list[Metric] = [plugin.load() for plugin in registered_plugins(GROUP).values()]
    return sorted(metrics, key=lambda each: (each.place, each.name))
