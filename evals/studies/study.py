"""The study file: which cases, whose ratings, which juries against each other, how much may be spent; and all that is wrong with it at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import BeforeValidator, Field, model_validator

from ...agents.cost import CostUnit
from ...rubrics.errors import InvalidFile, VenireError, count_words
from ...rubrics.rubric import Name, Rubric, load_rubric
from ...rubrics.yaml_files import Written, read_yaml
from ..comparison.objectives import MARGIN, ObjectiveName, objective
from ..ratings.reference import Rule
from .choices import Choosing, Goal
from .schema import ArmEntry, Design, Grid, Judgements, Search, Seeds, Split, StudyBudget

T = TypeVar("T")


class StudyCannotRun(VenireError):
    """A study that cannot be run as it stands; `errors` has each reason with its remedy."""

    def __init__(self, path: Path, errors: Sequence[VenireError]) -> None:
        listed = "".join(
            f"\n  {number}. {each.problem}\n     -> {each.remedy}" for number, each in enumerate(errors, 1)
        )
        super().__init__(
            f"{path}: {count_words(len(errors), 'mistake')} found, and nothing was spent{listed}",
            remedy="correct the mistakes, and plan again",
        )
        self.errors = tuple(errors)


def one_error(path: Path, errors: Sequence[VenireError]) -> VenireError:
    """All errors as one to raise; a single one as it is."""
    return errors[0] if len(errors) == 1 else StudyCannotRun(path, errors)


@dataclass
class ErrorList:
    """The errors so far; one that many arms share is listed once, with their number."""

    _errors: list[VenireError] = field(default_factory=list)
    _arms: dict[str, list[str]] = field(default_factory=dict)
    """By problem, the arms that have it."""

    def __bool__(self) -> bool:
        return bool(self._errors)

    def add(self, *errors: VenireError) -> None:
        self._errors += errors

    def at(self, where: str, *errors: VenireError) -> None:
        """Add errors at a line of the study file."""
        self._errors += [VenireError(f"{where}: {error.problem}", remedy=error.remedy) for error in errors]

    def of_arm(self, arm: str, error: VenireError) -> None:
        """Add an error of one arm."""
        if error.problem not in self._arms:
            self._errors.append(error)
        self._arms.setdefault(error.problem, []).append(arm)

    def attempt(self, make: Callable[[], T], where: str = "") -> T | None:
        """The result of `make`; None where it raises a `VenireError`, which is added."""
        try:
            return make()
        except VenireError as error:
            if where:
                self.at(where, error)
            else:
                self.add(error)
            return None

    def as_one(self, path: Path) -> VenireError:
        """All of them as one error to raise."""
        return one_error(path, [self._with_arms(error) for error in self._errors])

    def _with_arms(self, error: VenireError) -> VenireError:
        arms = self._arms.get(error.problem)
        if not arms:
            return error
        more = f" and {len(arms) - 1} more" if len(arms) > 1 else ""
        return VenireError(f"arm {arms[0]}{more}: {error.problem}", remedy=error.remedy)


def _as_list(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise ValueError("this is not a list\nwrite one arm per line, as - {jury: single, name: one-judge}")
    return value


class Study(Design):
    """A study file. Arms are checked one by one when it is planned, so that all errors are raised at once."""

    name: Name
    description: str = ""
    cases: Path | None = None
    rubric: str | None = None
    ratings: Path | None = None
    wide: bool = False
    """Not needed any more: the form of the ratings is recognised."""
    attributes: tuple[str, ...] = ()
    """Those that arms are scored on; all of the rubric's without any."""
    reference: Rule | None = None
    """How people's ratings of a question become one; without it the median, and the majority of words and of two values."""
    model: str | None = None
    """Of every seat that names none."""
    base_url: str | None = None
    arms: Annotated[
        tuple[Any, ...], BeforeValidator(_as_list, json_schema_input_type=tuple[ArmEntry, ...])
    ] = ()
    grid: Grid | None = None
    search: Search | None = None
    judgements: Judgements | None = None
    cost: CostUnit | None = None
    """What cost is counted in; without it dollars where every price is known, else tokens, else calls."""
    prices: Path | None = None
    objective: ObjectiveName | None = None
    """What arms and juries are chosen by; without it mean credit."""
    choose: Choosing = "per-attribute"
    """Whether one is chosen for each attribute, or one for all."""
    margin: float = Field(default=MARGIN, ge=0)
    """How much worse a cheaper one may be and still do."""
    split: Split = Split(test=0.5)
    seeds: Seeds = Seeds()
    budget: StudyBudget = StudyBudget()
    redact: bool = False

    @property
    def goal(self) -> Goal | None:
        """What to choose by, where the file says so."""
        return None if self.objective is None else Goal(objective(self.objective), self.choose, self.margin)

    @property
    def design(self) -> Design:
        """The tables that the file asks for, with what they need."""
        return Design(**{name: getattr(self, name) for name in Design.model_fields})

    @model_validator(mode="after")
    def _something_to_compare(self) -> Self:
        recorded = self.judgements
        for key in () if recorded is not None and recorded.file is None else ("rubric", "ratings"):
            if getattr(self, key) is None:
                raise ValueError(f"{key}: the key is missing\nadd {key!r}")
        if recorded is not None:
            for key in ("arms", "grid", "search"):
                if getattr(self, key):
                    raise ValueError(
                        f"{key} has no effect, because the judgements are recorded and no model is asked\nremove {key}"
                    )
            if self.split.stratify:
                raise ValueError("split: recorded judgements have no columns to stratify by\nremove stratify")
            if self.tables:
                raise ValueError(
                    "tables cannot be made from recorded judgements, because they need arms that are run\n"
                    "write arms instead of judgements, with model: recorded/FILE#JUROR"
                )
        elif self.cases is None:
            raise ValueError("cases: the key is missing\nadd 'cases'")
        elif not self.arms and self.grid is None:
            raise ValueError("the study has no arm\nadd arms or a grid")
        elif self.search is not None and self.grid is None:
            raise ValueError("search: there is nothing to choose from\nadd a grid with personas and models")
        if self.search is not None and self.redact:
            raise ValueError(
                "redact: a redacted run keeps no answers for the next trial, so they would be paid for again\n"
                "search without redact, or use a grid without search"
            )
        return self


def load_study(path: Path) -> tuple[Study, Written]:
    """The study in a file, and the file with its lines; everything that is wrong in it is raised at once."""
    written = read_yaml(path, Study.model_fields)
    errors: list[InvalidFile] = written.wrongs(Study)
    if errors:
        raise one_error(path, errors)
    return written.fit(Study), written


def named_rubric(name: str, beside: Path) -> Rubric:
    """The rubric of a study: a file beside the study's, or one of the library's."""
    return load_rubric(beside / name if name.endswith((".yaml", ".yml")) else name)
