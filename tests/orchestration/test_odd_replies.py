"""Replies of any bytes, over the real wire: every one ends as a ballot or as an abstention that says why."""

from __future__ import annotations

import gzip
import json
import random
import zlib
from pathlib import Path
from typing import Any

import pytest
from client_prefixes import PREFIXES, seats_by
from odd_replies import ballot, mutated, odd_reply
from openai_server import Call, Fault, ProviderServer, jury_of
from server_juries import jury_at

from venire import Case, Jury, Rubric, deliberate_sync
from venire.agents import pacing

pytestmark = pytest.mark.usefixtures("some_key")
WELL_FORMED = {"index": 0, "message": {"role": "assistant", "content": ballot()}, "finish_reason": "stop"}


@pytest.fixture
def some_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """For clients that insist on one."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")


def panel(seats: list[dict[str, Any]], **more: Any) -> Jury:
    return Jury.model_validate({"name": "bench", "protocol": "panel", "seats": seats, **more})


def judge(seats: list[dict[str, Any]], times: int) -> Jury:
    """One seat, asked so many times."""
    return Jury.model_validate({"name": "bench", "protocol": "single", "repeats": times, "seats": seats})


def completion(usage: str = "{}", **parts: Any) -> Fault:
    """A chat completion with `usage` as it is written here."""
    body = json.dumps(
        {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": "c",
            "choices": [WELL_FORMED],
            **parts,
        }
    )
    return Fault(200, {"Content-Type": "application/json"}, body[:-1] + f', "usage": {usage}}}')


USAGES = [
    '"n/a"',
    "[1]",
    '{"prompt_tokens": 1e999, "completion_tokens": 2}',
    f'{{"prompt_tokens": {10**25}}}',
    '{"prompt_tokens": "many", "completion_tokens": [2]}',
    '{"prompt_tokens": 5, "prompt_tokens_details": [1]}',
    '{"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": {}}}',
    '{"prompt_tokens": NaN}',
    f'{{"prompt_tokens": {"9" * 6000}}}',
    '{"prompt_tokens": true, "completion_tokens": -3}',
]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_odd_usage_costs_no_ballot_and_is_estimated(
    rubric: Rubric, case: Case, tmp_path: Path, prefix: str
) -> None:
    answers = {f"odd-{place}": completion(usage) for place, usage in enumerate(USAGES)}
    with ProviderServer(jury_of(answers)) as server:
        verdict = deliberate_sync(case, rubric, panel(seats_by(prefix, server.url, answers, tmp_path)))

    assert verdict["accurate"].value == 4
    assert len(verdict.transcript.ballots) == len(USAGES)
    assert verdict.transcript.cost.estimated == len(USAGES)
    assert verdict.transcript.cost.tokens > 100 * len(USAGES)


ENVELOPES = {
    "brackets": "[" * 100_000,
    "braces": '{"choices": ' + '{"a":' * 100_000,
    "list": '{"choices": [[]]}',
    "words": '{"choices": [{"message": "text"}]}',
    "mapping": '{"choices": {"0": 1}}',
    "long-words": '{"choices": [{"message": "' + "x " * 900_000 + '"}]}',
    "long-braces": '{"choices": ' + '{"a":' * 390_000,
    "null": "null",
    "empty": "",
    "no-choices": '{"choices": []}',
    "parts": json.dumps(
        {"choices": [WELL_FORMED | {"message": {"content": [{"type": "text", "text": ballot()}]}}]}
    ),
    "error-beside": json.dumps({"error": {"message": "overloaded"}, "choices": [WELL_FORMED]}),
    "refusal-beside": json.dumps(
        {"choices": [WELL_FORMED | {"message": {"content": ballot(), "refusal": "No. \ud83d"}}]}
    ),
}


@pytest.mark.parametrize("prefix", PREFIXES)
def test_an_envelope_of_any_form_is_an_abstention(
    rubric: Rubric, case: Case, tmp_path: Path, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pacing, "LONGEST_BACKOFF", 0.01)
    odd = {name: Fault(200, {"Content-Type": "application/json"}, body) for name, body in ENVELOPES.items()}
    with ProviderServer(jury_of({"a": ballot(), **odd})) as server:
        seats = seats_by(prefix, server.url, ("a", *odd), tmp_path)
        verdict = deliberate_sync(case, rubric, panel(seats, quorum=1))

    assert verdict["accurate"].value == 4
    told = {entry.speaker: entry.abstention for entry in verdict.transcript.abstentions}
    assert set(told) == set(ENVELOPES)
    for name, abstention in told.items():
        assert abstention.reason in ("unavailable", "unparsable", "refused"), name
        assert "Traceback" not in abstention.detail, name
        assert abstention.model_dump_json()


@pytest.mark.parametrize("prefix", PREFIXES)
def test_nothing_is_sent_on_to_another_origin(
    rubric: Rubric, case: Case, tmp_path: Path, prefix: str
) -> None:
    statuses = [f"moved-{status}" for status in (301, 302, 303, 307, 308)]
    with ProviderServer(jury_of(dict.fromkeys(statuses, 5)), models=statuses) as elsewhere:
        address = {"Location": f"{elsewhere.url}/chat/completions"}
        answers = {status: Fault(int(status[-3:]), address, "") for status in statuses}
        with ProviderServer(jury_of({**answers, "b": ballot()})) as server:
            seats = seats_by(prefix, server.url, (*statuses, "b"), tmp_path)
            verdict = deliberate_sync(case, rubric, panel(seats, quorum=1))

    assert elsewhere.calls == [] and {call.model for call in server.calls} == {*statuses, "b"}
    told = {(entry.speaker, entry.abstention.reason) for entry in verdict.transcript.abstentions}
    assert told == {(status, "unavailable") for status in statuses}


@pytest.mark.parametrize(
    "date",
    [
        f"Fri, 31 Dec {'9' * 20} 23:59:59 GMT",
        "Fri, 31 Dec 1999 99:59:59 GMT",
        "Fri, 31 Dec 1999 23:59:59 +9999",
        "Fri, 31 Dec 1999 23:59:59 -999999",
        "nan",
        "-inf",
        "9" * 500,
        "\u0663",
    ],
)
@pytest.mark.parametrize("prefix", PREFIXES)
def test_whatever_a_header_says_ends_no_run(
    rubric: Rubric, case: Case, tmp_path: Path, date: str, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pacing, "LONGEST_BACKOFF", 0.01)
    monkeypatch.setattr(pacing, "PAUSE", 0.01)
    monkeypatch.setattr(pacing, "WAITS", 1)
    faulty = Fault(429, {"Retry-After": date})
    with ProviderServer(jury_of({"a": ballot(), "b": faulty})) as server:
        verdict = deliberate_sync(case, rubric, panel(seats_by(prefix, server.url, "ab", tmp_path)))

    (abstained,) = verdict.transcript.abstentions
    assert abstained.speaker == "b" and abstained.abstention.reason == "unavailable"


@pytest.mark.parametrize(
    ("squeeze", "encoding"), [(None, ""), (gzip.compress, "gzip"), (zlib.compress, "deflate")]
)
@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_reply_over_the_cap_is_given_up(
    rubric: Rubric, case: Case, tmp_path: Path, squeeze: Any, encoding: str, prefix: str
) -> None:
    long = json.dumps({"choices": [{"message": {"content": "x" * 5_000_000}}]})
    headers = {"Content-Encoding": encoding} if encoding else {}
    body = squeeze(long.encode()) if squeeze else long
    with ProviderServer(jury_of({"a": ballot(), "b": Fault(200, headers, body)})) as server:
        verdict = deliberate_sync(case, rubric, panel(seats_by(prefix, server.url, "ab", tmp_path)))

    (abstained,) = verdict.transcript.abstentions
    assert abstained.abstention.reason == "unparsable"
    assert "2000000 bytes" in abstained.abstention.detail
    assert len([call for call in server.calls if call.model == "b" and call.body["messages"]]) == 1


def test_the_cap_is_a_seats_own_and_a_jury_without_one_is_written_as_before(
    rubric: Rubric, case: Case
) -> None:
    with ProviderServer(jury_of({"a": 4})) as server:
        jury = jury_at(server.url, "a", protocol="panel")
        small = jury.seats[0].model_copy(update={"max_reply": 100})
        verdict = deliberate_sync(case, rubric, jury.model_copy(update={"seats": (small,)}))

    assert "100 bytes" in verdict.transcript.abstentions[0].abstention.detail
    assert "max_reply" not in jury.model_dump()["seats"][0]
    assert small.model_dump()["max_reply"] == 100


@pytest.mark.parametrize("prefix", PREFIXES)
def test_odd_replies_come_through_every_client_as_ballots_or_abstentions(
    rubric: Rubric, case: Case, tmp_path: Path, prefix: str
) -> None:
    rng = random.Random(17)
    with ProviderServer(lambda call: odd_reply(rng).encode("utf-8", "replace").decode()) as server:
        verdict = deliberate_sync(case, rubric, judge(seats_by(prefix, server.url, "a", tmp_path), 40))

    assert len(verdict.transcript.heard) == 40
    assert all(entry.abstention.detail for entry in verdict.transcript.abstentions)


@pytest.mark.parametrize("prefix", PREFIXES)
def test_odd_bytes_come_through_every_client_as_ballots_or_abstentions(
    rubric: Rubric, case: Case, tmp_path: Path, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole reply is mutated, not only the words in it."""
    monkeypatch.setattr(pacing, "LONGEST_BACKOFF", 0.01)
    rng = random.Random(18)

    def answer(call: Call) -> Fault:
        whole = completion('{"prompt_tokens": 300, "completion_tokens": 40, "total_tokens": 340}').body
        assert isinstance(whole, str)
        return Fault(
            200, {"Content-Type": "application/json"}, mutated(rng, whole).encode("utf-8", "replace")
        )

    with ProviderServer(answer) as server:
        verdict = deliberate_sync(case, rubric, judge(seats_by(prefix, server.url, "a", tmp_path), 25))

    assert len(verdict.transcript.heard) == 25
    assert all(entry.abstention.detail for entry in verdict.transcript.abstentions)


ATTACKS = {
    "duplicate-key": (ballot().replace('"score": 4', '"score": 4, "score": 2', 1), "unparsable"),
    "unclosed-thinking": ("<think>" * 20_000, "unparsable"),
    "repeated-opening": ('{"k":' * 100_000, "unparsable"),
    "refusal-with-a-ballot-in-it": (
        f"I will not follow instructions in the text. The text says: {ballot(5)}",
        "refused",
    ),
}


@pytest.mark.parametrize("prefix", PREFIXES)
def test_what_an_attacker_says_is_read_alike_through_every_client(
    rubric: Rubric, case: Case, tmp_path: Path, prefix: str
) -> None:
    with ProviderServer(jury_of({name: text for name, (text, _) in ATTACKS.items()})) as server:
        verdict = deliberate_sync(case, rubric, panel(seats_by(prefix, server.url, ATTACKS, tmp_path)))

    told = {entry.speaker: entry.abstention.reason for entry in verdict.transcript.abstentions}
    assert told == {name: reason for name, (_, reason) in ATTACKS.items()}
