"""Workers and the coordinator, joined without a cluster: one record, one set of limits, one budget for all of them."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from openai_server import Call, Fault, ProviderServer, filled, jury_of
from server_juries import jury_at
from written_transcripts import transcript_of

from venire import Case, Jury, Rubric
from venire.agents import tracing
from venire.agents.budget import Budget, BudgetSpent, LimitReached
from venire.agents.gateway import Unrecorded
from venire.agents.model import Reply, Request, Sampling
from venire.agents.providers import Providers
from venire.orchestration.bench import Court
from venire.orchestration.deliberate import ready
from venire.orchestration.executors import coordinator, ray
from venire.orchestration.executors import worker as worker_module
from venire.orchestration.executors.coordinator import Coordinator, WorkerHandler
from venire.orchestration.executors.executor import Cluster
from venire.orchestration.executors.messages import (
    Channel,
    Commit,
    Crash,
    Forgo,
    OutOfBudget,
    ProviderAnswered,
    ProviderBusy,
    ProviderFailed,
    ReleaseSlot,
    UserError,
)
from venire.orchestration.executors.ray import ray_connection
from venire.orchestration.executors.worker import (
    RemoteCalls,
    RemoteSlots,
    Worker,
    WorkerConfig,
    build_identity,
    refuse_other_build,
)
from venire.orchestration.record.redaction import RedactedError
from venire.orchestration.transcript import Transcript
from venire.orchestration.worked_examples import ScoredCases
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


def on_a_cluster(*juries: str, at_once: int = 3, said: list[str] | None = None) -> ray.RayExecutor:
    """The executor of a run of these juries, without a cluster; its workers are put there by hand."""
    court: Any = SimpleNamespace(calls=None, trace_salt=SALT)
    config: Any = WorkerConfig(None, juries, ScoredCases(), 0, {}, 1, ".", listening=False)  # type: ignore[arg-type]
    heard = [] if said is None else said
    return ray.RayExecutor(None, court, config, at_once=at_once, say=heard.append, close=ExitStack())


class Hired:
    """A worker that gives the same answer each time, or is lost."""

    def __init__(self, cases: int, answer: Any) -> None:
        self.cases, self.host, self.asked, self.ended = cases, f"node-{cases}", list[Any](), 0
        self._answer = answer

    async def hear(self, *asked: Any) -> Any:
        self.asked.append(asked)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer

    def end(self) -> None:
        self.ended += 1


def test_the_least_busy_worker_hears_a_case_and_of_those_that_are_lost_the_next_three_at_most(case: Case) -> None:  # fmt: skip
    async def main() -> None:
        said = list[str]()
        executor = on_a_cluster("one", "two", said=said)
        executor.attach(None, redacted=True)  # type: ignore[arg-type]
        found, lost = transcript_of(), ray.WorkerLost(None)
        workers = [Hired(2, found), Hired(0, lost), Hired(1, lost), Hired(3, found)]
        executor._workers = set(workers)  # type: ignore[arg-type]
        assert await executor.hear(case, "two") is found  # type: ignore[arg-type]
        assert [each.asked for each in workers] == [[(case, 1, True, SALT)]] * 3 + [[]]
        assert [each.ended for each in workers] == [0, 1, 1, 0] and executor._workers == {
            workers[0],
            workers[3],
        }
        assert [words.split()[4] for words in said] == ["node-0", "node-1"]
        dying = [Hired(number, lost) for number in range(4)]
        executor._workers = set(dying)  # type: ignore[arg-type]
        with pytest.raises(VenireError, match="3 worker processes in a row"):
            await asyncio.wait_for(executor.hear(case, "one"), 5)  # type: ignore[arg-type]
        assert [len(each.asked) for each in dying] == [1, 1, 1, 0]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("answer", "redacted", "raised", "words"),
    [
        (OutOfBudget("max_usd"), False, BudgetSpent, "max_usd"), (UserError("no key", "set it"), False, VenireError, "no key"),
        (Crash("KeyError: 'x'", "line 3"), False, RuntimeError, "on a worker: KeyError"), (Crash("KeyError", "line 3"), True, RedactedError, "on a worker: KeyError"),
    ],
)  # fmt: skip
def test_what_a_worker_could_not_hear_is_raised_as_here(
    case: Case, answer: Any, redacted: bool, raised: type[Exception], words: str
) -> None:
    async def main() -> None:
        executor = on_a_cluster("one")
        executor.attach(None, redacted=redacted)  # type: ignore[arg-type]
        executor._workers = {Hired(0, answer)}  # type: ignore[arg-type]
        with pytest.raises(raised, match=words) as error:
            await executor.hear(case, "one")  # type: ignore[arg-type]
        assert redacted or not isinstance(error.value, RedactedError)
        bug = executor._coordinator.error = ValueError("of the record")
        with pytest.raises(ValueError, match="of the record") as error:
            await executor.hear(case, "one")  # type: ignore[arg-type]
        assert error.value is bug

    asyncio.run(main())


@pytest.mark.parametrize(("asked", "at_once", "hired"), [(None, 9, 4), (None, 3, 3), (2, 9, 2), (8, 3, 3), (6, 9, 6)])  # fmt: skip
def test_as_many_workers_are_hired_as_are_asked_for_or_have_a_cpu_and_no_more_than_have_a_case(
    asked: int | None, at_once: int, hired: int
) -> None:
    async def main() -> None:
        executor, begun = on_a_cluster("one", at_once=at_once), list[int]()
        executor._ray = SimpleNamespace(cluster_resources=lambda: {"CPU": 4.0})

        async def supervise(number: int) -> None:
            begun.append(number)
            if number < 4:
                executor._workers.add(Hired(number, None))  # type: ignore[arg-type]
                executor._changed.set()

        executor._supervise = supervise  # type: ignore[method-assign]
        await asyncio.wait_for(executor._gather(asked), 5)
        assert begun == list(range(hired))

    asyncio.run(main())


def test_who_takes_a_lost_workers_place_asks_no_model_again_and_who_never_starts_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main(ends: list[Exception | None]) -> list[tuple[bool, int]]:
        begun = list[tuple[bool, int]]()

        class Actor(Hired):
            def __init__(self, cluster: Any, coordinator: Any, *, at_once: int) -> None:
                super().__init__(0, None)

            async def begin(self, config: WorkerConfig, number: int) -> None:
                begun.append((config.asks_models, number))
                if (end := ends.pop(0)) is not None:
                    raise end

            async def serve(self) -> None:
                raise ray.WorkerLost(None)

        monkeypatch.setattr(ray, "RemoteWorker", Actor)
        with pytest.raises(
            VenireError,
            match=r"cannot be started on the Ray cluster: (the process was lost at every|no venire)",
        ):
            await on_a_cluster("one")._supervise(5)
        return begun

    monkeypatch.setattr(ray, "STARTS", 1)
    assert asyncio.run(main([None, None, ray.WorkerLost(None)])) == [(True, 5), (False, 5), (False, 5)]
    monkeypatch.setattr(ray, "STARTS", 9)
    assert asyncio.run(main([ray.WorkerLost("Traceback\nno venire")])) == [(True, 5)]


def test_a_worker_asks_models_only_where_it_must_and_hears_the_jury_of_the_number_it_is_given(
    monkeypatch: pytest.MonkeyPatch, rubric: Rubric, case: Case
) -> None:
    asked, seeds, heard = list[Any](), list[int](), list[Any]()

    class Sure:
        async def check(self, models: Any) -> None:
            asked.append([seat.model for seat in models])

        def is_sure_of(self, models: Any) -> bool:
            return [seat.model for seat in models] != ["server/a"]

    plain = worker_module.Court

    def court(*, seed: int, **fields: Any) -> Court:
        seeds.append(seed)
        return plain(seed=seed, **fields)

    async def hear(case: Case, rubric: Rubric, jury: Jury, court: Court) -> Transcript:
        heard.append((jury.name, court.scored))
        return transcript_of()

    monkeypatch.setattr(worker_module, "Preflight", Sure)
    monkeypatch.setattr(worker_module, "Court", court)
    monkeypatch.setattr(worker_module, "hear", hear)
    juries = tuple(jury_at("http://127.0.0.1:9/v1", name, protocol="panel").model_copy(update={"name": name}) for name in "ab")  # fmt: skip
    scored = ScoredCases(frozenset({"c9"}))

    async def main() -> None:
        for asks in (True, False):
            worker = Worker()
            config = WorkerConfig(rubric, juries, scored, 40, {}, 1, ".", listening=False, asks_models=asks)
            assert await worker.begin(config, 2) is None
            assert [gate._sure for gate in worker._first_alone] == [not asks, True]
            assert isinstance(await worker.hear(case, 1, False, SALT), Transcript)
            await worker._court.close()

    asyncio.run(main())
    assert asked == [["server/a", "server/b"]], "of both juries together, once"
    assert seeds == [42, 42], "pauses scatter between workers"
    assert heard == [("b", scored)] * 2


def test_a_slot_is_given_back_as_unsent_only_where_nothing_was_sent_and_a_claim_that_nobody_waits_for_is_dropped() -> None:  # fmt: skip
    async def main() -> None:
        channel = Channel()
        slots, calls = RemoteSlots(channel, "p"), RemoteCalls(channel)  # type: ignore[arg-type]

        async def noted() -> list[Any]:
            return [message for number, message in await channel.collect() if not number]

        for error, unsent in ((None, False), (ValueError, False), (BudgetSpent, True), (LimitReached, True)):
            await slots.__aexit__(error, None, None)
            assert await noted() == [ReleaseSlot("p", unsent)]  # type: ignore[arg-type]
        for number, reply, told in ((1, None, [Forgo("k")]), (2, Reply("text"), [])):
            waiting = asyncio.create_task(calls.get("k"))
            await channel.collect()
            waiting.cancel()
            await asyncio.sleep(0)
            channel.deliver(number, reply)
            channel.notify(Forgo("last"))
            await asyncio.sleep(0)
            assert sorted(message.key for message in await noted()) == sorted([*(each.key for each in told), "last"])  # fmt: skip
        entering = asyncio.create_task(slots.__aenter__())
        await channel.collect()
        entering.cancel()
        await asyncio.sleep(0)
        channel.deliver(3, None)
        assert await noted() == [ReleaseSlot("p", unsent=True)]  # type: ignore[arg-type]
        asked = replace(Request("m", (), {"a": 1}, Sampling(seed=3), 0, 60.0), subject="s")  # type: ignore[arg-type]
        put = asyncio.create_task(calls.put("k", asked, Reply("text")))
        ((number, commit),) = await channel.collect()
        channel.deliver(number, None)
        await put
        assert isinstance(commit, Commit) and commit.key == "k"
        sent = commit.request
        assert (sent.schema, sent.subject, sent.settings) == (None, None, {"seed": 3})

    asyncio.run(main())
