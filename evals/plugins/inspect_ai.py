"""Inspect AI: the scorer `venire/jury`."""

from __future__ import annotations

import asyncio
import math
import re
from typing import Any

from . import host
from .judgement import numbers_of
from .samples import BLANK
from .sitting import case_from_sample, convene, field_of

with host("inspect_ai", extra="inspect"):
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import TaskState

    from .inspect_models import INSPECTS_LOOP


@scorer(metrics={"*": [mean(), stderr()]})  # type: ignore[untyped-decorator]
def jury(rubric: Any, jury: Any, *, source: str | None = None, **options: Any) -> Scorer:
    """Have `jury` judge the output under `rubric`: a score for each attribute, unscored where none was reached.

    `source` names the field of a sample's metadata that holds what the output was made from; `options` are those of
    a sitting: `model`, `base_url`, `record`, `max_usd` ... Every epoch is a hearing of its own. Several juries may be scorers of
    one task, and keep one record.
    """
    sitting = convene(rubric, jury, **options)

    async def score(state: TaskState, target: Target) -> Score:
        answer = state.output.completion
        if not answer.strip():
            return Score.unscored(answer=answer, explanation=BLANK)
        case = case_from_sample(
            f"{state.model}/{state.sample_id}",
            answer,
            question=state.input_text,
            source=field_of(state.metadata, source),
            reference=target.text,
            system=str(state.model),
        )
        INSPECTS_LOOP.set(asyncio.get_running_loop())
        judgement = await sitting.hear(case, again=state.epoch - 1)
        return Score(
            value={
                name: math.nan if number is None else number for name, number in numbers_of(judgement).items()
            },
            answer=answer,
            explanation=f"{judgement.headline}\n\n{_as_it_stands(judgement.text)}",
            metadata={"deliberation": _Uncopied(judgement.document)},
        )

    return score


class _Uncopied(dict[str, Any]):
    """A document that is its own copy: Inspect copies every score, metadata and all, for each of its metrics."""

    def __deepcopy__(self, memo: object) -> _Uncopied:
        return self


def _as_it_stands(text: str) -> str:
    """A block of Markdown that shows `text`, fenced so that no word of a juror's can end it."""
    fence = "`" * max([3, *(len(found) + 1 for found in re.findall("`+", text))])
    return f"{fence}\n{text}\n{fence}"
