"""MLflow: a GenAI scorer that gives a `Feedback` for each attribute, with its reasons."""

from __future__ import annotations

import json
from typing import Any

from . import host
from .judgement import Judgement, Mark, counts_of
from .samples import case_from_row
from .sitting import convene, warn_of_one_name

with host("mlflow", extra="mlflow"):
    from mlflow.entities import AssessmentError, AssessmentSource, Feedback
    from mlflow.genai.scorers import Scorer, scorer
    from mlflow.tracing.constant import AssessmentMetadataKey


def jury_scorer(
    rubric: Any,
    jury: Any,
    *,
    name: str = "jury",
    prefix: str = "",
    source: str | None = None,
    against: str | None = None,
    reference: str = "expected_response",
    **options: Any,
) -> Scorer:
    """Have `jury` judge each row's outputs under `rubric`.

    `source` names the input that holds what the output was made from, `against` the one that holds another output, to be compared with this
    one: above 0 this one is preferred. The other inputs are the question. `reference` names the expectation that is a known good
    answer: jurors read it only if the rubric shows it. `prefix` begins the names, for several juries in one evaluation. `options` are
    those of a sitting: `model`, `base_url`, `record`, `max_usd` ...
    """
    sitting = convene(rubric, jury, **options)

    @scorer(name=name)  # type: ignore[untyped-decorator]
    def jury_feedback(inputs: Any, outputs: Any, expectations: Any) -> list[Feedback]:
        expected = (expectations or {}).get(reference)
        judgement = sitting.hear_sync(
            case_from_row(inputs, outputs, expected, source=source, against=against)
        )
        marks = [_feedback(mark, judgement, prefix) for mark in judgement.marks.values()]
        if judgement.usd is not None:
            # On one of them: MLflow adds them up.
            marks[0].metadata[AssessmentMetadataKey.JUDGE_COST] = str(judgement.usd)
        counts = [
            Feedback(name=f"{prefix}{key}", value=number) for key, number in counts_of(judgement).items()
        ]
        return [*marks, *counts]

    warn_of_one_name(jury_feedback, sitting, prefix)
    return jury_feedback


def _feedback(mark: Mark, judgement: Judgement, prefix: str) -> Feedback:
    """A value, or the reason why there is none: what is hung or does not apply is not in any average."""
    verdict = judgement.verdict
    reached = mark.status == "reached"
    return Feedback(
        name=f"{prefix}{mark.name}",
        value=mark.value,
        error=None if reached else AssessmentError(error_code=mark.status.upper(), error_message=mark.reason),
        rationale=mark.reason,
        source=AssessmentSource(source_type="LLM_JUDGE", source_id=f"venire/{verdict.arm}"),
        metadata={"deliberation": json.dumps(judgement.document), "stopped": str(verdict.stop)},
    )
