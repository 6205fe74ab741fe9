"""An audit: one thing that is looked into beside agreement, and every one that is registered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from ...rubrics.errors import VenireError
from ...rubrics.plugins import registered_plugins
from ..ratings.evidence import Evidence
from ..ratings.question import Question
from ..ratings.score_tables import Marks, lay_marks
from ..report.section import Section
from ..statistics.draws import Draws

HAIR = 1e-9
"""Marks are quotients; two that are meant to be equal may differ by this."""
GROUP = "venire.audits"


@dataclass(frozen=True, slots=True)
class Severity:
    """Both limits are shares of a scale's length, so that they hold for any scale and either direction."""

    harmful: float = 0.25
    """People's reference at most this far from the bad end: on 1 to 5 with 5 best, 1 and 2."""
    margin: float = 0.5
    """Another's score at least this much better than theirs: on 1 to 5, two points."""
    attribute: str | None = None
    """The one attribute on which an error is severe; any without it."""

    def __post_init__(self) -> None:
        if not 0 <= self.harmful < 1 or not 0 < self.margin <= 1:
            raise VenireError(
                f"harmful ({self.harmful:g}) or margin ({self.margin:g}) is not a share of the scale",
                remedy="give harmful from 0 to below 1, and margin above 0 and up to 1",
            )

    def limits(self, asked: Question) -> str:
        """The limits as points of one scale, in words."""
        low, high = (float(end) for end in asked.scale.ends)
        reach = self.harmful * (high - low)
        edge = f"{low + reach:g} or below" if asked.better == "high" else f"{high - reach:g} or above"
        return f"a reference of {edge} is harmful, and a score {self.margin * (high - low):g} points or more better is a severe error"


@dataclass(frozen=True)
class AuditInput:
    """What an audit may look at."""

    evidence: Evidence
    severity: Severity = field(default_factory=Severity)
    """What counts as harmful, and by what margin it is called safe."""
    families: Mapping[str, str] | None = None
    """Names or patterns of models and systems with the provider of each, before those that are known."""
    scores: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    """By arm, `case`, `cluster`, `attribute`, `before`, `after` (calibrated out of fold), `people`; composites too."""

    @cached_property
    def marks(self) -> Marks:
        """Everyone's scores from 0, bad, to 1, good."""
        return lay_marks(self.evidence)


@dataclass(frozen=True, slots=True)
class Audit:
    """One thing that is looked into."""

    name: str
    run: Callable[[AuditInput, Draws], Section | None]
    """What was found, or why it could not be told; None where nothing asks for it."""
    place: int = 1000
    """Where its section stands among the others: the lowest first, equals by name."""


def run_audits(given: AuditInput, draws: Draws) -> list[Section]:
    """The section of every registered audit, whether the data allow it or not: what could not be told is said."""
    audits: list[Audit] = [plugin.load() for plugin in registered_plugins(GROUP).values()]
    sorted_audits = sorted(audits, key=lambda audit: (audit.place, audit.name))
    sections = (audit.run(given, draws) for audit in sorted_audits)
    return [section for section in sections if section is not None]
