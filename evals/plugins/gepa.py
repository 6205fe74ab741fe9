"""GEPA: an evaluator with feedback for its default adapter, where no other framework stands between."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import host
from .judgement import names_with_best, one_share
from .samples import BLANK, case_from_row
from .sitting import convene

with host("gepa", extra="dspy"):
    from gepa.adapters.default_adapter.default_adapter import EvaluationResult


def jury_evaluator(
    rubric: Any,
    jury: Any,
    *,
    failure_score: float,
    score: str | None = None,
    source: str | None = None,
    **options: Any,
) -> Callable[[Mapping[str, Any], str], EvaluationResult]:
    """An evaluator of a response from 0 (the worst it can be) to 1 (the best), whose feedback is the deliberation.

    `failure_score` is what GEPA steers by where there is no verdict. It has no place for a missing score, and no default here makes one
    up: name it, and the feedback says that it is none. `source` names the entry of `additional_context` that the response is made from. `score` and `options` are those of
    DSPy's `jury_metric`.
    """
    sitting = convene(rubric, jury, **options)
    names_with_best(sitting.rubric, [score] if score else ())

    def evaluate(data: Mapping[str, Any], response: str) -> EvaluationResult:
        if not response.strip():
            return EvaluationResult(failure_score, BLANK)
        given = {"input": data["input"], **data.get("additional_context", {})}
        judgement = sitting.hear_sync(case_from_row(given, response, data.get("answer"), source=source))
        share = one_share(judgement, score)
        feedback = f"{judgement.headline}\n\n{judgement.text}"
        if share is None:
            return EvaluationResult(
                failure_score, f"There was no verdict, so this value is not a score.\n{feedback}"
            )
        return EvaluationResult(share, feedback)

    return evaluate
