"""DeepEval: a metric for each attribute of a rubric, all of them from one deliberation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...agents.model import digest
from ...rubrics.case import Case
from . import host
from .judgement import Judgement, names_with_best
from .sitting import Sitting, case_from_sample, convene, warn_of_one_name

with host("deepeval", extra="deepeval"):
    from deepeval.metrics import BaseMetric
    from deepeval.test_case import LLMTestCase


def jury_metrics(
    rubric: Any,
    jury: Any,
    *,
    attributes: Sequence[str] | None = None,
    threshold: float = 0.5,
    prefix: str = "",
    **options: Any,
) -> list[JuryMetric]:
    """A metric for each of `attributes`: unless they are named, every attribute and composite that has a best value.

    `prefix` begins the metrics' names, for several juries of one name. `options` are those of a sitting: `model`, `base_url`, `record`, `prices`, `max_usd` ...
    """
    sitting = convene(rubric, jury, **options)
    known = names_with_best(sitting.rubric, attributes or ())
    chosen = attributes or [name for name in known if name not in sitting.rubric.reversed_names]
    metrics = [JuryMetric(sitting, name, threshold, prefix) for name in chosen]
    warn_of_one_name(metrics[0], sitting, f"{prefix}{sitting.jury.name}")
    return metrics


class JuryMetric(BaseMetric):  # type: ignore[misc]
    """What a jury finds of one attribute, from 0 (the worst it can be) to 1 (the best).

    A hung attribute has no score: it is an error of the metric, and the test does not pass. One that does not apply
    is skipped. DeepEval makes copies of a metric from its fields, so they have the names of the arguments.
    """

    def __init__(self, sitting: Sitting, attribute: str, threshold: float = 0.5, prefix: str = "") -> None:
        self.sitting = sitting
        self.attribute = attribute
        self.threshold = threshold
        self.prefix = prefix
        self.evaluation_model = sitting.jury.name

    def measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float | None:
        return self._set_result(self.sitting.hear_sync(_case(test_case)))

    async def a_measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float | None:
        return self._set_result(await self.sitting.hear(_case(test_case)))

    def _set_result(self, judgement: Judgement) -> float | None:
        mark = judgement.marks[self.attribute]
        self.score = mark.share
        self.reason = mark.reason
        self.error = mark.reason if mark.status == "hung" else None
        self.skipped = mark.status == "not_applicable"
        self.score_breakdown = {"status": mark.status, "value": mark.value}
        self.evaluation_cost = judgement.usd
        self.verbose_logs = judgement.text
        self.is_successful()
        return self.score

    @property
    def __name__(self) -> str:
        return f"{self.prefix}{self.attribute} ({self.sitting.jury.name})"


def _case(test: LLMTestCase) -> Case:
    passages = [*(test.context or ()), *(test.retrieval_context or ())]
    return case_from_sample(
        test.name or f"case-{digest(f'{test.input} {test.actual_output}')[:12]}",
        test.actual_output,
        question=test.input,
        source=[passage if isinstance(passage, str) else passage.context for passage in passages],
        reference=test.expected_output,
    )
