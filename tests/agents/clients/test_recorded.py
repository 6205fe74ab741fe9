"""Answers that are read and not asked for: from a table, from a script, and from the replies that a library is handed."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from venire import Case, Rubric, load_rubric
from venire.agents.clients.httpx_replies import _leaves, _readable
from venire.agents.clients.recorded import RecordedChecksClient, RecordedClient, connect
from venire.agents.clients.scripted import Script, ScriptedClient
from venire.agents.clients.server import retry_after, says_busy, says_filtered, status_failure
from venire.agents.model import (
    AccessRefused,
    ModelFailure,
    Reply,
    Request,
    Sampling,
    Subject,
    TransientFailure,
)
from venire.agents.prompting import brief
from venire.personas.jury import ModelSettings
from venire.rubrics.ballot import ballot_shape, inline
from venire.rubrics.case import is_swapped
from venire.rubrics.claim import Claim
from venire.rubrics.errors import InvalidFile, VenireError


def request_of(subject: Subject, repeat: int = 0, **form: Any) -> Request:
    schema = inline(ballot_shape(subject.rubric, subject.asked or subject.rubric.names[:1], **form))
    return Request("recorded/x", (), schema, Sampling(), repeat, 60.0, subject)


def asked(case: Case, rubric: Rubric, *names: str) -> Subject:
    return brief(case, rubric).subject("a", names or rubric.names, round=1)


def recorded(tmp_path: Path, text: str, juror: str = "a") -> RecordedClient | RecordedChecksClient:
    (tmp_path / "t.csv").write_text(text)
    return connect(ModelSettings(model=f"recorded/{tmp_path}/t.csv#{juror}"))


def scores(reply: Reply) -> dict[str, Any]:
    return {name: part["score"] for name, part in json.loads(reply.text).items()}


def test_a_table_that_was_changed_is_read_again(tmp_path: Path, case: Case, rubric: Rubric) -> None:
    text = "case,juror,attribute,value\nc1,a,accurate,4\n"
    found = []
    for written in (text, text + "c1,a,thorough,2\n"):
        found.append(recorded(tmp_path, written).answers_for(asked(case, rubric)))

    assert found == [("accurate",), ("accurate", "thorough")]


def test_a_recorded_juror_answers_by_case_attribute_and_repeat(
    tmp_path: Path, case: Case, rubric: Rubric
) -> None:
    client = recorded(
        tmp_path,
        "case,juror,attribute,value,repeat,rationale,cost\nc1,a,accurate,4,,why,0.5\nc1,a,thorough,2,0,,0.25\nc1,a,accurate,1,1,,\nc1,b,accurate,5,,,\nc2,a,accurate,3,,,1\nc1,a,other,,,,\n",
    )
    subject = asked(case, rubric)
    reply = asyncio.run(client.complete(request_of(subject)))

    assert scores(reply) == {"accurate": 4, "thorough": 2} and reply.usd == 0.75
    assert json.loads(reply.text)["accurate"]["rationale"] == "why"
    again = asyncio.run(client.complete(request_of(asked(case, rubric, "accurate"), repeat=1)))
    assert scores(again) == {"accurate": 1} and again.usd is None, "a blank cost is unknown"
    with pytest.raises(ModelFailure, match="has no thorough for case c1"):
        asyncio.run(client.complete(request_of(subject, repeat=1)))
    assert client.answers_for(subject) == ("accurate", "thorough")
    assert client.answers_for(replace(subject, case="c2")) == ("accurate",), (
        "what it never judged it leaves out"
    )
    assert client.answers_for(replace(subject, case="c9")) == subject.asked, (
        "a case it never saw is an abstention"
    )
    with pytest.raises(ModelFailure, match="it can only vote"):
        asyncio.run(client.complete(request_of(replace(subject, kind="ledger"))))


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("c1,a,accurate,4", "judged accurate of c1 twice"),
        ("c1,z,accurate,4", "no juror named 'a'"),
    ],
)
def test_a_table_that_cannot_be_played_back_is_refused(tmp_path: Path, row: str, problem: str) -> None:
    first = "c1,a,accurate,3\n" if "twice" in problem else ""
    with pytest.raises(VenireError, match=problem):
        recorded(tmp_path, f"case,juror,attribute,value\n{first}{row}\n")


def test_a_tables_costs_and_columns_are_checked(tmp_path: Path) -> None:
    with pytest.raises(InvalidFile, match=r"t.csv:2: cost is 'x'"):
        recorded(tmp_path, "case,juror,attribute,value,cost\nc,a,x,1,x\n")
    with pytest.raises(InvalidFile, match="the column 'value' is missing"):
        recorded(tmp_path, "case,juror,attribute\nc,a,x\n")
    with pytest.raises(VenireError, match="does not say which juror"):
        connect(ModelSettings(model="recorded/t.csv"))


@pytest.mark.parametrize("name", ["p1", "p2", "p3", "p4"])
def test_a_recorded_preference_is_between_the_rows_outputs(tmp_path: Path, name: str) -> None:
    rubric = load_rubric("preference")
    case = Case.from_row({"id": name, "output_a": "x", "output_b": "y"})
    client = recorded(tmp_path, f"case,juror,attribute,value\n{name},a,preference,1\n")
    reply = asyncio.run(client.complete(request_of(asked(case, rubric))))

    assert scores(reply) == {"preference": -1 if is_swapped(name) else 1}


def test_recorded_checks_are_those_of_the_claims_that_are_asked(
    tmp_path: Path, case: Case, rubric: Rubric
) -> None:
    client = recorded(
        tmp_path,
        "case,claim,juror,verdict,evidence,reason\nc1,c1,a,supported,q,why\nc1,c2,a,,,\nc1,c3,b,supported,,\nc2,c1,a,not_supported,,\n",
    )
    claims = tuple(Claim(id=f"c{n}", text="t") for n in (1, 2, 3))
    subject = replace(asked(case, rubric), kind="verification", claims=claims)

    def checked(subject: Subject) -> Any:
        return json.loads(asyncio.run(client.complete(request_of(subject))).text)["checks"]

    assert checked(subject) == [{"claim": "c1", "reason": "why", "evidence": "q", "verdict": "supported"}]
    with pytest.raises(ModelFailure, match="no verdict on c2, c3 of case c1"):
        checked(replace(subject, claims=claims[1:]))
    with pytest.raises(ModelFailure, match="can only check claims"):
        checked(replace(subject, kind="ballot"))


def test_a_script_is_played_round_by_round_and_what_was_said_last_is_said_again(
    case: Case, rubric: Rubric
) -> None:
    script = Script.model_validate(
        {
            "seats": {"a": [{"accurate": 1, "thorough": 2}, {"accurate": {"score": 3, "evidence": ["q"]}}, "refuse"]},
            "orchestrator": {"accurate": 5},
            "claims": {"output": ["One.", "Two."]},
            "checks": {"a": {"c1": "supported"}, "b": "garbage"},
        }
    )  # fmt: skip
    client = ScriptedClient(script)

    def said(**changes: Any) -> Reply:
        subject = replace(asked(case, rubric), **changes)
        return asyncio.run(client.complete(request_of(subject)))

    assert scores(said()) == {"accurate": 1, "thorough": 2}
    assert scores(said(round=2)) == {"accurate": 3, "thorough": 2}
    assert said(round=3).finish == said(round=9).finish == "refusal"
    assert scores(said(kind="decision", asked=("accurate",)))["accurate"] == 5
    assert scores(said(seat="z")) == scores(said(seat="z")), "by the hash of the question"
    first = json.loads(said(kind="extraction", exhibits=brief(case, rubric).exhibits[-1:]).text)["claims"]
    assert [claim["quote"] for claim in first] == ["One.", "Two."]
    claims = (Claim(id="c1", text="t"), Claim(id="c2", text="t"))
    checks = json.loads(said(kind="verification", claims=claims).text)["checks"]
    assert [check["verdict"] for check in checks] == ["supported", "not_addressed"]
    assert said(kind="verification", seat="b").text.startswith("garbage")


@pytest.mark.parametrize(
    ("status", "text", "wait", "kind", "reason", "busy"),
    [
        (429, "", "7", TransientFailure, "unavailable", True),
        (429, "", None, TransientFailure, "unavailable", True),
        (503, "", None, TransientFailure, "unavailable", False),
        (503, "", "7", TransientFailure, "unavailable", True),
        (500, "", None, TransientFailure, "unavailable", False),
        (401, "", None, AccessRefused, "unavailable", False),
        (403, "", None, AccessRefused, "unavailable", False),
        (404, "", None, AccessRefused, "unavailable", False),
        (403, "content_policy_violation", None, ModelFailure, "refused", False),
        (400, "content_policy_violation", None, ModelFailure, "refused", False),
        (500, "content_policy_violation", None, TransientFailure, "unavailable", False),
        (400, "bad", None, ModelFailure, "unavailable", False),
    ],
)
def test_a_status_says_whether_to_wait_to_give_up_or_to_abstain(
    status: int, text: str, wait: str | None, kind: type[ModelFailure], reason: str, busy: bool
) -> None:
    failure = status_failure(status, "", wait, text)

    assert type(failure) is kind and failure.reason == reason
    assert getattr(failure, "busy", False) is busy and says_busy(status, retry_after(wait)) is busy
    assert says_filtered(status, text) == (reason == "refused")
    assert getattr(failure, "retry_after", None) == (7.0 if wait and kind is TransientFailure else None)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, None), ("", None), ("3", 3), ("0.5", 0.5), ("-3", 0), ("soon", None), ("Wed, 21 Oct 2015 07:28:00 GMT", 0)],
)  # fmt: skip
def test_both_forms_of_retry_after_are_read(header: str | None, seconds: float | None) -> None:
    assert retry_after(header) == seconds


@pytest.mark.parametrize(
    ("usage", "mended"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}, None),
        ({"prompt_tokens": "x", "completion_tokens": 2.0}, {"prompt_tokens": -1, "completion_tokens": 2, "total_tokens": 0}),
        (None, {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}),
        ({"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5, "prompt_tokens_details": {"cached_tokens": True}},
         {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5, "prompt_tokens_details": {"cached_tokens": -1}}),
    ],
)  # fmt: skip
def test_token_counts_are_put_right_and_nothing_else(usage: Any, mended: Any) -> None:
    reply = {"choices": [{"message": {"content": "hi"}}], "usage": usage}
    body = json.dumps(reply).encode()

    assert json.loads(_readable(body)) == {**reply, "usage": usage if mended is None else mended}
    assert mended is not None or _readable(body) == body


def test_a_refusal_is_told_as_one_and_what_is_no_completion_is_cut() -> None:
    refusing = {"choices": [{"message": {"content": "yes", "refusal": "no"}, "finish_reason": "stop"}]}
    choice = json.loads(_readable(json.dumps(refusing).encode()))["choices"][0]

    assert (choice["finish_reason"], choice["message"]["content"]) == ("content_filter", "no")
    for odd in (b"x" * 9000, b'{"choices": []}' + b" " * 9000, b"[1]" + b" " * 9000):
        assert _readable(odd) == odd[:2000]
    assert json.loads(_readable(b'{"error": {"message": "m"}, "choices": [{"message": {"content": "x"}}]}')) == {"error": {"message": "m"}}  # fmt: skip


@pytest.mark.parametrize(
    ("location", "leaves"),
    [("/v2/chat", False), ("http://h:1/x", False), ("https://h:1/x", True), ("http://h:2/x", True), ("http://g:1/x", True), ("//g/x", True)],
)  # fmt: skip
def test_a_redirect_to_another_origin_is_not_followed(location: str, leaves: bool) -> None:
    assert _leaves(httpx.URL("http://h:1/v1/chat"), location) is leaves
