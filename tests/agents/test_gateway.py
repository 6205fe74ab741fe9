"""The gateway to a model, with a client that answers from a list: what is sent, sent again, repaired, recorded and paid."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import pytest
from odd_replies import ballot
from pydantic import BaseModel
from talk_traces import USUAL, hold

from venire import Rubric
from venire.agents import gateway as gateway_module
from venire.agents.answers import BESIDE
from venire.agents.budget import Budget, BudgetSpent, LimitReached, Meter
from venire.agents.gateway import FillFailed, ModelGateway, Prompt
from venire.agents.model import (
    AccessRefused,
    FormatRefused,
    Message,
    ModelFailure,
    Reply,
    Request,
    TransientFailure,
    Usage,
    reply_too_long,
)
from venire.agents.model_client import ModelClient
from venire.agents.providers import RateLimitedClient
from venire.personas.jury import ModelSettings
from venire.personas.options import Limits
from venire.rubrics.ballot import ballot_shape
from venire.rubrics.errors import ModelUnreachable

PROMPT = Prompt("Be fair.", "The case. ", "Score it.", nonce="c0de")
SLEEP = ModelGateway._sleep
REFUSAL = "I'm sorry, I cannot judge this."


class Listed(ModelClient):
    """Gives what it was made with, one after the other; an exception is raised."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.sent: list[Request] = []

    async def complete(self, request: Request) -> Reply:
        self.sent.append(request)
        await asyncio.sleep(0)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Reply) else Reply(answer, Usage(40, 30, 0), usd=0.5, seconds=1.0)


class Record:
    """A record in memory, with what was given up."""

    def __init__(self) -> None:
        self.replies: dict[str, Reply] = {}
        self.forgone: list[str] = []

    async def get(self, key: str) -> Reply | None:
        return self.replies.get(key)

    async def put(self, key: str, request: Request, reply: Reply) -> None:
        assert key not in self.replies
        self.replies[key] = reply

    def forgo(self, key: str) -> None:
        self.forgone.append(key)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    async def at_once(self: ModelGateway, seconds: float) -> None:
        assert seconds > 0
        self._meter.admit()

    monkeypatch.setattr(ModelGateway, "_sleep", at_once)


class Seat:
    """One seat's gateway, and all that it touches."""

    def __init__(self, *answers: Any, record: Record | None = None, alternates: Any = (), first_repeat: int = 0, budget: Budget | None = None, limits: Limits | None = None, **settings: Any) -> None:  # fmt: skip
        self.client, self.record = Listed(*answers), record or Record()
        self.budget = budget or Budget()
        self.meter = Meter(limits or Limits(), self.budget)
        self.limited = RateLimitedClient(self.client, 9)
        self.gateway = ModelGateway(
            self.limited,
            ModelSettings.model_validate({"model": "server/a", **settings}),
            calls=self.record,
            meter=self.meter,
            rng=random.Random(1),
            first_repeat=first_repeat,
            alternates=[each.gateway for each in alternates],
        )

    def fill(self, shape: type[BaseModel], **options: Any) -> Any:
        return asyncio.run(self.gateway.fill(PROMPT, shape, **options))

    def fails(self, shape: type[BaseModel], **options: Any) -> FillFailed:
        with pytest.raises(FillFailed) as failed:
            self.fill(shape, **options)
        return failed.value


@pytest.fixture
def shape(rubric: Rubric) -> type[BaseModel]:
    return ballot_shape(rubric)


def test_an_answer_is_committed_paid_once_and_never_asked_for_again(shape: type[BaseModel]) -> None:
    seat = Seat(ballot(4), temperature=0.5, max_reply=999, timeout=7)
    filled = seat.fill(shape)

    (request,) = seat.client.sent
    assert filled.value.accurate.score == 4 and list(seat.record.replies) == [request.key] == list(
        filled.spent.calls
    )
    assert [message.content for message in request.messages] == ["Be fair.", "The case. Score it."]
    assert (request.model, request.timeout, request.max_reply) == ("server/a", 7, 999)
    assert request.settings == {"temperature": 0.5} and filled.spent.by == ""
    assert (seat.budget.spent.calls, seat.meter.spent.calls, seat.budget.spent.usd) == (1, 1, 0.5)
    # The next session finds it: it counts against the deliberation's limits and costs the run nothing.
    again = Seat(record=seat.record, temperature=0.5, max_reply=999, timeout=7)
    assert again.fill(shape).value == filled.value and again.client.sent == []
    assert (again.budget.spent.calls, again.meter.spent.calls) == (0, 1)


def test_the_same_question_at_the_same_time_is_sent_and_paid_once(shape: type[BaseModel]) -> None:
    seat = Seat(ballot(4))

    async def twice() -> list[Any]:
        return list(await asyncio.gather(*(seat.gateway.fill(PROMPT, shape) for _ in range(3))))

    one, two, three = asyncio.run(twice())
    assert one.value == two.value == three.value and len(seat.client.sent) == 1
    assert (seat.budget.spent.calls, seat.meter.spent.calls) == (1, 3)
    assert seat.limited.in_progress == {}


def test_who_waited_for_a_call_that_failed_makes_it_anew(shape: type[BaseModel]) -> None:
    seat = Seat(ModelFailure("refused", "no"), ballot(4))

    async def twice() -> list[Any]:
        both = (seat.gateway.fill(PROMPT, shape) for _ in range(2))
        return list(await asyncio.gather(*both, return_exceptions=True))

    failed, filled = asyncio.run(twice())
    assert isinstance(failed, FillFailed) and filled.value.accurate.score == 4
    assert seat.record.forgone == [seat.client.sent[0].key] and len(seat.record.replies) == 1


def test_a_repeat_is_another_question_and_begins_where_the_seats_do(shape: type[BaseModel]) -> None:
    seat = Seat(ballot(4), ballot(3), ballot(2), first_repeat=6)
    scores = [seat.fill(shape, repeat=n).value.accurate.score for n in (0, 1, 0)]

    assert scores == [4, 3, 4] and [request.repeat for request in seat.client.sent] == [6, 7]


def test_an_illegal_answer_is_sent_back_once_with_what_is_wrong(shape: type[BaseModel]) -> None:
    seat = Seat("Nonsense.", ballot(4))
    filled = seat.fill(shape)

    first, second = seat.client.sent
    assert first.key != second.key and len(second.messages) == 4
    said, problem = second.messages[2:]
    assert said.role == "assistant" and "Nonsense." in said.content and "no JSON object" in problem.content
    assert len(filled.spent.calls) == 2 and filled.spent.usd == 1.0 and filled.spent.seconds == 2.0


def test_after_one_repair_it_fails_with_what_its_answers_held(shape: type[BaseModel], rubric: Rubric) -> None:
    first, second = rubric.names[:2]
    one, two = json.loads(ballot(4)), json.loads(ballot(4))
    one[first]["score"], one[second]["score"], two[second]["score"] = 9, 3, 8
    failed = Seat(json.dumps(one), json.dumps(two)).fails(shape)

    assert (failed.failure.reason, len(failed.spent.calls)) == ("out_of_scale", 2)
    # The repaired one's come before the first's.
    assert (failed.fields[first]["score"], failed.fields[second]["score"]) == (4, 8)
    unread = Seat("Nonsense.", "More of it.").fails(shape)
    assert (unread.failure.reason, unread.fields) == ("unparsable", {})


@pytest.mark.parametrize("refusal", [REFUSAL, Reply(ballot(4), Usage(40, 30, 0), usd=0.5, finish="refusal")])
def test_a_refusal_is_not_sent_back(shape: type[BaseModel], refusal: Any) -> None:
    seat = Seat(refusal)
    failed = seat.fails(shape)

    assert (failed.failure.reason, failed.fields, len(seat.client.sent)) == ("refused", {}, 1)
    assert failed.spent.usd == 0.5 and seat.budget.spent.usd == 0.5


def test_an_answer_cut_at_its_limit_says_so_and_a_whole_one_is_read(shape: type[BaseModel]) -> None:
    cut = Reply(ballot(4)[:20], finish="length")
    failed = Seat(cut, cut).fails(shape)

    assert failed.failure.reason == "unparsable" and failed.failure.detail.startswith(
        "the answer stopped at its token limit"
    )
    assert Seat(Reply(ballot(4), finish="length")).fill(shape).value.accurate.score == 4
    assert Seat(Reply(REFUSAL, finish="length")).fails(shape).failure.reason == "refused"


def test_a_check_may_refuse_a_legal_answer(shape: type[BaseModel]) -> None:
    seat = Seat(ballot(4), ballot(3))
    told: list[int] = []

    def check(filled: Any) -> str | None:
        told.append(filled.accurate.score)
        return "unmoved" if filled.accurate.score == 4 else None

    assert seat.fill(shape, check=check).value.accurate.score == 3 and told == [4, 3]
    assert "unmoved" in seat.client.sent[1].messages[-1].content
    failed = Seat(ballot(4), ballot(4)).fails(shape, check=check)
    assert (failed.failure.reason, failed.failure.detail) == ("unparsable", "unmoved")
    beside = Seat(f"Not mine: {ballot(4)}", f"Not mine: {ballot(4)}").fails(shape)
    assert beside.failure.detail == BESIDE and beside.fields == {}


def test_what_is_down_is_asked_again_and_each_failed_try_is_on_record(shape: type[BaseModel]) -> None:
    down = TransientFailure("HTTP 500: the words of a case")
    seat = Seat(down, FormatRefused("no schema"), ballot(4))
    filled = seat.fill(shape)

    assert len({request.key for request in seat.client.sent}) == 1 and len(seat.client.sent) == 3
    assert [(t.reason, t.detail) for t in filled.spent.failures] == [
        ("unavailable", "HTTP 500"),
        ("unavailable", "no schema"),
    ]
    assert (len(filled.spent.calls), seat.budget.spent.calls) == (1, 1)
    gone = Seat(*[down] * 9)
    failed = gone.fails(shape)
    assert (failed.failure.reason, len(gone.client.sent), len(failed.spent.failures)) == ("unavailable", 4, 4)
    assert gone.record.replies == {} and len(gone.record.forgone) == 1


def test_what_came_in_the_place_of_an_answer_is_paid_and_recorded(shape: type[BaseModel]) -> None:
    seat = Seat()
    request = seat.gateway._request(PROMPT.messages, None, 0, None)
    seat.client.answers = [reply_too_long(request, Reply("x" * 9, Usage(40, 900, 0), usd=2.0))]
    failed = seat.fails(shape)

    assert failed.failure.reason == "unparsable" and failed.spent.usd == 2.0 == seat.budget.spent.usd
    assert failed.spent.calls == tuple(seat.record.replies) and failed.spent.failures == ()
    (kept,) = seat.record.replies.values()
    assert kept.text == "x" * 9 and seat.client.sent[0].key not in seat.record.replies


def test_all_that_came_in_an_answers_place_is_on_its_receipt_once_and_is_no_failed_try_besides(
    shape: type[BaseModel],
) -> None:
    def cut(tokens: int) -> TransientFailure:
        failure = TransientFailure("cut short")
        failure.received = Reply("half", Usage(40, tokens), usd=0.25)
        return failure

    seat = Seat(cut(1), cut(2), ballot(4))
    first, again = seat.fill(shape).spent, seat.fill(shape).spent

    assert (len(first.calls), first.completion, first.usd, first.failures) == (3, 33, 1.0, ())
    assert len(seat.client.sent) == 3 and len(seat.record.replies) == 3
    assert (again.calls, again.completion, again.usd) == (first.calls[-1:], 30, 0.5)


def test_alternates_are_asked_in_turn_and_the_answer_says_whose_it_is(shape: type[BaseModel]) -> None:
    second, third = Seat(REFUSAL, model="server/b"), Seat(ballot(4), model="server/c")
    seat = Seat(REFUSAL, alternates=(second, third))
    filled = seat.fill(shape)

    assert (filled.value.accurate.score, filled.spent.by) == (4, "server/c")
    assert len(filled.spent.calls) == 3 and filled.spent.usd == 1.5
    # Where none answers, the seat's own failure is told.
    second, third = Seat("?", "?", model="server/b"), Seat("?", "?", model="server/c")
    failed = Seat(REFUSAL, alternates=(second, third)).fails(shape)
    assert failed.failure.reason == "refused" and len(failed.spent.calls) == 5


def test_access_refused_ends_the_run_unless_the_model_had_answered_or_another_may(
    shape: type[BaseModel],
) -> None:
    refused = AccessRefused("HTTP 401: key sk-1", remedy="export KEY")
    with pytest.raises(ModelUnreachable) as error:
        Seat(refused, base_url="http://u:hunter2@h/v1").fill(shape)
    assert (
        "hunter2" not in str(error.value)
        and "HTTP 401" in error.value.problem
        and "sk-1" not in error.value.problem
    )
    assert Seat(refused, budget=Budget(ends_at_refusal=False)).fails(shape).failure.reason == "unavailable"
    seat = Seat(refused, alternates=(Seat(ballot(4), model="server/b"),))
    assert seat.fill(shape).spent.by == "server/b"
    answered = Seat("?", refused)
    assert answered.fails(shape).failure.reason == "unavailable" and len(answered.client.sent) == 2


def test_nothing_is_sent_past_a_limit_and_a_budget_ends_the_run(shape: type[BaseModel]) -> None:
    spent = Seat("?", ballot(4), limits=Limits(max_tokens=10_000, max_usd=0.5))
    with pytest.raises(LimitReached, match="max_usd"):
        spent.fill(shape)
    assert len(spent.client.sent) == 1
    over = Seat(ballot(4), budget=Budget(max_calls=0))
    with pytest.raises(BudgetSpent):
        over.fill(shape)
    assert over.client.sent == [] and len(over.record.forgone) == 1
    # With a failure before it, a limit ends the asking of alternates, and the failure is told.
    seat = Seat(REFUSAL, limits=Limits(max_usd=0.5))
    other = Seat(ballot(4), model="server/b")
    other.gateway._meter = seat.meter
    seat.gateway._alternates = (other.gateway,)
    assert seat.fails(shape).failure.reason == "refused" and other.client.sent == []


def test_what_a_call_took_is_learned_for_the_estimate_of_the_next(shape: type[BaseModel]) -> None:
    seat = Seat(ballot(4), budget=Budget(max_tokens=100_000))
    seat.fill(shape)

    # 70 tokens cost half a dollar, and the next answer may have twice the 30 tokens of this one.
    estimate = seat.budget.estimator.estimate(seat.client.sent[0], None)
    assert estimate.usd == pytest.approx(estimate.tokens * 0.5 / 70)
    assert seat.budget.reservations._tokens == seat.meter._reservations._tokens == 0


def test_the_same_words_said_again_are_a_new_sample() -> None:
    seat = Seat("one", "two", "three")
    words, others = (Message("user", "Hello."),), (Message("user", "Bye."),)

    async def say() -> list[tuple[str, str]]:
        return [
            (reply.text, key) for reply, key in [await seat.gateway.say(m) for m in (words, words, others)]
        ]

    said = asyncio.run(say())
    assert [text for text, _ in said] == ["one", "two", "three"] and len({key for _, key in said}) == 3
    assert [request.repeat for request in seat.client.sent] == [0, 1, 0]
    assert list(seat.record.replies) == [key for _, key in said]


def test_the_version_that_a_reply_states_is_kept_as_far_as_the_name_does_not_say_it(
    shape: type[BaseModel],
) -> None:
    filled = Seat(Reply(ballot(4), version="a fp_1")).fill(shape)
    assert filled.spent.versions == ("fp_1",)
    assert gateway_module.sampling(ModelSettings(model="m", seed=0, params={"top_k": 5})) == {
        "top_k": 5,
        "seed": 0,
    }


def test_a_pause_ends_when_nothing_may_be_sent_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 4:
            seat.budget.interrupted = "SIGINT"

    seat = Seat()
    monkeypatch.setattr(asyncio, "sleep", sleep)
    asyncio.run(SLEEP(seat.gateway, 2.5))
    assert slept == [1.0, 1.0, 0.5]
    with pytest.raises(BudgetSpent):
        asyncio.run(SLEEP(seat.gateway, 60.0))
    assert len(slept) == 4


@pytest.mark.parametrize("votes_only", [False, True])
def test_who_answers_by_the_case_alone_reads_no_prompt(votes_only: bool) -> None:
    client = Listed()
    client.votes_only = votes_only
    seat = Seat()
    gateway = ModelGateway(
        RateLimitedClient(client, 1), ModelSettings(model="server/a"), calls=seat.record, meter=seat.meter, rng=random.Random(1)
    )  # fmt: skip
    assert gateway.reads_prompts is not votes_only


def test_what_a_repair_leaves_out_is_taken_from_the_first_answer() -> None:
    def told(score: Any) -> dict[str, Any]:
        return {"rationale": "R", "evidence": [], "score": score}

    first = {name: told(score) for name, score in {**USUAL, "risk": 9}.items()}
    answers = iter([json.dumps(first), json.dumps({"risk": told(9), "plan": told(1)})])
    verdict = hold(lambda _: next(answers), ["a"], protocol="panel").verdict

    (ballot,) = verdict.transcript.ballots
    assert {vote.attribute: vote.value for vote in ballot.ballot.votes} == {**{k: v for k, v in USUAL.items() if k != "risk"}, "plan": 1}  # fmt: skip
    assert [part.attribute for part in ballot.ballot.abstained] == ["risk"]
