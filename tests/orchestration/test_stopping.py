"""Conditions under which real deliberations stop early, and a limit that they keep to."""

from __future__ import annotations

import pytest
from openai_server import ProviderServer, filled, jury_of
from server_juries import jury_at

from venire import Case, Limits, Rubric, deliberate_sync


@pytest.mark.parametrize("name", ["orchestrated", "moderated", "delphi", "debate"])
@pytest.mark.parametrize(("stop", "limit"), [({"stable_rounds": 2}, "stable_rounds"), ({"ks": 0.1}, "ks")])
def test_a_jury_file_may_stop_early(
    rubric: Rubric, case: Case, name: str, stop: dict[str, float], limit: str
) -> None:
    limits = Limits(max_rounds=9, max_stalls=None, max_replans=None)
    with ProviderServer(jury_of({"a": 5, "b": 2, "boss": 3})) as server:
        jury = jury_at(server.url, "a", "b", protocol=name, limits=limits, stop=stop)
        verdict = deliberate_sync(case, rubric, jury)

    assert (verdict.stop.reason, verdict.stop.limit) == ("stable", limit)
    assert verdict.transcript.rounds == (3 if limit == "stable_rounds" else 2)


def test_a_deliberation_that_nothing_is_sure_to_end_is_refused() -> None:
    with pytest.raises(ValueError, match="set max_rounds, max_turns or max_seconds"):
        Limits(max_rounds=None, max_stalls=3)


@pytest.mark.parametrize("name", ["orchestrated", "moderated", "delphi", "debate", "escalate"])
def test_tokens_are_passed_by_no_more_than_the_calls_in_flight(rubric: Rubric, case: Case, name: str) -> None:
    def changes(call: object) -> object:
        number = call.number  # type: ignore[attr-defined]
        return filled(call.schema, lambda _: 5 - number % 2, moved_by="it")  # type: ignore[attr-defined]

    limits = Limits(max_rounds=50, max_stalls=None, max_replans=None, max_tokens=6000)
    with ProviderServer(jury_of({"a": changes, "b": 2, "c": 1, "boss": 3})) as server:
        verdict = deliberate_sync(
            case, rubric, jury_at(server.url, "a", "b", "c", protocol=name, limits=limits)
        )

    assert (verdict.stop.reason, verdict.stop.limit) == ("budget", "max_tokens")
    sizes = [len(call.prompt) // 4 + 200 for call in server.calls]
    assert verdict.transcript.cost.usage.total < 6000 + sum(sorted(sizes)[-3:])
