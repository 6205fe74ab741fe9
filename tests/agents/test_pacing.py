"""The limiter of one provider: pure logic on a clock of the test's own, and the queue that keeps to it."""

from __future__ import annotations

import asyncio
import math
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from command_line import Started, venire
from openai_server import Fault, ProviderServer, jury_of
from run_files import write_run
from server_juries import AskNobody, jury_at

from venire import Case, Limits, ModelUnreachable, Rubric, deliberate_sync
from venire.agents import pacing
from venire.agents.budget import Budget, BudgetSpent, LimitReached, Meter
from venire.agents.model import Reply, Request, Sampling, TransientFailure
from venire.agents.model_client import ModelClient
from venire.agents.pacing import SENDS, AdmissionQueue, RateLimiter, RetrySchedule
from venire.agents.providers import Preflight, Providers, RateLimitedClient
from venire.personas.jury import ModelSettings


def spread(limiter: RateLimiter, until: float, *, tokens: int = 0, step: float = 0.01) -> list[float]:
    """When requests start if one is always waiting and every answer comes at once."""
    starts: list[float] = []
    for tick in range(round(until / step)):
        now = tick * step
        while limiter.delay(now) == 0:
            starts.append(now)
            limiter.begin(now)
            limiter.end()
            limiter.on_answer(now, tokens)
    return starts


def opened(said: list[str] | None = None) -> RateLimiter:
    """A limiter whose circuit opened at 10 s."""
    limiter = RateLimiter(8, name="http://h/v1", say=(said if said is not None else []).append)
    for _ in range(pacing.FAILURES):
        limiter.on_failure(0.0, "ConnectionRefusedError")
    limiter.on_failure(10.0, "ConnectionRefusedError")
    return limiter


def test_as_many_as_the_limit_start_at_once_and_the_next_waits_for_a_place() -> None:
    limiter = RateLimiter(2)
    limiter.begin(0)
    assert limiter.delay(0) == 0
    limiter.begin(0)
    assert limiter.delay(0) == math.inf
    limiter.end()
    assert limiter.delay(0) == 0


def test_a_busy_provider_stops_everyone_for_as_long_as_it_says_and_halves() -> None:
    limiter = RateLimiter(8)
    limiter.on_busy(0.0, 1.0, retry_after=7.0)

    assert limiter.delay(1.0) == 7.0
    assert limiter.delay(8.0) == 0
    assert limiter.limit == 4


def test_one_burst_of_complaints_halves_once() -> None:
    limiter = RateLimiter(32)
    for _ in range(20):
        limiter.on_busy(0.0, 1.0, retry_after=0.0)
    assert limiter.limit == 16

    limiter.on_busy(1.5, 2.0, retry_after=0.0)
    assert limiter.limit == 8


def test_it_recovers_answer_by_answer_and_never_falls_below_one() -> None:
    limiter = RateLimiter(8)
    for moment in range(10):
        limiter.on_busy(moment, moment + 0.5, retry_after=0.0)
    assert limiter.limit == 1

    for _ in range(round(7 / pacing.GROWTH)):
        limiter.on_answer(20.0)
    assert limiter.limit == 8


@pytest.mark.parametrize(("said", "waits"), [(None, pacing.PAUSE), (86_400.0, pacing.LONGEST_PAUSE)])
def test_the_pause_has_a_default_and_a_bound(said: float | None, waits: float) -> None:
    limiter = RateLimiter(8)
    limiter.on_busy(0.0, 0.0, said)

    assert limiter.delay(0.0) == waits


def test_requests_a_minute_are_kept_to() -> None:
    assert len(spread(RateLimiter(100, rpm=120), 60)) == pytest.approx(120, abs=1)
    assert len(spread(RateLimiter(100, rpm=3000), 60, step=0.003)) == pytest.approx(3000, rel=0.01)


def test_tokens_a_minute_are_kept_to() -> None:
    starts = spread(RateLimiter(100, tpm=60_000), 60, tokens=500)

    assert len(starts) == pytest.approx(120, abs=2)


def test_until_an_answer_shows_what_a_request_takes_there_is_one_at_a_time() -> None:
    limiter = RateLimiter(100, tpm=60_000)
    limiter.begin(0)
    assert limiter.delay(0) == math.inf
    limiter.end()
    limiter.on_answer(1.0, 1000)

    assert limiter.delay(1.0) == pytest.approx(1.0 - pacing.SLACK)


def test_a_request_takes_the_mean_of_those_before_and_its_answer_makes_up_the_difference() -> None:
    limiter = RateLimiter(8, tpm=60_000)  # a millisecond a token
    limiter.begin(0.0)
    limiter.on_answer(1.0, 1000)
    assert limiter.delay(1.0) == pytest.approx(1.0 - pacing.SLACK)
    limiter.begin(2.0)
    assert limiter.delay(2.0) == pytest.approx(0.9)
    limiter.on_answer(2.0, 2000)
    assert limiter.delay(2.0) == pytest.approx(1.9)
    # The mean is now 0.8 * 1000 + 0.2 * 2000.
    limiter.begin(4.0)
    assert limiter.delay(4.0) == pytest.approx(1.1)
    limiter.on_answer(4.0)
    assert limiter.delay(4.0) == pytest.approx(1.1), "an answer without a count changes nothing"
    limiter.refund(4.0)
    assert limiter.delay(4.0) == 0


def test_a_queue_tells_its_limiter_when_a_request_began_and_what_its_answer_took() -> None:
    now = [100.0]
    limiter = RateLimiter(8, tpm=60_000)
    queue = AdmissionQueue(limiter, clock=lambda: now[0])
    queue.on_answer(500)
    assert limiter.delay(100.0) == pytest.approx(0.5 - pacing.SLACK)
    queue.on_busy(1.0, 0.0)
    now[0] = 101.0
    queue.on_busy(2.0, 0.0)
    assert limiter.limit == 4, "it began before the provider first complained"
    queue.on_busy(0.5, 0.0)
    assert limiter.limit == 2


def test_a_hiccup_opens_no_circuit() -> None:
    limiter = RateLimiter(64)
    for _ in range(64):
        limiter.on_failure(1.0, "ConnectionResetError")
    # However many failed at once, a moment is no streak.
    assert limiter.circuit_open is None
    limiter.on_failure(1.0 + pacing.STREAK - 0.1, "ConnectionResetError")
    assert limiter.circuit_open is None
    limiter.on_answer(2.0)
    limiter.on_failure(7.0, "ConnectionResetError")

    assert limiter.circuit_open is None


def test_few_failures_over_a_long_time_open_no_circuit_and_the_last_of_a_streak_does() -> None:
    limiter = RateLimiter(64)
    for number in range(pacing.FAILURES - 1):
        limiter.on_failure(100.0 * number, "ConnectionResetError")
        assert limiter.circuit_open is None
    limiter.on_failure(1000.0, "ConnectionResetError")
    assert limiter.circuit_open is not None


def test_a_dead_provider_opens_the_circuit_and_it_is_said_once() -> None:
    said: list[str] = []
    limiter = opened(said)
    limiter.on_failure(11.0, "ConnectionRefusedError")

    assert "circuit open" in (limiter.circuit_open or "")
    (line,) = said
    assert "the provider http://h/v1 does not answer (ConnectionRefusedError" in line
    assert f"every {pacing.PROBE_EVERY:g} s" in line


def test_one_request_in_so_many_seconds_probes_an_open_circuit() -> None:
    limiter = opened()
    due = 10.0 + pacing.PROBE_EVERY

    assert limiter.delay(10.0) == pacing.PROBE_EVERY
    assert limiter.delay(due) == 0
    limiter.begin(due)
    assert limiter.delay(due) == pacing.PROBE_EVERY
    limiter.on_failure(due + 1.0, "ConnectionRefusedError")
    assert limiter.delay(due + 1.0) == pacing.PROBE_EVERY


@pytest.mark.parametrize("alive", [lambda p: p.on_answer(20.0), lambda p: p.on_busy(19.0, 20.0, 0.0)])
def test_any_answer_closes_it(alive: object) -> None:
    said: list[str] = []
    limiter = opened(said)
    alive(limiter)  # type: ignore[operator]

    assert limiter.circuit_open is None
    assert limiter.delay(20.0) == 0
    assert said[-1] == "provider http://h/v1 answers again"


def test_failures_and_timeouts_are_bounded_and_waiting_is_counted_apart() -> None:
    broken, late = TransientFailure("HTTP 500"), TransientFailure("late", reason="timeout")
    busy = TransientFailure("HTTP 429", retry_after=0.1, busy=True)

    def sends(*failures: TransientFailure) -> int:
        schedule = RetrySchedule(random.Random(0))
        return 1 + sum(1 for _ in iter(lambda: schedule.pause(failures[0]), None))

    assert sends(broken) == pacing.MOST_FAILURES
    assert sends(late) == pacing.TIMEOUTS
    assert sends(busy) == pacing.WAITS + 1

    schedule = RetrySchedule(random.Random(0))
    mixed = [*[broken] * (pacing.MOST_FAILURES - 1), *[busy] * pacing.WAITS]
    assert all(schedule.pause(failure) is not None for failure in mixed)
    assert schedule.pause(broken) is None
    assert len(mixed) + 1 == SENDS


def test_retry_after_is_a_minimum_that_is_scattered_and_a_whole_day_is_not_waited_for() -> None:
    pauses = [
        RetrySchedule(random.Random(n)).pause(TransientFailure("", retry_after=10, busy=True))
        for n in range(9)
    ]
    assert all(pause is not None and 10 <= pause <= 12.5 for pause in pauses)
    assert len(set(pauses)) == 9
    assert RetrySchedule(random.Random(0)).pause(TransientFailure("", retry_after=86_400, busy=True)) is None


def test_pauses_double_up_to_a_bound_and_all_waits_together_are_bounded() -> None:
    def pauses(failure: TransientFailure) -> list[float]:
        schedule = RetrySchedule(random.Random(0))
        return list(iter(lambda: schedule.pause(failure), None))

    broken = pauses(TransientFailure("HTTP 500"))
    assert all(most / 2 <= pause <= most for pause, most in zip(broken, (0.5, 1, 2), strict=True))
    assert pauses(TransientFailure("HTTP 503", retry_after=0.0)) == [0.0] * 3
    assert pauses(TransientFailure("HTTP 503", retry_after=86_400)) == [pacing.LONGEST_BACKOFF] * 3
    least = (0.25, 0.5, 1, 2, 4, 8, 16, 30)
    for said in (None, 0.1):
        busy = pauses(TransientFailure("HTTP 429", retry_after=said, busy=True))
        assert all(low <= pause <= low * 1.25 for pause, low in zip(busy, least, strict=True))
    # A third wait of 45 s would make it 135 s at the least.
    assert len(pauses(TransientFailure("HTTP 429", retry_after=45, busy=True))) == 2


def test_the_line_is_first_come_first_served_within_the_limit() -> None:
    order: list[int] = []
    most = 0

    async def visitor(queue: AdmissionQueue, limiter: RateLimiter, number: int) -> None:
        nonlocal most
        async with queue:
            most = max(most, limiter.active)
            order.append(number)
            await asyncio.sleep(0)

    async def main() -> None:
        limiter = RateLimiter(3)
        queue = AdmissionQueue(limiter)
        await asyncio.gather(*(visitor(queue, limiter, number) for number in range(50)))
        assert limiter.active == 0

    asyncio.run(main())
    assert order == list(range(50))
    assert most == 3


def test_whoever_is_cancelled_in_line_takes_no_place_with_them() -> None:
    async def visitor(queue: AdmissionQueue) -> None:
        async with queue:
            await asyncio.sleep(0.01)

    async def main() -> None:
        limiter = RateLimiter(1)
        queue = AdmissionQueue(limiter)
        tasks = [asyncio.create_task(visitor(queue)) for _ in range(6)]
        await asyncio.sleep(0)
        for task in tasks[1:4]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert limiter.active == 0
        assert not any(task.cancelled() for task in (tasks[0], *tasks[4:]))

    asyncio.run(main())


def test_whoever_is_cancelled_when_its_turn_has_come_gives_the_place_back() -> None:
    async def visitor(queue: AdmissionQueue) -> None:
        async with queue:
            pass

    async def main() -> None:
        limiter = RateLimiter(1)
        queue = AdmissionQueue(limiter)
        async with queue:
            first, second = (asyncio.create_task(visitor(queue)) for _ in range(2))
            await asyncio.sleep(0)
        assert limiter.active == 1, "the first has its place, and has not begun"
        first.cancel()
        async with asyncio.timeout(5):
            await asyncio.gather(first, second, return_exceptions=True)
        assert first.cancelled() and not second.cancelled() and limiter.active == 0

    asyncio.run(main())


def test_whoever_is_cancelled_when_it_was_refused_has_no_place_to_give_back() -> None:
    async def visitor(queue: AdmissionQueue) -> None:
        async with queue:
            pass

    async def main() -> None:
        limiter = RateLimiter(1)
        queue = AdmissionQueue(limiter)
        async with queue:
            refused = asyncio.create_task(visitor(queue))
            await asyncio.sleep(0)
            queue._refuse_all("circuit open")
            refused.cancel()
            await asyncio.gather(refused, return_exceptions=True)
            assert refused.cancelled() and limiter.active == 1
        assert limiter.active == 0

    asyncio.run(main())


def test_nobody_who_comes_when_a_pause_is_over_goes_before_those_who_waited_for_its_end() -> None:
    now, order = [0.0], []

    async def visitor(queue: AdmissionQueue, name: str) -> None:
        async with queue:
            order.append(name)

    async def main() -> None:
        limiter = RateLimiter(1)
        limiter.on_busy(0, 0, 60)
        queue = AdmissionQueue(limiter, clock=lambda: now[0])
        first = asyncio.create_task(visitor(queue, "first"))
        await asyncio.sleep(0)
        now[0] = 61
        async with asyncio.timeout(5):
            await asyncio.gather(first, visitor(queue, "second"))

    asyncio.run(main())
    assert order == ["first", "second"]


def test_whoever_is_let_in_at_the_end_holds_a_place_and_gives_it_back() -> None:
    limiter, held = RateLimiter(1), []

    async def visitor(queue: AdmissionQueue) -> None:
        async with queue:
            held.append(limiter.active)

    async def main() -> None:
        queue = AdmissionQueue(limiter)
        async with queue:
            waiting = [asyncio.create_task(visitor(queue)) for _ in range(2)]
            await asyncio.sleep(0)
            queue.admit_all()
            await asyncio.gather(*waiting)

    asyncio.run(main())
    assert (held, limiter.active) == ([3, 2], 0)


def test_a_longer_pause_is_not_cut_short_by_another_request_that_was_told_less() -> None:
    limiter = RateLimiter(9)
    limiter.on_busy(0, 0, 60)
    limiter.on_busy(0, 1, 1)

    assert limiter.delay(2) == 58


@pytest.mark.parametrize(
    ("error", "delay"),
    [(LimitReached("max_usd"), 0.0), (BudgetSpent("max_usd"), 0.0), (ValueError("sent"), 0.9)],
)
def test_whoever_a_limit_kept_from_sending_takes_nothing_of_the_rate(error: Exception, delay: float) -> None:
    limiter = RateLimiter(9, rpm=60)

    async def main() -> None:
        async with AdmissionQueue(limiter, clock=lambda: 100.0):
            raise error

    with pytest.raises(type(error)):
        asyncio.run(main())
    assert limiter.delay(100.0) == pytest.approx(delay)


def test_a_provider_that_asked_to_wait_is_not_probed_before() -> None:
    limiter = RateLimiter(9)
    limiter.on_busy(0, 0, 60)
    for second in range(1, 7):
        limiter.on_failure(second, "no answer")

    assert limiter.circuit_open is not None
    assert (limiter.delay(20), limiter.delay(60)) == (40, 0)


class Dead(ModelClient):
    """A provider that is not there, until it is."""

    def __init__(self) -> None:
        self.alive = False
        self.asked = 0

    async def complete(self, request: Request) -> Reply:
        self.asked += 1
        if self.alive:
            return Reply(text="here")
        raise TransientFailure("ConnectionRefusedError: cannot connect")

    async def close(self) -> None:
        return None


def test_an_open_circuit_refuses_at_the_next_failed_probe_and_closes_at_the_next_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pacing, "STREAK", 0.0)
    monkeypatch.setattr(pacing, "PROBE_EVERY", 0.1)
    dead, said = Dead(), list[str]()
    client = RateLimitedClient(dead, 16, name="http://h", say=said.append)

    async def ask() -> Reply:
        return await client.complete(Request("m", (), None, Sampling(), 0, 5.0), Meter(Limits(), Budget()))

    async def wave() -> list[Reply | BaseException]:
        return await asyncio.gather(*(ask() for _ in range(10)), return_exceptions=True)

    async def main() -> None:
        await wave()
        before = dead.asked
        refused = await wave()
        assert dead.asked == before + 1
        assert sum("circuit open" in str(error) for error in refused) == 9
        dead.alive = True
        assert [reply.text for reply in await wave() if isinstance(reply, Reply)] == ["here"] * 10

    asyncio.run(main())
    assert [line.split(" http://h ")[1][:8] for line in said] == ["does not", "answers "]


@pytest.mark.parametrize("family", ["server", "openai"])
def test_a_pause_that_one_endpoint_asks_for_holds_no_other(family: str) -> None:
    providers = Providers(2, say=lambda line: None)
    one, other = (
        providers.get(ModelSettings(model=f"{family}/a", base_url=f"http://127.0.0.1:{port}/v1"))
        for port in (1, 2)
    )

    async def main() -> None:
        one.slots.on_busy(0.0, 30.0)
        async with asyncio.timeout(1), other.slots:
            pass
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05), one.slots:
                pass

    asyncio.run(main())


def test_a_provider_that_dies_is_named_once_without_its_secrets(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], rubric: Rubric, case: Case
) -> None:
    monkeypatch.setattr(pacing, "STREAK", 0.2)
    monkeypatch.setattr(pacing, "PROBE_EVERY", 0.2)
    monkeypatch.setattr(pacing, "LONGEST_BACKOFF", 0.1)
    url = "http://user:sk-canary@127.0.0.1:9/v1?key=sk-canary"
    monkeypatch.setattr(Preflight, "check", AskNobody.check)
    with pytest.raises(ModelUnreachable):
        deliberate_sync(case, rubric, jury_at(url, "a", "b", "c", protocol="panel"))

    said = capsys.readouterr().err
    assert said.count("does not answer") == 1
    assert "the provider http://127.0.0.1:9/v1 does not answer (ConnectionRefusedError" in said
    assert "canary" not in said


def test_no_more_than_so_many_requests_a_minute_leave_a_run(tmp_path: Path) -> None:
    with ProviderServer(jury_of({"a": 3, "b": 3, "c": 3, "boss": 3})) as server:
        ended = venire(
            *write_run(tmp_path, server.url, protocol="panel"),
            "--rpm",
            600,
            "--max-seconds",
            0.6,
            cwd=tmp_path,
        )

    assert ended.returncode == 3, ended.stderr
    assert 2 <= len(server.calls) <= 8


def test_a_budget_of_seconds_is_not_outlived_by_those_who_wait_in_line(tmp_path: Path) -> None:
    with ProviderServer(jury_of({"a": 3, "b": 3, "c": 3, "boss": 3})) as server:
        command = write_run(tmp_path, server.url, protocol="panel")
        began = time.monotonic()
        ended = venire(*command, "--rpm", 1, "--max-seconds", 1, cwd=tmp_path)

    assert ended.returncode == 3, ended.stderr
    assert time.monotonic() - began < 55
    assert len(server.calls) == 1


def test_a_signal_does_not_wait_for_those_in_line(tmp_path: Path) -> None:
    with ProviderServer(jury_of({"a": 3, "b": 3, "c": 3, "boss": 3})) as server:
        command = [*map(str, write_run(tmp_path, server.url, protocol="panel")), "--rpm", "1"]
        run = Started(*command, cwd=tmp_path, stderr=subprocess.PIPE)
        while not server.calls:
            time.sleep(0.05)
        time.sleep(0.3)
        run.send_signal(signal.SIGTERM)
        _, said = run.communicate(timeout=20)

    assert run.returncode == 143, said
    assert "the calls that were already sent are being finished" in said
    assert "Traceback" not in said


def test_a_request_that_was_not_sent_leaves_its_part_of_the_rate_to_the_next() -> None:
    async def main() -> None:
        limiter = RateLimiter(8, rpm=60)
        queue = AdmissionQueue(limiter, clock=lambda: 100.0)
        with pytest.raises(BudgetSpent):
            async with queue:
                raise BudgetSpent("interrupt")
        assert limiter.delay(100.0) == 0
        async with queue:
            pass
        assert limiter.delay(100.0) > 0.5

    asyncio.run(main())


def test_a_request_told_to_wait_is_not_a_request_that_failed(
    monkeypatch: pytest.MonkeyPatch, rubric: Rubric, case: Case
) -> None:
    monkeypatch.setattr(pacing, "LONGEST_BACKOFF", 0.1)
    busy = Fault(429, {"Retry-After": "0.01"})
    with ProviderServer(jury_of({"a": [busy] * 5 + [4], "b": 4})) as server:
        verdict = deliberate_sync(case, rubric, jury_at(server.url, "a", "b", protocol="panel"))

    assert not verdict.transcript.abstentions
    assert sum(call.model == "a" for call in server.calls) == 6
