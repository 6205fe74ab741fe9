"""A taxonomy of tasks: categories, subcategories and tasks, which of them a suite covers, and how people would sort them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

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
        seen = set[str]()
        for number, category in enumerate(self.categories):
            for node in (category.id, *(each.id for each in category.subcategories)):
                if node in seen:
                    raise wrong(
                        f"the id {node!r} is used twice\ngive every node its own", "categories", number
                    )
                seen.add(node)
        return self

    @cached_property
    def places(self) -> Mapping[str, Subcategory | Category]:
        """Every node by its place: category, and category/subcategory."""
        found: dict[str, Subcategory | Category] = {}
        for category in self.categories:
            found[category.id] = category
            found |= {f"{category.id}/{each.id}": each for each in category.subcategories}
        return found

    def check_place(self, task: str, *, of: str) -> None:
        """Raise where the taxonomy has no such place."""
        if task not in self.places:
            raise VenireError(
                f"{of}: the taxonomy {self.name} has no place {task!r}", remedy=nearest(task, self.places)
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
    """Nodes that nobody was asked about."""


def load_survey(path: str | Path, taxonomy: Taxonomy) -> Survey:
    """The survey in a file with the columns `person`, `node` (a subcategory) and `parent` (the category chosen), each by id or name.

    Raises:
        InvalidFile: A row names a node or parent that the taxonomy does not have, or a person sorts a node twice.
    """
    file = Path(path)
    nodes = {key: (sub.id, category.id) for category in taxonomy.categories for sub in category.subcategories for key in (sub.id, sub.name.casefold(), f"{category.id}/{sub.id}")}  # fmt: skip
    parents = {
        key: category.id
        for category in taxonomy.categories
        for key in (category.id, category.name.casefold())
    }
    chosen: dict[str, dict[str, str]] = {}
    for line, row in read_rows(file, required=("person", "node", "parent")):
        person, node, parent = (str(row.get(name) or "").strip() for name in ("person", "node", "parent"))
        if not parent:
            continue
        for given, known in ((node, nodes), (parent, parents)):
            if given.casefold() not in known:
                raise InvalidFile(
                    f"{file}:{line}: the taxonomy has no {given!r}", remedy=nearest(given, known)
                )
        mine = chosen.setdefault(nodes[node.casefold()][0], {})
        if person in mine:
            raise InvalidFile(f"{file}:{line}: {person!r} sorts {node!r} twice", remedy="keep one row")
        mine[person] = parents[parent.casefold()]
    if not chosen:
        raise InvalidFile(f"{file}: no answer in it", remedy="give person,node,parent in every row")
    found = []
    for category in taxonomy.categories:
        for sub in category.subcategories:
            if sub.id in chosen:
                answers = list(chosen[sub.id].values())
                elsewhere = {other.id: answers.count(other.id) for other in taxonomy.categories if other.id != category.id and other.id in answers}  # fmt: skip
                found.append(
                    NodeSurvey(
                        sub.id, category.id, _share(answers.count(category.id), len(answers)), elsewhere
                    )
                )
    asked = {each.node for each in found}
    right = sum(round(each.share.value * each.share.n) for each in found)
    return Survey(
        tuple(found),
        _share(right, sum(each.share.n for each in found)),
        len({person for by in chosen.values() for person in by}),
        tuple(
            sub.id
            for category in taxonomy.categories
            for sub in category.subcategories
            if sub.id not in asked
        ),
    )


def _share(right: int, n: int) -> Estimate:
    method = "share of answers; Wilson interval"
    if not n:
        return undefined("nobody was asked", method=method)
    low, high = wilson(right / n, n, 0.95)
    return (
        Estimate(right / n, low, high, n, method)
        if not math.isnan(low)
        else undefined("no interval", method=method)
    )
