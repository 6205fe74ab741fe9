"""The parts of a comparison beside agreement: each says what it found, or why it could not."""

from __future__ import annotations

from collections.abc import Mapping

from .. import audits
from ..audits import Severity
from ..audits.ranking import ranking_section
from ..audits.rescoring import rescore_section
from ..calibration.calibration_section import calibration_section, cross_validate_arms
from ..calibration.labelled_scores import plain_scores
from ..figures.section import Section
from ..ratings.evidence import Evidence
from ..statistics.draws import Draws


def sections(
    evidence: Evidence,
    draws: Draws,
    *,
    severity: Severity | None = None,
    families: Mapping[str, str] | None = None,
) -> tuple[Section, ...]:
    """Calibration and ranking, then the audits: severe errors, triage, consistency, stability, self-preference.

    Args:
        severity: What counts as harmful, and by what margin it is called safe.
        families: Names or patterns of models and systems with the provider of each, before those that are known.
    """
    return (
        *calibrated_sections(evidence, draws),
        *audits.sections(evidence, draws, severity=severity, families=families),
    )


def calibrated_sections(evidence: Evidence, draws: Draws) -> list[Section]:
    """What calibration does to each arm, how arms rank systems with and without it, and a second panel beside them."""
    found, refusals = cross_validate_arms(evidence, seed=draws.seed)
    scores = {
        arm: found[arm].scores if arm in found else plain_scores(evidence, arm) for arm in evidence.kinds
    }
    made = [
        calibration_section(evidence, found, refusals, draws),
        ranking_section(evidence, scores, draws),
        rescore_section(evidence, scores, draws),
    ]
    return [each for each in made if each is not None]
