"""A metric: how like its reference a text is, by a program; looked up by entry point."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, get_args

from ...rubrics.errors import MissingExtra, VenireError
from ...rubrics.files import nearest
from ...rubrics.plugins import registered_plugins

GROUP = "venire.metrics"
Family = Literal["edit", "overlap", "meaning"]
EXTRA = "pip install 'venire[metrics]'"
FAMILIES: tuple[Family, ...] = get_args(Family)
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
    family: Family | None = "overlap"
    """None for one that `venire metrics` has by another's rules, and does not list twice."""
    direction: Literal["high", "low"] = "high"
    """Which end is the good one: low for an error rate."""
    bounds: tuple[float, float] = (0.0, 1.0)
    value: str = ""
    """Which of the measured values is its own; the first, where none is named."""
    baseline: bool = True
    """Whether `venire compare` shows it unasked."""
    note: Callable[[str, str], str] | None = None
    """What a reader must know of the value of an output beside a reference, where there is something."""


def registered_metrics() -> list[Metric]:
    """Every metric that is registered, in the order in which they are shown."""
    metrics: list[Metric] = [plugin.load() for plugin in registered_plugins(GROUP).values()]
    return sorted(metrics, key=lambda metric: (metric.place, metric.name))


def chosen_metrics(names: Sequence[str] = (), families: Sequence[Family] = ()) -> list[Metric]:
    """The registered metrics of these names or families; all that have a family, where neither is given.

    Raises:
        VenireError: There is no metric of that name.
    """
    by_name = {metric.name: metric for metric in registered_metrics() if metric.family}
    for name in names:
        if name not in by_name:
            raise VenireError(f"no metric named {name!r}", remedy=nearest(name, by_name))
    return [
        metric
        for metric in by_name.values()
        if (not names or metric.name in names) and (not families or metric.family in families)
    ]


def packaged_metric(
    name: str,
    title: str,
    place: int,
    package: str,
    scorer: Callable[[Any], Callable[[str, str], float]],
    **fields: Any,
) -> Metric:
    """A metric by a package of the extra `metrics`, which `compare` shows only where it is asked to.

    Args:
        scorer: From the package to what scores an output beside a reference that has words.
        fields: Of `Metric`.
    """

    def measure(pairs: Sequence[tuple[str, str]], progress: Progress | None) -> dict[str, list[float]]:
        check_package(title, package)
        score = scorer(import_module(package))
        return {title: [score(*pair) if pair[1].split() else math.nan for pair in pairs]}

    return Metric(name, title, measure, place, baseline=False, **fields)


def check_package(title: str, package: str, remedy: str = EXTRA) -> None:
    """Raises MissingExtra where a metric's package is not installed."""
    if find_spec(package) is None:
        raise MissingExtra(f"{title} needs {package.replace('_', '-')}", remedy=remedy)
