"""The evaluator in LangSmith's experiments and in openevals, as their own results give it back."""

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

pytestmark = needs("langsmith")
HOST = "langsmith"


def test_experiments_have_scores_values_and_comments(server: ProviderServer, found: Any) -> None:
    example = [{name: value for name, (value, _) in row.items()} for row in found["example"]]
    assert sorted(example, key=str) == sorted(VISITS.values(), key=str)
    (hung,) = (row for row in found["example"] if row["hung"][0] == 2)
    assert WHY_HUNG in hung["accurate"][1]

    structured, blank, number = found["odd"]
    assert (structured["accurate"][0], blank, number["accurate"][0]) == (4, {}, 4)
    assert [row["accurate"][0] for row in found["awaited"]] == [4, 4]
    assert found["talk"]["accurate"] == [None, "hung"]
    assert found["talk"]["thorough"] == [5, None]

    for experiment in found["record"]:
        values = {
            name: value for row in experiment for name, (value, _) in row.items() if row["jury.hung"][0]
        }
        assert (values["jury.accurate"], values["single.accurate"]) == ("hung", "hung")
    assert len(own_words(server, "Kept, with fever.")) == 3 + 1
    assert_never_mixed({name: value for name, (value, _) in found["opposite"][0].items()})
    assert_reference_is_hidden_unless_shown(server)

    compared = found["compared"]
    assert compared["scores"] == [[1, 0], [0, 1], [0.5, 0.5], [None, None], [None, None]]
    assert compared["sent"] == [-1] * 4 + [0, 0, 0.5, 0.5, 1, 1], "-1 stands for feedback without a score"
    won, _, _, hung, blank = compared["comments"]
    assert "jurors saw this output as output" in won
    assert WHY_HUNG in hung and "give the jury a text to judge" in blank
