"""Audits of evaluators: severe errors, stability, internal consistency, triage, self-preference, ranking, re-scoring."""

from .audit import Severity

__all__ = ["Severity"]
