"""The evaluator in Langfuse's experiments: scores as its SDK sends them to a server."""

from __future__ import annotations

from pathlib import Path

from langfuse_server import langfuse_server
from openai_server import ProviderServer
from plugin_hosts import (
    VISITS,
    WHY_HUNG,
    assert_never_mixed,
    assert_reference_is_hidden_unless_shown,
    found_by,
    needs,
    own_words,
)

pytestmark = needs("langfuse")


def test_scores_reach_the_server_as_numbers_or_categories(server: ProviderServer, tmp_path: Path) -> None:
    with langfuse_server() as langfuse:
        found = found_by(
            "langfuse", tmp_path, server,
            LANGFUSE_PUBLIC_KEY="pk", LANGFUSE_SECRET_KEY="sk", LANGFUSE_BASE_URL=langfuse.url,
        )  # fmt: skip

    sent = langfuse.scores
    by_visit: dict[str, dict[str, object]] = {}
    for score in sent[:15]:
        by_visit.setdefault(score["metadata"]["case"], {})[score["name"]] = score["value"]
    assert sorted(by_visit.values(), key=str) == sorted(VISITS.values(), key=str)
    assert {score["dataType"] for score in sent if score["value"] == "hung"} == {"CATEGORICAL"}
    assert {score["dataType"] for score in sent if not isinstance(score["value"], str)} == {"NUMERIC"}
    assert all(score["comment"] for score in sent if score["value"] == "hung")
    assert WHY_HUNG in next(score["comment"] for score in sent if score["value"] == "hung")
    assert {score["metadata"]["jury"] for score in sent} == {"three-readers", "single"}
    assert all(score["traceId"] and score["observationId"] for score in sent)
    assert "/api/public/otel/v1/traces" in langfuse.paths

    structured, blank, number = found["odd"]
    assert (structured["accurate"][0], blank, number["accurate"][0]) == (4, {}, 4)
    assert found["loop"][0]["accurate"][0] == 4
    assert found["record"][0] == found["record"][1]
    assert found["record"][0][0]["jury.accurate"][0] == 4
    assert found["record"][0][1]["single.accurate"][0] == "hung"
    assert len(own_words(server, "Kept, with fever.")) == 3 + 1
    assert_never_mixed({name: value for name, (value, _) in found["opposite"][0].items()})
    costs = [score["metadata"]["usd"] for score in sent if score["metadata"].get("usd")]
    assert len(costs) == 3, "where a price is known, with one score of each jury"
    assert_reference_is_hidden_unless_shown(server)
