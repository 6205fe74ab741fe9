"""Phoenix evals: an evaluator that gives a `Score` for each attribute, with its reasons."""

from __future__ import annotations

from typing import Any

from pandas import isna
from pandas.api.types import is_scalar
from pydantic import create_model

from ...rubrics.case import Case
from . import host
from .judgement import Judgement, named_scores
from .samples import case_from_row
from .sitting import convene, warn_of_one_name

with host("phoenix", extra="phoenix"):
    from phoenix.evals import Evaluator, Score


class JuryEvaluator(Evaluator):  # type: ignore[misc]
    """Has `jury` judge each row's output under `rubric`: a score for a number, a label for a word.

    What is hung or does not apply has no score: its label says so, and its explanation why. `output`, `question`, `source` and
    `reference` name the columns of these parts of a case: jurors read the reference only if the rubric shows it, and no other
    column. `prefix` begins the names of the scores, for several juries over one frame. `options` are those of a sitting:
    `model`, `base_url`, `record`, `max_usd` ...
    """

    def __init__(
        self,
        rubric: Any,
        jury: Any,
        *,
        output: str = "output",
        question: str | None = None,
        source: str | None = None,
        reference: str | None = None,
        prefix: str = "",
        **options: Any,
    ) -> None:
        self._sitting = convene(rubric, jury, **options)
        self._prefix = prefix
        columns = {"output": output, "question": question, "source": source, "reference": reference}
        named = {part: column for part, column in columns.items() if column is not None}
        parts = create_model("JuryInput", **dict.fromkeys(named, (Any, ...)))  # type: ignore[call-overload]
        super().__init__(name=f"{prefix}{self._sitting.jury.name}", kind="llm", input_schema=parts)
        self.bind(named)
        warn_of_one_name(self, self._sitting, prefix)

    def _evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        return self._scores(self._sitting.hear_sync(_case(eval_input)))

    async def _async_evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        return self._scores(await self._sitting.hear(_case(eval_input)))

    def _scores(self, judgement: Judgement) -> list[Score]:
        return [
            Score(
                name=score.name,
                score=score.number,
                label=score.label,
                explanation=score.reason,
                metadata=score.metadata,
                kind="llm",
                direction="minimize" if score.lower_is_better else "maximize",
            )
            for score in named_scores(judgement, self._prefix)
        ]


def _case(parts: dict[str, Any]) -> Case:
    empty = {part for part, cell in parts.items() if is_scalar(cell) and isna(cell)}
    filled = {part: cell for part, cell in parts.items() if part not in empty}
    output, expected = filled.pop("output", None), filled.pop("reference", None)
    return case_from_row(filled, output, expected, source="source" if "source" in filled else None)
