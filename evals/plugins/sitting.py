"""A jury in session inside another program: a case in, a judgement out, whichever thread or event loop asks."""

from __future__ import annotations

import asyncio
import atexit
import threading
import warnings
import weakref
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack
from uuid import uuid4

from pydantic import ValidationError

from ...agents.budget import Budget, BudgetSpent
from ...agents.cost import Prices, load_prices
from ...agents.providers import Preflight, Providers
from ...orchestration.bench import Court
from ...orchestration.deliberate import (
    FirstCaseGate,
    hear,
    models_asked,
    ready,
    recount,
    refuse_text,
    refuse_unreached,
    suited_jury,
)
from ...orchestration.record import Arm, Location, Store
from ...orchestration.record.database import is_address
from ...orchestration.record.manifest import arm_fingerprint, arm_manifest, case_fingerprint, fingerprint
from ...orchestration.record.store import run_exists
from ...orchestration.verdict import Verdict
from ...orchestration.worked_examples import ScoredCases
from ...personas.jury import Jury, load_jury
from ...rubrics.case import Case
from ...rubrics.errors import ModelUnreachable, VenireError
from ...rubrics.files import nearest
from ...rubrics.rubric import Rubric, load_rubric
from .judgement import Judgement

_RECORDS: dict[str, list[Store]] = {}
"""The store of each record, once for every sitting that holds it."""
_RECORDS_LOCK = threading.Lock()


def share_record(record: Location, *, redact: bool) -> Store:
    """The open store of `record`, or a new one; each caller releases it once."""
    key = str(record) if is_address(record) else str(Path(record).resolve())
    with _RECORDS_LOCK:
        holders = _RECORDS.get(key, [])
        if holders and redact and not holders[0].redacted:
            raise VenireError(
                f"{holders[0].name}: another jury of this process stores texts in this record, so the record cannot be redacted",
                remedy="give this jury another record, or use redact for both juries",
            )
        store = holders[0] if holders else Store.create(record, redact=redact)
        _RECORDS[key] = [*holders, store]
        return store


def release_record(store: Store) -> None:
    """Give a store back; the last to do so closes it."""
    with _RECORDS_LOCK:
        key = next(key for key, holders in _RECORDS.items() if holders[0] is store)
        _RECORDS[key].pop()
        if not _RECORDS[key]:
            del _RECORDS[key]
            store.close_sync()


_REPLICA = 0.2
"""Seconds between two looks at a case that another replica hears."""
KEPT = 64
"""Judgements cached in memory: a host with a metric for each attribute asks for the same one several times."""

_OPEN: dict[str, Sitting] = {}
_LOCK = threading.Lock()


def case_from_sample(id: object, output: str | None, *, against: str | None = None, **parts: Any) -> Case:
    """A host's sample as a case, or as the pair of its output and the one that it is held against; parts that are empty are left out.

    An error if there is nothing to judge.
    """
    given = {"id": str(id), **{name: part for name, part in parts.items() if part}}
    try:
        if against is not None:
            sides = {"output_a": output or "", "output_b": against, "system_a": given.pop("system", None)}
            return Case.from_row(given | sides)
        return Case(output=output or "", **given)
    except ValidationError as error:
        first = error.errors()[0]
        problem = f"sample {id}: {first['loc'][0]}: {first['msg'].removeprefix('Value error, ')}"
        raise VenireError(problem, remedy="give the jury a text to judge") from None


def field_of(fields: Mapping[str, Any], name: str | None) -> Any:
    """The field of a host's sample that holds the source; None if none is named, an error if it is not there."""
    if name is not None and name not in fields:
        raise VenireError(f"the sample has no field {name!r}", remedy=nearest(name, fields))
    return None if name is None else fields[name]


class SittingOptions(TypedDict, total=False):
    """What a sitting may be told beside its rubric and its jury; see `Sitting`."""

    model: str | None
    base_url: str | None
    record: Location | None
    prices: Prices | None
    max_usd: float | None
    max_tokens: int | None
    in_flight: int
    seed: int
    redact: bool
    must_reach: bool


def convene(
    rubric: str | Path | Rubric, jury: str | Path | Jury, **options: Unpack[SittingOptions]
) -> Sitting:
    """The sitting of `jury` under `rubric` with these options: the open one, if it is the same, so that hosts share it."""
    setup = _setup(rubric, jury, **options)
    with _LOCK:
        if setup.name not in _OPEN:
            Sitting.__new__(Sitting)._open(setup)
        return _OPEN[setup.name]


_NAMED: dict[str, list[tuple[weakref.ref[Any], Sitting]]] = {}
"""The scorers of this process and their sittings, by their host and what begins the names of their scores."""


def warn_of_one_name(scorer: Any, sitting: Sitting, prefix: str) -> None:
    """Warn if a scorer of another jury, still in use in the same host, begins the names of its scores alike: hosts average or replace scores of one name without a word."""
    alike = _NAMED.setdefault(f"{scorer.__module__} {prefix}", [])
    alike[:] = [(other, jury) for other, jury in alike if other() is not None]
    if any(jury is not sitting for _, jury in alike):
        warnings.warn(
            "two juries of this program give their scores the same names, and a tool that uses both juries in one evaluation averages or replaces "
            "these scores: give each jury a prefix= (in HELM a name=) of its own",
            stacklevel=3,
        )
    alike.append((weakref.ref(scorer), sitting))


@dataclass(frozen=True)
class _Setup:
    """A sitting's parts, loaded and checked, before anything is opened."""

    name: str
    rubric: Rubric
    jury: Jury
    court: Court
    manifest: dict[str, Any]
    record: Location | None
    redact: bool
    must_reach: bool


def _setup(
    rubric: str | Path | Rubric,
    jury: str | Path | Jury,
    *,
    model: str | None = None,
    base_url: str | None = None,
    record: Location | None = None,
    prices: Prices | None = None,
    max_usd: float | None = None,
    max_tokens: int | None = None,
    in_flight: int = 32,
    seed: int = 0,
    redact: bool = False,
    must_reach: bool = False,
) -> _Setup:
    asked = rubric if isinstance(rubric, Rubric) else load_rubric(rubric)
    filled = (jury if isinstance(jury, Jury) else load_jury(jury)).fill(model=model, base_url=base_url)
    filled = suited_jury(filled, asked)
    known = load_prices(prices or {})
    manifest = arm_manifest(asked, filled, seed=seed, scored=ScoredCases(), prices=known)
    limits = {"usd": max_usd, "tokens": max_tokens, "in_flight": in_flight}
    name = fingerprint({**manifest, **limits, "record": str(record), "redact": redact})
    court = Court(budget=Budget(max_tokens, max_usd), seed=seed, providers=Providers(in_flight, prices=known))
    return _Setup(name, asked, filled, court, manifest, record, redact, must_reach)


def _checked_record(setup: _Setup) -> tuple[Store | None, bool]:
    """The record, where there is one, after asking every model; a run that does not exist is begun only then.

    The second says whether every model is known to be there, which some providers do not tell for free.
    """
    record = setup.record
    begun = record is not None and run_exists(record)
    store = share_record(record, redact=setup.redact) if record is not None and begun else None
    try:
        sure = _check_models(setup.jury, setup.court, None if setup.must_reach else store)
        ready(setup.jury, setup.court, setup.rubric)
    except BaseException:
        if store is not None:
            release_record(store)
        raise
    if record is not None and store is None:
        store = share_record(record, redact=setup.redact)
    return store, sure


def _check_models(jury: Jury, court: Court, store: Store | None) -> bool:
    """Whether every model of the jury is known to be there; False where that cannot be asked for free.

    Raises:
        ModelUnreachable: One cannot be reached. Where the record holds calls, only once one more is needed.
    """
    preflight = Preflight()
    try:
        asyncio.run_coroutine_threadsafe(preflight.check(models_asked(jury)), _loop()).result()
    except ModelUnreachable as error:
        if store is None or not store.cost().calls:
            raise
        court.budget.unreachable = error
        return True
    return preflight.is_sure_of(models_asked(jury))


class Sitting:
    """A jury that stays open: hears any number of cases concurrently, on shared connections, limits and budget.

    `rubric` and `jury` are each a name, a file or the thing itself. `model` and `base_url` fill seats that name none.
    `record` is a run: calls and deliberations are kept in it, and what it holds is not paid for again; several juries may
    sit on one record. `prices` (a file, or `{model: {"prompt": USD, "completion": USD}}` for a million tokens) are for models that have none; `max_usd` and `max_tokens` are what may be spent before
    everything stops. `redact` keeps the words of cases and jurors out of the record.

    Every model is asked first whether it can be reached; where one cannot be asked for free, the first case is heard alone. Where the record holds calls, one that cannot be is an error
    only once a call is needed that the record does not hold; with `must_reach`, at once.

    Every method may be called in any thread, and where an event loop is running. Close it, or use it in a `with` block.
    """

    def __init__(
        self, rubric: str | Path | Rubric, jury: str | Path | Jury, **options: Unpack[SittingOptions]
    ) -> None:
        setup = _setup(rubric, jury, **options)
        with _LOCK:
            self._open(replace(setup, name=f"{setup.name}/{uuid4().hex}"))

    def _open(self, setup: _Setup) -> None:
        """Check the models, open the record and begin; called with the lock held."""
        self.rubric = setup.rubric
        self.jury = setup.jury
        self._name = setup.name
        self._court = setup.court
        self._hearings: dict[tuple[str, str, int], asyncio.Future[Judgement]] = {}
        self._positions = count()
        self._loop = _loop()
        self._store, sure = _checked_record(setup)
        self._first_alone = FirstCaseGate(sure=sure)
        if self._store is not None:
            self._court.calls = self._store
            self._court.trace_salt = self._store.trace_salt()
            self._arm = asyncio.run_coroutine_threadsafe(
                _add_arm(self._store, self.jury, setup.manifest), self._loop
            ).result()
        _OPEN[self._name] = self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    async def deliberate(self, case: Case) -> Verdict:
        """The jury's verdict on `case`."""
        refuse_text(case)
        return (await self.hear(case)).verdict

    def deliberate_sync(self, case: Case) -> Verdict:
        """`deliberate`, for code that is not async."""
        refuse_text(case)
        return self.hear_sync(case).verdict

    async def deliberate_all(self, cases: Iterable[Case]) -> list[Verdict]:
        """The verdicts on `cases`, in their order; many are heard at a time."""
        places = asyncio.Semaphore(KEPT)

        async def one(case: Case) -> Verdict:
            async with places:
                return await self.deliberate(case)

        return await asyncio.gather(*(one(case) for case in cases))

    def deliberate_all_sync(self, cases: Iterable[Case]) -> list[Verdict]:
        """`deliberate_all`, for code that is not async."""
        return asyncio.run_coroutine_threadsafe(self.deliberate_all(cases), self._loop).result()

    async def hear(self, case: Case, *, again: int = 0) -> Judgement:
        """The jury's judgement of `case`. `again` counts earlier hearings: the next one draws new answers."""
        return await asyncio.wrap_future(self._submit(case, again))

    def hear_sync(self, case: Case, *, again: int = 0) -> Judgement:
        """`hear`, for code that is not async: in any thread, and where an event loop is running too."""
        return self._submit(case, again).result()

    def close(self) -> None:
        """Close connections and, unless another sitting writes to it, the record. A hearing that is not over is cancelled; its calls are kept."""
        with _LOCK:
            if _OPEN.pop(self._name, None) is None:
                return
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        if self._store is not None:
            release_record(self._store)
            self._store = None

    def _submit(self, case: Case, again: int) -> Future[Judgement]:
        # The asker's context goes along, so that a host knows its own calls when a juror is one of its models.
        return asyncio.run_coroutine_threadsafe(self._judgement(case, again), self._loop)

    async def _judgement(self, case: Case, again: int) -> Judgement:
        known = (case.id, case_fingerprint(case), again)
        if (hearing := self._hearings.get(known)) is not None:
            return replace(await asyncio.shield(hearing), fresh=False)
        hearing = self._hearings[known] = asyncio.create_task(self._deliberate(case, again))
        hearing.add_done_callback(lambda done: self._settle(known, done))
        while len(self._hearings) > KEPT:
            del self._hearings[next(iter(self._hearings))]
        return await asyncio.shield(hearing)

    def _settle(self, known: tuple[str, str, int], hearing: asyncio.Future[Judgement]) -> None:
        """Keep a judgement in the cache without its task, whose context holds on to the host's objects; drop a failed hearing, so that the next request starts a new one."""
        if self._hearings.get(known) is not hearing:
            return
        del self._hearings[known]
        if not hearing.cancelled() and hearing.exception() is None:
            self._hearings[known] = self._loop.create_future()
            self._hearings[known].set_result(hearing.result())

    async def _deliberate(self, case: Case, again: int) -> Judgement:
        if again:
            case = Case.from_row(case.as_row() | {"id": f"{case.id}#{again + 1}"})
        return await self._first_alone.run(lambda: self._hear(case, again), lambda judged: judged.fresh)

    async def _hear(self, case: Case, again: int) -> Judgement:
        try:
            self._court.budget.check()
            if self._store is None:
                transcript = await hear(case, self.rubric, self.jury, self._court, again=again)
                refuse_unreached(transcript)
                return Judgement(recount(transcript, self.rubric, self.jury), self.rubric, fresh=True)
            return await self._recorded_judgement(self._store, case, again)
        except BudgetSpent as spent:
            raise VenireError(
                f"case {case.id!r} was not judged: the limit {spent.limit} was reached",
                remedy="raise the limit; with record=, finished calls are kept and not paid for again",
            ) from None

    async def _recorded_judgement(self, store: Store, case: Case, again: int) -> Judgement:
        """The judgement in the record, or a new one that is stored there; waits while another replica hears the case."""
        mark = case_fingerprint(case)
        while (judgement := await self._stored_judgement(store, case, mark)) is None:
            if not await store.lease(self._arm.id, case.id):
                await asyncio.sleep(_REPLICA)
                continue
            try:
                # The other replica may have heard it just before.
                judgement = await self._stored_judgement(store, case, mark)
                return judgement or await self._new_judgement(store, case, again, mark)
            finally:
                await store.end_lease(self._arm.id, case.id)
        return judgement

    async def _stored_judgement(self, store: Store, case: Case, mark: str) -> Judgement | None:
        before = await store.last_hearing(self._arm.id, case.id)
        if before is None or before.fingerprint != mark:
            return None
        *_, transcript = store.transcripts(self._arm, case.id)
        return Judgement(recount(transcript, self.rubric, self.jury), self.rubric, fresh=False)

    async def _new_judgement(self, store: Store, case: Case, again: int, mark: str) -> Judgement:
        before = await store.last_hearing(self._arm.id, case.id)
        transcript = await hear(case, self.rubric, self.jury, self._court, again=again)
        refuse_unreached(transcript, quoted=not store.redacted)
        follows = before.number if before else 0
        await store.add(self._arm.id, case, mark, transcript, position=next(self._positions), follows=follows)
        return Judgement(recount(transcript, self.rubric, self.jury), self.rubric, fresh=True)

    async def _close(self) -> None:
        for hearing in list(self._hearings.values()):
            hearing.cancel()
        await asyncio.gather(*self._hearings.values(), return_exceptions=True)
        await self._court.close()


async def _add_arm(store: Store, jury: Jury, parts: dict[str, Any]) -> Arm:
    number = await store.add_arm(jury.name, arm_fingerprint(parts), parts)
    return next(arm for arm in store.arms() if arm.id == number)


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """The event loop that every sitting of this process lives in, in a thread of its own. Call it with the lock held."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="venire-sittings", daemon=True)
    thread.start()

    def end() -> None:
        for sitting in list(_OPEN.values()):
            sitting.close()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    atexit.register(end)
    return loop
