"""The study file: which cases, whose ratings, which juries against each other, and how much may be spent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from ...agents.cost import CostUnit
from ...rubrics.errors import InvalidFile
from ...rubrics.rubric import Name, Rubric, load_rubric
from ...rubrics.yaml_files import Written, read_yaml
from ..ratings.reference import Rule
from ..selection.choices import MARGIN, Choosing, Goal
from ..selection.objectives import ObjectiveName, objective
from .design import Design
from .errors import one_error
from .schema import ArmEntry, Grid, Judgements, Search, Seeds, Split, StudyBudget


def _as_list(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise ValueError("is no list\nwrite one arm a line, as - {jury: single, name: one-judge}")
    return value


class Study(Design):
    """A study file. Arms are checked one by one when it is planned, so that all errors are raised at once."""

    name: Name
    description: str = ""
    cases: Path | None = None
    rubric: str | None = None
    ratings: Path | None = None
    wide: bool = False
    """Whether the ratings have one column an attribute."""
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
                raise ValueError(f"{key}: missing\nadd {key!r}")
        if recorded is not None:
            for key in ("arms", "grid", "search"):
                if getattr(self, key):
                    raise ValueError(f"judgements are recorded: {key} has nobody to ask\nremove {key}")
            if self.tables:
                raise ValueError(
                    "tables are of arms that sat, and judgements have none\n"
                    "write arms in place of judgements, with model: recorded/FILE#JUROR"
                )
        elif self.cases is None:
            raise ValueError("cases: missing\nadd 'cases'")
        elif not self.arms and self.grid is None:
            raise ValueError("there is no arm in it\nwrite arms, or a grid")
        elif self.search is not None and self.grid is None:
            raise ValueError("search: there is nothing to choose from\nadd a grid with personas and models")
        if self.search is not None and self.redact:
            raise ValueError(
                "redact: what a redacted run has heard is not kept for the next trial, and would be paid for again\n"
                "search without redact, or try a grid"
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
