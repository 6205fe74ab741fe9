"""DSPy: a metric with feedback, for `dspy.Evaluate`, `dspy.GEPA` and the other optimisers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from . import host
from .judgement import names_with_best, one_share
from .samples import case_from_row, sole_value
from .sitting import convene, field_of

with host("dspy", extra="dspy"):
    from dspy import Example, Prediction


def jury_metric(
    rubric: Any,
    jury: Any,
    *,
    score: str | None = None,
    output: str | None = None,
    source: str | None = None,
    **options: Any,
) -> Callable[..., Prediction]:
    """A metric of the verdict from 0 (the worst it can be) to 1 (the best), whose feedback is the deliberation.

    `score` names the attribute or composite that counts: the mean of all attributes, unless it does. `output` names the field of a
    prediction that is judged: all but `reasoning`, unless it does. `source` names the input that it was made from; the other inputs
    are the question. `options` are those of a sitting: `model`, `base_url`, `record`, `max_usd` ...
    """
    sitting = convene(rubric, jury, **options)
    names_with_best(sitting.rubric, [score] if score else ())

    def jury_score(
        gold: Example, pred: Any, trace: Any = None, pred_name: str | None = None, pred_trace: Any = None
    ) -> Prediction:
        try:
            judgement = sitting.hear_sync(_case(gold, pred, output, source))
        except VenireError as error:
            # Whatever a metric raises, DSPy counts as `failure_score`, which is 0 unless it is told otherwise.
            return Unscored(score=None, feedback=str(error))
        share = one_share(judgement, score)
        made = Unscored if share is None else Prediction
        return made(score=share, feedback=f"{judgement.headline}\n\n{judgement.text}", usd=judgement.usd)

    return jury_score


class Unscored(Prediction):  # type: ignore[misc]
    """A prediction without a verdict: its `score` is None, for which GEPA takes its `failure_score`, and NaN in a mean."""

    def __float__(self) -> float:
        return math.nan


def _case(gold: Example, pred: Any, output: str | None, source: str | None) -> Case:
    fields = pred.toDict() if isinstance(pred, Example) else {"output": pred}
    judged = [output] if output else [name for name in fields if name != "reasoning"]
    labels = gold.labels().toDict()
    return case_from_row(
        gold.inputs().toDict(),
        sole_value({name: field_of(fields, name) for name in judged}),
        sole_value({name: labels[name] for name in judged if name in labels}),
        source=source,
    )
