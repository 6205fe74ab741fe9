"""The metric in DSPy and the evaluator in GEPA, as their own results give them back."""

from __future__ import annotations

from typing import Any

import pytest
from openai_server import ProviderServer
from plugin_hosts import WHY_HUNG, assert_reference_is_hidden_unless_shown, needs, own_words

pytestmark = needs("dspy")
HOST = "dspy"


def test_evaluations_have_scores_and_feedback_and_gepa_runs_on_them(
    server: ProviderServer, found: Any
) -> None:
    (reached, why), (hung, why_hung), (part, why_part) = found["example"]
    assert (reached, hung, part) == (pytest.approx(0.85), None, None)
    assert "accurate 4, thorough 5, overall 4.4" in why
    assert WHY_HUNG in why_hung and "out_of_scale" in why_part
    assert found["mean"] == "nan"
    assert "score=0.875" in found["csv"][0]["jury_score"]

    structured, number, (blank, why_blank) = found["odd"]
    assert (structured[0], number[0], blank) == (0.875, 0.875, None)
    assert "give the jury a text to judge" in why_blank
    assert own_words(server, '{"answer": "Fever.", "score": 1}')

    assert found["record"][0] == found["record"][1]
    assert len(own_words(server, "Kept, with fever.")) == 3 + 1

    # Where there is no verdict, GEPA takes its own score of a failure, and reads why.
    assert found["gepa"]["scores"][0] == {"0": 0.875, "1": 0.0}
    assert "run_log.json" in found["gepa"]["files"]
    assert found["alone"]["scores"][0] == [0.875, 0.0]
    assert "There was no verdict, so this value is not a score." in found["alone"]["reflected"]
    assert WHY_HUNG in found["alone"]["reflected"]
    assert found["opposite"] == [[0, True], [1, True], [None, True]]
    assert_reference_is_hidden_unless_shown(server)
