"""A taxonomy of tasks: its places, the listed benchmarks, which places scenarios cover, and how people would sort them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, RootModel, model_validator

from ...rubrics.errors import InvalidFile, VenireError
from ...rubrics.files import nearest
from ...rubrics.rows import read_rows
from ...rubrics.rubric import Name
from ...rubrics.yaml_files import load_yaml, wrong
from ..statistics.estimate import Estimate, undefined
from ..statistics.proportion import wilson

TAXONOMIES = Path(__file__).parent / "taxonomies"


class Subcategory(BaseModel):
    """A group of related tasks."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Name
    name: str
    definition: str = ""
    tasks: tuple[str, ...] = ()


class Category(BaseModel):
    """A broad part of the work."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Name
    name: str
    definition: str
    includes: str = ""
    """What belongs into it."""
    performed_by: str = ""
    subcategories: tuple[Subcategory, ...] = Field(min_length=1)


class Taxonomy(BaseModel):
    """What a taxonomy file says, checked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    description: str = ""
    origin: str = ""
    categories: tuple[Category, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _ids_differ(self) -> Self:
        ids = set[str]()
        for number, category in enumerate(self.categories):
            for node in (category.id, *(subcategory.id for subcategory in category.subcategories)):
                if node in ids:
                    raise wrong(
                        f"the id {node!r} is used twice\ngive every node its own id", "categories", number
                    )
                ids.add(node)
        return self

    @cached_property
    def places(self) -> Mapping[str, Subcategory | Category]:
        """Every node by its place: category, and category/subcategory."""
        node_by_place: dict[str, Subcategory | Category] = {}
        for category in self.categories:
            node_by_place[category.id] = category
            node_by_place |= {
                f"{category.id}/{subcategory.id}": subcategory for subcategory in category.subcategories
            }
        return node_by_place

    def check_place(self, task: str, *, of: str) -> None:
        """Raise where the taxonomy has no such place."""
        if task not in self.places:
            raise VenireError(
                f"{of}: the taxonomy {self.name} has no category or subcategory {task!r}",
                remedy=nearest(task, self.places),
            )

    def category_name(self, task: str | None) -> str:
        """The name of the category that a place belongs to; blank where there is none."""
        node = self.places.get((task or "").partition("/")[0])
        return node.name if node is not None else ""


def load_taxonomy(name_or_path: str, *, beside: Path = Path()) -> Taxonomy:
    """The taxonomy in a file, or venire's own of that name."""
    if name_or_path.endswith((".yaml", ".yml")):
        return load_yaml(beside / name_or_path, Taxonomy)
    shipped = {path.stem: path for path in sorted(TAXONOMIES.glob("*.yaml"))}
    if name_or_path not in shipped:
        raise VenireError(f"no taxonomy named {name_or_path!r}", remedy=nearest(name_or_path, shipped))
    return load_yaml(shipped[name_or_path], Taxonomy)


@dataclass(frozen=True, slots=True)
class NodeSurvey:
    """How many of the people asked put a node under its parent."""

    node: str
    parent: str
    share: Estimate
    elsewhere: Mapping[str, int]
    """Where the others put it."""


@dataclass(frozen=True, slots=True)
class Survey:
    """People's sorting of a taxonomy's nodes."""

    nodes: tuple[NodeSurvey, ...]
    overall: Estimate
    """Over all answers; its interval takes people as they are, and answers as independent."""
    people: int
    unasked: tuple[str, ...]
    """Nodes that no one was asked about."""


def load_survey(path: str | Path, taxonomy: Taxonomy) -> Survey:
    """The survey in a file with the columns `person`, `node` (a subcategory) and `parent` (the category chosen), each by id or name.

    Raises:
        InvalidFile: A row names a node or parent that the taxonomy does not have, or a person sorts a node twice.
    """
    file = Path(path)
    nodes = {
        key: (sub.id, category.id)
        for category in taxonomy.categories
        for sub in category.subcategories
        for key in (sub.id, sub.name.casefold(), f"{category.id}/{sub.id}")
    }
    parents = {
        key: category.id
        for category in taxonomy.categories
        for key in (category.id, category.name.casefold())
    }
    parents_by_node: dict[str, dict[str, str]] = {}
    for line, row in read_rows(file, required=("person", "node", "parent")):
        person, node, parent = (str(row.get(name) or "").strip() for name in ("person", "node", "parent"))
        if not parent:
            continue
        for cell, ids in ((node, nodes), (parent, parents)):
            if cell.casefold() not in ids:
                raise InvalidFile(f"{file}:{line}: the taxonomy has no {cell!r}", remedy=nearest(cell, ids))
        parent_by_person = parents_by_node.setdefault(nodes[node.casefold()][0], {})
        if person in parent_by_person:
            raise InvalidFile(
                f"{file}:{line}: {person!r} already has a row for {node!r}", remedy="keep one of the two rows"
            )
        parent_by_person[person] = parents[parent.casefold()]
    if not parents_by_node:
        raise InvalidFile(
            f"{file}: the file has no answers",
            remedy="write one row for each answer, with the columns person, node and parent",
        )
    surveyed = []
    for category in taxonomy.categories:
        for sub in category.subcategories:
            if sub.id in parents_by_node:
                answers = list(parents_by_node[sub.id].values())
                elsewhere = {
                    parent.id: answers.count(parent.id)
                    for parent in taxonomy.categories
                    if parent.id != category.id and parent.id in answers
                }
                surveyed.append(
                    NodeSurvey(
                        sub.id, category.id, _share(answers.count(category.id), len(answers)), elsewhere
                    )
                )
    asked_nodes = {node_survey.node for node_survey in surveyed}
    agreeing = sum(round(node_survey.share.value * node_survey.share.n) for node_survey in surveyed)
    return Survey(
        tuple(surveyed),
        _share(agreeing, sum(node_survey.share.n for node_survey in surveyed)),
        len({person for by in parents_by_node.values() for person in by}),
        tuple(
            sub.id
            for category in taxonomy.categories
            for sub in category.subcategories
            if sub.id not in asked_nodes
        ),
    )


def _share(agreeing: int, n: int) -> Estimate:
    method = "share of answers; Wilson interval"
    if not n:
        return undefined("no one was asked", method=method)
    low, high = wilson(agreeing / n, n, 0.95)
    return (
        Estimate(agreeing / n, low, high, n, method)
        if not math.isnan(low)
        else undefined("no interval", method=method)
    )


class Listing(BaseModel):
    """One benchmark of a suite, by its place in the taxonomy and who may have its data."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = ""
    task: str = ""
    """The category, or category/subcategory where that is known."""
    access: Literal["public", "gated", "private"]
    about: str = ""
    made: Literal["existing", "reformulated", "new"] | None = None


class _Listings(RootModel[dict[str, Listing]]):
    """A file of listings by name."""


@cache
def load_listings() -> dict[str, Listing]:
    """MedHELM's 35 benchmarks by name."""
    return {
        name: listing.model_copy(update={"name": name})
        for name, listing in load_yaml(TAXONOMIES / "medhelm-listings.yml", _Listings).root.items()
    }


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
    listings = list(scenarios)
    places = []
    for place, node in taxonomy.places.items():
        access_by_name = {listing.name: listing.access for listing in listings if listing.task == place}
        inner_names = tuple(
            listing.name
            for listing in listings
            if isinstance(node, Category) and listing.task.startswith(f"{place}/")
        )
        tasks = 0 if isinstance(node, Category) else len(node.tasks)
        places.append(CoveredPlace(place, node.name, tasks, access_by_name, inner_names))
    count = Counter(listing.access for listing in listings)
    return Coverage(
        taxonomy.name,
        tuple(places),
        len(listings),
        {access: count[access] for access in ("public", "gated", "private") if count[access]},
        tuple(listing.name for listing in listings if not listing.task),
    )
