"""A suite: scenarios by systems, in one YAML file; everything that it names is read and checked before anything is asked."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from ...agents.cost import Price, load_prices
from ...personas.jury import Jury, ModelSettings
from ...rubrics.errors import InvalidFile, VenireError
from ...rubrics.files import nearest
from ...rubrics.yaml_files import load_yaml, wrong
from ..studies.schema import StudyBudget
from .outputs import RecordedOutput, load_recorded
from .scenario import LIBRARY, Scenario, ScenarioCase, load_scenario, load_scenario_cases
from .taxonomy import Listing, Taxonomy, load_listings, load_taxonomy


class SuiteScenario(BaseModel):
    """A scenario of the suite, and how much of it is run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    scenario: str
    """A file beside the suite's, or the name of one that venire brings."""
    sample: int | None = Field(default=None, ge=1)
    """Cases, drawn by the suite's seed; all without it."""
    judged: int | None = Field(default=None, ge=1)
    """Cases whose answers are put before the jury; all without it."""
    score: str | dict[str, Any] | None = None
    """Another scorer than the scenario's own; files that it names lie beside the suite's."""


class System(ModelSettings):
    """A system under test: a model that is asked, or outputs that were recorded."""

    name: str | None = None
    """Without one, the model string; outputs without one name their systems in a column."""
    outputs: tuple[Path, ...] = ()
    """Beside the suite's file, or under its data. JSONL or CSV: `case`, `output` and, as far as known, `scenario`, `system`, `prompt_tokens`, `completion_tokens`."""
    scenario: str | None = None
    """The scenario of outputs that do not name one."""
    columns: dict[str, str] = Field(default={})
    """What the file calls those columns, where it has names of its own."""

    @field_validator("outputs", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str | Path) else value

    @field_validator("name")
    @classmethod
    def _plain_name(cls, value: str | None) -> str | None:
        if value is not None and (not value.strip() or "@" in value):
            raise ValueError(
                "a system's name cannot be blank or have @\nchoose another name: @ is used to separate the names of system and case"
            )
        return value

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if bool(self.outputs) == (self.model is not None):
            raise ValueError("a system needs either a model or outputs\nwrite model: NAME or outputs: FILE")
        return self

    @property
    def title(self) -> str:
        """What it is called on the board."""
        return self.name or self.model or ""


class Suite(BaseModel):
    """What a suite file says, checked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = ""
    description: str = ""
    taxonomy: str = "medhelm"
    """A file beside the suite's, or one that venire brings."""
    data: Path = Path("data")
    """The folder of the published files that venire's own scenarios read."""
    scenarios: tuple[SuiteScenario, ...] = Field(min_length=1)
    systems: tuple[System, ...] = Field(min_length=1)
    sample: int | None = Field(default=None, ge=1)
    judged: int | None = Field(default=None, ge=1)
    private: bool = False
    """Whether private scenarios whose cases are here are run; they are skipped otherwise."""
    prices: Path | None = None
    budget: StudyBudget = StudyBudget()
    seed: int = 0

    @field_validator("scenarios", mode="before")
    @classmethod
    def _names_alone(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value
        return [{"scenario": entry} if isinstance(entry, str) else entry for entry in value]

    @field_validator("data", "prices")
    @classmethod
    def _beside_the_file(cls, value: Path | None, info: ValidationInfo) -> Path | None:
        folder: Path | None = (info.context or {}).get("beside")
        return value if value is None or folder is None else folder / value.expanduser()

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        titles = [system.title for system in self.systems if system.title]
        for number, system in enumerate(self.systems):
            if system.title and titles.count(system.title) > 1:
                raise wrong(
                    f"two systems are named {system.title!r}\ngive every system its own name",
                    "systems",
                    number,
                )
        return self


@dataclass(frozen=True)
class SuitePart:
    """A scenario that is run: its cases, and those that a jury hears."""

    scenario: Scenario
    cases: tuple[ScenarioCase, ...]
    of: int
    """Cases in its file."""
    judged: frozenset[str]
    recorded: Mapping[str, Mapping[str, RecordedOutput]]
    """Outputs by system and case."""

    @property
    def name(self) -> str:
        return self.scenario.name

    @cached_property
    def prompts(self) -> Mapping[str, str]:
        """The rendered prompt of every case; empty where the scenario has none."""
        template = self.scenario.template
        return (
            {}
            if template is None
            else {case.id: template.render(case.columns, case=case.id) for case in self.cases}
        )


@dataclass(frozen=True)
class LoadedSuite:
    """A suite with everything that it names."""

    file: Path
    suite: Suite
    taxonomy: Taxonomy
    parts: tuple[SuitePart, ...]
    skipped: Mapping[str, str]
    """Scenarios that are listed and not run, and why."""
    listed: Mapping[str, Listing]
    """Every scenario of the suite, run or not, with its place and access."""
    prices: Mapping[str, Price]
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.suite.name or self.file.stem

    @property
    def asked(self) -> tuple[System, ...]:
        """The systems that answer now."""
        return tuple(system for system in self.suite.systems if system.model is not None)

    @cached_property
    def systems(self) -> tuple[str, ...]:
        """Every system's name, models and recorded ones."""
        recorded = (name for part in self.parts for name in part.recorded)
        return tuple(dict.fromkeys([*(system.title for system in self.asked), *recorded]))

    @property
    def juries(self) -> list[Jury]:
        """The juries that score scenarios."""
        seatings = (part.scenario.seating for part in self.parts)
        return [seating.jury for seating in seatings if seating is not None]


def load_suite(path: str | Path, *, data: Path | None = None) -> LoadedSuite:
    """The suite in a file, with its scenarios, cases, prompts, outputs and prices.

    Raises:
        InvalidFile: Whatever is wrong with any of them.
    """
    file = Path(path)
    suite = load_yaml(file, Suite)
    folder, data_dir = file.parent, data or suite.data
    scenarios: list[tuple[SuiteScenario, Scenario | Listing]] = []
    for entry in suite.scenarios:
        scenarios.append((entry, _with_score(entry, _named_scenario(entry.scenario, folder, data_dir), file)))
    names = [scenario.name for _, scenario in scenarios]
    for name in names:
        if names.count(name) > 1:
            raise InvalidFile(
                f"{file}: two scenarios are named {name!r}", remedy="give each scenario its own name"
            )
    taxonomy = load_taxonomy(suite.taxonomy, beside=folder)
    for _, scenario in scenarios:
        if scenario.task:
            taxonomy.check_place(scenario.task, of=scenario.name)
    recorded, notes = load_recorded(
        file,
        [
            (
                system.title,
                [_output_file(path, folder, data_dir) for path in system.outputs],
                system.scenario,
                system.columns,
            )
            for system in suite.systems
            if system.outputs
        ],
        names,
    )
    if not suite.systems or not (recorded or any(system.model for system in suite.systems)):
        raise InvalidFile(
            f"{file}: no system has a model or recorded outputs",
            remedy="name a model for a system, or a file of outputs that has rows",
        )
    parts, skipped = [], dict[str, str]()
    for entry, s in scenarios:
        reason = _why_skipped(s, suite, data_dir)
        if reason is not None:
            skipped[s.name] = reason
            continue
        assert isinstance(s, Scenario)
        parts.append(
            _part(entry, s, suite, recorded.get(s.name, {}), asks=any(s.model for s in suite.systems))
        )
    _check_titles(file, suite, parts)
    unknown = [f"{len(rows)} outputs of {system!r} match no case of {name!r}" for name, by in recorded.items() for part in parts if part.name == name for system, texts in by.items() if (rows := [case for case in texts if case not in {c.id for c in part.cases}]) and part.of == len(part.cases)]  # fmt: skip
    return LoadedSuite(
        file,
        suite,
        taxonomy,
        tuple(parts),
        skipped,
        {scenario.name: _listing(scenario) for _, scenario in scenarios},
        load_prices(suite.prices) if suite.prices is not None else {},
        (*notes, *unknown),
    )


def arm_name(*parts: str) -> str:
    """A name for an arm of the record, made of names that people chose: itself where it is plain, else with a hash of it."""
    joined = "--".join(parts)
    plain = re.sub(r"[^a-z0-9_-]+", "-", joined.lower()).strip("-")
    plain = plain if plain[:1].isalpha() else f"x-{plain}".rstrip("-")
    return plain if plain == joined else f"{plain}-{hashlib.sha256(joined.encode()).hexdigest()[:8]}"


def _named_scenario(name: str, folder: Path, data: Path) -> Scenario | Listing:
    if name.endswith((".yaml", ".yml")):
        return load_scenario(folder / name)
    shipped = [path.stem for path in LIBRARY.glob("*.yaml")]
    if name in shipped:
        return load_scenario(name, data=data)
    listings = load_listings()
    if name in listings:
        return listings[name]
    raise VenireError(f"no scenario named {name!r}", remedy=nearest(name, [*shipped, *listings]))


def _with_score(entry: SuiteScenario, scenario: Scenario | Listing, suite: Path) -> Scenario | Listing:
    """The scenario with the suite's own scorer for it, where there is one."""
    if entry.score is None or isinstance(scenario, Listing):
        return scenario
    fields = scenario.model_dump(exclude_unset=True) | {
        "score": entry.score,
        "scale": None,
        "name": scenario.name,
    }
    for name in ("cases", "prompt"):
        if fields.get(name) is not None:
            fields[name] = Path(fields[name]).absolute()
    try:
        return Scenario.model_validate(fields, context={"beside": suite.parent})
    except ValidationError as error:
        detail = error.errors()[0]
        problem, _, remedy = detail["msg"].removeprefix("Value error, ").partition("\n")
        raise InvalidFile(
            f"{suite}: the score of {scenario.name}: {problem}",
            remedy=remedy or "write the score as in a scenario file",
        ) from None


def _output_file(file: Path, folder: Path, data: Path) -> Path:
    local_file = folder / file.expanduser()
    return local_file if local_file.exists() or not (data / file).exists() else data / file


def _why_skipped(scenario: Scenario | Listing, suite: Suite, data: Path) -> str | None:
    if isinstance(scenario, Listing):
        return f"{scenario.access}: venire lists this scenario but cannot read its data; if you have the data, write a scenario file"
    if scenario.access == "private" and not suite.private:
        return "private: the data are not published; if you have them, write private: true in the suite file"
    if scenario.cases is None:
        return f"{scenario.access}: the scenario file names no cases"
    if not scenario.cases.is_file():
        origin = f" from {scenario.source.repo}" if scenario.source is not None else ""
        if scenario.access != "public":
            return f"{scenario.access}: {scenario.cases} is not in the data folder; get it{origin}"
        raise InvalidFile(
            f"{scenario.cases}: no such file; the scenario {scenario.name} needs it",
            remedy=f"get the file{origin}, and name its folder under data: or with --data (now {data})",
        )
    return None


def _part(
    entry: SuiteScenario, scenario: Scenario, suite: Suite, recorded: Mapping[str, Mapping[str, RecordedOutput]], *, asks: bool
) -> SuitePart:  # fmt: skip
    everyone = load_scenario_cases(scenario)
    sampled = _sample(everyone, entry.sample or suite.sample, suite.seed)
    judged = _sample(sampled, entry.judged or suite.judged, suite.seed)
    part = SuitePart(
        scenario,
        tuple(sampled),
        len(everyone),
        frozenset(case.id for case in judged) if scenario.seating is not None else frozenset(),
        recorded,
    )
    columns: dict[str, Any] = {name: value for case in everyone for name, value in case.columns.items()}
    template = scenario.template
    if template is None and asks:
        raise InvalidFile(
            f"{scenario.name}: the scenario has no prompt, so no model can be asked",
            remedy="write prompt: FILE.md in the scenario, with {COLUMN} where a case's text belongs",
        )
    if template is not None:
        target = scenario.target or next((name for name in ("target", "reference") if name in columns), None)
        template.check_columns(columns, target=target)
        part.prompts  # noqa: B018  every case is rendered before anything is asked
    seating = scenario.seating
    if seating is not None and seating.source is not None and seating.source not in columns:
        raise InvalidFile(
            f"{scenario.name}: the cases have no column {seating.source!r}, which jurors should see as the source",
            remedy=nearest(seating.source, columns),
        )
    return part


def _sample(cases: Sequence[ScenarioCase], size: int | None, seed: int) -> list[ScenarioCase]:
    """So many cases, drawn by the seed and their ids, in the order of the file: a larger sample holds the smaller one."""
    if size is None or size >= len(cases):
        return list(cases)
    sample = sorted(cases, key=lambda case: hashlib.sha256(f"{seed}\0{case.id}".encode()).digest())[:size]
    ids = {case.id for case in sample}
    return [case for case in cases if case.id in ids]


def _check_titles(file: Path, suite: Suite, parts: Sequence[SuitePart]) -> None:
    models = {system.title for system in suite.systems if system.model is not None}
    for part in parts:
        baseline, known = part.scenario.seating and part.scenario.seating.against, {*models, *part.recorded}
        if baseline and baseline not in known:
            raise InvalidFile(
                f"{file}: no system is named {baseline!r}, but {part.name} compares the others with it",
                remedy=nearest(baseline, sorted(known)),
            )
        for name in part.recorded:
            if name in models:
                raise InvalidFile(
                    f"{file}: {name!r} is the name both of a model and of recorded outputs",
                    remedy="rename one of them",
                )


def _listing(scenario: Scenario | Listing) -> Listing:
    if isinstance(scenario, Listing):
        return scenario
    return Listing(
        name=scenario.name, task=scenario.task or "", access=scenario.access, about=scenario.description
    )
