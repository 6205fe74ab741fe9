"""The runner, without a model: every arm hears every case once, what changed or was not reached is heard again, and what is left is counted."""

from __future__ import annotations

import asyncio
import io
import os
import signal
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from written_transcripts import abstained, cast

from venire import Case, Court, Jury, Rubric, Store, Transcript, VenireError
from venire.agents.budget import Budget, BudgetSpent
from venire.agents.clients.batch import BatchSettings
from venire.agents.cost import Price
from venire.agents.desk import Parked
from venire.agents.providers import Preflight
from venire.orchestration import run_session as session_module
from venire.orchestration import runner
from venire.orchestration.executors import LocalExecutor
from venire.orchestration.reading.console import RunProgress
from venire.orchestration.run_session import (
    RunSession,
    _check_models,
    _claim_notes,
    _executor_job,
    _providers,
    _scored_cases,
    run_session,
    stop_gently,
)
from venire.orchestration.runner import RunResult, WorkLeft, hear_cases, work_left
from venire.orchestration.transcript import Stop
from venire.orchestration.worked_examples import ScoredCases
from venire.rubrics.errors import ModelUnreachable


def jury_of(name: str, **seat: Any) -> Jury:
    return Jury.model_validate({"name": name, "protocol": "panel", "seats": [{"name": "a", "model": "scripted", **seat}]})  # fmt: skip


def cases_of(*names: str, text: str = "It is so.") -> list[Case]:
    return [Case(id=name, output=f"{name}: {text}") for name in names]


def heard(case: Case, jury: Jury, *, down: bool = False) -> Transcript:
    empty = Transcript(case=case.id, arm=jury.name, protocol="panel", seats=("a",))
    entry = abstained("a", "accurate") if down else cast("a", {"accurate": 4})
    return empty.add([entry]).with_stop(Stop(reason="complete"))


class Executor(LocalExecutor):
    """Hears by a function, and notes who is heard and how many at a time."""

    def __init__(self, hear: Callable[[Case, Jury], Transcript] = heard) -> None:
        self._by = hear
        self.now = self.most = 0
        self.order: list[tuple[str, str, int]] = []

    async def hear(self, case: Case, jury: Jury) -> Transcript:
        self.now += 1
        self.most = max(self.most, self.now)
        self.order.append((case.id, jury.name, self.now))
        await asyncio.sleep(0.005)
        self.now -= 1
        return self._by(case, jury)


class Counted:
    def __init__(self) -> None:
        self.finished: list[str] = []
        self.skipped: list[str] = []

    def count_finished(self, transcript: Transcript) -> None:
        self.finished.append(transcript.case)

    def count_skipped(self, case: str, arm: str) -> None:
        self.skipped.append(case)


class Run:
    """What one session of a run was, on the record in a folder."""

    def __init__(self, folder: Path, rubric: Rubric, juries: Sequence[Jury], cases: Sequence[Case], hear: Callable[[Case, Jury], Transcript] = heard, at_once: int = 2, **options: Any) -> None:  # fmt: skip
        self.executor, self.progress, self.lines = Executor(hear), Counted(), list[str]()
        self.court = Court(budget=options.pop("budget", Budget()))
        self.completed = 0

        async def go() -> RunResult:
            store = Store.create(folder)
            complete = store.complete

            async def counted() -> None:
                self.completed += 1
                await complete()

            store.complete = counted  # type: ignore[method-assign]
            try:
                return await hear_cases(
                    cases, rubric, juries, store, self.court, at_once=at_once, seed=0, progress=self.progress,
                    say=self.lines.append, executor=self.executor, **options,
                )  # type: ignore[arg-type]  # fmt: skip
            finally:
                await store.close()

        self.result = asyncio.run(go())


def stored(folder: Path) -> dict[str, list[str]]:
    """By arm, the cases whose deliberations are read, in order."""
    store = Store.read(folder)
    try:
        return {arm.name: [t.case for t in store.transcripts(arm)] for arm in store.arms()}
    finally:
        store.release()


def test_every_arm_hears_every_case_once_in_the_order_of_the_file(tmp_path: Path, rubric: Rubric) -> None:
    juries, cases = [jury_of("j"), jury_of("k")], cases_of("c", "a", "b")
    first = Run(tmp_path, rubric, juries, cases, total=3)
    again = Run(tmp_path, rubric, juries, [*cases, *cases_of("d")], total=4)

    assert first.result == RunResult(6, 0, None, 0) and first.executor.most == 2
    assert again.result == RunResult(2, 6, None, 0) and [case for case, _, _ in again.executor.order] == [
        "d",
        "d",
    ]
    assert stored(tmp_path) == {"j": ["c", "a", "b", "d"], "k": ["c", "a", "b", "d"]}
    assert (len(again.progress.finished), len(again.progress.skipped)) == (2, 6)
    assert first.completed == again.completed == 1


def test_a_case_whose_text_changed_is_heard_again_in_place_of_the_first(
    tmp_path: Path, rubric: Rubric
) -> None:
    Run(tmp_path, rubric, [jury_of("j")], cases_of("a", "b"))
    changed = Run(tmp_path, rubric, [jury_of("j")], [*cases_of("a"), *cases_of("b", text="It is not.")])

    assert changed.result == RunResult(1, 1, None, 0) and stored(tmp_path) == {"j": ["a", "b"]}
    assert [line.split(" since")[0] for line in changed.lines] == ["case b: output changed"]
    labelled = [case.model_copy(update={"metadata": {"x": 1}, "group": "g"}) for case in cases_of("a")]
    assert Run(tmp_path, rubric, [jury_of("j")], labelled).result.heard == 0


def test_of_many_changed_cases_some_are_named_and_all_are_counted(
    tmp_path: Path, rubric: Rubric, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "MOST_NAMED", 2)
    names = ("a", "b", "c", "d", "e")
    Run(tmp_path, rubric, [jury_of("j")], cases_of(*names))
    told = Run(tmp_path, rubric, [jury_of("j")], cases_of(*names, text="Other.")).lines

    assert len(told) == 3 and told[-1] == "and 3 more cases changed"


def test_another_jury_of_the_name_hears_all_again_and_what_changed_is_said(tmp_path: Path, rubric: Rubric) -> None:  # fmt: skip
    Run(tmp_path, rubric, [jury_of("j")], cases_of("a", "b"))
    other = Run(tmp_path, rubric, [jury_of("j", temperature=1)], cases_of("a", "b"))

    assert other.result.heard == 2
    assert [line.split(" since")[0] for line in other.lines] == ["j: temperature of seat a changed from None to 1.0"]  # fmt: skip


def test_what_was_not_reached_is_heard_again_only_where_that_is_asked(tmp_path: Path, rubric: Rubric) -> None:
    jury, cases = jury_of("j"), cases_of("a", "b")
    Run(tmp_path, rubric, [jury], cases, lambda case, jury: heard(case, jury, down=case.id == "b"))

    assert Run(tmp_path, rubric, [jury], cases).result == RunResult(0, 2, None, 0)
    assert Run(tmp_path, rubric, [jury], cases, retry=True).executor.order == [("b", "j", 1)]
    assert Run(tmp_path, rubric, [jury], cases, retry=True).result.heard == 0


def test_what_waits_for_a_person_is_parked_and_nothing_is_cleared_away(
    tmp_path: Path, rubric: Rubric
) -> None:
    def hear(case: Case, jury: Jury) -> Transcript:
        if case.id == "b":
            raise Parked("ann")
        return heard(case, jury)

    run = Run(tmp_path, rubric, [jury_of("j")], cases_of("a", "b", "c"), hear)

    assert run.result == RunResult(2, 0, None, 1) and run.completed == 0
    assert stored(tmp_path) == {"j": ["a", "c"]}
    assert run.court.follow is not None
    person = jury_of("p", model="person/ann")
    assert Run(tmp_path / "p", rubric, [person], cases_of("a")).court.follow is None, "nobody may look over her shoulder"  # fmt: skip


def test_a_spent_budget_ends_the_run_and_a_fault_ends_it_for_all(tmp_path: Path, rubric: Rubric) -> None:
    def spent(case: Case, jury: Jury) -> Transcript:
        if case.id == "b":
            raise BudgetSpent("max_usd")
        return heard(case, jury)

    run = Run(tmp_path / "x", rubric, [jury_of("j")], cases_of("a", "b", "c"), spent, at_once=1)
    assert run.result.limit == "max_usd" and run.completed == 0 and stored(tmp_path / "x") == {"j": ["a"]}

    def faulty(case: Case, jury: Jury) -> Transcript:
        raise KeyError(case.id)

    budget = Budget()
    with pytest.raises(KeyError):
        Run(tmp_path / "y", rubric, [jury_of("j")], cases_of("a"), faulty, budget=budget)
    assert budget.interrupted == "failure"


def test_an_arm_that_nobody_is_sure_of_hears_one_case_alone_first(tmp_path: Path, rubric: Rubric) -> None:
    juries, cases = [jury_of("j"), jury_of("k")], cases_of("a", "b", "c")
    run = Run(tmp_path / "x", rubric, juries, cases, at_once=4, unsure=["k"])

    assert run.executor.order[0] == ("a", "k", 1) and run.executor.most > 1
    assert sorted((case, arm) for case, arm, _ in run.executor.order) == [(c.id, j.name) for c in cases for j in juries]  # fmt: skip
    assert stored(tmp_path / "x") == {"j": ["a", "b", "c"], "k": ["a", "b", "c"]}

    def spent(case: Case, jury: Jury) -> Transcript:
        raise BudgetSpent("max_usd")

    assert Run(tmp_path / "y", rubric, juries, cases, spent, unsure=["k"]).result.limit == "max_usd"


def left(
    folder: Path, rubric: Rubric, juries: Sequence[Jury], cases: Sequence[Case], **options: Any
) -> WorkLeft:
    store = Store.read(folder) if folder.exists() else None

    async def go() -> WorkLeft:
        try:
            return await work_left(juries, cases, rubric, store, seed=0, scored=ScoredCases(), prices={}, **{"retry": False, **options})  # fmt: skip
        finally:
            if store is not None:
                store.release()

    return asyncio.run(go())


def test_what_is_left_is_known_before_anything_is_asked(tmp_path: Path, rubric: Rubric) -> None:
    juries = [jury_of("j"), jury_of("k")]
    run = tmp_path / "run"
    assert left(run, rubric, juries, cases_of("a", "b")) == WorkLeft(2, juries, {})
    Run(
        run,
        rubric,
        juries[:1],
        cases_of("a", "b", "z"),
        lambda case, jury: heard(case, jury, down=case.id == "a"),
    )

    def names(found: WorkLeft) -> list[str]:
        return [jury.name for jury in found.juries]

    both = left(run, rubric, juries, cases_of("a", "b"))
    assert (both.cases, names(both), both.elsewhere) == (2, ["k"], {"j": 1})
    more = left(run, rubric, juries[:1], cases_of("a", "b", "c", "d"))
    assert (more.cases, names(more), more.elsewhere) == (4, ["j"], {"j": 1})
    assert names(left(run, rubric, juries[:1], cases_of("a", text="Other."))) == ["j"]
    assert names(left(run, rubric, juries[:1], cases_of("a"), retry=True)) == ["j"]
    assert names(left(run, rubric, juries[:1], cases_of("b"), retry=True)) == []


def test_the_totals_of_an_arm_include_what_it_had_heard_elsewhere(tmp_path: Path, rubric: Rubric) -> None:
    Run(tmp_path, rubric, [jury_of("j"), jury_of("k")], cases_of("a"), total=1, elsewhere={"j": 4})
    store = Store.read(tmp_path)
    progress = {each.arm: (each.done, each.cases) for each in store.arm_progress(since=0)}
    store.release()

    assert progress == {"j": (1, 5), "k": (1, 1)}


def test_a_slow_deliberation_can_be_followed_while_it_goes_on(
    tmp_path: Path, rubric: Rubric, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("EVERY", 0.002), ("AFTER", 0.0), ("MOST", 1)):
        monkeypatch.setattr(runner, name, value)
    jury, (one, two, gone) = jury_of("j"), cases_of("a", "b", "c")
    kept: list[str] = []

    class Record:
        async def keep_unfinished(
            self, arm: int, case: Case, fingerprint: str, transcript: Transcript
        ) -> None:
            kept.append(case.id)

    async def kept_so_many(number: int) -> None:
        for _ in range(5000):
            if len(kept) >= number:
                return
            await asyncio.sleep(0.002)

    async def work() -> None:
        unfinished = runner.Unfinished(Record())  # type: ignore[arg-type]
        for case in (one, two, gone):
            unfinished.begin(1, "j", case, "f")
        unfinished.follow(heard(gone, jury))
        unfinished.end("j", gone)
        unfinished.follow(heard(one, jury))
        unfinished.follow(heard(Case(id="z", output="x"), jury))
        keeping = asyncio.create_task(unfinished.keep())
        await kept_so_many(1)
        await asyncio.sleep(0.02)
        assert kept == ["a"], "once, as it has not changed since; not who has said nothing, nor who is done"
        unfinished.follow(heard(one, jury))
        unfinished.follow(heard(two, jury))
        await kept_so_many(3)
        keeping.cancel()

    asyncio.run(work())
    assert kept == ["a", "a", "b"]


QUIET = Console(quiet=True)


def test_a_session_counts_what_it_heard_skipped_and_may_spend(
    tmp_path: Path, rubric: Rubric, monkeypatch: pytest.MonkeyPatch
) -> None:
    totals: list[tuple[int, int]] = []

    def noted(total: int, *args: Any, skipped: int, **options: Any) -> Any:
        totals.append((total, skipped))
        return RunProgress(total, *args, skipped=skipped, **options)

    monkeypatch.setattr(session_module, "RunProgress", noted)

    def ended(**options: Any) -> RunResult:
        juries = [jury_of("j"), jury_of("k")]
        fields = {
            "cases": cases_of("a", "b", "c"),
            "rubric": rubric,
            "juries": juries,
            "folder": tmp_path / "run",
        }
        return run_session(RunSession(**{**fields, **options}), QUIET, quiet=True)  # type: ignore[arg-type]

    assert ended() == RunResult(6, 0, None, 0)
    assert ended() == RunResult(0, 6, None, 0)
    assert totals == [(6, 0), (6, 6)]
    assert ended(folder=tmp_path / "few", max_calls=2, at_once=1).limit == "max_calls"
    assert ended(folder=tmp_path / "less", max_tokens=1, at_once=1).limit == "max_tokens"


@pytest.mark.parametrize(
    ("options", "desk"),
    [
        ({}, True),
        ({"redact": True}, False),
        ({"executor": "ray"}, False),
        ({"folder": "postgresql://h/d"}, False),
    ],
)
def test_people_are_asked_only_beside_a_record_in_a_directory_that_holds_words(
    tmp_path: Path, rubric: Rubric, options: dict[str, Any], desk: bool
) -> None:
    fields = {
        "cases": cases_of("a"),
        "rubric": rubric,
        "juries": [jury_of("j")],
        "folder": tmp_path,
        **options,
    }
    providers = _providers(RunSession(**fields), QUIET)

    assert providers.desk == (tmp_path if desk else None)


def test_a_dead_model_is_an_error_at_once_unless_the_record_may_do_without_it(
    tmp_path: Path, rubric: Rubric, monkeypatch: pytest.MonkeyPatch
) -> None:
    jury = Jury.model_validate(
        {"name": "j", "protocol": "panel", "seats": [{"name": "a", "model": "scripted"}]}
    )
    fields: dict[str, Any] = {"rubric": rubric, "juries": [jury], "folder": tmp_path / "run"}
    run_session(RunSession(cases=cases_of("a"), **fields), QUIET, quiet=True)

    class Dead(Preflight):
        async def check(self, models: Any) -> None:
            raise ModelUnreachable("dead", remedy="")

    with pytest.raises(ModelUnreachable):
        run_session(RunSession(cases=cases_of("a"), **{**fields, "folder": tmp_path / "new"}, preflight=Dead()), QUIET, quiet=True)  # fmt: skip
    assert not (tmp_path / "new").exists()
    done = run_session(RunSession(cases=cases_of("a"), **fields, preflight=Dead()), QUIET, quiet=True)
    assert done == RunResult(0, 1, None, 0)
    with pytest.raises(ModelUnreachable):
        run_session(RunSession(cases=cases_of("b"), **fields, preflight=Dead()), QUIET, quiet=True)


def session_of(rubric: Rubric, folder: Path, **options: Any) -> RunSession:
    fields = {"cases": cases_of("a", "b"), "rubric": rubric, "juries": [jury_of("j")], "folder": folder}
    return RunSession(**{**fields, **options})  # type: ignore[arg-type]


def test_what_a_session_may_do_reaches_its_providers_and_its_executor(tmp_path: Path, rubric: Rubric) -> None:
    prices, said = {"scripted": Price(prompt=1.0, completion=2.0)}, io.StringIO()
    batch = BatchSettings(say=print)
    limits = {"in_flight": 5, "rpm": 60, "tpm": 700, "prices": prices, "seed": 3}
    session = session_of(rubric, tmp_path, trace=tmp_path / "spans.jsonl", **limits)
    console = Console(file=said)
    providers = _providers(session, console)

    limiter = vars(providers)
    assert (limiter["_in_flight"], limiter["_rpm"], limiter["_tpm"], providers.prices) == (5, 60, 700, prices)
    assert providers.tracing is not None and limiter["_batch"] is None
    limiter["_say"]("[b]a line[/b]")
    assert said.getvalue() == "[b]a line[/b]\n"
    assert _providers(session_of(rubric, tmp_path, batch=batch), console)._batch is batch

    job = _executor_job(session, Court(), console)
    assert (job.at_once, job.in_flight, job.seed, job.prices, job.traced) == (20, 5, 3, prices, True)
    job.say("[b]a line[/b]")
    assert said.getvalue() == "[b]a line[/b]\n" * 2
    for options, at_once, traced in (
        ({"at_once": 7, "in_flight": 5}, 7, False),
        ({"batch": batch, "in_flight": 5}, batch.most_requests, False),
        ({"batch": batch, "at_once": 9}, 9, False),
    ):
        job = _executor_job(session_of(rubric, tmp_path, **options), Court(), console)
        assert (job.at_once, job.traced) == (at_once, traced)


def test_what_a_session_cannot_be_is_refused_and_nothing_is_written(tmp_path: Path, rubric: Rubric) -> None:
    folder = tmp_path / "run"
    batch = BatchSettings(say=print)
    for problem, options in {
        "two arms are named 'j'": {"juries": [jury_of("j"), jury_of("k"), jury_of("j")]},
        "--batch cannot be used with --executor": {"batch": batch, "executor": "ray"},
        "no executor named": {"executor": "rey"},
    }.items():
        with pytest.raises(VenireError, match=problem):
            run_session(session_of(rubric, folder, **options), QUIET, quiet=True)
    assert not folder.exists()


def test_only_models_that_could_be_asked_for_free_are_sure(tmp_path: Path, rubric: Rubric) -> None:
    class Half(Preflight):
        async def check(self, models: Any) -> None:
            asked.extend(settings.params.get("k") for settings in models)

        def is_sure_of(self, models: Any) -> bool:
            return all(settings.params.get("k") == 1 for settings in models)

    asked: list[Any] = []
    juries = [jury_of("j", params={"k": 1}), jury_of("k", params={"k": 2})]

    def unsure(**options: Any) -> list[str]:
        session = session_of(rubric, tmp_path, juries=juries, preflight=Half(), **options)
        return _check_models(session, session.juries, Budget(), None)

    assert unsure() == ["k"] and asked == [1, 2]
    assert unsure(batch=BatchSettings(say=print)) == [] and len(asked) == 4
    assert unsure(executor="ray") == [] and len(asked) == 4


def test_cases_that_may_be_no_examples_are_those_of_the_session_unless_it_says_others(
    tmp_path: Path, rubric: Rubric
) -> None:
    shots = {"n": 1, "cases": "c.jsonl", "ratings": "r.csv"}
    shown = Jury.model_validate({"name": "s", "protocol": "single", "seats": [{"name": "a", "model": "scripted"}], "shots": shots})  # fmt: skip
    others = ScoredCases(frozenset({"z"}))

    assert not _scored_cases(session_of(rubric, tmp_path)).ids
    assert _scored_cases(session_of(rubric, tmp_path, juries=[jury_of("j"), shown])).ids == {"a", "b"}
    assert _scored_cases(session_of(rubric, tmp_path, juries=[shown], scored=others)) is others


def test_claims_of_no_case_of_the_session_or_its_study_are_counted(tmp_path: Path, rubric: Rubric) -> None:
    rows = [("a", "x"), ("z", "y"), ("other", "u"), ("other", "v")]
    (tmp_path / "claims.csv").write_text("case,text\n" + "".join(f"{case},{text}\n" for case, text in rows))
    claims = {"file": str(tmp_path / "claims.csv")}
    jury = Jury.model_validate({"name": "c", "protocol": "decompose-verify", "seats": [{"name": "a", "model": "scripted"}], "claims": claims})  # fmt: skip

    def notes(**options: Any) -> list[str]:
        return _claim_notes(session_of(rubric, tmp_path, juries=[jury, jury], **options))

    (alone,) = notes()
    assert "3 (ids: z, other)" in alone
    (studied,) = notes(scored=ScoredCases(frozenset({"a", "b", "z"})))
    assert "2 (ids: other)" in studied
    assert notes(scored=ScoredCases(frozenset({"z", "other"}))) == []
    assert _claim_notes(session_of(rubric, tmp_path)) == []


@pytest.mark.parametrize(
    "signals", [[], [signal.SIGINT], [signal.SIGTERM], [signal.SIGHUP], [signal.SIGINT, signal.SIGTERM]]
)
def test_the_first_signal_finishes_what_is_in_flight_and_the_second_stops_at_once(
    signals: list[signal.Signals], request: pytest.FixtureRequest
) -> None:
    # `nohup make test` starts the tests to ignore it.
    request.addfinalizer(partial(signal.signal, signal.SIGHUP, signal.signal(signal.SIGHUP, signal.SIG_DFL)))
    budget, said, released = Budget(), list[str](), list[str]()
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]

    async def main() -> str:
        with stop_gently(budget, lambda: released.append("go"), said.append):
            for number in signals:
                os.kill(os.getpid(), number)
                await asyncio.sleep(0.01)
            return "ended"

    if len(signals) < 2:
        assert asyncio.run(main()) == "ended"
    else:
        with pytest.raises(KeyboardInterrupt) as stopped:
            asyncio.run(main())
        assert stopped.value.args == (signals[-1],)
    assert budget.interrupted == (signals[0].name if signals else None)
    assert len(said) == len(released) == len(signals[:1])
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == handlers


def test_whoever_waits_is_let_go_when_the_time_is_up_and_an_ignored_hangup_stays_ignored() -> None:
    budget, released = Budget(max_seconds=0.01), list[str]()
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)

    async def main() -> None:
        with stop_gently(budget, lambda: released.append("go"), released.append):
            os.kill(os.getpid(), signal.SIGHUP)
            await asyncio.sleep(0.03)

    try:
        asyncio.run(main())
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
    assert released == ["go"] and not budget.interrupted

    async def cancelled() -> None:
        with stop_gently(Budget(), lambda: None, released.append):
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
