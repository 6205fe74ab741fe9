"""A registered metric of a text against its reference, by name."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....rubrics.errors import VenireError
from ....rubrics.files import nearest
from ....rubrics.plugins import plugged_in
from ...metrics.metric import GROUP as METRICS
from ...metrics.metric import Metric
from ..scorer import NO_TARGET, AnswerForm, CaseScore, GradedAnswer, Scorer, ScorerOptions, unparsed_score


class MetricOptions(ScorerOptions):
    """Which metric, and which of its values where it gives several."""

    name: str = "rouge-l"
    value: str | None = None


def _score(answers: Sequence[GradedAnswer], form: AnswerForm, options: MetricOptions) -> list[CaseScore]:
    metric: Metric = plugged_in(METRICS, options.name, "metric")
    asked = [each for each in answers if each.target is not None and each.output.strip()]
    measured = metric.measure([(each.output, str(each.target)) for each in asked], None)
    chosen = options.value or next(iter(measured))
    if chosen not in measured:
        raise VenireError(
            f"the metric {options.name!r} gives no {chosen!r}", remedy=nearest(chosen, measured)
        )
    values = dict(zip((each.case for each in asked), measured[chosen], strict=True))
    return [_case_score(each, values) for each in answers]


def _case_score(answer: GradedAnswer, values: dict[str, float]) -> CaseScore:
    if answer.target is None:
        return NO_TARGET
    if answer.case not in values:
        return unparsed_score("no answer")
    value = values[answer.case]
    return NO_TARGET if math.isnan(value) else CaseScore("scored", float(value))


METRIC = Scorer(
    "metric", "a metric of the text against its reference, by its name", _score, MetricOptions, "name"
)
OVERLAP = Scorer("overlap", "ROUGE-L against the reference", _score, MetricOptions, "name")
