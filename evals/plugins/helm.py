"""HELM and MedHELM: an annotator and a metric that put a jury where MedHELM's LLM jury sits.

There, a juror without an answer vanishes from the mean, and a case without any gets a default score. Here a quorum
decides whether there is a score, and where there is none, there is no statistic either: it is counted as hung.
"""

from __future__ import annotations

from typing import Any, Literal

from . import host
from .sitting import case_from_sample, convene, warn_of_one_name

with host("helm", extra="helm"):
    from helm.benchmark.adaptation.adapter_spec import AdapterSpec
    from helm.benchmark.adaptation.request_state import RequestState
    from helm.benchmark.annotation.annotator import Annotator, AnnotatorSpec
    from helm.benchmark.metrics.metric import Metric, MetricSpec
    from helm.benchmark.metrics.metric_name import MetricName
    from helm.benchmark.metrics.metric_service import MetricService
    from helm.benchmark.metrics.statistic import Stat


def jury_specs(
    rubric: str, jury: str, *, name: str = "venire", **options: Any
) -> tuple[list[AnnotatorSpec], list[MetricSpec]]:
    """What a run spec needs under `annotators` and `metric_specs`. `options` are those of `JuryAnnotator`."""
    asked = {"rubric": rubric, "jury": jury, "name": name, **options}
    return (
        [AnnotatorSpec(class_name=f"{__name__}.JuryAnnotator", args=asked)],
        [MetricSpec(class_name=f"{__name__}.JuryMetric", args={"name": name})],
    )


class JuryAnnotator(Annotator):  # type: ignore[misc]
    """Has a jury deliberate over each completion, and annotates the request with what it found.

    `shown_as` says what a scenario's input is to the jurors. Its correct reference is the case's: jurors read it only
    if the rubric shows it. `options` are those of a sitting: `model`, `base_url`, `record`, `max_usd` ...
    """

    def __init__(
        self,
        rubric: str,
        jury: str,
        name: str = "venire",
        shown_as: Literal["source", "question"] = "source",
        **options: Any,
    ) -> None:
        self.name = name
        self._shown_as = shown_as
        self._sitting = convene(rubric, jury, **options)
        warn_of_one_name(self, self._sitting, name)

    def annotate(self, request_state: RequestState) -> dict[str, Any]:
        instance, result = request_state.instance, request_state.result
        reference = instance.first_correct_reference
        trial = f"-{request_state.train_trial_index}" if request_state.train_trial_index else ""
        case = case_from_sample(
            f"{instance.id}{trial}",
            result.completions[0].text if result and result.completions else None,
            reference=reference.output.text if reference else None,
            system=request_state.request.model,
            **{self._shown_as: instance.input.text},
        )
        judgement = self._sitting.hear_sync(case)
        return {
            "marks": {
                mark.name: {"status": mark.status, "value": mark.value} for mark in judgement.marks.values()
            },
            "deliberation": judgement.document,
            "usd": judgement.usd,
        }


class JuryMetric(Metric):  # type: ignore[misc]
    """A statistic for each attribute and composite that was reached and is a number, and how many jurors abstained."""

    def __init__(self, name: str = "venire") -> None:
        self._name = name

    def evaluate_generation(
        self,
        adapter_spec: AdapterSpec,
        request_state: RequestState,
        metric_service: MetricService,
        eval_cache_path: str,
    ) -> list[Stat]:
        found = (request_state.annotations or {})[self._name]
        marks = found["marks"].items()
        scores = {name: mark["value"] for name, mark in marks if isinstance(mark["value"], int | float)}
        hung = {f"{name}_hung": float(mark["status"] == "hung") for name, mark in marks}
        counts = {**hung, "abstentions": float(len(found["deliberation"]["abstentions"]))}
        return [
            Stat(MetricName(f"{self._name}_{name}")).add(value)
            for name, value in {**scores, **counts}.items()
        ]
