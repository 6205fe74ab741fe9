"""Audits of evaluators: severe errors, stability, internal consistency, triage, self-preference."""

from __future__ import annotations

from collections.abc import Mapping

from ..figures.section import Section
from ..ratings.evidence import Evidence
from ..ratings.marks import lay_marks
from ..statistics.draws import Draws
from .consistency_section import consistency_section
from .preference_section import preference_section
from .severe_section import severe_section
from .severity import Severity
from .stability_section import stability_section
from .triage_section import triage_section


def sections(
    evidence: Evidence,
    draws: Draws,
    *,
    severity: Severity | None = None,
    families: Mapping[str, str] | None = None,
) -> list[Section]:
    """Every audit, whether the data allow it or not: what could not be told is said."""
    marks, severe = lay_marks(evidence), severity or Severity()
    return [
        severe_section(marks, severe, draws),
        triage_section(evidence, marks, severe, draws),
        consistency_section(marks, draws),
        stability_section(evidence, draws),
        preference_section(evidence, families),
    ]


__all__ = ["Severity", "sections"]
