"""Which places of a taxonomy scenarios cover."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .listings import Listing
from .taxonomy import Category, Taxonomy


@dataclass(frozen=True, slots=True)
class CoveredPlace:
    """A category or subcategory, and the scenarios that are placed right there."""

    place: str
    name: str
    tasks: int
    scenarios: Mapping[str, str]
    """Name and access."""
    within: tuple[str, ...] = ()
    """Of a category: scenarios in its subcategories."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """All places of a taxonomy in its order."""

    taxonomy: str
    places: tuple[CoveredPlace, ...]
    scenarios: int
    access: Mapping[str, int]
    unplaced: tuple[str, ...]


def taxonomy_coverage(taxonomy: Taxonomy, scenarios: Iterable[Listing]) -> Coverage:
    """The places of the taxonomy with the scenarios that stand at them, run or not."""
    found = list(scenarios)
    places = []
    for place, node in taxonomy.places.items():
        here = {each.name: each.access for each in found if each.task == place}
        within = tuple(
            each.name for each in found if isinstance(node, Category) and each.task.startswith(f"{place}/")
        )
        tasks = 0 if isinstance(node, Category) else len(node.tasks)
        places.append(CoveredPlace(place, node.name, tasks, here, within))
    count = Counter(each.access for each in found)
    return Coverage(
        taxonomy.name,
        tuple(places),
        len(found),
        {access: count[access] for access in ("public", "gated", "private") if count[access]},
        tuple(each.name for each in found if not each.task),
    )
