"""Which attributes of a ratings table share one scale, so that their ratings may be pooled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from ..statistics.matrix import Value

YES_NO = frozenset({0.0, 1.0})


def pooled(
    parts: Mapping[str, pd.DataFrame],
    levels: Mapping[str, str | None],
    categories: Mapping[str, Sequence[Value]],
) -> tuple[list[str], str]:
    """The largest set of attributes on one scale, and what a reader must know of it.

    Attributes share a scale when their level and values are declared and the same. Where values are not declared,
    an attribute joins the one that uses the widest range if all its values lie within it; yes-or-no attributes
    (0 and 1) join only each other, and words only words.
    """
    groups: dict[tuple[str | None, str, tuple[Value, ...]], list[str]] = {}
    for name, part in parts.items():
        declared = tuple(categories.get(name) or ())
        groups.setdefault((levels[name], _kind(part["value"]), declared), []).append(name)
    sets = [
        names if declared else _within_the_widest(names, parts) for (_, _, declared), names in groups.items()
    ]
    largest = max(sets, key=len, default=[])
    if len(largest) < 2:
        return [], "no ratings" if not parts else "no two attributes share a scale, so they do not pool"
    told = []
    if not all(categories.get(name) for name in largest):
        told.append("taken to share a scale, as none is declared")
    apart = [name for name in parts if name not in largest]
    if apart:
        told.append(f"{', '.join(apart)} left out, on another scale")
    return largest, f"pools {', '.join(largest)}: {'; '.join(told)}" if told else ""


def _within_the_widest(names: Sequence[str], parts: Mapping[str, pd.DataFrame]) -> list[str]:
    """Of attributes of one kind, those that use no value beyond what one of them uses."""
    if _kind(parts[names[0]]["value"]) == "words":
        words = {name: set(map(str, parts[name]["value"])) for name in names}
        widest = max(words.values(), key=len)
        return [name for name, used in words.items() if used <= widest]
    ends = {
        name: (parts[name]["value"].astype(float).min(), parts[name]["value"].astype(float).max())
        for name in names
    }
    low, high = max(ends.values(), key=lambda end: end[1] - end[0])
    return [name for name, end in ends.items() if low <= end[0] and end[1] <= high]


def _kind(values: pd.Series) -> str:
    numbers = pd.to_numeric(values, errors="coerce")
    if numbers.isna().any():
        return "words"
    return "yes or no" if set(numbers) <= YES_NO else "numbers"
