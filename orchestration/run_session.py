"""A run session: check everything, then hear the cases that are left, with progress, until done or interrupted."""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from ..agents.budget import Budget
from ..agents.cost import Price
from ..agents.providers import Preflight, Providers
from ..personas.jury import Jury
from ..rubrics.case import Case, load_cases
from ..rubrics.claim import claims_of_no_case
from ..rubrics.errors import ModelUnreachable, VenireError
from ..rubrics.rubric import Rubric
from .bench import Court, Listener
from .deliberate import check_protocol, models_asked, models_line, ready, refuse_unreadable, suited_jury
from .executors import Cluster, ExecutorFactory, ExecutorJob, executor_factory
from .reading.console import RunProgress
from .record import Location, Store
from .record.redaction import print_redacted, redact_errors
from .record.sqlite import remove_record
from .record.store import run_exists
from .runner import RunResult, WorkLeft, hear_cases, work_left
from .worked_examples import ScoredCases, worked_examples

if TYPE_CHECKING:
    from ..agents.clients.batch import BatchSettings

THRESHOLD = 50_000
"""New objects between two collections. What a deliberation leaves behind holds no cycles and is freed by reference
counts; at Python's default of 700, collections that found nothing took a seventh of a run."""
_AT_ONCE = 4


def run_session(
    session: RunSession, console: Console, *, quiet: bool, listener: Listener | None = None
) -> RunResult:
    """Run the session to its end. Everything a user can get wrong is found before anything is written."""
    with redact_errors(session.redact):
        return _check_and_run(session, console, quiet, listener)


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
    replay: ExecutorFactory | None = None
    """Starts what hears the cases out of another run's record, in place of `executor`."""
    retry: bool = False
    """Hear again the cases for which a model could not be reached."""
    batch: BatchSettings | None = None
    """Calls go out in batches, at half the price."""
    preflight: Preflight = field(default_factory=Preflight)
    """Asks models before the first case; shared by sessions that ask the same ones."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "juries", [suited_jury(jury, self.rubric) for jury in self.juries])


def check_models(session: RunSession) -> None:
    """Ask every model that the session still needs whether it can be reached. Nothing is written.

    Raises:
        ModelUnreachable: One cannot be. Where the record holds calls, this waits until one more is needed.
    """
    store = Store.read(session.folder) if run_exists(session.folder) else None
    try:
        waiting = _work_left(session, _scored_cases(session), store).juries
        _check_models(session, waiting, Budget(), store)
    finally:
        if store is not None:
            store.release()


def _check_and_run(
    session: RunSession, console: Console, quiet: bool, listener: Listener | None
) -> RunResult:
    executor_factory(session.executor)
    names = [jury.name for jury in session.juries]
    for name in names:
        if names.count(name) > 1:
            raise VenireError(f"two arms are named {name!r}", remedy="give every jury its own name")
    for jury in session.juries:
        check_protocol(jury, session.rubric)
    for note in _claim_notes(session):
        console.print(note, highlight=False, markup=False, soft_wrap=True)
    # A run that exists is locked before anything is asked; one that does not is made only after everything is in order.
    store = Store.create(session.folder, redact=session.redact) if run_exists(session.folder) else None
    try:
        scored = _scored_cases(session)
        left = _work_left(session, scored, store)
        court = Court(
            budget=Budget(session.max_tokens, session.max_usd, session.max_seconds, session.max_calls),
            seed=session.seed,
            scored=scored,
            listener=listener,
            providers=_providers(session, console),
        )
        unsure = _check_models(session, left.juries, court.budget, store)
        for jury in left.juries:
            ready(jury, court, session.rubric)
            worked_examples(jury.shots, session.rubric, court.scored)
            refuse_unreadable(_cases(session), session.rubric, jury, court)
    except BaseException:
        if store is not None:
            store.close_sync()
        raise
    if left.juries and not quiet:
        console.print(models_line(left.juries), highlight=False, markup=False, soft_wrap=True)
    if not left.juries:
        # Nothing is left to hear: no worker need be started for it, and no case read again.
        session = replace(session, executor="local", cases=())
    with infrequent_gc():
        return asyncio.run(_run(session, court, store, left, unsure, console, quiet))


@contextmanager
def infrequent_gc() -> Iterator[None]:
    """While the block runs, collect seldom, and leave out the objects that existed before it.

    What the process has frozen itself stays as it is.
    """
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    if not frozen:
        gc.collect()  # Cycles that are frozen as garbage are never counted again, so a process of many runs would keep them all.
        gc.freeze()
    gc.set_threshold(THRESHOLD, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if not frozen:
            gc.unfreeze()


def _work_left(session: RunSession, scored: ScoredCases, store: Store | None) -> WorkLeft:
    return asyncio.run(
        work_left(
            session.juries,
            _cases(session),
            session.rubric,
            store,
            seed=session.seed,
            scored=scored,
            prices=session.prices,
            retry=session.retry,
        )
    )


def _check_models(
    session: RunSession, waiting: Sequence[Jury], budget: Budget, store: Store | None
) -> list[str]:
    """The names of the juries with cases left to hear whose models cannot be asked for free.

    Raises:
        ModelUnreachable: A model cannot be reached. Where the record holds calls, only once one more is needed.
    """
    if session.batch is not None and session.executor != "local":
        raise VenireError(
            "--batch cannot be used with --executor: batches are sent from one process only",
            remedy="leave out --executor, or --batch",
        )
    if session.executor != "local":
        # Its workers ask for themselves: what this machine reaches, they need not, nor the other way round.
        return []
    try:
        asyncio.run(session.preflight.check(s for jury in waiting for s in models_asked(jury)))
    except ModelUnreachable as error:
        if session.replay is None and (store is None or not store.cost().calls):
            raise
        budget.unreachable = error
        return []
    if session.batch is not None:
        # One case alone would be a batch of its own.
        return []
    return [jury.name for jury in waiting if not session.preflight.is_sure_of(models_asked(jury))]


def _claim_notes(session: RunSession) -> list[str]:
    """What the files of claims hold that no case of the session, or of the study it is part of, has."""
    files = {jury.claims.file for jury in session.juries if jury.claims.file is not None}
    if not files:
        return []
    known = {case.id for case in _cases(session)} | (session.scored.ids if session.scored else set())
    return [note for path in sorted(files) if (note := claims_of_no_case(path, known))]


def _providers(session: RunSession, console: Console) -> Providers:
    tracing = None
    if session.trace:
        # Imported late: few runs are traced.
        from ..agents.tracing import tracing_to

        tracing = tracing_to(session.trace)
    return Providers(
        session.in_flight,
        rpm=session.rpm,
        tpm=session.tpm,
        prices=session.prices,
        tracing=tracing,
        say=lambda line: console.print(line, markup=False, soft_wrap=True),
        batch=session.batch,
        desk=session.folder
        if isinstance(session.folder, Path) and session.executor == "local" and not session.redact
        else None,
    )


def _cases(session: RunSession) -> Iterator[Case]:
    for case in load_cases(session.cases) if isinstance(session.cases, Path) else session.cases:
        session.rubric.refuse_other_kind(case)
        yield case


def _scored_cases(session: RunSession) -> ScoredCases:
    """The cases that may not serve as worked examples; none where no jury wants any."""
    if session.scored is not None:
        return session.scored
    if not any(jury.shots for jury in session.juries):
        return ScoredCases()
    return ScoredCases.of(_cases(session))


async def _run(
    session: RunSession,
    court: Court,
    store: Store | None,
    left: WorkLeft,
    unsure: Sequence[str],
    console: Console,
    quiet: bool,
) -> RunResult:
    job = _executor_job(session, court, console)
    try:
        executor = await (session.replay or executor_factory(session.executor))(job)
    except BaseException:
        if store is not None:
            await store.close()
        raise
    created, nothing_sent = store is None, False
    try:
        store = store or Store.create(session.folder, redact=session.redact)
    except BaseException:
        await executor.close()
        raise
    if store.redacted and not session.redact:
        console.print("this run was started with --redact and stays redacted")
    if store.redacted:
        asyncio.get_running_loop().set_exception_handler(print_redacted)
    court.trace_salt = store.trace_salt()
    executor.attach(store, redacted=store.redacted)
    if session.batch is not None:
        session.batch.notes = store
    # The run's time does not include what was imported and checked for it.
    court.budget.started = time.monotonic()
    stopping = stop_gently(
        court.budget, executor.release_waiters, lambda line: console.print(line, soft_wrap=True, markup=False)
    )
    before, total = store.cost(), left.cases * len(session.juries)
    skipped = 0 if left.juries else total
    progress = RunProgress(
        total, console, quiet=quiet, spent=lambda: before + court.budget.spent, skipped=skipped
    )
    with stopping:
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
                    total=left.cases,
                    elsewhere=left.elsewhere,
                    say=lambda line: console.print(line, highlight=False, markup=False, soft_wrap=True),
                    executor=executor,
                    retry=session.retry,
                    unsure=unsure,
                )
        except ModelUnreachable as error:
            nothing_sent = error is court.budget.unreachable
            raise
        finally:
            await executor.close()
            await store.close()
            if created and nothing_sent and isinstance(session.folder, Path):
                # What it holds came from another run's record.
                remove_record(session.folder)
    return replace(ended, skipped=ended.skipped + skipped)


def _executor_job(session: RunSession, court: Court, console: Console) -> ExecutorJob:
    return ExecutorJob(
        rubric=session.rubric,
        juries=session.juries,
        court=court,
        # In batches every case waits for the same one.
        at_once=session.at_once
        or (session.batch.most_requests if session.batch else _AT_ONCE * session.in_flight),
        in_flight=session.in_flight,
        seed=session.seed,
        prices=session.prices,
        traced=session.trace is not None,
        say=lambda line: console.print(line, markup=False, soft_wrap=True),
        cluster=session.cluster,
    )


@contextmanager
def stop_gently(
    budget: Budget, release_waiters: Callable[[], None], say: Callable[[str], None]
) -> Iterator[None]:
    """Inside, the first Ctrl-C, SIGTERM or SIGHUP finishes what is in flight and stores it, and a second stops at once.

    Time that is up admits who waits.

    Raises:
        KeyboardInterrupt: The second signal came; its number.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    if budget.max_seconds is not None:
        loop.call_later(budget.max_seconds, release_waiters)
    stopped_by: list[signal.Signals] = []

    def interrupt(number: signal.Signals) -> None:
        stopped_by.append(number)
        if len(stopped_by) > 1 and task is not None:
            task.cancel()
            return
        budget.interrupted = number.name
        release_waiters()
        again = (
            "press Ctrl-C again to stop at once" if number == signal.SIGINT else f"stopped by {number.name}"
        )
        say(
            f"stopping: the calls that were already sent are being finished ({again}); to resume, run the same command again"
        )

    try:
        with on_ending_signal(interrupt):
            yield
    except asyncio.CancelledError:
        if len(stopped_by) < 2:
            raise
        raise KeyboardInterrupt(stopped_by[-1]) from None


@contextmanager
def on_ending_signal(stop: Callable[[signal.Signals], None]) -> Iterator[None]:
    """Inside, the running loop calls `stop` for Ctrl-C, SIGTERM and SIGHUP, except where the process was started to ignore it.

    `nohup` starts a program to ignore SIGHUP. A thread that is not the main one is sent no signal.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    taken = {
        number: handler
        for number, handler in handlers.items()
        if number == signal.SIGINT or handler is not signal.SIG_IGN
    }
    for number in taken:
        loop.add_signal_handler(number, stop, number)
    try:
        yield
    finally:
        for number, handler in taken.items():
            loop.remove_signal_handler(number)
            if handler is not None:
                signal.signal(number, handler)
