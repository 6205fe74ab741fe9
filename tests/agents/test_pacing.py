"""The pace of one provider: pure logic on a clock of the test's own, and the line that keeps to it."""

from __future__ import annotations

import asyncio
import math
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import venire
from openai_server import Fault, ProviderServer, jury_of
from run_files import write
from server_juries import jury_at

from venire import Case, Rubric, deliberate_sync
from venire.agents import rate_limiter as pacing
from venire.agents import retry as retrying
from venire.agents.admission_queue import Line
from venire.agents.budget import BudgetSpent
from venire.agents.model import Reply, Request, Sampling, TransientFailure
from venire.agents.providers import Providers, Queued
from venire.agents.rate_limiter import Pace
from venire.agents.retry import SENDS, Tries
from venire.personas.jury import ModelSettings


def spread(pace: Pace, until: float, *, tokens: int = 0, step: float = 0.01) -> list[float]:
    """When requests start if one is always waiting and every answer comes at once."""
    starts: list[float] = []
    for tick in range(round(until / step)):
        now = tick * step
        while pace.delay(now) == 0:
            starts.append(now)
            pace.begin(now)
            pace.end()
            pace.answered(now, tokens)
    return starts


def opened(said: list[str] | None = None) -> Pace:
    """A pace whose circuit opened at 10 s."""
    pace = Pace(8, name="http://h/v1", say=(said if said is not None else []).append)
    for _ in range(pacing.FAILURES):
        pace.failed(0.0, "ConnectionRefusedError")
    pace.failed(10.0, "ConnectionRefusedError")
    return pace


def test_as_many_as_the_limit_start_at_once_and_the_next_waits_for_a_place() -> None:
    pace = Pace(2)
    pace.begin(0)
    assert pace.delay(0) == 0
    pace.begin(0)
    assert pace.delay(0) == math.inf
    pace.end()
    assert pace.delay(0) == 0


def test_a_busy_provider_stops_everyone_for_as_long_as_it_says_and_halves() -> None:
    pace = Pace(8)
    pace.busy(0.0, 1.0, retry_after=7.0)

    assert pace.delay(1.0) == 7.0
    assert pace.delay(8.0) == 0
    assert pace.limit == 4


def test_one_burst_of_complaints_halves_once() -> None:
    pace = Pace(32)
    for _ in range(20):
        pace.busy(0.0, 1.0, retry_after=0.0)
    assert pace.limit == 16

    pace.busy(1.5, 2.0, retry_after=0.0)
    assert pace.limit == 8


def test_it_recovers_answer_by_answer_and_never_falls_below_one() -> None:
    pace = Pace(8)
    for moment in range(10):
        pace.busy(moment, moment + 0.5, retry_after=0.0)
    assert pace.limit == 1

    for _ in range(round(7 / pacing.GROWTH)):
        pace.answered(20.0)
    assert pace.limit == 8


@pytest.mark.parametrize(("said", "waits"), [(None, pacing.PAUSE), (86_400.0, pacing.LONGEST_PAUSE)])
def test_the_pause_has_a_default_and_a_bound(said: float | None, waits: float) -> None:
    pace = Pace(8)
    pace.busy(0.0, 0.0, said)

    assert pace.delay(0.0) == waits


def test_requests_a_minute_are_kept_to() -> None:
    assert len(spread(Pace(100, rpm=120), 60)) == pytest.approx(120, abs=1)
    assert len(spread(Pace(100, rpm=3000), 60, step=0.003)) == pytest.approx(3000, rel=0.01)


def test_tokens_a_minute_are_kept_to() -> None:
    starts = spread(Pace(100, tpm=60_000), 60, tokens=500)

    assert len(starts) == pytest.approx(120, abs=2)


def test_until_an_answer_shows_what_a_request_takes_there_is_one_at_a_time() -> None:
    pace = Pace(100, tpm=60_000)
    pace.begin(0)
    assert pace.delay(0) == math.inf
    pace.end()
    pace.answered(1.0, 1000)

    assert pace.delay(1.0) == pytest.approx(1.0 - pacing.SLACK)


def test_a_hiccup_opens_no_circuit() -> None:
    pace = Pace(64)
    for _ in range(64):
        pace.failed(1.0, "ConnectionResetError")
    pace.answered(2.0)
    pace.failed(7.0, "ConnectionResetError")

    assert pace.given_up is None


def test_a_dead_provider_opens_the_circuit_and_it_is_said_once() -> None:
    said: list[str] = []
    pace = opened(said)
    pace.failed(11.0, "ConnectionRefusedError")

    assert "circuit open" in (pace.given_up or "")
    (line,) = said
    assert "provider http://h/v1 does not answer: ConnectionRefusedError" in line
    assert f"every {pacing.PROBE_EVERY:g} s" in line


def test_one_request_in_so_many_seconds_probes_an_open_circuit() -> None:
    pace = opened()
    due = 10.0 + pacing.PROBE_EVERY

    assert pace.delay(10.0) == pacing.PROBE_EVERY
    assert pace.delay(due) == 0
    pace.begin(due)
    assert pace.delay(due) == pacing.PROBE_EVERY
    pace.failed(due + 1.0, "ConnectionRefusedError")
    assert pace.delay(due + 1.0) == pacing.PROBE_EVERY


@pytest.mark.parametrize("alive", [lambda p: p.answered(20.0), lambda p: p.busy(19.0, 20.0, 0.0)])
def test_any_answer_closes_it(alive: object) -> None:
    said: list[str] = []
    pace = opened(said)
    alive(pace)  # type: ignore[operator]

    assert pace.given_up is None
    assert pace.delay(20.0) == 0
    assert said[-1] == "provider http://h/v1 answers again"


def test_failures_and_timeouts_are_bounded_and_waiting_is_counted_apart() -> None:
    broken, late = TransientFailure("HTTP 500"), TransientFailure("late", reason="timeout")
    busy = TransientFailure("HTTP 429", retry_after=0.1, busy=True)

    def sends(*failures: TransientFailure) -> int:
        tries = Tries(random.Random(0))
        return 1 + sum(1 for _ in iter(lambda: tries.pause(failures[0]), None))

    assert sends(broken) == retrying.FAILURES
    assert sends(late) == retrying.TIMEOUTS
    assert sends(busy) == retrying.WAITS + 1

    tries = Tries(random.Random(0))
    mixed = [*[broken] * (retrying.FAILURES - 1), *[busy] * retrying.WAITS]
    assert all(tries.pause(failure) is not None for failure in mixed)
    assert tries.pause(broken) is None
    assert len(mixed) + 1 == SENDS


def test_retry_after_is_a_minimum_that_is_scattered_and_a_whole_day_is_not_waited_for() -> None:
    pauses = [
        Tries(random.Random(n)).pause(TransientFailure("", retry_after=10, busy=True)) for n in range(9)
    ]
    assert all(pause is not None and 10 <= pause <= 12.5 for pause in pauses)
    assert len(set(pauses)) == 9
    assert Tries(random.Random(0)).pause(TransientFailure("", retry_after=86_400, busy=True)) is None


def test_the_line_is_first_come_first_served_within_the_limit() -> None:
    order: list[int] = []
    most = 0

    async def visitor(line: Line, pace: Pace, number: int) -> None:
        nonlocal most
        async with line:
            most = max(most, pace.active)
            order.append(number)
            await asyncio.sleep(0)

    async def main() -> None:
        pace = Pace(3)
        line = Line(pace)
        await asyncio.gather(*(visitor(line, pace, number) for number in range(50)))
        assert pace.active == 0

    asyncio.run(main())
    assert order == list(range(50))
    assert most == 3


def test_whoever_is_cancelled_in_line_takes_no_place_with_them() -> None:
    async def visitor(line: Line) -> None:
        async with line:
            await asyncio.sleep(0.01)

    async def main() -> None:
        pace = Pace(1)
        line = Line(pace)
        tasks = [asyncio.create_task(visitor(line)) for _ in range(6)]
        await asyncio.sleep(0)
        for task in tasks[1:4]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert pace.active == 0
        assert not any(task.cancelled() for task in (tasks[0], *tasks[4:]))

    asyncio.run(main())


class Dead:
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
    queued = Queued(dead, 16, name="http://h", say=said.append)

    async def ask() -> Reply:
        async with queued.seats:
            return await queued.complete(Request("m", (), None, Sampling(), 0, 5.0), 5.0)

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


def test_providers_behind_litellm_have_a_pace_each_and_models_of_one_share_it() -> None:
    roads = Providers()
    openai, other, anthropic = (
        roads.get(ModelSettings(model=model)) for model in ("openai/a", "openai/b", "anthropic/c")
    )

    assert openai is other
    assert openai is not anthropic


def test_a_dead_provider_is_named_once_without_its_secrets_and_its_jurors_abstain(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], rubric: Rubric, case: Case
) -> None:
    monkeypatch.setattr(pacing, "STREAK", 0.2)
    monkeypatch.setattr(pacing, "PROBE_EVERY", 0.2)
    monkeypatch.setattr(retrying, "LONGEST_PAUSE", 0.1)
    url = "http://user:sk-canary@127.0.0.1:9/v1?key=sk-canary"
    verdict = deliberate_sync(case, rubric, jury_at(url, "a", "b", "c", protocol="panel"))

    said = capsys.readouterr().err
    assert said.count("does not answer") == 1
    assert "provider http://127.0.0.1:9/v1 does not answer: ConnectionRefusedError" in said
    assert "canary" not in said
    assert {entry.abstention.reason for entry in verdict.transcript.abstentions} == {"unavailable"}


def test_no_more_than_so_many_requests_a_minute_leave_a_run(tmp_path: Path) -> None:
    with ProviderServer(jury_of({"a": 3, "b": 3, "c": 3, "boss": 3})) as server:
        ended = venire(
            *write(tmp_path, server.url, protocol="panel"), "--rpm", 600, "--max-seconds", 0.6, cwd=tmp_path
        )

    assert ended.returncode == 3, ended.stderr
    assert 2 <= len(server.calls) <= 8


def test_a_budget_of_seconds_is_not_outlived_by_those_who_wait_in_line(tmp_path: Path) -> None:
    with ProviderServer(jury_of({"a": 3, "b": 3, "c": 3, "boss": 3})) as server:
        command = write(tmp_path, server.url, protocol="panel")
        began = time.monotonic()
        ended = venire(*command, "--rpm", 1, "--max-seconds", 1, cwd=tmp_path)

    assert ended.returncode == 3, ended.stderr
    assert time.monotonic() - began < 20
    assert len(server.calls) == 1


def test_ctrl_c_does_not_wait_for_those_in_line(tmp_path: Path) -> None:
    with ProviderServer(jury_of({"a": 3, "b": 3, "c": 3, "boss": 3})) as server:
        command = [*map(str, write(tmp_path, server.url, protocol="panel")), "--rpm", "1"]
        run = subprocess.Popen(
            [sys.executable, "-m", "venire.cli", *command], cwd=tmp_path, stderr=subprocess.PIPE, text=True
        )
        while not server.calls:
            time.sleep(0.05)
        time.sleep(0.3)
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=20)

    assert run.returncode == 130, said
    assert "finishing what is in flight" in said
    assert "Traceback" not in said


def test_a_request_that_was_not_sent_leaves_its_part_of_the_rate_to_the_next() -> None:
    async def main() -> None:
        pace = Pace(8, rpm=60)
        line = Line(pace, clock=lambda: 100.0)
        with pytest.raises(BudgetSpent):
            async with line:
                raise BudgetSpent("interrupt")
        assert pace.delay(100.0) == 0
        async with line:
            pass
        assert pace.delay(100.0) > 0.5

    asyncio.run(main())


def test_a_request_told_to_wait_is_not_a_request_that_failed(
    monkeypatch: pytest.MonkeyPatch, rubric: Rubric, case: Case
) -> None:
    monkeypatch.setattr(retrying, "LONGEST_PAUSE", 0.1)
    busy = Fault(429, {"Retry-After": "0.01"})
    with ProviderServer(jury_of({"a": [busy] * 5 + [4], "b": 4})) as server:
        verdict = deliberate_sync(case, rubric, jury_at(server.url, "a", "b", protocol="panel"))

    assert not verdict.transcript.abstentions
    assert sum(call.model == "a" for call in server.calls) == 6
