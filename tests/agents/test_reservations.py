"""What a call may cost, what calls in flight hold of a limit, and what a budget says when it is spent; no call is made."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from venire import Limits, VenireError
from venire.agents.budget import (
    LONG_ANSWER,
    Budget,
    BudgetSpent,
    CallEstimate,
    CallEstimator,
    LimitReached,
    Meter,
    Reservations,
)
from venire.agents.cost import Cost, Price
from venire.agents.model import Message, Reply, Request, Sampling, Usage
from venire.agents.tokens import estimated_prompt
from venire.rubrics.ballot import Schema

PRICE = Price(prompt=1_000_000, completion=2_000_000)
"""A dollar a token of the prompt, two a token of the answer."""


def request(
    model: str = "m", *, characters: int = 300, schema: Schema | None = None, **set_to: int
) -> Request:
    return Request(model, (Message("user", "x" * characters),), schema, Sampling(set_to), 0, 5.0)


def reply(completion: int, *, prompt: int = 100, usd: float | None = None) -> Reply:
    return Reply("", Usage(prompt, completion), usd)


def taught(*answers: int, usd: float | None = None) -> CallEstimator:
    estimator = CallEstimator()
    for completion in answers:
        estimator.learn(request(), reply(completion, usd=usd))
    return estimator


def answer_tokens(estimator: CallEstimator, asked: Request, **least: int) -> int:
    return estimator.estimate(asked, None, **least).tokens - estimated_prompt(asked)


@pytest.mark.parametrize("answers", [(50, 400, 30), (400, 50, 30), (30, 50, 400)])
def test_the_next_answer_may_be_twice_the_longest_so_far_whichever_that_was(answers: tuple[int, ...]) -> None:
    assert answer_tokens(taught(*answers), request()) == 800


def test_a_model_that_has_not_answered_is_taken_to_answer_at_length() -> None:
    assert answer_tokens(CallEstimator(), request()) == 2_000
    assert answer_tokens(taught(50), request("another")) == 2_000


def test_a_seats_own_limit_bounds_the_answer_unless_its_model_went_beyond_it() -> None:
    assert answer_tokens(CallEstimator(), request(max_tokens=70)) == 70
    assert answer_tokens(taught(50), request(max_tokens=70)) == 70
    assert answer_tokens(taught(90), request(max_tokens=70)) == 90
    assert answer_tokens(taught(50), request(max_tokens=70), least_answer=500) == 70
    assert answer_tokens(taught(50), request(), least_answer=500) == 500
    assert answer_tokens(taught(400), request(), least_answer=500) == 800


def test_the_form_of_the_answer_counts_with_the_prompt() -> None:
    form = Schema({"type": "object"})
    plain, shaped = (taught(50).estimate(request(schema=shape), None).tokens for shape in (None, form))
    assert shaped - plain == math.ceil(len(form.text) / 3)


def test_what_a_call_should_take_goes_by_what_such_calls_took() -> None:
    unheard = CallEstimator().estimate(request(), PRICE)
    assert unheard == CallEstimate(2_100, 100 + 2 * 2_000, 100, (100 + 2 * 2_000) * 100 / 2_100)
    # 2,100 were reserved and 150 taken: the next, of 100 + 100, should take as large a part of its own.
    heard = taught(50).estimate(request(), PRICE)
    assert heard.tokens == 200 and heard.likely_tokens == pytest.approx(200 * 150 / 2_100)
    assert heard.usd == 300 and heard.likely_usd == pytest.approx(300 * 150 / 2_100)
    # The largest part that any took counts, wherever it came: 150 of 2,100, 500 of 200, 500 of 900.
    assert taught(50, 400, 400).estimate(request(), PRICE).likely_tokens == 900 * 500 / 200
    most = taught(50).estimate(request(), PRICE, least_answer=500)
    assert (most.tokens, most.usd) == (600, 1_100) and most[2:] == heard[2:]


def test_an_unknown_price_is_infinite_until_an_answer_shows_one() -> None:
    assert CallEstimator().estimate(request(), None)[1:] == (math.inf, 100, 0.0)
    shown = taught(50, 150, usd=3.0).estimate(request(), None)
    # 400 tokens cost 6 dollars.
    assert shown.usd == pytest.approx(shown.tokens * 6 / 400)
    assert shown.likely_usd == pytest.approx(shown.likely_tokens * 6 / 400)
    assert taught(50).estimate(request(), None).usd == 0, "a model that nobody charges for"


class Refused(Exception):
    pass


def reservations(spent: Cost | None = None, **limits: float) -> Reservations:
    return Reservations(lambda: spent or Cost(), Refused, **limits)  # type: ignore[arg-type]


def of(tokens: int = 0, usd: float = 0.0, likely: float | None = None, likely_usd: float | None = None) -> Callable[[], CallEstimate]:  # fmt: skip
    estimate = CallEstimate(tokens, usd, tokens if likely is None else likely, usd if likely_usd is None else likely_usd)  # fmt: skip
    return lambda: estimate


async def admitted(held: Reservations, *estimates: Callable[[], CallEstimate]) -> list[object]:
    """What becomes of calls that ask one after the other and do not end: `None` for one that waits."""
    tasks = [asyncio.ensure_future(held.reserve(estimate)) for estimate in estimates]
    for _ in range(3):
        await asyncio.sleep(0)
    found: list[object] = [(task.exception() or task.result()) if task.done() else None for task in tasks]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return found


@pytest.mark.parametrize(
    ("limits", "spent", "estimate", "fit"),
    [
        ({"max_tokens": 100}, Cost(), of(tokens=25), 4),
        ({"max_tokens": 99}, Cost(), of(tokens=25), 3),
        ({"max_tokens": 100}, Cost(usage=Usage(30, 20)), of(tokens=25), 2),
        ({"max_usd": 1.0}, Cost(), of(usd=0.25), 4),
        ({"max_usd": 1.0}, Cost(known_usd=0.5), of(usd=0.25), 2),
        ({"max_usd": 1.0}, Cost(), of(usd=math.inf, likely_usd=0.0), 1),
        ({"max_calls": 3}, Cost(), of(), 3),
        ({"max_calls": 3}, Cost(calls=1), of(), 2),
        ({}, Cost(), of(tokens=10**9, usd=math.inf), 6),
    ],
)
def test_as_many_calls_are_in_flight_as_fit_beside_what_is_spent(
    limits: dict[str, float], spent: Cost, estimate: Callable[[], CallEstimate], fit: int
) -> None:
    found = asyncio.run(admitted(reservations(spent, **limits), *[estimate] * 6))

    assert found == [estimate()] * fit + [None] * (6 - fit)


@pytest.mark.parametrize(
    ("limits", "spent", "estimate", "refused"),
    [
        ({"max_tokens": 100}, Cost(), of(tokens=101, likely=100), None),
        ({"max_tokens": 100}, Cost(), of(tokens=101, likely=101), "max_tokens"),
        ({"max_usd": 1.0}, Cost(known_usd=0.6), of(usd=0.5, likely_usd=0.4), None),
        ({"max_usd": 1.0}, Cost(known_usd=0.6), of(usd=0.5, likely_usd=0.41), "max_usd"),
        ({"max_usd": 1.0}, Cost(), of(usd=5.0, likely_usd=0.9), None),
        ({"max_usd": 1.0}, Cost(), of(usd=5.0, likely_usd=1.1), "max_usd"),
        ({"max_calls": 2}, Cost(calls=2), of(), "max_calls"),
    ],
)
def test_a_call_alone_is_held_to_what_it_should_take(
    limits: dict[str, float], spent: Cost, estimate: Callable[[], CallEstimate], refused: str | None
) -> None:
    (found,) = asyncio.run(admitted(reservations(spent, **limits), estimate))

    assert found == estimate() if refused is None else isinstance(found, Refused) and found.args == (refused,)


def test_who_waits_is_let_in_by_who_ends_in_order_and_estimated_anew() -> None:
    async def main() -> list[str]:
        held, log, size = reservations(max_tokens=100), [], {"b": 60}

        async def call(name: str, estimate: Callable[[], CallEstimate]) -> None:
            got = await held.reserve(estimate)
            log.append(f"{name} {got.tokens}")

        first = asyncio.ensure_future(call("a", of(tokens=80)))
        later = [
            asyncio.ensure_future(call("b", lambda: of(tokens=size["b"])())),
            asyncio.ensure_future(call("c", of(tokens=10))),
        ]
        await asyncio.sleep(0.001)
        # `c` would fit, but `b` asked before it.
        assert log == ["a 80"]
        size["b"] = 40
        held.release(of(tokens=80)())
        await asyncio.gather(first, *later)
        return log

    assert asyncio.run(main()) == ["a 80", "b 40", "c 10"]


def test_a_call_that_is_given_up_lets_go_of_what_it_held() -> None:
    async def main() -> None:
        held = reservations(max_tokens=100)
        holder = await held.reserve(of(tokens=100))
        waiting = asyncio.ensure_future(held.reserve(of(tokens=100)))
        await asyncio.sleep(0)
        held.release(holder)
        # Admitted, and cancelled before it could go on.
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        last = await asyncio.wait_for(held.reserve(of(tokens=100)), 1)
        assert last == of(tokens=100)()
        waiting = asyncio.ensure_future(held.reserve(of(tokens=101)))
        await asyncio.sleep(0)
        held.release(last)
        # Refused, and cancelled before it could hear of it: there is nothing to let go of.
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(main())


@settings(max_examples=60, deadline=None)
@given(
    limit=st.integers(1, 300),
    calls=st.lists(st.tuples(st.integers(1, 120), st.floats(0.0, 1.0)), max_size=25),
)
def test_whatever_is_asked_for_a_limit_is_never_passed(limit: int, calls: list[tuple[int, float]]) -> None:
    """Calls that take at the most what was held for them; those that cannot fit are refused, and none waits for ever."""

    async def main() -> tuple[int, int]:
        spent = [0]
        held = Reservations(lambda: Cost(usage=Usage(spent[0])), Refused, max_tokens=limit)

        async def call(tokens: int, share: float) -> bool:
            try:
                mine = await held.reserve(of(tokens=tokens))
            except Refused:
                return False
            await asyncio.sleep(0)
            spent[0] += round(tokens * share)
            assert spent[0] <= limit
            held.release(mine)
            return True

        done = await asyncio.wait_for(asyncio.gather(*(call(*each) for each in calls)), 5)
        return spent[0], sum(done)

    total, made = asyncio.run(main())
    assert total <= limit
    assert made == len(calls) or sum(tokens for tokens, _ in calls) > limit


@pytest.mark.parametrize(
    ("limits", "spent", "limit"),
    [
        ({"max_tokens": 10}, Cost(usage=Usage(6, 3)), None),
        ({"max_tokens": 10}, Cost(usage=Usage(6, 4)), "max_tokens"),
        ({"max_usd": 1.0}, Cost(calls=1, priced=1, known_usd=0.9), None),
        ({"max_usd": 1.0}, Cost(calls=1, priced=1, known_usd=1.0), "max_usd"),
        ({"max_calls": 2}, Cost(calls=1), None),
        ({"max_calls": 2}, Cost(calls=2), "max_calls"),
        ({"max_seconds": 0.0}, Cost(), "max_seconds"),
        ({"max_seconds": 1e6}, Cost(), None),
        ({"interrupted": "interrupt", "max_calls": 0}, Cost(), "interrupt"),
    ],
)
def test_a_budget_says_which_limit_is_spent(limits: dict[str, Any], spent: Cost, limit: str | None) -> None:
    budget = Budget(**limits)
    budget.add(spent)
    if limit is None:
        budget.check()
        return
    with pytest.raises(BudgetSpent) as caught:
        budget.check()
    assert caught.value.limit == limit


def test_dollars_that_nobody_knows_cannot_be_limited() -> None:
    budget = Budget(max_usd=1.0)
    budget.add(Cost(calls=2, priced=1, known_usd=0.1))
    with pytest.raises(VenireError, match=r"the price of a call that was made is not known\n.*--prices"):
        budget.check()


def test_seconds_are_counted_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    Budget(max_seconds=41, started=60.0).check()
    with pytest.raises(BudgetSpent):
        Budget(max_seconds=40, started=60.0).check()


@pytest.mark.parametrize(
    ("limits", "limit"), [({"max_tokens": 150}, "max_tokens"), ({"max_usd": 0.5}, "max_usd"), ({}, None)]
)
def test_a_deliberation_says_which_limit_is_spent(limits: dict[str, float], limit: str | None) -> None:
    meter = Meter(Limits.model_validate(limits), Budget())
    meter.add(reply(49, usd=0.49), replayed=False)
    assert meter.reached is None
    meter.add(reply(1, prompt=0, usd=0.01), replayed=True)
    assert meter.reached == limit
    # What was replayed counts for the deliberation, and costs the run nothing.
    assert (meter.spent.calls, meter.budget.spent.calls) == (2, 1)
    assert meter.budget.spent.known_usd == 0.49


def test_time_is_up_when_none_is_left() -> None:
    assert Meter(Limits(), Budget()).seconds_left is None
    meter = Meter(Limits(max_seconds=100), Budget())
    assert 99 < (meter.seconds_left or 0) <= 100 and meter.reached is None
    meter._started -= 100
    assert (meter.seconds_left or 0) <= 0 and meter.reached == "max_seconds"
    with pytest.raises(LimitReached) as caught:
        meter.admit()
    assert caught.value.limit == "max_seconds"


def test_a_call_is_held_against_the_deliberations_limit_and_against_the_runs() -> None:
    async def main() -> None:
        budget = Budget(max_tokens=40_000)
        meter = Meter(Limits(max_tokens=5_000), budget)
        held = await meter.reserve(request(), None)
        assert held is not None
        assert (held.deliberation.tokens, held.run.tokens) == (2_100, 100 + LONG_ANSWER)
        meter.add(reply(50), replayed=False)
        meter.release(request(), held, reply(50))
        learned = await meter.reserve(request(), None)
        assert learned is not None and learned.deliberation.tokens == 200
        meter.release(request(), learned, None)
        # Nothing is held any more: as much fits as is left of the deliberation's 5,000.
        with pytest.raises(LimitReached) as caught:
            await meter.reserve(request(characters=3 * 70_000), None)
        assert caught.value.limit == meter.reached == "max_tokens"
        budget.check()

    asyncio.run(main())


@pytest.mark.parametrize("of_run", [False, True], ids=["deliberation", "run"])
def test_who_waits_is_estimated_by_what_the_call_that_ended_has_shown(of_run: bool) -> None:
    """Beside a long answer that is feared there is no room for a second; the short one that comes is learned from first."""
    feared, shown = 100 + (LONG_ANSWER if of_run else 2_000), 100 + (LONG_ANSWER if of_run else 2 * 50)
    limit = 2 * feared - 1

    async def settled() -> None:
        for _ in range(5):
            await asyncio.sleep(0)

    async def main() -> None:
        budget = Budget(max_tokens=limit if of_run else None)
        meter = Meter(Limits(max_tokens=None if of_run else limit), budget)
        held = await meter.reserve(request(), None)
        assert held is not None
        waiting = [asyncio.ensure_future(meter.reserve(request(), None)) for _ in range(2)]
        await settled()
        assert not any(call.done() for call in waiting)

        meter.add(reply(50), replayed=False)
        meter.release(request(), held, reply(50))
        await settled()
        let_in = [call.result() for call in waiting if call.done()]
        for call in waiting:
            call.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

        # The deliberation has room for both now; the run fears long answers still, so that one goes on waiting.
        estimates = [one.run if of_run else one.deliberation for one in let_in if one is not None]
        assert [estimate.tokens for estimate in estimates] == [shown] * (1 if of_run else 2)
        likely = [estimate.likely_tokens for estimate in estimates]
        assert likely == pytest.approx([200 * 150 / 2_100] * len(likely))

    asyncio.run(main())


def test_what_the_run_refuses_is_held_by_nobody() -> None:
    async def main() -> None:
        budget = Budget(max_calls=0)
        meter = Meter(Limits(max_tokens=5_000), budget)
        for _ in range(3):
            with pytest.raises(BudgetSpent) as caught:
                await meter.reserve(request(), None)
            assert caught.value.limit == "max_calls"
        assert meter._reservations._tokens == 0 and meter.reached is None
        with pytest.raises(BudgetSpent):
            budget.check()
        budget.interrupted = "interrupt"
        with pytest.raises(BudgetSpent) as caught:
            await meter.reserve(request(), None)
        assert caught.value.limit == "interrupt"

    asyncio.run(main())


def test_without_a_limit_nothing_is_held() -> None:
    assert asyncio.run(Meter(Limits(), Budget()).reserve(request(), None)) is None
    assert Budget(max_calls=1).reservations.needed and not Budget().reservations.needed


@pytest.mark.parametrize(
    ("of_run", "limits", "raised", "limit"),
    [
        ({"max_tokens": 90}, {}, BudgetSpent, "max_tokens"),
        ({"max_usd": 90.0}, {}, BudgetSpent, "max_usd"),
        ({}, {"max_tokens": 90}, LimitReached, "max_tokens"),
        ({}, {"max_usd": 90.0}, LimitReached, "max_usd"),
    ],
)
def test_a_call_that_fits_into_no_limit_is_refused_before_it_is_sent(
    of_run: dict[str, Any], limits: dict[str, float], raised: type[Exception], limit: str
) -> None:
    """Its prompt alone has 100 tokens, at a dollar each, and a dollar is spent."""
    meter = Meter(Limits.model_validate(limits), Budget(**of_run))
    meter.add(reply(0, prompt=0, usd=1.0), replayed=False)
    with pytest.raises(raised) as caught:
        asyncio.run(meter.reserve(request(), PRICE))
    assert caught.value.limit == limit and str(caught.value) == limit  # type: ignore[attr-defined]
    # From then on nothing is let in.
    with pytest.raises(raised) as caught:
        meter.admit()
    assert caught.value.limit == limit  # type: ignore[attr-defined]


def test_dollars_are_held_while_calls_are_in_flight_and_let_go_when_they_end() -> None:
    async def main() -> None:
        held = reservations(max_usd=1.0)
        first, second = [await held.reserve(of(usd=0.4)) for _ in range(2)]
        held.release(first)
        third = await asyncio.wait_for(held.reserve(of(usd=0.6)), 1)
        waiting = asyncio.ensure_future(held.reserve(of(usd=0.1)))
        await asyncio.sleep(0)
        assert not waiting.done()
        held.release(second)
        held.release(third)
        await asyncio.wait_for(waiting, 1)
        held.release(waiting.result())
        assert await asyncio.wait_for(held.reserve(of(usd=1.0)), 1)
        # What rounding leaves of 0.2 + 0.6 - 0.2 - 0.6 is held by nobody.
        held = reservations(max_usd=0.8)
        for ended in [await held.reserve(of(usd=usd)) for usd in (0.2, 0.6)]:
            held.release(ended)
        assert await asyncio.wait_for(held.reserve(of(usd=0.8)), 1)

    asyncio.run(main())


def test_beside_a_call_of_unknown_price_only_what_is_free_is_sent() -> None:
    unknown, free, paid = of(usd=math.inf, likely_usd=0.0), of(), of(usd=0.1)
    assert asyncio.run(admitted(reservations(max_usd=1.0), unknown, free, paid)) == [unknown(), free(), None]


def test_what_is_spent_adds_up_call_by_call() -> None:
    budget = Budget(max_calls=3)
    for _ in range(2):
        budget.add(Cost(calls=1))
        budget.check()
    budget.add(Cost(calls=1))
    with pytest.raises(BudgetSpent):
        budget.check()
    # Of 2,100 tokens that were estimated the first took 150, of 200 the second: the next may as well.
    assert taught(50, 50).estimate(request(), PRICE).likely_tokens == pytest.approx(200 * 150 / 200)
