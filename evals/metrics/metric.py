"""A metric: how like its reference a text is, by a program; looked up by entry point."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ...rubrics.plugins import plugged_in

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
    """From pairs of output and reference to one value each, NaN without a reference; by name, as one reading may give several.

    Raises `MissingExtra` where it needs a package that is not installed.
    """


def metric(name: str) -> Metric:
    """The metric that is registered under `name`."""
    found: Metric = plugged_in(GROUP, name, "metric")
    return found
