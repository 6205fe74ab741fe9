"""The parts of a comparison beside agreement: each says what it found, or why it could not."""

from __future__ import annotations

from collections.abc import Mapping

from ..audits.audit import AuditInput, run_audits
from ..audits.severity import Severity
from ..calibration.calibration_section import calibration_section, cross_validate_arms
from ..calibration.labelled_scores import plain_scores
from ..figures.section import Section
from ..ratings.evidence import Evidence
from ..statistics.draws import Draws


def comparison_sections(
    evidence: Evidence,
    draws: Draws,
    *,
    severity: Severity | None = None,
    families: Mapping[str, str] | None = None,
    jurors: bool = False,
) -> tuple[Section, ...]:
    """What calibration does to each arm, then every audit.

    Args:
        severity: What counts as harmful, and by what margin it is called safe.
        families: Names or patterns of models and systems with the provider of each, before those that are known.
        jurors: Whether calibration is told of each juror attribute by attribute, too.
    """
    found, refusals = cross_validate_arms(evidence, draws)
    scores = {
        arm: found[arm].scores if arm in found else plain_scores(evidence, arm) for arm in evidence.kinds
    }
    given = AuditInput(evidence, severity or Severity(), families, scores)
    return calibration_section(found, refusals, draws, jurors=jurors), *run_audits(given, draws)
