"""Workers and the coordinator, joined without a cluster: one record, one set of limits, one budget for all of them."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from openai_server import Call, Fault, ProviderServer, filled, jury_of
from server_juries import jury_at

from venire import Case, Jury, Rubric
from venire.agents import tracing
from venire.agents.budget import Budget
from venire.agents.gateway import Unrecorded
from venire.agents.model import Reply, Request, Sampling
from venire.agents.providers import Providers
from venire.orchestration.bench import Court
from venire.orchestration.deliberate import ready
from venire.orchestration.executors import coordinator
from venire.orchestration.executors.coordinator import Coordinator, WorkerHandler
from venire.orchestration.executors.executor import Cluster
from venire.orchestration.executors.messages import (
    Commit,
    Crash,
    OutOfBudget,
    ProviderAnswered,
    ProviderBusy,
    ProviderFailed,
    ReleaseSlot,
    UserError,
)
from venire.orchestration.executors.ray import ray_connection
from venire.orchestration.executors.worker import Worker, WorkerConfig, build_identity, refuse_other_build
from venire.orchestration.transcript import Transcript
from venire.rubrics.errors import MissingExtra, VenireError

SALT = bytes(16)


class Memory(Unrecorded):
    """A record that lasts as long as the test."""

    def __init__(self) -> None:
        self.replies: dict[str, Reply] = {}

    async def get(self, key: str) -> Reply | None:
        return self.replies.get(key)

    async def put(self, key: str, request: Request, reply: Reply) -> None:
        await asyncio.sleep(0.01)
        self.replies[key] = reply


class WorkerPool:
    """A coordinator with workers whose messages are passed on in this process."""

    def __init__(
        self, rubric: Rubric, jury: Jury, *, in_flight: int = 8, budget: Budget | None = None
    ) -> None:
        self.record = Memory()
        self.court = Court(
            calls=self.record, budget=budget, providers=Providers(in_flight, say=lambda line: None)
        )
        ready(jury, self.court, rubric)
        self.coordinator = Coordinator(self.court)
        self._config = WorkerConfig(rubric, (jury,), frozenset(), 0, {}, in_flight, ".", listening=False)
        self._carriers: list[asyncio.Task[None]] = []
        self.workers: list[Worker] = []

    async def hire(self) -> tuple[Worker, WorkerHandler]:
        worker = Worker()
        assert await worker.begin(self._config, len(self.workers)) is None
        handler = WorkerHandler(
            self.coordinator, lambda messages: asyncio.ensure_future(worker.deliver(messages)) and None
        )

        async def carry() -> None:
            while True:
                handler.take(await worker.collect())

        self._carriers.append(asyncio.create_task(carry()))
        self.workers.append(worker)
        return worker, handler

    async def close(self) -> None:
        for carrier in self._carriers:
            carrier.cancel()
        for worker in self.workers:
            await worker._court.close()
        await self.court.close()


def held(pool: WorkerPool, main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def whole() -> None:
        try:
            await main()
        finally:
            await pool.close()

    asyncio.run(whole())


def other(case: Case) -> Case:
    return case.model_copy(update={"id": "c2", "output": "Other words."})


def values(found: Transcript | OutOfBudget | UserError | Crash) -> list[object]:
    assert isinstance(found, Transcript), found
    return [vote.value for entry in found.ballots for vote in entry.ballot.votes]


def test_the_same_question_of_two_workers_at_once_is_sent_once(rubric: Rubric, case: Case) -> None:
    with ProviderServer(jury_of({"a": 4, "b": 2}), latency=0.2) as server:
        pool = WorkerPool(rubric, jury_at(server.url, "a", "b", protocol="panel"))

        async def main() -> None:
            (one, _), (two, _) = await pool.hire(), await pool.hire()
            found = await asyncio.gather(one.hear(case, 0, False, SALT), two.hear(case, 0, False, SALT))
            assert [values(each) for each in found] == [[4, 4, 2, 2]] * 2

        held(pool, main)
    assert len(server.calls) == 2


def test_workers_hide_a_case_in_traces_by_the_salt_of_the_run(
    rubric: Rubric, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    salts: list[bytes] = []

    class Salts:
        """Tracing that notes what a case would be hidden with."""

        def deliberation(self, *_: str, salt: bytes) -> AbstractContextManager[None]:
            salts.append(salt)
            return nullcontext()

        def call(self, _: Request) -> AbstractContextManager[Callable[[Reply], None]]:
            return nullcontext(lambda reply: None)

        def close(self) -> None:
            return

    pytest.importorskip("opentelemetry.trace")
    monkeypatch.setattr(tracing, "current_tracing", Salts)
    with ProviderServer(jury_of({"a": 4})) as server:
        pool = WorkerPool(rubric, jury_at(server.url, "a", protocol="panel"))

        async def main() -> None:
            (one, _), (two, _) = await pool.hire(), await pool.hire()
            await asyncio.gather(one.hear(case, 0, False, SALT), two.hear(other(case), 0, False, SALT))

        held(pool, main)
    assert salts == [SALT, SALT]


def test_a_question_that_fails_for_one_worker_is_free_for_another(rubric: Rubric, case: Case) -> None:
    answers = {"a": [Fault(status=400), 3]}
    with ProviderServer(jury_of(answers), latency=0.2, models=["a", "boss"]) as server:
        pool = WorkerPool(rubric, jury_at(server.url, "a", protocol="panel"))

        async def main() -> None:
            (one, _), (two, _) = await pool.hire(), await pool.hire()
            found = await asyncio.gather(one.hear(case, 0, False, SALT), two.hear(case, 0, False, SALT))
            assert sorted(map(values, found)) == [[], [3, 3]]

        held(pool, main)
    assert len(server.calls) == 2


def test_places_in_flight_are_shared_by_all_workers(rubric: Rubric, case: Case) -> None:
    with ProviderServer(jury_of(dict.fromkeys("abc", 3)), latency=0.05) as server:
        pool = WorkerPool(rubric, jury_at(server.url, "a", "b", "c", protocol="panel"), in_flight=2)

        async def main() -> None:
            (one, _), (two, _) = await pool.hire(), await pool.hire()
            await asyncio.gather(one.hear(case, 0, False, SALT), two.hear(other(case), 0, False, SALT))

        held(pool, main)
    assert len(server.calls) == 6
    assert server.most_in_flight == 2


def test_a_busy_provider_stops_the_other_workers_too(rubric: Rubric, case: Case) -> None:
    arrived: list[float] = []

    def busy(call: Call) -> Any:
        arrived.append(time.monotonic())
        if call.number == 0:
            return Fault(status=429, headers={"Retry-After": "0.6"})
        assert call.schema is not None
        return filled(call.schema, lambda _: 3)

    with ProviderServer(busy) as server:
        pool = WorkerPool(rubric, jury_at(server.url, "a", protocol="panel"), in_flight=1)

        async def main() -> None:
            (one, _), (two, _) = await pool.hire(), await pool.hire()
            found = await asyncio.gather(
                one.hear(case, 0, False, SALT), two.hear(other(case), 0, False, SALT)
            )
            assert [values(each) for each in found] == [[3, 3]] * 2

        held(pool, main)
    assert min(arrived[1:]) - arrived[0] >= 0.55


def test_a_lost_workers_questions_and_places_go_to_the_others(
    monkeypatch: pytest.MonkeyPatch, rubric: Rubric, case: Case
) -> None:
    monkeypatch.setattr(coordinator, "_UNKNOWN", 0.3)
    hangs = {"a": [Fault(hang=True), 3]}
    with ProviderServer(jury_of(hangs)) as server:
        pool = WorkerPool(rubric, jury_at(server.url, "a", protocol="panel"), in_flight=1)

        async def main() -> None:
            (one, handler), (two, _) = await pool.hire(), await pool.hire()
            first = asyncio.create_task(one.hear(case, 0, False, SALT))
            while not server.calls:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            second = asyncio.create_task(two.hear(case, 0, False, SALT))
            await asyncio.sleep(0.1)
            assert not second.done()
            lost = time.monotonic()
            handler.release()
            assert values(await second) == [3, 3]
            assert time.monotonic() - lost >= 0.3, "the provider may still be at it"
            first.cancel()

        held(pool, main)
    assert len(server.calls) == 2


def test_a_reply_on_its_way_into_the_record_is_not_asked_for_again_when_its_worker_is_lost(
    rubric: Rubric, case: Case
) -> None:
    with ProviderServer(jury_of({"a": 3})) as server:
        pool = WorkerPool(rubric, jury_at(server.url, "a", protocol="panel"))
        slow = pool.record.put
        begun = asyncio.Event()

        async def put(key: str, request: Request, reply: Reply) -> None:
            begun.set()
            await asyncio.sleep(0.2)
            await slow(key, request, reply)

        async def main() -> None:
            pool.record.put = put  # type: ignore[method-assign]
            (one, handler), (two, _) = await pool.hire(), await pool.hire()
            first = asyncio.create_task(one.hear(case, 0, False, SALT))
            await begun.wait()
            handler.release()
            assert values(await two.hear(case, 0, False, SALT)) == [3, 3]
            first.cancel()

        held(pool, main)
    assert len(server.calls) == 1


def test_what_a_worker_tells_of_a_provider_reaches_its_limits_whole(rubric: Rubric) -> None:
    pool = WorkerPool(rubric, jury_at("http://127.0.0.1:9/v1", "a", protocol="panel"))
    told: list[tuple[Any, ...]] = []
    names = ("on_answer", "on_busy", "on_failure", "release")
    slots = SimpleNamespace(**{name: lambda *args, name=name, **named: told.append((name, *args, *named.values())) for name in names})  # fmt: skip
    pool.court.providers.at = lambda key: SimpleNamespace(slots=slots)  # type: ignore[assignment, method-assign, return-value]
    handler = WorkerHandler(pool.coordinator, lambda messages: None)
    for message in (
        ProviderAnswered("p", 70), ProviderBusy("p", 0.5, 3.0), ProviderFailed("p", "why"), ReleaseSlot("p", unsent=True),
    ):  # fmt: skip
        handler.take([(0, message)])

    assert told == [
        ("on_answer", 70),
        ("on_busy", 0.5, 3.0),
        ("on_failure", "why"),
        ("release", True),
    ]


def test_the_slowest_answer_so_far_is_waited_for_and_a_quarter_more(rubric: Rubric) -> None:
    pool = WorkerPool(rubric, jury_at("http://127.0.0.1:9/v1", "a", protocol="panel"))
    request = Request("server/a", (), None, Sampling(), 0, 60.0)
    waits = [pool.coordinator.longest_call]
    for number, seconds in enumerate((2.0, 8.0, 1.0)):
        pool.coordinator.receive(Commit(str(number), request, Reply(text="", seconds=seconds)))
        waits.append(pool.coordinator.longest_call)

    assert waits == [10.0, 2.5, 10.0, 10.0]


def test_what_one_worker_spends_is_spent_for_all(rubric: Rubric, case: Case) -> None:
    with ProviderServer(jury_of(dict.fromkeys("abc", 3))) as server:
        jury = jury_at(server.url, "a", "b", "c", protocol="panel")
        pool = WorkerPool(rubric, jury, in_flight=1, budget=Budget(max_calls=4))

        async def main() -> None:
            (one, _), (two, _) = await pool.hire(), await pool.hire()
            found = await asyncio.gather(
                one.hear(case, 0, False, SALT), two.hear(other(case), 0, False, SALT)
            )
            assert OutOfBudget("max_calls") in found
            assert await two.hear(other(other(case)), 0, False, SALT) == OutOfBudget("max_calls")

        held(pool, main)
    assert len(server.calls) == 4


def test_a_bug_in_a_worker_is_told_without_words_where_the_run_is_redacted(
    rubric: Rubric, case: Case
) -> None:
    with ProviderServer(jury_of({"a": 3})) as server:
        pool = WorkerPool(rubric, jury_at(server.url, "a", protocol="panel"))

        async def main() -> None:
            worker, _ = await pool.hire()
            bug, silent = await worker.hear(case, 7, False, SALT), await worker.hear(case, 7, True, SALT)
            assert isinstance(bug, Crash)
            assert isinstance(silent, Crash)
            assert bug.message == "IndexError: tuple index out of range"
            assert (
                silent.message == "IndexError (the error's message is withheld, because this run is redacted)"
            )
            assert "worker.py" in silent.traceback and "index out of range" not in silent.traceback

        held(pool, main)


def test_a_worker_with_another_venire_is_refused() -> None:
    version, prompts = build_identity()

    refuse_other_build("node-7", version, prompts)
    with pytest.raises(
        VenireError,
        match=re.escape(f"on node node-7: the version of venire is 0.0.9, but here it is {version}"),
    ):
        refuse_other_build("node-7", "0.0.9", prompts)
    with pytest.raises(VenireError, match="the prompts of venire differ"):
        refuse_other_build("node-7", version, "0" * 16)


def test_without_ray_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("venire.orchestration.executors.ray.find_spec", lambda name: None)

    with pytest.raises(MissingExtra, match=r"venire\[ray\]"), ray_connection(Cluster()):
        pass


def test_a_ray_client_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("venire.orchestration.executors.ray.find_spec", lambda name: object())

    with (
        pytest.raises(VenireError, match="on a node of the cluster"),
        ray_connection(Cluster("ray://host:10001")),
    ):
        pass
