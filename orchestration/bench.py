"""The bench: a jury as it sits for one case, with its jurors, its orchestrator and its limits."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..agents.budget import Budget, Meter, unknown_price
from ..agents.gateway import Calls, ModelGateway, Unrecorded
from ..agents.juror import Juror, limit_abstention
from ..agents.orchestrator import NAME, Orchestrator
from ..agents.prompting import Brief, Statement
from ..agents.providers import Providers
from ..personas.jury import Jury, ModelSettings
from ..rubrics.case import Label
from ..rubrics.errors import VenireError
from .transcript import CLERK, STRUCK, Abstained, Entry, Purpose, Said, Standing, Stop, Transcript, entry_of
from .worked_examples import ScoredCases, worked_examples

if TYPE_CHECKING:
    from ..agents.tracing import DeliberationSpan

Listener = Callable[[str, Entry], None]
"""Called with a case's id and each entry of its transcript, as it is made."""

Follower = Callable[[Transcript], None]
"""Called with a transcript each time that it has grown."""

Result = TypeVar("Result")
SALT = 16
"""Bytes."""


class Court:
    """What the deliberations of one run share: providers, the record of calls, the budget, the random generator."""

    def __init__(
        self,
        *,
        calls: Calls | None = None,
        budget: Budget | None = None,
        seed: int = 0,
        scored: ScoredCases | None = None,
        listener: Listener | None = None,
        providers: Providers | None = None,
    ) -> None:
        self.providers = providers or Providers()
        self._tracing = self.providers.tracing
        self.calls = calls or Unrecorded()
        self.budget = budget or Budget()
        self.rng = random.Random(seed)
        self.scored = scored or ScoredCases()
        self.listener = listener
        self.follow: Follower | None = None
        self.trace_salt = os.urandom(SALT)
        """Keys the hashes of case ids in traces; a run's own where there is a record."""

    def check(self, jury: Jury, *, orchestrated: bool) -> None:
        """Connect every model that `jury` names, so that a wrong setting is an error before any call."""
        asked = [*jury.seats, *([jury.orchestrator] if orchestrated else [])]
        for settings in (each for seat in asked for each in (seat, *seat.substitutes)):
            provider, model = self.providers.get(settings), settings.model or ""
            limited = jury.limits.max_usd is not None or self.budget.max_usd is not None
            if limited and not provider.client.reports_cost and provider.price(model) is None:
                raise unknown_price(model)
        people = [settings for settings in asked if settings.is_person]
        if people and self.providers.desk is None:
            raise VenireError(
                f"{people[0].model!r} is a person, but this kind of run cannot ask people",
                remedy="run the cases with venire run -o DIRECTORY, with --executor local and without --redact",
            )
        if people and jury.protocol == "decompose-verify":
            raise VenireError(
                "a person cannot list or check claims",
                remedy="choose a protocol other than decompose-verify, or replace the person by a model",
            )
        if orchestrated and jury.orchestrator.is_person and jury.protocol.startswith("magentic"):
            raise VenireError(
                "a person cannot fill in the ledgers of Magentic-One",
                remedy="give the orchestrator a language model; a person can be the orchestrator of orchestrated, moderated, debate or escalate",
            )
        if orchestrated and self.providers.get(jury.orchestrator).client.votes_only:
            raise VenireError(
                f"{jury.orchestrator.model!r} can vote, but cannot be the orchestrator",
                remedy="give the orchestrator a language model, or choose protocol: panel",
            )

    def bench(
        self,
        jury: Jury,
        case: str,
        *,
        orchestrated: bool,
        again: int = 0,
        absent: Collection[str] = (),
        meter: Meter | None = None,
    ) -> Bench:
        """The jury as it sits for one case; `again` counts the times it has heard these words before.

        Seats that are `absent` are not asked; `meter` goes on counting what was spent on the case before.
        """
        meter = meter or Meter(jury.limits, self.budget)
        earlier = again + jury.hearing - 1
        before = earlier * len(jury.seats) * max(jury.repeats, jury.escalation.repeats)

        def gateway(settings: ModelSettings, first_repeat: int = 0) -> ModelGateway:
            return ModelGateway(
                self.providers.get(settings),
                settings,
                calls=self.calls,
                meter=meter,
                rng=self.rng,
                first_repeat=first_repeat,
                alternates=[gateway(substitute, first_repeat) for substitute in settings.substitutes],
            )

        jurors = [
            Juror(
                seat.name,
                seat.persona,
                gateway(seat, before + first_repeat),
                place=place,
                order=seat.order,
            )
            for place, (seat, first_repeat) in enumerate(zip(jury.seats, jury.first_repeats, strict=True))
            if seat.name not in absent
        ]
        presiding = gateway(jury.orchestrator, before) if orchestrated else None
        sitting = [seat for seat in jury.seats if seat.name not in absent]
        orchestrator = Orchestrator(presiding, sitting, jury.stance) if presiding else None
        return Bench(
            jury,
            case,
            jurors,
            orchestrator,
            meter,
            scored=self.scored,
            listener=self.listener,
            follow=self.follow,
        )

    def span(self, case: str, jury: Jury) -> AbstractContextManager[DeliberationSpan | None]:
        """The trace span of one deliberation's calls; does nothing without tracing."""
        if self._tracing is None:
            return nullcontext()
        return self._tracing.deliberation(case, jury.name, jury.protocol, salt=self.trace_salt)

    async def close(self) -> None:
        await self.providers.close()


class _Change(NamedTuple):
    round: int
    bench: Bench
    struck: Sequence[str]


class Bench:
    """One case's jury in session."""

    def __init__(
        self,
        jury: Jury,
        case: str,
        jurors: Sequence[Juror],
        orchestrator: Orchestrator | None,
        meter: Meter,
        *,
        scored: ScoredCases,
        listener: Listener | None,
        follow: Follower | None = None,
    ) -> None:
        self.jury = jury
        self.case = case
        self.jurors = {juror.name: juror for juror in jurors}
        self.meter = meter
        self._scored = scored if scored.ids else ScoredCases(frozenset({case}))
        """The cases this run judges: none of them may serve as a worked example."""
        self._orchestrator = orchestrator
        self._listener = listener
        self._follow = follow
        self._change: _Change | None = None
        self._shown_presiding: Label | None = None
        """Which output of a pair whoever presides is shown first."""

    @property
    def orchestrator(self) -> Orchestrator:
        if self._orchestrator is None:
            raise VenireError(
                "the protocol asks for an orchestrator, but was registered without one",
                remedy="give orchestrator=True when you register the protocol",
            )
        return self._orchestrator

    def new_transcript(self, brief: Brief) -> Transcript:
        """An empty transcript for this case, with its flags."""
        jury, self._shown_presiding = self.jury, brief.first(None)
        return Transcript(
            case=self.case, arm=jury.name, protocol=jury.protocol, seats=jury.seat_names, flags=brief.flags
        )

    def add_entries(self, transcript: Transcript, entries: Iterable[Entry]) -> Transcript:
        """The transcript with one more step; the listener, if any, gets each new entry, and the follower the whole."""
        longer = transcript.add(
            entry.model_copy(update={"first": self._shown_presiding}) if entry.speaker == NAME else entry
            for entry in entries
        )
        if self._listener is not None:
            for entry in longer.entries[len(transcript.entries) :]:
                self._listener(self.case, entry)
        if self._follow is not None:
            self._follow(longer)
        return longer

    def begin_round(self, transcript: Transcript) -> Transcript:
        """The transcript as the next round finds it. Where a replay changes the jury from that round on, it does so here."""
        if self._change is not None and transcript.rounds + 1 >= self._change.round:
            change, self._change = self._change, None
            self.jury, self.jurors, self._orchestrator = (
                change.bench.jury,
                change.bench.jurors,
                change.bench._orchestrator,
            )
            notes = [
                Said(round=transcript.rounds + 1, who=CLERK, about=STRUCK, text=name)
                for name in change.struck
            ]
            return self.add_entries(transcript, notes)
        return transcript

    def change_at(self, round: int, bench: Bench, struck: Sequence[str]) -> None:
        """Have `bench` take this one's place when the round of this number begins, and strike off the seats `struck`."""
        self._change = _Change(round, bench, struck)

    @property
    def unchanged(self) -> bool:
        """Whether a change is still to come."""
        return self._change is not None

    def clerks_note(self, transcript: Transcript, about: str, text: str) -> Transcript:
        """The transcript with a note by code: what it measured, or which rule it followed."""
        number = max(1, transcript.rounds)
        return self.add_entries(transcript, [Said(round=number, who=CLERK, about=about, text=text)])

    async def blind_round(
        self,
        transcript: Transcript,
        brief: Brief,
        *,
        asked: Sequence[str] | None = None,
        seats: Sequence[str] | None = None,
    ) -> Transcript:
        """Every juror's first ballot, made at the same time, nothing of the others in sight.

        `asked` and `seats` narrow it to some of the attributes and jurors. Where `max_turns` does not reach
        round the bench, the last seats are recorded as unheard.
        """
        names = asked or brief.rubric.names
        sitting = [self.jurors[name] for name in (self.jurors if seats is None else seats)]
        allowed = self.turns_left(transcript)
        examples = self.examples(brief)
        turns = await together(juror.cast(brief, names, examples=examples) for juror in sitting[:allowed])
        missed = [self.unheard(juror.name, 1, names, "blind") for juror in sitting[allowed:]]
        return self.add_entries(transcript, [*(entry_of(turn, "blind") for turn in turns), *missed])

    async def repeats(
        self,
        transcript: Transcript,
        brief: Brief,
        times: int,
        *,
        seats: Sequence[str] | None = None,
        confidence: bool = False,
    ) -> Transcript:
        """The ballots of the first seat (or of `seats`), so many times at once, as far as `max_turns` allows.

        The repeats are told apart as judge#2, judge#3 ... Everyone is asked once before anyone is asked again.
        """
        asked = [next(iter(self.jurors))] if seats is None else seats
        order = [(self.jurors[name], number) for number in range(times) for name in asked]
        most, examples = self.jury.limits.max_turns, self.examples(brief)
        turns = await together(
            juror.cast(
                brief,
                brief.rubric.names,
                examples=examples,
                confidence=confidence,
                repeat=number,
                name=juror.name if number == 0 else f"{juror.name}#{number + 1}",
            )
            for juror, number in order[:most]
        )
        return self.add_entries(transcript, [entry_of(turn, "repeat") for turn in turns])

    def examples(self, brief: Brief) -> str:
        """The worked examples that come before a first ballot; empty where the jury names none."""
        return worked_examples(self.jury.shots, brief.rubric, self._scored, case=self.case)

    def unheard(self, juror: str, round: int, asked: Sequence[str], purpose: Purpose) -> Abstained:
        """A seat that `max_turns` keeps from its turn, as the transcript has it."""
        return Abstained(
            abstention=limit_abstention(juror, round, asked, "max_turns"), round=round, purpose=purpose
        )

    def turns_left(self, transcript: Transcript) -> int:
        """How many juror turns may still be taken; as many as there are seats where there is no limit."""
        limit = self.jury.limits.max_turns
        return len(self.jurors) if limit is None else max(0, min(len(self.jurors), limit - transcript.turns))

    def stop_at(self, limit: str, detail: str = "") -> Stop:
        """The stop that says which limit ended the deliberation."""
        return Stop.at(limit, getattr(self.jury.limits, limit), detail)


def statements(held: Iterable[Standing], *, label: Callable[[str], str] = str) -> list[Statement]:
    """Standing votes as others may hear them, under the labels that the protocol gives."""
    return [Statement(entry=h.entry, label=label(h.juror), vote=h.vote) for h in held]


async def together(makers: Iterable[Coroutine[Any, Any, Result]]) -> list[Result]:
    """The results in order, awaited concurrently.

    If one raises, the others are still finished before the error goes on: their calls are paid for.
    """
    results = await asyncio.gather(*makers, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results  # type: ignore[return-value]
