"""Pydantic Evals: an evaluator that gives a score or a label for each attribute, with its reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...orchestration.record.database import without_password
from . import host
from .judgement import named_scores
from .samples import case_from_row
from .sitting import convene

with host("pydantic_evals", extra="pydantic-evals"):
    from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext

_ADDRESSES = ("base_url", "record")


@dataclass(init=False, repr=False)
class JuryEvaluator(Evaluator):  # type: ignore[misc]
    """Have `jury` judge each case's output under `rubric`: a score where an attribute is a number, a label where it is a word.

    What has no value is the label `hung` or `not_applicable`, with the reason why, and in no average. `source` names the input
    that holds what the output was made from; the other inputs are the question. `prefix` begins the scores' names, for several
    juries in one report. `options` are those of a sitting: `model`, `base_url`, `record`, `max_usd` ...
    """

    rubric: Any
    jury: Any
    source: str | None
    prefix: str
    options: dict[str, Any]

    def __init__(
        self, rubric: Any, jury: Any, *, source: str | None = None, prefix: str = "", **options: Any
    ) -> None:
        self.rubric, self.jury, self.source, self.prefix, self.options = rubric, jury, source, prefix, options
        self._sitting = convene(rubric, jury, **options)

    async def evaluate(self, ctx: EvaluatorContext) -> dict[str, EvaluationReason]:
        case = case_from_row(ctx.inputs, ctx.output, ctx.expected_output, source=self.source, name=ctx.name)
        judgement = await self._sitting.hear(case)
        return {
            score.name: EvaluationReason(score.label if score.number is None else score.number, score.reason)
            for score in named_scores(judgement, self.prefix)
        }

    def build_serialization_arguments(self) -> dict[str, Any]:
        """What a report and a dataset's file say of it: what it was made with, passwords in addresses masked."""
        asked = {"rubric": self._sitting.rubric, "jury": self._sitting.jury}
        named = {
            key: part.name if getattr(self, key) is part else str(getattr(self, key))
            for key, part in asked.items()
        }
        given = {"source": self.source, "prefix": self.prefix} | self.options
        shown = {
            key: without_password(str(value)) if key in _ADDRESSES else value
            for key, value in given.items()
            if value
        }
        return named | shown
