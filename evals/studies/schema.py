"""The schema of a study file: arms, the grid, the search, the split, the budget, the seeds, the judgements, and the tables that are wanted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypedDict

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from ...agents.cost import Cost
from ...personas.jury import COUNTING_SYNONYMS, ModelSettings
from ...rubrics.rubric import Name
from ...rubrics.yaml_files import or_written_as
from ..audits.audit import Severity

Calibration = Literal["none", "linear", "isotonic", "ordinal"]
Objective = Literal["agreement", "cost", "latency"]
HeardOn = Literal["all", "test"] | Annotated[int, Field(ge=1)]
"""Which cases an arm hears: all, the test cases, or so many of them."""


def _as_tuple(value: Any) -> Any:
    """One value as a list of one, so that an axis with a single value may be written plainly."""
    return value if isinstance(value, list | tuple) else (value,)


def _as_model(value: Any) -> Any:
    return {"model": value} if isinstance(value, str) else value


def _as_models(value: Any) -> Any:
    return tuple(_as_model(each) for each in _as_tuple(value))


_Written = ModelSettings | str
Seating = Annotated[
    tuple[ModelSettings, ...],
    BeforeValidator(_as_models, json_schema_input_type=_Written | tuple[_Written, ...]),
    Field(min_length=1),
]
"""A model for every seat, or several that are dealt to the seats in turn."""
Model = Annotated[ModelSettings, BeforeValidator(_as_model, json_schema_input_type=_Written)]
Words = Annotated[
    tuple[str, ...],
    BeforeValidator(_as_tuple, json_schema_input_type=str | tuple[str, ...]),
    Field(min_length=1),
]
Numbers = Annotated[
    tuple[float | None, ...],
    BeforeValidator(_as_tuple, json_schema_input_type=float | None | tuple[float | None, ...]),
    Field(min_length=1),
]


class StrictModel(BaseModel):
    """A part of the file; an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class StudyShots(StrictModel):
    """Worked examples drawn by seed from the cases that arms are chosen on; a case is never shown one of its own group."""

    k: int = Field(ge=1)
    seed: int = 0


class ArmEntry(StrictModel):
    """One arm written out: a jury by name, by file or in full, with what it does differently here."""

    model_config = ConfigDict(json_schema_extra=or_written_as({"type": "string"}))

    jury: str | dict[str, Any]
    name: Name | None = None
    """Without one, the jury's own."""
    model: str | None = None
    """Of every seat that names none."""
    base_url: str | None = None
    protocol: str | None = None
    count: str | None = None
    calibration: Calibration = "none"
    repeats: int | None = Field(default=None, ge=1)
    """How often a single judge or each seat of a panel is asked, or the whole deliberation is held."""
    shots: StudyShots | None = None
    """Worked examples out of the study's own cases."""
    adapter: Path | None = None
    """Of every seat that the embedded runtime answers for."""
    optional: bool = False
    """Whether the arm is left out, and that is said, where its adapter is not there."""
    on: HeardOn = "all"
    """The cases it hears: all, the test cases, or so many of these (of all, where none is held out). An arm that hears no other case is in the tables, and
    not among those that the study chooses from."""

    @model_validator(mode="before")
    @classmethod
    def _by_name(cls, value: Any) -> Any:
        return {"jury": value} if isinstance(value, str) else value


class LimitAxes(StrictModel):
    """Each limit with the values it is tried at."""

    max_rounds: Numbers | None = None
    max_turns: Numbers | None = None
    max_stalls: Numbers | None = None
    max_replans: Numbers | None = None
    max_tokens: Numbers | None = None
    max_usd: Numbers | None = None
    max_seconds: Numbers | None = None


class Grid(StrictModel):
    """Every combination of these is an arm; with `search`, they are what a search chooses from."""

    personas: dict[Name, tuple[Any, ...]] = Field(min_length=1)
    """Groups that sit together, by a name for the group. A persona is a library's name, a file, or `none`."""
    models: dict[Name, Seating] = Field(min_length=1)
    protocol: Words = ("panel",)
    limits: LimitAxes = LimitAxes()
    count: Words | None = None
    """Counting rules; without any, each protocol's own."""
    tolerance: Numbers = (0.0,)
    quorum: Annotated[
        tuple[int, ...], BeforeValidator(_as_tuple, json_schema_input_type=int | tuple[int, ...])
    ] = (1,)
    calibration: Annotated[
        tuple[Calibration, ...],
        BeforeValidator(_as_tuple, json_schema_input_type=Calibration | tuple[Calibration, ...]),
    ] = ("none",)
    orchestrator: Seating | None = None
    """Who presides, where someone does, or several who are tried in turn; without one, the model of the first seat."""
    repeats: Annotated[
        tuple[int, ...],
        BeforeValidator(_as_tuple, json_schema_input_type=int | tuple[int, ...]),
        Field(min_length=1),
    ] = (1,)
    """How often a single judge, or each seat of a panel, is asked, or the whole deliberation is held."""
    shots: Annotated[
        tuple[dict[str, Any] | None, ...],
        BeforeValidator(
            _as_tuple, json_schema_input_type=dict[str, Any] | None | tuple[dict[str, Any] | None, ...]
        ),
        Field(min_length=1),
    ] = (None,)
    """Worked examples, as a jury file has them; null for none."""
    temperature: Numbers = (None,)
    """Of every seat; null leaves each model its own."""
    params: Annotated[
        tuple[dict[str, Any], ...],
        BeforeValidator(_as_tuple, json_schema_input_type=dict[str, Any] | tuple[dict[str, Any], ...]),
        Field(min_length=1),
    ] = ({},)
    """Further parameters of the provider, for every seat, beside those that its model has."""
    singles: bool = True
    """Whether each seat of the grid is also an arm alone: the judges that every jury must beat. Where juries start
    blind their calls are the juries' own, so that they cost nothing more."""

    @field_validator("personas")
    @classmethod
    def _somebody(cls, value: dict[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
        for name, group in value.items():
            if not group:
                raise ValueError(
                    f"the group {name!r} is empty\nadd a persona to the group, or remove the group"
                )
        return value


class Search(StrictModel):
    """Juries composed seat by seat out of the grid's personas and models, tried where they promise most."""

    trials: int = Field(ge=1)
    objectives: Annotated[tuple[Objective, ...], Field(min_length=1)] = ("agreement", "cost")
    max_seats: int = Field(default=5, ge=1)
    at_once: int = Field(default=4, ge=1)
    """Trials that are asked for, and sit, together."""
    first: float = Field(default=0.25, gt=0, le=1)
    """The share of the selection cases that every trial is scored on before it may go on; doubled at every step."""
    prune: bool = True
    chosen: int = Field(default=4, ge=1)
    """How many of the juries on the front, at the most, are scored on the test cases."""

    @field_validator("objectives")
    @classmethod
    def _each_once(cls, value: tuple[Objective, ...]) -> tuple[Objective, ...]:
        if "agreement" not in value or len(set(value)) < len(value):
            raise ValueError(
                "the list of objectives repeats one, or lacks agreement\nname each objective once and include agreement, for example [agreement, cost]"
            )
        return value


class Split(StrictModel):
    """Which cases arms are chosen on, and which are kept to score what was chosen."""

    test: float | tuple[str, ...] | None = None
    """The share of the cases, drawn by the seed (whole groups where cases have one), or their ids."""
    groups: tuple[str, ...] = ()
    """Or the groups whose cases are the test cases."""
    stratify: Annotated[
        tuple[str, ...], BeforeValidator(_as_tuple, json_schema_input_type=str | tuple[str, ...])
    ] = ()
    """`system` or metadata columns of whose values a share that is drawn has the same part of each."""

    @field_validator("test", mode="before")
    @classmethod
    def _ids(cls, value: Any) -> Any:
        return tuple(map(str, value)) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.groups and self.test is not None:
            raise ValueError("test and groups both name the test cases\nkeep one of the two")
        if self.stratify and (self.groups or isinstance(self.test, tuple)):
            raise ValueError(
                "stratify works only if a share of the cases is drawn, but the test cases are named\nremove stratify, or give a share: test: 0.2"
            )
        if isinstance(self.test, float) and not 0 <= self.test < 1:
            raise ValueError(
                f"test: {self.test:g} is not a share of the cases\nwrite a number from 0 to below 1"
            )
        return self


class BudgetLeft(TypedDict):
    """The limits of one session, as a run takes them."""

    max_usd: float | None
    max_tokens: int | None
    max_seconds: float | None
    max_calls: int | None


class StudyBudget(StrictModel):
    """The limits of what the whole study may cost, however often it is continued; `max_seconds` is of one session."""

    max_usd: float | None = Field(default=None, gt=0)
    max_tokens: int | None = Field(default=None, ge=1)
    max_seconds: float | None = Field(default=None, gt=0)
    max_calls: int | None = Field(default=None, ge=1)

    def remaining(self, paid: Cost, seconds: float = 0.0) -> BudgetLeft:
        """What a session may still cost, after what was paid for before it and the seconds that have passed."""
        return {
            "max_usd": None if self.max_usd is None else max(0.0, self.max_usd - paid.known_usd),
            "max_tokens": None if self.max_tokens is None else max(0, self.max_tokens - paid.tokens),
            "max_seconds": None if self.max_seconds is None else max(0.0, self.max_seconds - seconds),
            "max_calls": None if self.max_calls is None else max(0, self.max_calls - paid.calls),
        }


class Seeds(StrictModel):
    """The seeds of everything that is drawn; one number sets all."""

    model_config = ConfigDict(json_schema_extra=or_written_as({"type": "integer"}))

    run: int = 0
    split: int = 0
    search: int = 0
    statistics: int = 0

    @model_validator(mode="before")
    @classmethod
    def _one_for_all(cls, value: Any) -> Any:
        return dict.fromkeys(cls.model_fields, value) if isinstance(value, int) else value


class Judgements(StrictModel):
    """Jurors that have answered already, in place of models: a table of them, or a set that venire knows."""

    model_config = ConfigDict(json_schema_extra=or_written_as({"type": "string"}))

    file: Path | None = None
    """CSV or JSONL with `case, juror, attribute, value`; needs the study's rubric and ratings."""
    llmbar: Path | None = None
    """The folder of the set, which brings its own question and labels."""
    pandalm: Path | None = None
    subset: str | None = None
    """Which part of LLMBar."""
    counting: Annotated[
        Literal["median", "mean", "mode"],
        BeforeValidator(
            lambda value: COUNTING_SYNONYMS.get(value, value) if isinstance(value, str) else value,
            json_schema_input_type=Literal["median", "mean", "mode", "majority"],
        ),
    ] = "median"
    largest: int = Field(default=7, ge=2)
    """The largest jury that is looked for."""

    @model_validator(mode="before")
    @classmethod
    def _a_file(cls, value: Any) -> Any:
        return {"file": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if sum(each is not None for each in (self.file, self.llmbar, self.pandalm)) != 1:
            raise ValueError(
                "judgements must name exactly one source\nname a file, or the folder of llmbar or pandalm"
            )
        return self


TableName = Literal[
    "corpus", "agreement", "costs", "panels", "effects", "strata", "tasks", "evaluators", "calibration", "severe", "stability",
    "consistency", "rescore", "ranking", "self_preference", "detection", "triage", "classes",
]  # fmt: skip
"""What `tables` may name, in the order in which a report has them."""


class PeopleSettings(StrictModel):
    """What is known of the people who rated: their time and pay, and who of them is a second panel."""

    minutes: float | None = Field(default=None, gt=0)
    """How long one person takes for one case."""
    wage: float | None = Field(default=None, ge=0)
    """US dollars an hour."""
    rescore: tuple[str, ...] = ()
    """Raters who scored some cases again: held against the others, and no part of the reference."""


class SevereErrors(StrictModel):
    """What counts as a severe error, in shares of a scale's length; on one attribute, or on any without it."""

    attribute: str | None = None
    harmful: float = Field(default=Severity().harmful, ge=0, lt=1)
    margin: float = Field(default=Severity().margin, gt=0, le=1)


class CaseLabel(StrictModel):
    """Something known of a case beside people's ratings: that it is wrong, which low scores should find."""

    column: str
    """The metadata column that says so."""
    wrong: tuple[Any, ...] = (1, True, "1", "true", "yes")
    """Its values that mean wrong; every other value means right, and a blank one that it is not known."""
    pool: str | None = None
    """The metadata column (or `group`) whose equal values are one case: outputs of several systems are pooled."""
    attributes: tuple[str, ...] = ()
    """Whose scores, averaged, order the cases; all that have an order without any."""


class Task(StrictModel):
    """Another task for the same arms: other cases under another rubric, with people's ratings of their own."""

    cases: Path
    rubric: str
    ratings: Path
    wide: bool = False
    """Not needed any more: the form of the ratings is recognised."""
    arms: tuple[str, ...] = ()
    """Those that judge it; all without any."""


class Design(StrictModel):
    """The part of a study file that says which tables are wanted."""

    tables: tuple[TableName, ...] = ()
    people: PeopleSettings = PeopleSettings()
    predictors: tuple[str, ...] = ()
    """Metadata columns that may move the differences between arm and person, beside system and lengths."""
    strata: tuple[str, ...] = ()
    """`system`, `group` or metadata columns: agreement is given for each of their values."""
    severity: SevereErrors = SevereErrors()
    families: dict[str, str] = Field(default_factory=dict)
    """Names or patterns of models and systems with the provider of each, before those that are known."""
    label: CaseLabel | None = None
    tasks: dict[Name, Task] = Field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every metadata column that a table needs."""
        label = () if self.label is None else (self.label.column, self.label.pool)
        named = (*self.predictors, *self.strata, *label)
        return tuple(dict.fromkeys(name for name in named if name and name not in ("system", "group")))
