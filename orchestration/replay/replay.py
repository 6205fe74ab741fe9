"""`replay`: a recorded deliberation heard again with one thing changed, in a run of its own that knows its parent."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from rich.console import Console

from ...agents.cost import Price
from ...agents.gateway import Calls
from ...agents.model import Reply, Request
from ...agents.prompting import brief
from ...agents.providers import Providers
from ...personas.jury import Jury
from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ...rubrics.rubric import Rubric
from ..bench import Court
from ..deliberate import check_protocol, hear
from ..executors import Executor, ExecutorFactory, ExecutorJob, LocalExecutor
from ..protocols import protocol
from ..reading.export import verdicts
from ..reading.side_by_side import PARENT, SideBySide, lineage_fact
from ..record import Arm, Location, Store, without_password
from ..record.database import is_address
from ..record.manifest import arm_manifest, manifest_changes
from ..record.store import run_exists
from ..run_session import RunSession, run_session
from ..runner import RunResult
from ..transcript import Transcript
from ..verdict import Verdict
from ..worked_examples import ScoredCases
from .change import Change, SeatChange, changed_jury
from .planning import ForecastProviders, ReplayPlan

_MASK = "***"
"""In place of a secret in an address of the record."""


@dataclass(frozen=True, slots=True)
class ReplayedArm:
    """An arm of the parent, and what is changed about it."""

    arm: Arm
    """With the addresses of its models whole."""
    change: Change
    jury: Jury
    """As it sits in the replay."""

    @classmethod
    def of(cls, arm: Arm, change: Change) -> ReplayedArm:
        jury = changed_jury(arm.jury, change)
        check_protocol(jury, arm.rubric)
        return cls(arm, change, jury)


@dataclass(frozen=True, slots=True)
class ReplaySession:
    """What is replayed, where it is kept, and how much it may spend."""

    run: Location
    folder: Location
    """The child: a run of its own."""
    changes: Sequence[Change] = (Change(),)
    each_seat: bool = False
    """Strike every seat in turn, in place of `changes`."""
    cases: Sequence[str] = ()
    """Their ids (default: all that were heard)."""
    arm: str | None = None
    """The parent's arm (default: all that the change concerns)."""
    base_url: str | None = None
    """Of models whose address holds a secret, which no record keeps."""
    max_usd: float | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None
    in_flight: int = 32
    rpm: int | None = None
    tpm: int | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    retry: bool = False


class Parent:
    """A recorded run, opened for reading, as far as it is to be replayed."""

    def __init__(self, session: ReplaySession) -> None:
        self.session = session
        self.store = Store.read(session.run)
        try:
            if self.store.redacted:
                raise VenireError(
                    f"{self.store.name}: a redacted run does not hold the texts that a replay needs",
                    remedy="replay a run that was made without --redact",
                )
            self.arms = self._arms()
            self.rubric = self._rubric()
            self.cases = self._cases()
        except BaseException:
            self.store.release()
            raise

    def transcript(self, arm: Arm, case: str) -> Transcript | None:
        """The parent's deliberation."""
        return next(self.store.transcripts(arm, case), None)

    @property
    def scored(self) -> ScoredCases:
        """All cases of the run, none of which may be a worked example."""
        shots = any(each.arm.jury.shots for each in self.arms)
        return ScoredCases(frozenset(self.store.case_ids())) if shots else ScoredCases()

    def notes(self) -> list[str]:
        """What is no longer as it was when the run was made, so that less of it is reused."""
        return [
            f"{each.arm.name}: {part} since {self.store.name} was made, so some of its recorded answers may not be reusable"
            for each in {each.arm.name: each for each in self.arms}.values()
            for part in manifest_changes(each.arm.manifest, self._manifest(each.arm))
        ]

    def _manifest(self, arm: Arm) -> dict[str, object]:
        jury = Jury.model_validate(arm.manifest["jury"], context={"options": "checked"})
        return arm_manifest(
            arm.rubric, jury, seed=arm.manifest["seed"], scored=self.scored, prices=self.session.prices
        )

    def _arms(self) -> list[ReplayedArm]:
        arms = [self._with_addresses(arm) for arm in self.store.arms()]
        names = [arm.name for arm in arms]
        wanted = self.session.arm
        if wanted is not None and wanted not in names:
            raise VenireError(f"no arm named {wanted!r} in this run", remedy=nearest(wanted, names))
        chosen = [arm for arm in arms if wanted in (None, arm.name)]
        if self.session.each_seat:
            struck = [
                (arm, Change(without=(name,)))
                for arm in chosen
                if len(arm.jury.seats) > 1
                for name in arm.jury.seat_names
            ]
            if not struck:
                raise VenireError(
                    "no juror can be removed, because every arm has only one",
                    remedy="replay a jury with two jurors or more",
                )
            return [ReplayedArm.of(arm, change) for arm, change in struck]
        found = [
            ReplayedArm.of(arm, change)
            for change in self.session.changes
            for arm in chosen
            if wanted is not None or change.concerns(arm.jury)
        ]
        if not found:
            # Says which seat it is that nobody has.
            ReplayedArm.of(max(chosen, key=lambda arm: len(arm.jury.seats)), self.session.changes[0])
            raise VenireError(
                f"{self.session.changes[0]}: no arm of {self.store.name} has an orchestrator",
                remedy="leave out --orchestrator",
            )
        return found

    def _with_addresses(self, arm: Arm) -> Arm:
        """The arm with the address that the session gives in place of those whose secrets were masked."""
        jury, address = arm.jury, self.session.base_url
        masked = [s for s in (*jury.seats, jury.orchestrator) if s.base_url and _MASK in s.base_url]
        if not masked:
            return arm
        if address is None:
            raise VenireError(
                f"{arm.name}: the address {masked[0].base_url} holds a secret that is not in the record",
                remedy="give the whole address with --base-url",
            )
        fields = jury.model_dump(mode="json")
        for settings in (*fields["seats"], fields["orchestrator"]):
            if _MASK in (settings.get("base_url") or ""):
                settings["base_url"] = address
        return arm._replace(jury=Jury.model_validate(fields, context={"options": "checked"}))

    def _rubric(self) -> Rubric:
        rubrics = {each.arm.name: each.arm.rubric for each in self.arms}
        first = next(iter(rubrics.values()))
        if other := next((name for name, rubric in rubrics.items() if rubric != first), None):
            raise VenireError(
                f"{other} was judged with another rubric", remedy=f"replay this arm separately: --arm {other}"
            )
        return first

    def _cases(self) -> list[Case]:
        heard: dict[str, int] = {}
        arms = {each.arm.id: each.arm for each in self.arms}
        for arm in arms.values():
            for transcript in self.store.transcripts(arm):
                heard[transcript.case] = heard.get(transcript.case, 0) + 1
        complete = [case for case, times in heard.items() if times == len(arms)]
        for case in self.session.cases:
            if case not in complete:
                raise VenireError(
                    f"{self.store.name}: no case {case!r} was judged in this run",
                    remedy=nearest(case, complete),
                )
        chosen = [case for case in complete if case in self.session.cases or not self.session.cases]
        if not chosen:
            raise VenireError(
                f"{self.store.name}: no case was judged in this run", remedy="run the cases first"
            )
        stored = map(self.store.case, chosen)
        return [case for case in stored if case is not None]


@contextmanager
def open_parent(session: ReplaySession) -> Iterator[Parent]:
    """The parent, read only, for as long as the block lasts; an error if the child is somebody else's."""
    parent = Parent(session)
    try:
        _refuse_strange_child(session, parent.store)
        yield parent
    finally:
        parent.store.release()


def _refuse_strange_child(session: ReplaySession, parent: Store) -> None:
    if not run_exists(session.folder):
        return
    child = Store.read(session.folder)
    try:
        known = child.fact(PARENT)
    finally:
        child.release()
    if known is None:
        raise VenireError(
            f"{child.name}: this run is not a replay",
            remedy="name a new directory with -o, because a replay is a run of its own",
        )
    if json.loads(known)["run"] != parent_name(session):
        raise VenireError(
            f"{child.name}: this run is a replay of {json.loads(known)['run']}",
            remedy="name a new directory with -o",
        )


def parent_name(session: ReplaySession) -> str:
    """How the child names its parent: by a path from itself, so that both may be moved together."""
    if is_address(session.run):
        return without_password(str(session.run))
    run = Path(session.run).resolve()
    return str(run) if is_address(session.folder) else os.path.relpath(run, Path(session.folder).resolve())


def plan_replay(session: ReplaySession) -> ReplayPlan:
    """How many calls the replay will make. Nothing is sent, and nothing is written."""
    with open_parent(session) as parent:
        return forecast(
            parent,
            [(each.arm, partial(_hear_replayed, parent.rubric, each)) for each in parent.arms],
            {each.arm.name: each.change.changed_seats for each in parent.arms},
        )


async def _hear_replayed(rubric: Rubric, each: ReplayedArm, case: Case, court: Court) -> Transcript:
    return await hear_changed(case, rubric, each, court)


Hearing = Callable[[Case, Court], Awaitable[Transcript]]
"""How an arm of the child hears a case."""


def forecast(
    parent: Parent,
    hearings: Sequence[tuple[Arm, Hearing]],
    changed_seats: Mapping[str, frozenset[str]] | None = None,
) -> ReplayPlan:
    """The plan of these hearings, each of an arm of the parent; `changed_seats` by that arm's name."""
    return asyncio.run(_forecast(parent, hearings, changed_seats or {}))


async def _forecast(
    parent: Parent, hearings: Sequence[tuple[Arm, Hearing]], changed: Mapping[str, frozenset[str]]
) -> ReplayPlan:
    child = Store.read(parent.session.folder) if run_exists(parent.session.folder) else None
    try:
        asked, answered = await _calls_ahead(parent, child, hearings, changed, in_other_words=False)
        reworded, _ = await _calls_ahead(parent, child, hearings, changed, in_other_words=True)
    finally:
        if child is not None:
            child.release()
    seats = tuple(sorted(frozenset().union(*changed.values())))
    return ReplayPlan(len(hearings) * len(parent.cases), len(answered), len(asked), len(reworded), seats)


async def _calls_ahead(
    parent: Parent,
    child: Store | None,
    hearings: Sequence[tuple[Arm, Hearing]],
    changed: Mapping[str, frozenset[str]],
    *,
    in_other_words: bool,
) -> tuple[set[str], set[str]]:
    """The keys of the calls that no record answers, and of those that one does."""
    asked: set[str] = set()
    record = LayeredCalls(parent.store, child, forecast=True)
    providers = Providers(prices=parent.session.prices, needs_keys=False)
    try:
        for arm, hear_case in hearings:
            reworded = partial(_is_reworded, changed.get(arm.name, frozenset()), in_other_words)
            for case in parent.cases:
                transcript = parent.transcript(arm, case.id)
                answering = ForecastProviders(providers, transcript, asked, record.answered, reworded)
                court = Court(calls=record, scored=parent.scored, providers=answering)
                await hear_case(case, court)
    finally:
        await providers.close()
    return asked, record.answered


def _is_reworded(changed: frozenset[str], in_other_words: bool, seat: str) -> bool:
    return in_other_words or seat in changed


def run_replay(session: ReplaySession, console: Console, *, quiet: bool) -> RunResult:
    """Hear the replay into the child; goes on where it was interrupted."""
    with open_parent(session) as parent:

        async def start(job: ExecutorJob) -> Executor:
            return ReplayExecutor(parent, job.court)

        juries = [each.jury for each in parent.arms]
        return hear_into(session, parent, juries, start, console, quiet=quiet)


def hear_into(
    session: ReplaySession,
    parent: Parent,
    juries: Sequence[Jury],
    start: ExecutorFactory,
    console: Console,
    *,
    quiet: bool,
) -> RunResult:
    """Have what `start` starts hear the parent's cases into the child, within what the session may spend."""
    for note in parent.notes():
        console.print(note, highlight=False, markup=False, soft_wrap=True)
    return run_session(
        RunSession(
            cases=parent.cases,
            rubric=parent.rubric,
            juries=juries,
            folder=session.folder,
            max_usd=session.max_usd,
            max_tokens=session.max_tokens,
            max_seconds=session.max_seconds,
            in_flight=session.in_flight,
            rpm=session.rpm,
            tpm=session.tpm,
            prices=session.prices,
            seed=parent.arms[0].arm.manifest["seed"],
            scored=parent.scored,
            retry=session.retry,
            replay=start,
        ),
        console,
        quiet=quiet,
    )


class ReplayExecutor(LocalExecutor):
    """Hears cases in this process; what the parent's record answers is not asked again."""

    def __init__(self, parent: Parent, court: Court) -> None:
        super().__init__(parent.rubric, court)
        self._parent = parent
        self._changed_court = court
        self._arms = {each.jury.name: each for each in parent.arms}

    def attach(self, calls: Calls, *, redacted: bool) -> None:
        assert isinstance(calls, Store)
        calls.add_fact(PARENT, json.dumps({"run": parent_name(self._parent.session)}))
        for name, each in self._arms.items():
            calls.add_fact(*lineage_fact(name, each.arm.name, str(each.change), each.change.options))
        super().attach(LayeredCalls(self._parent.store, calls), redacted=redacted)

    async def hear(self, case: Case, jury: Jury) -> Transcript:
        return await hear_changed(case, self._parent.rubric, self._arms[jury.name], self._changed_court)


async def hear_changed(case: Case, rubric: Rubric, replayed: ReplayedArm, court: Court) -> Transcript:
    """What the changed jury says of `case`: from the start, or from a round on as the jury that it was until then."""
    change, jury = replayed.change, replayed.jury
    if change.from_round == 1:
        return await hear(case, rubric, jury, court)
    way = protocol(jury.protocol)
    before = replayed.arm.jury.model_copy(update={"name": jury.name})
    bench = court.bench(before, case.id, orchestrated=way.orchestrator)
    absent = {*change.leaving, *change.without}
    later = court.bench(jury, case.id, orchestrated=way.orchestrator, absent=absent, meter=bench.meter)
    bench.change_at(change.from_round, later, change.without)
    with court.span(case.id, jury):
        transcript = await way.run(brief(case, rubric), bench)
    if bench.unchanged and transcript.rounds >= change.from_round:
        raise VenireError(
            f"{jury.protocol} does not record when a round begins, so a deliberation can only be replayed as a whole",
            remedy="leave out --from-round",
        )
    return transcript


class LayeredCalls:
    """The child's calls, and behind them the parent's, which are only read; in a forecast, the child's too."""

    def __init__(self, parent: Store, child: Store | None, *, forecast: bool = False) -> None:
        self._parent = parent
        self._child = child
        self._forecast = forecast
        self.answered: set[str] = set()

    async def get(self, key: str) -> Reply | None:
        reply = await self._child.get(key) if self._child is not None else None
        reply = reply or await self._parent.get(key)
        if reply is not None:
            self.answered.add(key)
        return reply

    async def put(self, key: str, request: Request, reply: Reply) -> None:
        if self._child is not None and not self._forecast:
            await self._child.put(key, request, reply)

    def forgo(self, key: str) -> None:
        return None


def replay(
    run: Location,
    case: str | Sequence[str] | None = None,
    *,
    without: str | Sequence[str] = (),
    leaving: str | Sequence[str] = (),
    seats: Mapping[str, str] | None = None,
    limits: Mapping[str, float | None] | None = None,
    orchestrator: str | None = None,
    advocates: tuple[str, str] | None = None,
    from_round: int = 1,
    arm: str | None = None,
    output: Location | None = None,
    base_url: str | None = None,
    max_usd: float | None = None,
) -> list[SideBySide]:
    """Recorded deliberations beside the same ones with one thing changed; what did not change is not asked again.

    Args:
        case: One id, or several; all that were heard, unless it is said.
        seats: By seat, `persona:NAME` or `model:MODEL`.
        output: Where the replay is kept; nowhere, unless it is said.
    """
    change = Change(
        without=_names(without),
        leaving=_names(leaving),
        seats=tuple(SeatChange.parse(f"{seat}={what}") for seat, what in (seats or {}).items()),
        limits=limits or {},
        orchestrator=orchestrator,
        advocates=advocates,
        from_round=from_round,
        base_url=base_url,
    )
    session = ReplaySession(
        run=run,
        folder=output or "",
        changes=(change,),
        cases=_names(case or ()),
        arm=arm,
        base_url=base_url,
        max_usd=max_usd,
    )
    if output is not None:
        return _heard_beside(session)
    with tempfile.TemporaryDirectory() as folder:
        return _heard_beside(replace(session, folder=Path(folder) / "replay"))


def _heard_beside(session: ReplaySession) -> list[SideBySide]:
    run_replay(session, Console(quiet=True), quiet=True)
    return replayed_cases(session)


def replayed_cases(session: ReplaySession) -> list[SideBySide]:
    """The parent's verdicts beside the child's, as far as they were replayed."""
    with open_parent(session) as parent:
        child = Store.read(session.folder)
        try:
            wanted = {case.id for case in parent.cases}
            return [
                SideBySide(each.arm.name, str(each.change), before, after)
                for each in parent.arms
                for before, after in _pairs_of(parent.store, child, each)
                if before.case in wanted
            ]
        finally:
            child.release()


def _pairs_of(parent: Store, child: Store, each: ReplayedArm) -> Iterator[tuple[Verdict, Verdict]]:
    before = {verdict.case: verdict for _, verdict in verdicts(parent, arm=each.arm.name)}
    for _, after in verdicts(child, arm=each.jury.name):
        if after.case in before:
            yield before[after.case], after


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
