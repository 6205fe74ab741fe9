"""The design of a study: which tables its report has beside the arms to use, and what they need to know."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from ...rubrics.rubric import Name
from ..audits.severity import Severity
from .schema import StrictModel

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
    """What counts as a severe error, in shares of a scale's length."""

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
