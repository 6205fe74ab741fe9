"""Summaries held to a jury's verdict: deepeval test run test_summaries.py. See docs/plugins/deepeval.md."""

import pandas as pd
import pytest
from deepeval import assert_test
from deepeval.test_case import LLMTestCase

from venire.evals.plugins.deepeval import jury_metrics

JURY = jury_metrics("../rubric.yaml", "../jury.yaml", threshold=0.6)
VISITS = pd.read_json("../visits.jsonl", lines=True)


@pytest.mark.parametrize("row", VISITS.itertuples(), ids=lambda row: row.id)
def test_summary(row):
    assert_test(LLMTestCase(name=row.id, input=row.task, context=[row.notes], actual_output=row.output), JURY)
