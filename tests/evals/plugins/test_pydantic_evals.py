"""The evaluator in Pydantic Evals itself: scores, labels and reasons, as the report's own file gives them back."""

from __future__ import annotations

from typing import Any

from openai_server import ProviderServer
from plugin_hosts import (
    VISITS,
    WHY_HUNG,
    assert_never_mixed,
    assert_reference_is_hidden_unless_shown,
    needs,
    own_words,
)

pytestmark = needs("pydantic_evals")
HOST = "pydantic_evals"


def test_reports_have_scores_labels_and_reasons(server: ProviderServer, found: Any) -> None:
    example = found["example"]
    assert {
        name: {key: value for key, (value, _) in marks.items()} for name, marks in example.items()
    } == VISITS
    assert example["visit-1"]["accurate"][1] == "4 by median, 100% of 3 votes for it"
    assert WHY_HUNG in example["visit-2"]["accurate"][1]
    assert "out_of_scale" in example["visit-3"]["accurate"][1]

    assert found["file"]["in-a-file"]["accurate"][0] == 4
    assert "- JuryEvaluator:\n    rubric:" in found["written"]

    assert found["masked"]["rubric"] == "short-summary"
    assert "hush" not in str(found["masked"])

    odd = found["odd"]
    assert [odd[case]["accurate"][0] for case in ("case-0", "case-3")] == [4, 4]
    assert ["give the jury a text to judge" in odd[case]["JuryEvaluator"][1] for case in ("case-1", "case-2")]
    assert own_words(server, '{"answer": "Fever.", "score": 1}')

    first, second = found["record"]
    assert first == second
    assert (first["case-0"]["jury.accurate"][0], first["case-1"]["single.accurate"][0]) == (4, "hung")
    # Two juries, each paying for one case and for one repair a juror of the other; nothing the second time.
    assert len(own_words(server, "Kept, with fever.")) == 3 + 1
    assert len(own_words(server, "Kept, of the wrist.")) == 3 + 2 + 1 + 1
    assert_never_mixed({name: value for name, (value, _) in found["opposite"]["case-0"].items()})
    assert_reference_is_hidden_unless_shown(server)
