"""Budgets: a limit holds whatever the provider says of its tokens, however many calls are in flight."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from command_line import venire
from openai_server import Call, Fault, ProviderServer, filled, jury_of
from run_files import write_run
from server_juries import jury_at

from venire import Case, Limits, Rubric, Store
from venire.agents import pacing
from venire.agents.budget import Budget, BudgetSpent
from venire.agents.cost import Price
from venire.agents.providers import Providers
from venire.orchestration.bench import Court
from venire.orchestration.deliberate import deliberate_sync, hear
from venire.orchestration.reading.analysis import flags
from venire.orchestration.reading.export import case_json

PRICE = Price(prompt=1000, completion=1000)
"""A thousandth of a dollar a token: dollars and tokens are limited alike."""
IMPOSSIBLE = {
    "negative": {"prompt_tokens": -900, "completion_tokens": -50},
    "negative answer": {"prompt_tokens": 900, "completion_tokens": -5000},
    "cached beyond the prompt": {
        "prompt_tokens": 900,
        "completion_tokens": 50,
        "prompt_tokens_details": {"cached_tokens": 10**9},
    },
    "far too few": {"prompt_tokens": 1, "completion_tokens": 1},
    "far too many": {"prompt_tokens": 10**12, "completion_tokens": 50},
    "no answer counted": {"prompt_tokens": 900},
}


def completion(call: Call, usage: dict[str, Any] | None, text: str | None = None) -> Fault:
    """A ballot, with these token counts or none."""
    assert call.schema is not None
    text = text or json.dumps(filled(call.schema, lambda _: 3))
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    body = {"id": "1", "object": "chat.completion", "model": call.model, "choices": [choice]}
    return Fault(200, {"Content-Type": "application/json"}, json.dumps({**body, "usage": usage}))


def true_tokens(call: Call) -> int:
    assert call.schema is not None
    return len(call.prompt) // 4 + len(json.dumps(filled(call.schema, lambda _: 3))) // 4


def run(
    server: ProviderServer, rubric: Rubric, case: Case, budget: Budget, *, in_flight: int, cases: int
) -> tuple[Court, list[str]]:
    """One juror on many cases at once, until all are heard or the budget is spent; the lines that were said."""
    said: list[str] = []

    async def main() -> Court:
        providers = Providers(in_flight, prices={"server/a": PRICE}, say=said.append)
        court = Court(budget=budget, providers=providers)
        jury = jury_at(server.url, "a", protocol="panel")
        found = await asyncio.gather(
            *(
                hear(case.model_copy(update={"id": str(n), "output": f"Text {n}."}), rubric, jury, court)
                for n in range(cases)
            ),
            return_exceptions=True,
        )
        await court.close()
        for one in found:
            if isinstance(one, BaseException) and not isinstance(one, BudgetSpent):
                raise one
        return court

    return asyncio.run(main()), said


@pytest.mark.parametrize("in_flight", [1, 8, 64, 500])
@pytest.mark.parametrize("limit", ["max_tokens", "max_usd"])
def test_a_limit_is_not_passed_however_many_are_in_flight(
    rubric: Rubric, case: Case, limit: str, in_flight: int
) -> None:
    budget = Budget(max_tokens=30_000) if limit == "max_tokens" else Budget(max_usd=30.0)
    with ProviderServer(jury_of({"a": 3}), latency=0.02) as server:
        court, _ = run(server, rubric, case, budget, in_flight=in_flight, cases=max(100, in_flight))

    spent = court.budget.spent
    assert sum(map(true_tokens, server.calls)) == spent.tokens <= 30_000
    assert spent.estimated == 0
    # What is left is not enough for one more call.
    assert 30_000 - spent.tokens < 1.5 * max(map(true_tokens, server.calls))


@pytest.mark.parametrize("usage", [*IMPOSSIBLE, "missing"])
@pytest.mark.parametrize("limit", ["max_tokens", "max_usd"])
def test_a_limit_holds_without_the_providers_own_counts(
    rubric: Rubric, case: Case, limit: str, usage: str
) -> None:
    budget = Budget(max_tokens=20_000) if limit == "max_tokens" else Budget(max_usd=20.0)
    with ProviderServer(lambda call: completion(call, IMPOSSIBLE.get(usage))) as server:
        court, said = run(server, rubric, case, budget, in_flight=64, cases=100)

    assert 0 < sum(map(true_tokens, server.calls)) <= court.budget.spent.tokens <= 20_000
    assert court.budget.spent.estimated == court.budget.spent.calls == len(server.calls)
    told = [line for line in said if "impossible token counts" in line]
    assert len(told) == (usage != "missing")


@pytest.mark.parametrize("in_flight", [1, 64])
@pytest.mark.parametrize("limit", ["max_tokens", "max_usd"])
@pytest.mark.parametrize("good_of_four", [1, 2])
def test_a_reply_that_is_no_ballot_is_paid_for(
    rubric: Rubric,
    case: Case,
    limit: str,
    in_flight: int,
    good_of_four: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pacing, "LONGEST_BACKOFF", 0.01)

    def answer(call: Call) -> Any:
        assert call.schema is not None
        text = json.dumps(filled(call.schema, lambda _: 3))
        if call.number % 4 < good_of_four:
            return text
        whole = json.loads(str(completion(call, None, text).body))
        usage = {"prompt_tokens": len(call.prompt) // 4, "completion_tokens": len(text) // 4}
        choices = [[], [{"message": {"content": [{"type": "text", "text": text}]}}]][call.number % 2]
        return Fault(200, {}, json.dumps({**whole, "choices": choices, "usage": usage}))

    budget = Budget(max_tokens=20_000) if limit == "max_tokens" else Budget(max_usd=20.0)
    with ProviderServer(answer, latency=0.005) as server:
        court, _ = run(server, rubric, case, budget, in_flight=in_flight, cases=100)

    spent = court.budget.spent
    assert spent.calls == len(server.calls)
    assert sum(map(true_tokens, server.calls)) <= 1.05 * spent.tokens
    assert spent.tokens <= 20_000


@pytest.mark.parametrize("in_flight", [1, 64, 200])
def test_a_server_that_states_an_eighth_is_held_to_the_estimate_and_flagged(
    rubric: Rubric, case: Case, in_flight: int
) -> None:
    def answer(call: Call) -> Any:
        assert call.schema is not None
        text = json.dumps(filled(call.schema, lambda _: 3))
        usage = {"prompt_tokens": len(call.prompt) // 32, "completion_tokens": len(text) // 32}
        return completion(call, usage, text)

    with ProviderServer(answer, latency=0.02) as server:
        court, said = run(server, rubric, case, Budget(max_tokens=30_000), in_flight=in_flight, cases=200)
        sent = len(server.calls)
        verdict = deliberate_sync(case, rubric, jury_at(server.url, "a", protocol="panel"))

    assert sum(map(true_tokens, server.calls[:sent])) <= court.budget.spent.tokens <= 30_000
    assert any("impossible token counts" in line for line in said)
    assert case_json(verdict)["flags"] == ["usage-implausible"]
    assert "usage-implausible" in {flag.kind for flag in flags(verdict, rubric)}


@pytest.mark.parametrize("in_flight", [1, 8, 64, 500])
@pytest.mark.parametrize("limit", ["max_tokens", "max_usd"])
@pytest.mark.parametrize("usage", ["honest", "missing", "negative"])
def test_answers_that_grow_long_at_once_pass_a_limit_by_one_call_at_the_most(
    rubric: Rubric, case: Case, limit: str, in_flight: int, usage: str
) -> None:
    """The first are short, so that the rest are not expected to be long; and no seat states `max_tokens`."""

    def answer(call: Call) -> Any:
        assert call.schema is not None
        words = "Seen. " * (3 if call.number < 10 else 3_900)
        text = json.dumps(filled(call.schema, lambda _: 3, rationale=words))
        if usage == "honest":
            return text
        return completion(call, IMPOSSIBLE.get(usage), text)

    budget = Budget(max_tokens=200_000) if limit == "max_tokens" else Budget(max_usd=200.0)
    with ProviderServer(answer, latency=0.02) as server:
        court, _ = run(server, rubric, case, budget, in_flight=in_flight, cases=200)

    spent = court.budget.spent
    assert spent.calls == len(server.calls) > 10
    # One answer has 12,000 tokens, or 16,000 by our own count.
    assert 150_000 < spent.tokens <= 200_000 + 17_000


@pytest.mark.parametrize("in_flight", [8, 64])
def test_no_more_calls_are_made_than_allowed(rubric: Rubric, case: Case, in_flight: int) -> None:
    with ProviderServer(jury_of({"a": 3}), latency=0.02) as server:
        run(server, rubric, case, Budget(max_calls=20), in_flight=in_flight, cases=100)

    assert len(server.calls) == 20


def test_what_is_in_the_record_costs_the_budget_nothing_and_the_deliberation_what_it_did(
    rubric: Rubric, case: Case, tmp_path: Path
) -> None:
    async def main(url: str) -> tuple[Court, list[int]]:
        store = Store.create(tmp_path / "run")
        court = Court(
            calls=store, budget=Budget(max_calls=1), providers=Providers(4, prices={"server/a": PRICE})
        )
        jury = jury_at(url, "a", protocol="panel")
        heard = [await hear(case, rubric, jury, court) for _ in range(2)]
        await court.close()
        await store.close()
        return court, [transcript.cost.calls for transcript in heard]

    with ProviderServer(jury_of({"a": 3})) as server:
        court, calls = asyncio.run(main(server.url))

    assert len(server.calls) == court.budget.spent.calls == 1
    assert calls == [1, 1]


def test_a_budget_that_is_enough_is_used_to_its_end(rubric: Rubric, case: Case) -> None:
    with ProviderServer(jury_of({"a": 3})) as server:
        unlimited, _ = run(server, rubric, case, Budget(), in_flight=8, cases=30)
    needed = unlimited.budget.spent.tokens
    largest = max(map(true_tokens, server.calls))
    with ProviderServer(jury_of({"a": 3})) as server:
        enough, _ = run(
            server, rubric, case, Budget(max_tokens=needed + largest // 20), in_flight=8, cases=30
        )

    assert enough.budget.spent.calls == 30


def test_an_ample_budget_leaves_as_many_calls_in_flight_as_none(rubric: Rubric, case: Case) -> None:
    with ProviderServer(jury_of({"a": 3}), latency=0.3) as server:
        run(server, rubric, case, Budget(max_tokens=10**7), in_flight=64, cases=64)

    assert server.most_in_flight > 56


def test_a_deliberations_own_limit_holds_for_a_round_in_parallel(rubric: Rubric, case: Case) -> None:
    names = ("a", "b", "c", "d", "e")
    with ProviderServer(jury_of(dict.fromkeys(names, 4)), latency=0.02) as server:
        jury = jury_at(server.url, *names, protocol="panel", limits=Limits(max_tokens=1500))
        transcript = deliberate_sync(case, rubric, jury).transcript

    assert 0 < transcript.cost.tokens <= 1500
    assert transcript.cost.calls == len(server.calls) < 5


def test_estimates_are_marked_in_the_record_and_in_json(tmp_path: Path) -> None:
    with ProviderServer(lambda call: completion(call, None)) as server:
        command = write_run(tmp_path, server.url, protocol="panel")
        fresh = venire(*command, "--json", cwd=tmp_path)
        status = venire("status", "out", "--json", cwd=tmp_path)

    assert fresh.returncode == 0, fresh.stderr
    assert [case["estimated_calls"] for case in json.loads(fresh.stdout)["cases"]] == [3] * 4
    assert json.loads(status.stdout)["estimated_calls"] == 12
