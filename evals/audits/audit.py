"""An audit: one thing that is looked into beside agreement, and every one that is registered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from ...rubrics.plugins import registered_plugins
from ..figures.section import Section
from ..ratings.evidence import Evidence
from ..ratings.marks import Marks, lay_marks
from ..statistics.draws import Draws
from .severity import Severity

GROUP = "venire.audits"


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
    ordered = sorted(audits, key=lambda audit: (audit.place, audit.name))
    sections = (audit.run(given, draws) for audit in ordered)
    return [section for section in sections if section is not None]
