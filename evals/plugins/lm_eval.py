"""lm-evaluation-harness: a task's `process_results`, whose metrics are a jury's scores.

The harness takes any function of a document and its responses, so that nothing of it is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .judgement import numbers_of
from .samples import BLANK, case_from_row, text_of
from .sitting import convene, field_of, warn_of_one_name


def jury_results(
    rubric: Any,
    jury: Any,
    *,
    prefix: str = "",
    question: str | None = None,
    source: str | None = None,
    reference: str | None = None,
    **options: Any,
) -> Callable[[dict[str, Any], list[Any]], dict[str, float]]:
    """What a task file names under `process_results`: the metrics of each document's first response.

    `question`, `source` and `reference` name the fields of a document that hold these parts of a case: jurors read the reference
    only if the rubric shows it, and nothing else of the document. What is hung or does not apply is no metric of its document: the
    harness takes the mean of the others. Why is in the document's log, under `jury`. `prefix` begins the names, for a task whose function joins what several juries give. `options` are those of a sitting: `model`,
    `base_url`, `record`, `max_usd` ...
    """
    sitting = convene(rubric, jury, **options)

    def process_results(doc: dict[str, Any], results: list[Any]) -> dict[str, float]:
        answer = text_of(results[0])
        if not answer.strip():
            doc[f"{prefix}jury"] = {"blank": BLANK}
            return {f"{prefix}judged": 0.0}
        inputs = {name: field_of(doc, name) for name in (question, source) if name}
        judgement = sitting.hear_sync(case_from_row(inputs, answer, field_of(doc, reference), source=source))
        # The harness logs the document, and no metric that is not a number.
        doc[f"{prefix}jury"] = {mark.name: mark.reason for mark in judgement.marks.values()} | (
            {} if judgement.usd is None else {"usd": judgement.usd}
        )
        numbers = {name: number for name, number in numbers_of(judgement).items() if number is not None}
        return {f"{prefix}{name}": number for name, number in {**numbers, "judged": 1.0}.items()}

    warn_of_one_name(process_results, sitting, prefix)
    return process_results
