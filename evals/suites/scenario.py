"""A scenario: cases with what is right, how they are asked and how answers are scored. One YAML file, no code."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, model_validator

from ...rubrics.errors import InvalidFile, VenireError
from ...rubrics.files import inner_errors, load_yaml, near_column, read_rows, wrong
from .scorer import AnswerForm, Scorer, ScorerOptions, scorer

TARGETS = ("target", "reference")
"""Columns that hold what is right, the first that a case has, unless the scenario names another."""


class DataSource(BaseModel):
    """Where a scenario's data come from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    repo: str
    commit: str | None = None
    path: str | None = None
    sha256: str | None = None
    licence: str | None = None


class Scenario(BaseModel):
    """What a scenario file says, checked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = ""
    """Without one, the file's."""
    task: str | None = None
    """Its place in the taxonomy: category/task."""
    access: Literal["public", "gated", "private"] = "public"
    source: DataSource | None = None
    cases: Path
    """JSONL or CSV with the columns `id` and `target`, relative to the scenario's file."""
    prompt: Path | None = None
    """The template that a system is asked with."""
    target: str | None = None
    """The column that holds what is right; without it `target`, else `reference`."""
    answer: AnswerForm = AnswerForm()
    score: str | dict[str, Any]
    """A scorer's name, with its options where it has any: NAME, NAME VALUE, or {NAME: {option: value}}."""
    scale: tuple[float, float] = (0.0, 1.0)

    @model_validator(mode="after")
    def _complete(self, info: ValidationInfo) -> Self:
        if self.scale[0] >= self.scale[1]:
            raise wrong("the first number is the lower one\nwrite [low, high]", "scale")
        self._options_of(*self._rule)
        beside = (info.context or {}).get("beside")
        if beside is None:
            return self
        found = {"cases": beside / self.cases}
        if self.prompt is not None:
            found["prompt"] = beside / self.prompt
        return self.model_copy(update=found)

    @property
    def _rule(self) -> tuple[Scorer, dict[str, Any]]:
        """The scorer, and the options as they were written."""
        if isinstance(self.score, str):
            name, _, value = self.score.partition(" ")
            written: Any = value.strip() or {}
        elif len(self.score) == 1:
            ((name, written),) = self.score.items()
        else:
            raise wrong("names several scorers\nwrite one: {NAME: {option: value}}", "score")
        try:
            found = scorer(name)
        except VenireError as error:
            raise wrong(f"{error.problem}\n{error.remedy}", "score") from None
        if isinstance(written, Mapping):
            return found, dict(written)
        if not found.shorthand:
            raise wrong(f"{name} takes no option\nwrite score: {name}", "score")
        return found, {found.shorthand: written}

    def _options_of(self, found: Scorer, written: dict[str, Any]) -> ScorerOptions:
        try:
            return found.options.model_validate(written)
        except ValidationError as error:
            inside = ("score", found.name) if isinstance(self.score, dict) else ("score",)
            raise inner_errors(error, found.options, lambda at: (*inside, *at)) from None

    @cached_property
    def scorer(self) -> Scorer:
        """How its answers are scored."""
        return self._rule[0]

    @cached_property
    def scorer_options(self) -> ScorerOptions:
        """What the scorer is told."""
        return self._options_of(*self._rule)


class ScenarioCase(BaseModel):
    """One case of a scenario."""

    model_config = ConfigDict(frozen=True)

    id: str = Field(min_length=1)
    target: Any
    """What is right; None where the case does not say."""
    columns: dict[str, Any]


def load_scenario(path: str | Path) -> Scenario:
    """The scenario in a YAML file.

    Raises:
        InvalidFile: Whatever is wrong with it, with the line where it is wrong.
    """
    file = Path(path)
    found = load_yaml(file, Scenario)
    return found if found.name else found.model_copy(update={"name": file.stem})


def load_scenario_cases(scenario: Scenario) -> list[ScenarioCase]:
    """The cases of a scenario, in the order of its file."""
    cases: dict[str, ScenarioCase] = {}
    file = scenario.cases
    for line, row in read_rows(file, required=("id",)):
        name = str(row.get("id") if row.get("id") is not None else "").strip()
        if not name:
            raise InvalidFile(f"{file}:{line}: no id", remedy="give every case an id")
        if name in cases:
            raise InvalidFile(
                f"{file}:{line}: the id {name!r} stands there twice", remedy="give every case its own"
            )
        cases[name] = ScenarioCase(id=name, target=_target(scenario, file, line, row), columns=row)
    if not cases:
        raise InvalidFile(f"{file}: no case in it", remedy="write one case a line, with id and target")
    return list(cases.values())


def _target(scenario: Scenario, file: Path, line: int, row: Mapping[str, Any]) -> Any:
    if scenario.target is not None and scenario.target not in row:
        raise InvalidFile(
            f"{file}:{line}: no column {scenario.target!r}",
            remedy=f"{near_column(scenario.target, row)}it is the scenario's target",
        )
    named = [scenario.target] if scenario.target is not None else TARGETS
    given = next((row[name] for name in named if name in row), None)
    return None if isinstance(given, str) and not given.strip() else given
