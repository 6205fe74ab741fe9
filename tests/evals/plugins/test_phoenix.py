"""The evaluator in Phoenix evals itself: scores, labels and explanations, as its own frame gives them back."""

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

pytestmark = needs("phoenix/evals")
HOST = "phoenix"


def test_frames_have_scores_labels_and_explanations(server: ProviderServer, found: Any) -> None:
    example = [{name: value for name, (value, *_) in row.items()} for row in found["example"]]
    assert example == list(VISITS.values())
    assert found["example"][0]["accurate"][1:] == ["4 by median, 100% of 3 votes for it", "maximize"]
    assert WHY_HUNG in found["example"][1]["accurate"][1]
    assert "out_of_scale" in found["example"][2]["accurate"][1]
    assert found["example"][2]["abstentions"][2] == "minimize"

    structured, blank, number = found["odd"]
    assert (structured["accurate"][0], blank, number["accurate"][0]) == (4, {}, 4)
    assert found["typo"] == [{}]
    assert found["awaited"][0]["accurate"][0] == 4
    assert found["record"][0] == found["record"][1]
    assert found["record"][0][1]["single.accurate"][0] == "hung"
    assert len(own_words(server, "Kept, with fever.")) == 3 + 1
    assert_never_mixed({name: value for name, (value, *_) in found["opposite"][0].items()})
    assert_reference_is_hidden_unless_shown(server)
