"""Audits of evaluators: severe errors, stability, internal consistency, triage, self-preference, ranking, re-scoring."""

from .severity import Severity

__all__ = ["Severity"]
