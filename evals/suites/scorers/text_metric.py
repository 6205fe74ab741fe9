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
    gradable = [answer for answer in answers if answer.target is not None and answer.output.strip()]
    values_by_name = metric.measure([(answer.output, str(answer.target)) for answer in gradable], None)
    value_name = options.value or metric.value or next(iter(values_by_name))
    if value_name not in values_by_name:
        raise VenireError(
            f"the metric {options.name!r} gives no {value_name!r}", remedy=nearest(value_name, values_by_name)
        )
    values = dict(zip((answer.case for answer in gradable), values_by_name[value_name], strict=True))
    return [_case_score(answer, values) for answer in answers]


def _case_score(answer: GradedAnswer, values: dict[str, float]) -> CaseScore:
    if answer.target is None:
        return NO_TARGET
    if answer.case not in values:
        return unparsed_score("no answer")
    value = values[answer.case]
    return NO_TARGET if math.isnan(value) else CaseScore("scored", float(value))


METRIC = Scorer(
    "metric", "a named metric that compares the text with its reference", _score, MetricOptions, "name"
)
OVERLAP = Scorer("overlap", "ROUGE-L against the reference", _score, MetricOptions, "name")
