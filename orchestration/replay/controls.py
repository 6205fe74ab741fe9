"""Controls: jurors are asked again about what they revised, with nothing, the scores or the reasons of the others before them.

Every revision is an exposure and is controlled, not only those that moved: moves are chosen by their outcome, and asking
the movers alone again under-counts how many would have moved by themselves.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from rich.console import Console

from ...agents.gateway import Calls
from ...agents.juror import Juror, Turn
from ...agents.prompting import PROMPTS, Brief, Prompts, brief
from ...personas.jury import Jury
from ...personas.options import CHECKED
from ...rubrics.ballot import Ballot, Vote
from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from ..bench import Court, statements, together
from ..executors import Executor, ExecutorJob, LocalExecutor
from ..protocols.delphi import feedback, unsigned_votes
from ..reading.side_by_side import PARENT
from ..record import Arm, Store
from ..rounds import round_questions
from ..runner import RunResult
from ..stopping import values_of
from ..transcript import Cast, Controlled, Standing, Stop, Transcript
from .planning import ReplayPlan
from .replay import LayeredCalls, Parent, ReplaySession, forecast, hear_into, open_parent, parent_name

CONTROL_PROMPTS = Prompts(PROMPTS.folder / "controls")
"""Apart from the other prompts: no arm's fingerprint changes with them."""
CONDITIONS = ("alone", "scores", "reasons")
_DRAWS = 1_000_000
"""Where the numbers of draws begin: far above any repeat."""
_APART = 1_000
"""Between two draws: more than the repeats of any jury."""
_SAME_EVERY_TIME = ("lens", "recorded", "scripted")
"""Clients whose answers have no chance in them."""


class Exposure(NamedTuple):
    """A revision: what the juror held, and what it had been shown of the others."""

    entry: Cast
    own: Mapping[str, Vote]
    """Its votes before, on the attributes that it was asked about."""
    heard: tuple[Standing, ...]

    @property
    def asked(self) -> tuple[str, ...]:
        return tuple(self.own)

    @property
    def sources(self) -> tuple[str, ...]:
        """Whose votes were shown."""
        return tuple(dict.fromkeys(held.juror for held in self.heard))


def exposures(transcript: Transcript, jury: Jury) -> Iterator[Exposure]:
    """Every revision by a juror; turns under orders, a challenger's or an advocate's, are none, nor are confederates'.

    Nor are a person's: whoever is asked the same again remembers what she said.
    """
    scripted = {seat.name for seat in jury.seats if seat.confederate or seat.is_person}
    for entry in transcript.ballots:
        if entry.purpose != "revision" or entry.speaker in scripted:
            continue
        before = transcript.model_copy(
            update={"entries": tuple(e for e in transcript.entries if e.step < entry.step)}
        ).standing()
        asked = [name for name in entry.ballot.asked if entry.speaker in before.get(name, {})]
        if not asked:
            continue
        heard = [
            held
            for name in asked
            for held in unsigned_votes(before[name])
            if held.juror != entry.speaker and held.entry in entry.ballot.saw
        ]
        yield Exposure(entry, {name: before[name][entry.speaker].vote for name in asked}, tuple(heard))


@dataclass(frozen=True, slots=True)
class ControlledArm:
    """An arm of the parent, and how its revisions are controlled."""

    arm: Arm
    draws: int
    who: bool
    """Whether each juror that was read is left out in turn, and shown alone in turn."""
    jury: Jury
    """As it stands in the child: under another name, and without what a single deliberation may spend."""

    @classmethod
    def of(cls, arm: Arm, draws: int, who: bool) -> ControlledArm:
        _refuse_sameness(arm, draws)
        fields = arm.jury.model_dump(mode="json")
        fields["name"] = f"{arm.name}-controls-{draws}{'-who' if who else ''}"
        fields["limits"] |= {"max_tokens": None, "max_usd": None, "max_seconds": None}
        if fields["limits"]["max_turns"] is None and fields["limits"]["max_rounds"] is None:
            fields["limits"]["max_rounds"] = 1
        fields["seats"] = [
            {**seat, "first_repeat": start}
            for seat, start in zip(fields["seats"], arm.jury.first_repeats, strict=True)
        ]
        return cls(arm, draws, who, Jury.model_validate(fields, context=CHECKED))

    @property
    def fact(self) -> tuple[str, str]:
        """What the child says of this arm."""
        return f"controls {self.jury.name}", json.dumps({"arm": self.arm.name, "draws": self.draws})


def _refuse_sameness(arm: Arm, draws: int) -> None:
    """An error where a seat would give the same answer at every draw."""
    for seat in arm.jury.seats if draws > 1 else ():
        if seat.confederate or seat.is_person:
            continue
        model = seat.model or "local"
        local = model.partition("/")[0] == "local"
        why = (
            f"its seed is {seat.seed}"
            if seat.seed is not None
            else "its temperature is 0"
            if seat.temperature == 0 or (local and seat.temperature is None)
            else f"{model} answers deterministically"
            if model.partition("/")[0] in _SAME_EVERY_TIME
            else ""
        )
        if why:
            raise VenireError(
                f"{arm.name}: all {draws} repeats of each question to {seat.name} would get the same answer: {why}",
                remedy="give --draws 1, or run the jury at a temperature above 0 and without a seed",
            )


async def hear_controls(case: Case, each: ControlledArm, transcript: Transcript, court: Court) -> Transcript:
    """Every revision of `transcript` asked again under every condition, each the number of draws."""
    bench = court.bench(each.jury, case.id, orchestrated=False)
    words = brief(case, each.arm.rubric)
    turns = [
        _control(bench.jurors[exposure.entry.speaker], words, transcript, exposure, condition, draw)
        for exposure in exposures(transcript, each.jury)
        for condition in _conditions(exposure, each.who)
        for draw in range(each.draws)
    ]
    controls = bench.new_transcript(words).add(await together(turns))
    return controls.with_stop(Stop(reason="complete"))


def _conditions(exposure: Exposure, who: bool) -> list[str]:
    sources = exposure.sources if who else ()
    return [*CONDITIONS, *(f"{how} {name}" for name in sources for how in ("without", "only"))]


async def _control(
    juror: Juror, words: Brief, transcript: Transcript, exposure: Exposure, condition: str, draw: int
) -> Controlled:
    repeat = _DRAWS + draw * _APART
    if condition in CONDITIONS:
        turn = await _ask(juror, words, transcript, exposure, condition, repeat)
    else:
        turn = await _ask_with_others(juror, words, transcript, exposure, condition, repeat)
    answer = turn.answer
    return Controlled(
        round=exposure.entry.round,
        juror=juror.name,
        of=exposure.entry.id,
        condition=condition,
        draw=draw,
        votes=answer.votes if isinstance(answer, Ballot) else (),
        failed=None if isinstance(answer, Ballot) else answer.reason,
        spent=turn.spent,
    )


async def _ask(
    juror: Juror, words: Brief, transcript: Transcript, exposure: Exposure, condition: str, repeat: int
) -> Turn:
    """The question under one of the three conditions. The orchestrator's own question is left out of all of them."""
    return await juror.ask(
        words,
        exposure.asked,
        CONTROL_PROMPTS,
        condition,
        round=exposure.entry.round,
        own=exposure.own,
        parts={"scores": _scores(exposure, transcript)} if condition == "scores" else None,
        quotes={"reasons": _reasons(exposure)} if condition == "reasons" else None,
        repeat=repeat,
    )


def _scores(exposure: Exposure, transcript: Transcript) -> str:
    """The scores that the juror was shown, with the statistics of them that it was shown."""
    label = _label(transcript.protocol)
    lines = [
        f"- {held.vote.attribute}: {label(held.juror)} gave {held.vote.value}" for held in exposure.heard
    ]
    return "\n".join([*lines, *_statistics(exposure, transcript)])


def _statistics(exposure: Exposure, transcript: Transcript, shown: Container[str] | None = None) -> list[str]:
    """Under `delphi`, how the jury as a whole had answered, or as far as those in `shown` are concerned; else nothing."""
    if transcript.protocol != "delphi":
        return []
    standing = transcript.standing(before_round=exposure.entry.round)
    return [
        feedback(a, values_of({n: held for n, held in standing[a].items() if shown is None or n in shown}))
        for a in exposure.asked
    ]


def _reasons(exposure: Exposure) -> str:
    return "\n\n".join(
        "\n".join(
            [
                f"On {held.vote.attribute}: {held.vote.rationale}",
                *(f'quotes: "{q.text}"' for q in held.vote.evidence),
            ]
        )
        for held in exposure.heard
    )


def _no_name(_: str) -> str:
    return "a juror"


def _label(protocol: str) -> Callable[[str], str]:
    return _no_name if protocol == "delphi" else str


async def _ask_with_others(
    juror: Juror, words: Brief, transcript: Transcript, exposure: Exposure, condition: str, repeat: int
) -> Turn:
    """The recorded question with one juror's votes left out, or with that juror's alone."""
    how, _, name = condition.partition(" ")
    heard = [held for held in exposure.heard if (held.juror == name) == (how == "only")]
    shown = {held.juror for held in heard} | {juror.name}
    asked = round_questions(transcript, exposure.entry.round, {})
    return await juror.revise(
        words,
        exposure.asked,
        round=exposure.entry.round,
        own=exposure.own,
        heard=statements(heard, label=_label(transcript.protocol)),
        questions=[q for q in asked.get(juror.name, ()) if q.attribute in exposure.own],
        notice="\n".join(_statistics(exposure, transcript, shown)),
        repeat=repeat,
    )


def controlled_arms(parent: Parent, draws: int, who: bool) -> list[ControlledArm]:
    """The arms of the run in which anybody revised anything."""
    arms = {each.arm.name: each.arm for each in parent.arms}.values()
    revised = [
        arm for arm in arms if any(next(exposures(t, arm.jury), None) for t in parent.store.transcripts(arm))
    ]
    if not revised:
        raise VenireError(
            f"{parent.store.name}: no juror revised a vote in this run (except when told what to argue), so there is nothing to control",
            remedy="use a run of a protocol in which jurors revise their votes, such as orchestrated or delphi",
        )
    return [ControlledArm.of(arm, draws, who) for arm in revised]


def plan_controls(session: ReplaySession, draws: int, *, who: bool = False) -> ReplayPlan:
    """How many calls the controls will make. Nothing is sent, and nothing is written."""
    with open_parent(session) as parent:
        arms = controlled_arms(parent, draws, who)
        plan = forecast(parent, [(each.arm, partial(_hear_controlled, parent, each)) for each in arms])
        people = {seat.name for each in arms for seat in each.jury.seats if seat.is_person}
        return replace(plan, left_out=tuple(sorted(people)))


async def _hear_controlled(parent: Parent, each: ControlledArm, case: Case, court: Court) -> Transcript:
    transcript = parent.transcript(each.arm, case.id)
    assert transcript is not None
    return await hear_controls(case, each, transcript, court)


def run_controls(
    session: ReplaySession, draws: int, console: Console, *, quiet: bool, who: bool = False
) -> RunResult:
    """Ask every revision of the run again, into a child that knows its parent; goes on where it was interrupted."""
    with open_parent(session) as parent:
        arms = controlled_arms(parent, draws, who)

        async def start(job: ExecutorJob) -> Executor:
            return _ControlsExecutor(parent, arms, job.court)

        return hear_into(session, parent, [each.jury for each in arms], start, console, quiet=quiet)


class _ControlsExecutor(LocalExecutor):
    """Asks the revisions of the parent again, in this process."""

    def __init__(self, parent: Parent, arms: Sequence[ControlledArm], court: Court) -> None:
        super().__init__(parent.rubric, court)
        self._parent = parent
        self._controls_court = court
        self._arms = {each.jury.name: each for each in arms}

    def attach(self, calls: Calls, *, redacted: bool) -> None:
        assert isinstance(calls, Store)
        calls.add_fact(PARENT, json.dumps({"run": parent_name(self._parent.session)}))
        for each in self._arms.values():
            calls.add_fact(*each.fact)
        super().attach(LayeredCalls(self._parent.store, calls), redacted=redacted)

    async def hear(self, case: Case, jury: Jury) -> Transcript:
        return await _hear_controlled(self._parent, self._arms[jury.name], case, self._controls_court)
