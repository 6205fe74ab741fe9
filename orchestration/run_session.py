"""A run session: check everything, then hear the cases that are left, with progress, until done or interrupted."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from ..agents.budget import Budget
from ..agents.prices import Price
from ..agents.providers import Providers
from ..agents.tracing import tracing_to
from ..personas.jury import Jury
from ..rubrics.case import Case, load_cases
from ..rubrics.errors import VenireError
from ..rubrics.rubric import Rubric
from .bench import Court, Listener
from .deliberate import ready, refuse_unreadable
from .executors import Cluster, Executor, ExecutorJob, executor_factory
from .gc_tuning import infrequent_gc
from .progress import RunProgress
from .record import Location, Store
from .record.redacted_errors import print_redacted, redact_errors
from .runner import RunResult, hear_cases
from .worked_examples import ScoredCases, worked_examples

_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class RunSession:
    """What to run, where to store it, and how much it may spend."""

    cases: Path | Sequence[Case]
    """A file, read again for every pass, or cases in memory."""
    rubric: Rubric
    juries: Sequence[Jury]
    folder: Location
    """The run's directory, or the address of its database."""
    max_usd: float | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None
    max_calls: int | None = None
    in_flight: int = 32
    """Calls at a time, for each provider."""
    rpm: int | None = None
    """Requests a minute, for each provider."""
    tpm: int | None = None
    """Tokens a minute, for each provider."""
    prices: Mapping[str, Price] = field(default_factory=dict)
    """By model string; default: the price that the model's client knows."""
    trace: Path | None = None
    """Where to write spans."""
    at_once: int | None = None
    """Deliberations at a time (default: four times `in_flight`, as some wait for their slowest juror)."""
    seed: int = 0
    scored: ScoredCases | None = None
    """The cases that may not serve as worked examples (default: those of this session)."""
    redact: bool = False
    """Store hashes in place of the words of cases and jurors."""
    executor: str = "local"
    """The name of what hears the cases: `local` is this process."""
    cluster: Cluster = field(default_factory=Cluster)
    """For an executor with workers elsewhere."""
    retry: bool = False
    """Hear again the cases for which a model could not be reached."""


def run_session(
    session: RunSession, console: Console, *, quiet: bool, listener: Listener | None = None
) -> RunResult:
    """Run the session to its end. Everything a user can get wrong is found before anything is written."""
    with redact_errors(session.redact):
        return _check_and_run(session, console, quiet, listener)


def _check_and_run(
    session: RunSession, console: Console, quiet: bool, listener: Listener | None
) -> RunResult:
    executor_factory(session.executor)
    total = sum(1 for _ in _cases(session))
    names = [jury.name for jury in session.juries]
    for name in names:
        if names.count(name) > 1:
            raise VenireError(f"two arms are named {name!r}", remedy="give every jury its own name")
    court = Court(
        budget=Budget(session.max_tokens, session.max_usd, session.max_seconds, session.max_calls),
        seed=session.seed,
        scored=_scored_cases(session),
        listener=listener,
        providers=_providers(session, console),
    )
    for jury in session.juries:
        ready(jury, court, session.rubric)
        worked_examples(jury.shots, session.rubric, court.scored)
        refuse_unreadable(_cases(session), session.rubric, jury, court)
    try:
        with infrequent_gc():
            return asyncio.run(_run(session, court, total, console, quiet))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def _providers(session: RunSession, console: Console) -> Providers:
    return Providers(
        session.in_flight,
        rpm=session.rpm,
        tpm=session.tpm,
        prices=session.prices,
        tracing=tracing_to(session.trace) if session.trace else None,
        say=lambda line: console.print(line, markup=False, soft_wrap=True),
    )


def _cases(session: RunSession) -> Iterable[Case]:
    return load_cases(session.cases) if isinstance(session.cases, Path) else session.cases


def _scored_cases(session: RunSession) -> ScoredCases:
    """The cases that may not serve as worked examples; none where no jury wants any."""
    if session.scored is not None:
        return session.scored
    if not any(jury.shots for jury in session.juries):
        return ScoredCases()
    return ScoredCases.of(_cases(session))


async def _run(session: RunSession, court: Court, total: int, console: Console, quiet: bool) -> RunResult:
    job = _executor_job(session, court, console)
    executor = await executor_factory(session.executor)(job)
    try:
        store = Store.create(session.folder, redact=session.redact)
    except BaseException:
        await executor.close()
        raise
    if store.redacted and not session.redact:
        console.print("this run was begun with --redact: it stays redacted")
    if store.redacted:
        asyncio.get_running_loop().set_exception_handler(print_redacted)
    court.trace_salt = store.trace_salt()
    executor.attach(store, redacted=store.redacted)
    # The run's time does not include what was imported and checked for it.
    court.budget.started = time.monotonic()
    _stop_gently(court, executor, console)
    progress = RunProgress(total * len(session.juries), console, quiet=quiet)
    try:
        with progress, redact_errors(store.redacted):
            ended = await hear_cases(
                _cases(session),
                session.rubric,
                session.juries,
                store,
                court,
                at_once=job.at_once,
                seed=session.seed,
                progress=progress,
                total=total,
                say=lambda line: console.print(line, highlight=False, markup=False, soft_wrap=True),
                executor=executor,
                retry=session.retry,
            )
    finally:
        await executor.close()
        await store.close()
    if progress.nobody_answered:
        console.print(
            "no juror ever answered: see the reasons with venire show, and check models, addresses and keys",
            style="red",
        )
    if progress.unreached:
        console.print(
            f"{progress.unreached} deliberation(s) lack a model that could not be reached: the same command with --retry "
            "hears them again",
            soft_wrap=True,
        )
    return ended


def _executor_job(session: RunSession, court: Court, console: Console) -> ExecutorJob:
    return ExecutorJob(
        rubric=session.rubric,
        juries=session.juries,
        court=court,
        at_once=session.at_once or _AT_ONCE * session.in_flight,
        in_flight=session.in_flight,
        seed=session.seed,
        prices=session.prices,
        traced=session.trace is not None,
        say=lambda line: console.print(line, markup=False, soft_wrap=True),
        cluster=session.cluster,
    )


def _stop_gently(court: Court, executor: Executor, console: Console) -> None:
    """Handle SIGINT: once, finish what is in flight and store it; twice, stop at once."""
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    if court.budget.max_seconds is not None:
        loop.call_later(court.budget.max_seconds, executor.release_waiters)

    def interrupt() -> None:
        if court.budget.interrupted and task is not None:
            task.cancel()
        court.budget.interrupted = True
        executor.release_waiters()
        console.print("finishing what is in flight; press Ctrl-C again to stop at once")

    loop.add_signal_handler(signal.SIGINT, interrupt)
