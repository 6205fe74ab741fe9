"""Summaries held to a jury's verdict: deepeval test run test_summaries.py. See docs/plugins/deepeval.md."""

import os
from pathlib import Path

import pytest
from deepeval import assert_test
from deepeval.test_case import LLMTestCase

from venire.evals.plugins.deepeval import jury_metrics

HERE = Path(__file__).parent
CASES = [
    LLMTestCase(
        name="visit-1",
        input="Summarise for the patient's file.",
        context=["Monday: fever 38.4, cough for five days. Amoxicillin started. Wednesday: fever gone."],
        actual_output="Fever of 38.4, amoxicillin started, better by Wednesday.",
        expected_output="Five days of cough with fever of 38.4, amoxicillin from Monday, fever gone by Wednesday.",
    ),
    LLMTestCase(
        name="visit-2",
        input="Summarise for the patient's file.",
        context=["Fell on the left wrist. Swollen, no deformity. Film: no fracture. Splint for a week."],
        actual_output="Left wrist sprain, no fracture on film. Splint for a week.",
        expected_output="Left wrist sprain after a fall, no fracture on film, splint for a week.",
    ),
]
METRICS = jury_metrics(
    HERE.parent / "rubric.yaml",
    HERE.parent / "jury.yaml",
    threshold=0.6,
    model=os.environ.get("JUROR"),
    base_url=os.environ.get("JUROR_URL"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_summary(case: LLMTestCase) -> None:
    assert_test(case, METRICS)
