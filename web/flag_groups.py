"""The flags of a deliberation by kind, as the index keeps them: a common kind has dozens, and a list shows one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..orchestration.reading.analysis import Flag, Kind


class FlagGroup(NamedTuple):
    """All flags of one kind: the weightiest in words, and what can be counted and searched of the others."""

    kind: Kind
    weight: int
    attribute: str
    text: str
    attributes: str
    """Those that any of them is about, each between two spaces."""
    weights: str
    """One digit for each."""


def flag_groups(found: Iterable[Flag]) -> tuple[FlagGroup, ...]:
    """The flags, the weightiest first, as one group a kind."""
    by_kind: dict[Kind, list[Flag]] = {}
    for flag in found:
        by_kind.setdefault(flag.kind, []).append(flag)
    return tuple(
        FlagGroup(
            kind,
            alike[0].weight,
            alike[0].attribute,
            alike[0].text,
            between_spaces(flag.attribute for flag in alike),
            "".join(str(flag.weight) for flag in alike),
        )
        for kind, alike in by_kind.items()
    )


def merge_groups(groups: Iterable[FlagGroup]) -> tuple[FlagGroup, ...]:
    """The same flags with one group a kind; of several groups of a kind, the words of the weightiest."""
    merged: dict[Kind, FlagGroup] = {}
    for group in groups:
        other = merged.get(group.kind)
        if other is not None:
            attributes = between_spaces([*other.attributes.split(), *group.attributes.split()])
            top = max(other, group, key=lambda each: each.weight)
            group = top._replace(attributes=attributes, weights=other.weights + group.weights)
        merged[group.kind] = group
    return tuple(merged.values())


def between_spaces(names: Iterable[str]) -> str:
    """The names, none twice, each between two spaces, so that one of them can be searched for in the text."""
    return " ".join(["", *dict.fromkeys(filter(None, names)), ""])
