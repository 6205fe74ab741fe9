"""Summaries judged by a jury, in HELM: see docs/plugins/helm.md."""

import os
from pathlib import Path
from typing import ClassVar

from helm.benchmark.adaptation.common_adapter_specs import get_generation_adapter_spec
from helm.benchmark.run_spec import RunSpec, run_spec_function
from helm.benchmark.scenarios.scenario import (
    CORRECT_TAG,
    TEST_SPLIT,
    Input,
    Instance,
    Output,
    Reference,
    Scenario,
    ScenarioSpec,
)

from venire.evals.plugins.helm import jury_specs

HERE = Path(__file__).parent
VISITS = {
    "Monday: fever 38.4, cough for five days. Amoxicillin started. Wednesday: fever gone.": (
        "Fever of 38.4 with cough, amoxicillin, fever gone by Wednesday."
    ),
    "Fell on the left wrist. Swollen, no deformity. Film: no fracture. Splint for a week.": (
        "Left wrist sprain after a fall, no fracture, splint for a week."
    ),
}


class SummariesScenario(Scenario):
    name = "summaries"
    description = "Short summaries of visits"
    tags: ClassVar[list[str]] = ["summarization"]

    def get_instances(self, output_path: str) -> list[Instance]:
        return [
            Instance(Input(text=notes), [Reference(Output(text=good), tags=[CORRECT_TAG])], split=TEST_SPLIT)
            for notes, good in VISITS.items()
        ]


@run_spec_function("summaries")
def summaries() -> RunSpec:
    annotators, metrics = jury_specs(
        str(HERE.parent / "rubric.yaml"),
        str(HERE.parent / "jury.yaml"),
        model=os.environ.get("JUROR"),
        base_url=os.environ.get("JUROR_URL"),
    )
    return RunSpec(
        name="summaries",
        scenario_spec=ScenarioSpec(class_name=f"{__name__}.SummariesScenario"),
        adapter_spec=get_generation_adapter_spec(
            instructions="Summarise for the patient's file.",
            input_noun="Notes",
            output_noun="Summary",
            max_train_instances=0,
            max_tokens=200,
        ),
        metric_specs=metrics,
        annotators=annotators,
        groups=["summaries"],
    )
