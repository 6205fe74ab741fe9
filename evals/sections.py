"""The parts of a comparison beside agreement: each says what it found, or why it could not."""

from __future__ import annotations

from collections.abc import Mapping

from . import audits, calibration
from .audits import Severity
from .evidence import Evidence
from .section import Section


def sections(
    evidence: Evidence,
    *,
    seed: int,
    resamples: int,
    severity: Severity | None = None,
    families: Mapping[str, str] | None = None,
) -> tuple[Section, ...]:
    """Calibration and ranking, then the audits: severe errors, triage, consistency, stability, self-preference.

    Args:
        severity: What counts as harmful, and by what margin it is called safe.
        families: Names or patterns of models and systems with the provider of each, before those that are known.
    """
    draws = {"seed": seed, "resamples": resamples}
    return (
        *calibration.sections(evidence, **draws),
        *audits.sections(evidence, seed=seed, resamples=resamples, severity=severity, families=families),
    )
