"""Langfuse: an evaluator of experiments, which keeps a score for each attribute on the trace that it judged."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from . import host
from .judgement import named_scores
from .samples import case_from_row
from .sitting import convene, warn_of_one_name

with host("langfuse", extra="langfuse"):
    from langfuse import Evaluation


def jury_evaluator(
    rubric: Any, jury: Any, *, source: str | None = None, prefix: str = "", **options: Any
) -> Callable[..., Awaitable[list[Evaluation]]]:
    """An evaluator for `run_experiment`: a numeric score for a number, a categorical one for a word.

    What is hung or does not apply is the category `hung` or `not_applicable`, with the reason as its comment, and no number.
    `source` names the field of an item's input that the output was made from; the others are the question. `prefix` begins the names
    of the scores, for several juries in one experiment. `options` are those of a sitting: `model`, `base_url`, `record`,
    `max_usd` ...
    """
    sitting = convene(rubric, jury, **options)

    async def evaluate(*, input: Any, output: Any, expected_output: Any = None, **_: Any) -> list[Evaluation]:
        judgement = await sitting.hear(case_from_row(input, output, expected_output, source=source))
        return [
            Evaluation(
                name=score.name,
                value=score.label if score.number is None else score.number,
                data_type="CATEGORICAL" if score.number is None else "NUMERIC",
                comment=score.reason,
                metadata=score.metadata,
            )
            for score in named_scores(judgement, prefix)
        ]

    evaluate.__name__ = sitting.jury.name
    warn_of_one_name(evaluate, sitting, prefix)
    return evaluate
