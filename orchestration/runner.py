"""The runner: every arm hears every case, many at once, and nothing that is done is done again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import NamedTuple, Protocol

from ..agents.budget import BudgetSpent
from ..agents.cost import Price
from ..agents.desk import Parked
from ..personas.jury import Jury
from ..rubrics.case import Case
from ..rubrics.rubric import Rubric
from .bench import Court
from .executors import Executor, LocalExecutor
from .record import Hearing, Store
from .record.manifest import arm_fingerprint, arm_manifest, case_changes, case_fingerprint, manifest_changes
from .transcript import Transcript
from .worked_examples import ScoredCases

EVERY = 1.0
"""Seconds between two looks at what has changed."""
AFTER = 2.0
"""Seconds that a deliberation goes on before it is stored: whoever is done sooner costs nothing."""
MOST = 64
"""Deliberations that are stored at a look, the longest in progress first."""
STEP = 16
"""How many deliberations start together."""
PAUSE = 0.002
"""Seconds before the next ones start."""
MOST_NAMED = 20
"""How many changed cases are named one by one."""


async def hear_cases(
    cases: Iterable[Case],
    rubric: Rubric,
    juries: Sequence[Jury],
    store: Store,
    court: Court,
    *,
    at_once: int,
    seed: int,
    progress: Progress,
    total: int | None = None,
    elsewhere: Mapping[str, int] | None = None,
    say: Callable[[str], None] | None = None,
    executor: Executor | None = None,
    retry: bool = False,
    unsure: Collection[str] = (),
) -> RunResult:
    """Have every jury hear every case that `store` does not already hold, `at_once` at a time.

    `total` is how many cases there are, and `elsewhere` by jury how many others it has heard before, for those who watch the
    run; `say` is called with a line for each part that changed
    since the run was begun; the `executor` hears the cases, in this process unless there is another. With `retry`,
    cases for which a model could not be reached are heard again: what it was not asked then, it is asked now.
    The arms named in `unsure` have models that nobody could ask for free: each hears one case alone before all others
    are begun, and access refused to one of its models is a `ModelUnreachable` error.
    """
    tell = say or _silent
    executor = executor or LocalExecutor(rubric, court)
    before = elsewhere or {}
    totals = [None if total is None else total + before.get(jury.name, 0) for jury in juries]
    arms = [
        await _add_arm(jury, rubric, store, court, seed, cases_in_all, tell)
        for jury, cases_in_all in zip(juries, totals, strict=True)
    ]
    work: Iterator[_Item] = ((position, case, arm) for position, case in enumerate(cases) for arm in arms)
    tally = _Tally(tell)
    unfinished = Unfinished(store)
    # Nobody may read the others' votes on a case before a person has given hers.
    seats_person = any(seat.is_person for jury in juries for seat in jury.seats)
    court.follow = None if seats_person else unfinished.follow
    await store.forget_unfinished()
    hear = partial(
        _hear_next,
        executor=executor,
        store=store,
        court=court,
        tally=tally,
        progress=progress,
        unfinished=unfinished,
        retry=retry,
    )
    keeping = asyncio.create_task(unfinished.keep())
    try:
        if unsure:
            work = await _hear_first_alone(work, set(unsure), hear)
        results = await _hear_all(work, hear, at_once, court.budget.check)
    finally:
        keeping.cancel()
        await asyncio.wait([keeping])
    tally.tell_rest()
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, BudgetSpent):
            raise result
    limit = next((result.limit for result in results if isinstance(result, BudgetSpent)), None)
    if limit is None and not tally.parked:
        await store.complete()
    return RunResult(tally.heard, tally.skipped, limit, tally.parked)


@dataclass(frozen=True, slots=True)
class RunResult:
    """How many deliberations were held and skipped, and the budget that stopped the run (None: all is done)."""

    heard: int
    skipped: int
    limit: str | None
    parked: int = 0
    """Deliberations that wait for a person's answer."""


class Progress(Protocol):
    """Callbacks of a run, one for each case and arm."""

    def count_finished(self, transcript: Transcript) -> None: ...

    def count_skipped(self, case: str, arm: str) -> None:
        """The case was finished before."""
        ...


class _Arm(NamedTuple):
    number: int
    jury: Jury
    before: int | None
    """The previous arm of the same name, if it had another manifest."""


class _Tally:
    """Counts of cases heard, skipped and changed."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._changed = 0
        self.heard = self.skipped = self.parked = 0

    def count_change(self, case: str, parts: str) -> None:
        self._changed += 1
        if self._changed <= MOST_NAMED:
            self._tell(f"case {case}: {parts} changed since the case was judged; it will be judged again")

    def tell_rest(self) -> None:
        if self._changed > MOST_NAMED:
            self._tell(f"and {self._changed - MOST_NAMED} more cases changed")


async def _add_arm(
    jury: Jury,
    rubric: Rubric,
    store: Store,
    court: Court,
    seed: int,
    total: int | None,
    tell: Callable[[str], None],
) -> _Arm:
    """Record the jury as an arm of the run, and report what changed about it since the run began."""
    before = next((arm for arm in store.arms() if arm.name == jury.name), None)
    now = arm_manifest(rubric, jury, seed=seed, scored=court.scored, prices=court.providers.prices)
    number = await store.add_arm(jury.name, arm_fingerprint(now), now, cases=total)
    if before is None or before.id == number:
        return _Arm(number, jury, None)
    for part in manifest_changes(before.manifest, now):
        tell(f"{jury.name}: {part} since this run began; the arm's cases will be judged again")
    return _Arm(number, jury, before.id)


_Item = tuple[int, Case, _Arm]
"""A case, with its place in the file, and the arm that is to hear it."""
_Hear = Callable[[_Item], Awaitable[bool | None]]


async def _hear_all(
    work: Iterator[_Item], hear: _Hear, at_once: int, check: Callable[[], None]
) -> list[BaseException | None]:
    """Hear everything that is left, `at_once` at a time; for each worker, the error that ended it.

    What other processes hear meanwhile is looked at again, until it is heard or they are gone; `check` says whether to go on.
    """
    workers: list[asyncio.Task[None]] = []
    leased: list[_Item] = []
    while len(workers) < at_once:
        more = min(STEP, at_once - len(workers))
        workers += [asyncio.create_task(_worker(work, hear, leased, check)) for _ in range(more)]
        # The first calls are on their way before the last briefs are written.
        await asyncio.sleep(PAUSE)
    return await asyncio.gather(*workers, return_exceptions=True)


async def _worker(work: Iterator[_Item], hear: _Hear, leased: list[_Item], check: Callable[[], None]) -> None:
    """Hear one case after the other until there are none, or until the budget is spent."""
    for item in work:
        if await hear(item) is None:
            leased.append(item)
    while leased:
        check()
        await asyncio.sleep(EVERY)
        for item in [leased.pop() for _ in range(len(leased))]:
            if await hear(item) is None:
                leased.append(item)


async def _hear_first_alone(work: Iterator[_Item], unsure: set[str], hear: _Hear) -> Iterator[_Item]:
    """The work that is left once each arm in `unsure` has heard one case, with nothing else in flight."""
    passed: list[_Item] = []
    for item in work:
        name = item[2].jury.name
        if name not in unsure:
            passed.append(item)
            continue
        try:
            heard = await hear(item)
        except BudgetSpent:
            # The workers find the same, and say so.
            return chain([item], passed, work)
        if heard is None:
            passed.append(item)
        elif heard:
            unsure.discard(name)
        if not unsure:
            break
    return chain(passed, work)


async def _hear_next(
    item: _Item,
    *,
    executor: Executor,
    store: Store,
    court: Court,
    tally: _Tally,
    progress: Progress,
    unfinished: Unfinished,
    retry: bool,
) -> bool | None:
    """Hear a case and store what was said; False where the record holds it already, None while another process hears it.

    Raises:
        BudgetSpent: Nothing more may be spent.
        ModelUnreachable: Access was refused to a model that has not answered yet. What was paid for is in the record.
    """
    position, case, arm = item
    fingerprint = case_fingerprint(case)
    heard = await store.last_hearing(arm.number, case.id)
    leased = False
    if must_be_heard(store, heard, fingerprint, retry=retry):
        court.budget.check()
        leased = await store.lease(arm.number, case.id)
        if not leased:
            return None
        if store.shared:
            # Another process may have heard it just before.
            heard = await store.last_hearing(arm.number, case.id)
    if not must_be_heard(store, heard, fingerprint, retry=retry):
        if leased:
            await store.end_lease(arm.number, case.id)
        tally.skipped += 1
        progress.count_skipped(case.id, arm.jury.name)
        return False
    await _note_change(case, fingerprint, heard, arm, store, tally)
    unfinished.begin(arm.number, arm.jury.name, case, fingerprint)
    try:
        transcript = await executor.hear(case, arm.jury)
        unfinished.end(arm.jury.name, case)
        await store.add(
            arm.number,
            case,
            fingerprint,
            transcript,
            position=position,
            follows=heard.number if heard else 0,
        )
    except Parked:
        # Set aside: replayed over the recorded calls when her answer is there.
        tally.parked += 1
        return False
    except BudgetSpent:
        raise
    except Exception:
        # Whatever this is, it ends the run: the others finish what is in flight and stop too.
        court.budget.interrupted = "failure"
        raise
    finally:
        unfinished.end(arm.jury.name, case)
        await store.end_lease(arm.number, case.id)
    tally.heard += 1
    progress.count_finished(transcript)
    return True


async def _note_change(
    case: Case, fingerprint: str, heard: Hearing | None, arm: _Arm, store: Store, tally: _Tally
) -> None:
    """Report if the case's texts changed since this arm, or its predecessor of the same name, heard it."""
    if heard is None and arm.before is not None:
        heard = await store.last_hearing(arm.before, case.id)
    if heard is None or heard.fingerprint == fingerprint:
        return
    before = store.case(case.id, heard.fingerprint)
    if before is not None:
        tally.count_change(case.id, case_changes(before, store.stored_form(case)))


def _silent(line: str) -> None:
    return None


async def work_left(
    juries: Sequence[Jury],
    cases: Iterable[Case],
    rubric: Rubric,
    store: Store | None,
    *,
    seed: int,
    scored: ScoredCases,
    prices: Mapping[str, Price],
    retry: bool,
) -> WorkLeft:
    """Read every case once: those of `juries` that have not heard it as it is now; with `retry`, with every model reached."""
    if store is None:
        return WorkLeft(sum(1 for _ in cases), juries, {})
    numbers: dict[str, int] = {}
    for jury in juries:
        manifest = arm_manifest(rubric, jury, seed=seed, scored=scored, prices=prices)
        number = store.arm_number(jury.name, arm_fingerprint(manifest))
        if number is not None and store.heard_cases(number):
            numbers[jury.name] = number
    elsewhere = {name: store.heard_cases(number) for name, number in numbers.items()}
    total, finished = 0, set(numbers)
    for case in cases:
        total += 1
        if not numbers:
            continue
        mark = case_fingerprint(case)
        for name, number in numbers.items():
            heard = await store.last_hearing(number, case.id)
            elsewhere[name] -= heard is not None
            if name in finished and must_be_heard(store, heard, mark, retry=retry):
                finished.discard(name)
    return WorkLeft(total, [jury for jury in juries if jury.name not in finished], elsewhere)


class WorkLeft(NamedTuple):
    """How many cases there are, and the juries that have not heard every one of them."""

    cases: int
    juries: Sequence[Jury]
    elsewhere: Mapping[str, int]
    """By jury, how many cases it has heard that are not among these."""


def must_be_heard(store: Store, heard: Hearing | None, fingerprint: str, *, retry: bool) -> bool:
    """Whether a case has to be heard: never heard, changed since, or with `retry`, heard without one of the models."""
    if heard is None or heard.fingerprint != fingerprint:
        return True
    return retry and store.transcript(heard.number).unreached


class Unfinished:
    """Follows deliberations from their first step to their last, and keeps `store` up with them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._going: dict[tuple[str, str], _Going] = {}

    def begin(self, arm: int, name: str, case: Case, fingerprint: str) -> None:
        """The arm of this number and name begins to deliberate."""
        self._going[name, case.id] = _Going(arm, case, fingerprint, time.monotonic())

    def follow(self, transcript: Transcript) -> None:
        """A deliberation has come so far."""
        going = self._going.get((transcript.arm, transcript.case))
        if going is not None:
            going.transcript, going.changed = transcript, True

    def end(self, name: str, case: Case) -> None:
        """The deliberation is over, whatever became of it. Said before its end is stored, so that nothing is stored after it."""
        self._going.pop((name, case.id), None)

    async def keep(self) -> None:
        """Store what has changed, again and again, until cancelled."""
        while True:
            await asyncio.sleep(EVERY)
            before = time.monotonic() - AFTER
            slow = [(key, each) for key, each in self._going.items() if each.changed and each.began < before]
            for key, going in slow[:MOST]:
                # While the one before was stored, this one may have ended.
                if going.transcript is not None and self._going.get(key) is going:
                    going.changed = False
                    await self._store.keep_unfinished(
                        going.arm, going.case, going.fingerprint, going.transcript
                    )


@dataclass(slots=True, eq=False)
class _Going:
    arm: int
    case: Case
    fingerprint: str
    began: float
    transcript: Transcript | None = None
    changed: bool = False
