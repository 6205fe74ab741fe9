"""A scenario: cases with what is right, the prompt that asks them and how answers are scored. One YAML file, no code."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from ...rubrics.errors import InvalidFile, VenireError
from ...rubrics.files import near_column, nearest, read_text
from ...rubrics.rows import read_rows
from ...rubrics.yaml_files import inner_errors, load_yaml, wrong
from ..ratings.published_data import READERS
from .scorer import AnswerForm, AnyScorer, JudgedScorer, ScorerOptions, Seating, scorer, scorer_names

_COLUMN = re.compile(r"\{([A-Za-z_][\w-]*)\}")


@dataclass(frozen=True)
class PromptTemplate:
    """What a system is asked, case by case."""

    file: Path
    text: str

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that it names."""
        return tuple(dict.fromkeys(_COLUMN.findall(self.text)))

    def render(self, columns: Mapping[str, Any], *, case: str) -> str:
        """The prompt of one case: a list of choices gets letters, other lists a paragraph each.

        Raises:
            InvalidFile: The case lacks a column that the prompt names.
        """

        def value(match: re.Match[str]) -> str:
            name = match[1]
            if columns.get(name) is None:
                raise InvalidFile(
                    f"{self.file}: case {case!r} has no column {name!r}",
                    remedy=f"{near_column(name, columns)}use only columns that every case has",
                )
            return column_text(columns[name])

        return _COLUMN.sub(value, self.text)

    def check_columns(self, columns: Mapping[str, Any], *, target: str | None) -> None:
        """Raise `InvalidFile` where the prompt names no column, one that is not there, or the one that holds what is right."""
        if not self.columns:
            raise InvalidFile(
                f"{self.file}: the prompt names no column, so it would be the same for every case",
                remedy="write {COLUMN} where the text of a case belongs",
            )
        for name in self.columns:
            if name not in columns:
                raise InvalidFile(
                    f"{self.file}: the cases have no column {name!r}",
                    remedy=f"{near_column(name, columns)}use one of the columns {', '.join(map(str, columns))}",
                )
        if target in self.columns:
            raise InvalidFile(
                f"{self.file}: the prompt shows {target!r}, which is the right answer",
                remedy=f"remove {target} from the prompt",
            )


def load_prompt(file: Path) -> PromptTemplate:
    """The template in a text file."""
    return PromptTemplate(file, read_text(file).rstrip("\n"))


def column_text(value: Any) -> str:
    """A column as a system reads it."""
    if isinstance(value, Mapping):
        return "\n".join(f"{label}. {text}" for label, text in value.items())
    if isinstance(value, list | tuple):
        short = len(value) <= len(ascii_uppercase) and all(
            isinstance(element, str) and "\n" not in element for element in value
        )
        return "\n".join(f"{label}. {text}" for label, text in zip(ascii_uppercase, value, strict=False)) if short else "\n\n".join(map(str, value))  # fmt: skip
    return str(value)


TARGETS = ("target", "reference")
"""Columns that hold what is right, the first that a case has, unless the scenario names another."""
LIBRARY = Path(__file__).parent / "library"

Access = Literal["public", "gated", "private"]


class DataSource(BaseModel):
    """Where a scenario's data come from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    repo: str
    commit: str | None = None
    path: str | None = None
    sha256: str | None = None
    """Of the file that `cases` names; another file is refused."""
    licence: str | None = None


class Scenario(BaseModel):
    """What a scenario file says, checked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = ""
    """Without one, the file's."""
    description: str = ""
    task: str | None = None
    """Its place in the taxonomy: category/subcategory."""
    access: Access = "public"
    source: DataSource | None = None
    cases: Path | None = None
    """JSONL or CSV with the columns `id` and `target`, relative to the scenario's file; none where nobody here has the data."""
    reader: str = ""
    """For a file as it was published: the reader's name, and the part of the file where it has several."""
    prompt: Path | None = None
    """The template that a system is asked with."""
    target: str | None = None
    """The column that holds what is right; without it `target`, else `reference`."""
    group: str | None = None
    """The column that says which cases belong together."""
    answer: AnswerForm = AnswerForm()
    score: str | dict[str, Any] | None = None
    """A scorer's name, with its options where it has any: NAME, NAME VALUE, {NAME: {option: value}} or {NAME: value, option: value}."""
    scale: tuple[float, float] | None = None
    """From the worst score to the best; without it, the scorer's own."""
    _beside: Path | None = PrivateAttr(default=None)

    @field_validator("name")
    @classmethod
    def _plain_name(cls, value: str) -> str:
        if "/" in value or "@" in value:
            raise ValueError(
                "a scenario's name cannot have / or @\nwrite the name without these characters, which separate the names of system and scenario"
            )
        return value

    @field_validator("reader")
    @classmethod
    def _known_reader(cls, value: str) -> str:
        name = value.partition(" ")[0]
        if name and name not in READERS:
            raise ValueError(f"no reader is named {name!r}\n{nearest(name, READERS)}")
        return value

    @model_validator(mode="after")
    def _complete(self, info: ValidationInfo) -> Self:
        if self.scale is not None and self.scale[0] >= self.scale[1]:
            raise wrong("the first number must be the lower one\nwrite [low, high]", "scale")
        if self.score is None and self.cases is not None:
            raise wrong(
                f"the scenario has cases but no scorer\nadd score: with one of {', '.join(scorer_names())}",
                "cases",
            )
        folder = (info.context or {}).get("beside")
        self._beside = folder
        if self.score is not None:
            self._options_of(*self._rule)
        if folder is None:
            return self
        paths: dict[str, Any] = {}
        if self.cases is not None:
            paths["cases"] = folder / self.cases
        if self.prompt is not None:
            paths["prompt"] = folder / self.prompt
        return self.model_copy(update=paths)

    @property
    def _rule(self) -> tuple[AnyScorer, dict[str, Any]]:
        """The scorer, and the options as they were written."""
        further: dict[str, Any] = {}
        if self.score is None:
            raise VenireError(
                f"{self.name}: the scenario names no scorer", remedy="write score: NAME in the scenario"
            )
        if isinstance(self.score, str):
            name, _, value = self.score.partition(" ")
            raw_options: Any = value.strip() or {}
        else:
            scorer_keys = [key for key in self.score if key in scorer_names()] or list(self.score)[:1]
            if len(scorer_keys) != 1:
                raise wrong("more than one scorer is named\nwrite one: {NAME: {option: value}}", "score")
            (name,) = scorer_keys
            raw_options = self.score[name]
            further = {key: value for key, value in self.score.items() if key != name}
        try:
            named_scorer = scorer(name)
        except VenireError as error:
            raise wrong(f"{error.problem}\n{error.remedy}", "score") from None
        if isinstance(raw_options, Mapping):
            return named_scorer, {**raw_options, **further}
        if not named_scorer.shorthand:
            raise wrong(f"{name} takes no option\nwrite score: {name}", "score")
        return named_scorer, {named_scorer.shorthand: raw_options, **further}

    def _options_of(self, named_scorer: AnyScorer, raw_options: dict[str, Any]) -> ScorerOptions:
        try:
            return named_scorer.options.model_validate(raw_options, context={"beside": self._beside})
        except ValidationError as error:
            flat = not isinstance(self.score, dict) or not isinstance(
                self.score.get(named_scorer.name), Mapping
            )
            inside = ("score",) if flat else ("score", named_scorer.name)
            raise inner_errors(error, named_scorer.options, lambda at: (*inside, *at)) from None

    @cached_property
    def scorer(self) -> AnyScorer:
        """How its answers are scored."""
        return self._rule[0]

    @cached_property
    def scorer_options(self) -> ScorerOptions:
        """What the scorer is told."""
        return self._options_of(*self._rule)

    @cached_property
    def seating(self) -> Seating | None:
        """The jury that scores its answers; None where a program does."""
        return self.scorer.seating(self.scorer_options) if isinstance(self.scorer, JudgedScorer) else None

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The worst score and the best."""
        if self.scale is not None:
            return self.scale
        return (0.0, 1.0) if self.seating is None else self.seating.scale

    @cached_property
    def template(self) -> PromptTemplate | None:
        """What a system is asked with."""
        return None if self.prompt is None else load_prompt(self.prompt)

    @property
    def category(self) -> str:
        """The first part of its place in the taxonomy."""
        return (self.task or "").partition("/")[0]


class ScenarioCase(BaseModel):
    """One case of a scenario."""

    model_config = ConfigDict(frozen=True)

    id: str = Field(min_length=1)
    target: Any
    """What is right; None where the case does not say."""
    columns: dict[str, Any]


def load_scenario(name_or_path: str | Path, *, data: Path | None = None) -> Scenario:
    """The scenario in a YAML file, or venire's own of that name, whose published files lie under `data`.

    Raises:
        InvalidFile: Whatever is wrong with it, with the line where it is wrong.
    """
    file = Path(name_or_path)
    if file.suffix in (".yaml", ".yml"):
        scenario = load_yaml(file, Scenario)
        return scenario if scenario.name else scenario.model_copy(update={"name": file.stem})
    shipped = {path.stem: path for path in sorted(LIBRARY.glob("*.yaml"))}
    if str(name_or_path) not in shipped:
        raise VenireError(
            f"no scenario named {str(name_or_path)!r}", remedy=nearest(str(name_or_path), shipped)
        )
    file = shipped[str(name_or_path)]
    scenario = load_yaml(file, Scenario)
    published = None if scenario.cases is None else (data or Path()) / scenario.cases.relative_to(LIBRARY)
    return scenario.model_copy(update={"name": file.stem, "cases": published})


def load_scenario_cases(scenario: Scenario) -> list[ScenarioCase]:
    """The cases of a scenario, in the order of its file.

    Raises:
        InvalidFile: Something is wrong with a case, or the file is not the one that the scenario's source says.
    """
    file = scenario.cases
    if file is None:
        raise VenireError(
            f"{scenario.name}: the scenario names no cases", remedy="write cases: FILE in the scenario"
        )
    check_hash(scenario)
    cases: dict[str, ScenarioCase] = {}
    for line, row in _rows(scenario, file):
        name = str(row.get("id") if row.get("id") is not None else "").strip()
        if not name:
            raise InvalidFile(f"{file}:{line}: the case has no id", remedy="give every case an id")
        if name in cases:
            raise InvalidFile(
                f"{file}:{line}: the id {name!r} is used twice", remedy="give every case an id of its own"
            )
        cases[name] = ScenarioCase(id=name, target=_target(scenario, file, line, row), columns=row)
    if not cases:
        raise InvalidFile(
            f"{file}: no cases were found", remedy="write one case per line, with id and target"
        )
    return list(cases.values())


def check_hash(scenario: Scenario) -> None:
    """Raise `InvalidFile` where the cases are not the file whose hash the source gives."""
    expected_digest = scenario.source.sha256 if scenario.source is not None else None
    if expected_digest is None or scenario.cases is None or not scenario.cases.is_file():
        return
    with scenario.cases.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != expected_digest.lower():
        raise InvalidFile(
            f"{scenario.cases}: this is not the file that {scenario.name} was made for (sha256 {digest[:12]}..., not {expected_digest[:12]}...)",
            remedy="use the published file, or write the new hash under source: {sha256: ...}",
        )


def _rows(scenario: Scenario, file: Path) -> Iterable[tuple[int, Mapping[str, Any]]]:
    if not scenario.reader:
        return read_rows(file, required=("id",))
    name, _, part = scenario.reader.partition(" ")
    return enumerate(READERS[name](file, part.strip()), 1)


def _target(scenario: Scenario, file: Path, line: int, row: Mapping[str, Any]) -> Any:
    if scenario.target is not None and scenario.target not in row:
        raise InvalidFile(
            f"{file}:{line}: the column {scenario.target!r} is missing",
            remedy=f"{near_column(scenario.target, row)}add this column, which the scenario names as its target",
        )
    columns = [scenario.target] if scenario.target is not None else TARGETS
    target = next((row[name] for name in columns if name in row), None)
    return None if isinstance(target, str) and not target.strip() else target
