"""What a deliberation under AutoGen or Agent Framework has heard so far, the turns that its jurors take, and the progress ledger it goes by."""

from __future__ import annotations

import asyncio
import copy
import json
from collections import Counter
from collections.abc import Collection, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from ...agents.cost import Receipt
from ...agents.juror import Turn
from ...agents.orchestrator import NAME
from ...agents.prompting import Brief, statements_text, words
from ...personas.jury import Seat
from ...rubrics.ballot import AbstentionReason, Schema, inline
from ..bench import Bench, statements
from ..transcript import Abstained, Cast, Entry, Said, Standing, Stop, entry_of

# Strict, so that the string "False" is not a yes. Keys that nobody asked for do no harm.
_FORM = ConfigDict(strict=True, frozen=True, json_schema_extra={"additionalProperties": False})
ENTRY = "entry"
"""The key under which a juror's message names the entry of the transcript that it was cast in."""
_NOTHING = "(nothing that reached you)"
Made = TypeVar("Made")


class GroupChat:
    """One deliberation's transcript as it grows, why it stopped, and whether any call may still be made."""

    def __init__(
        self, brief: Brief, bench: Bench, agents: Mapping[str, str], *, private: bool = False
    ) -> None:
        self.brief = brief
        self.bench = bench
        self.agents = agents
        """Each seat's name among the framework's agents."""
        self.private = private
        """Agent Framework's way: what the orchestrator says reaches no juror but the one it asks, and a new plan is asked
        for when the conversation is cleared already. AutoGen's jurors hear everything, and its plans are made first."""
        self.task = brief.prompts.words("magentic-task", brief=brief.text_with(brief.first(None)))
        self.transcript = bench.new_transcript(brief)
        self.thread: tuple[str, ...] = ()
        """The entries in the framework's conversation: those since the last plan."""
        self.heard_since_plan = False
        self.scores: dict[str, str] = {}
        """Of each ballot in words, its scores alone."""
        self.stop: Stop | None = None
        self.mute = False
        """No call may be made any more."""
        self.broken: BaseException | None = None
        """What goes on to the caller once the framework has come to its end: a spent budget, an interrupt, a bug."""
        self._in_flight: asyncio.Future[Any] | None = None
        self._asked = Counter[tuple[object, ...]]()
        """How often each question was put: the same one again, after a new plan, is answered anew."""

    async def turn(self, agent: str, memory: Sequence[Heard]) -> Heard:
        """A juror's turn: its ballot goes on the record as it is cast, its words to the team.

        Its failure is an abstention. The team is always given something to go on with.
        """
        seat = self.seat_of(agent)
        if self.mute:
            return Heard("(nothing)")
        latest = self._delivered_votes(seat, memory)
        voted = any(cast.speaker == seat for cast in self.transcript.ballots)
        try:
            turn = await self.interruptible(self._ballot(seat, memory, latest, voted=voted))
        except Exception as error:
            self.broken = error
        except asyncio.CancelledError:
            if self.broken is None:
                raise
        if self.broken is not None:
            self.mute = True
            return Heard("(nothing)")
        saw = self._saw(seat, latest)
        cast = self.add(
            entry_of(
                replace(turn, answer=turn.answer.model_copy(update={"saw": saw})),
                "revision" if voted else "vote",
            )
        )
        self.thread = (*self.thread, cast.id)
        self.heard_since_plan = True
        if isinstance(cast, Cast):
            return Heard(self._ballot_text(agent, cast), cast.id)
        assert isinstance(cast, Abstained)
        if cast.abstention.reason == "limit":
            self.end(self.bench.stop_at(self.bench.meter.reached or "max_seconds"))
        return Heard(f"{agent} gave no ballot ({cast.abstention.reason}).", cast.id)

    def leave(self) -> None:
        """Make no further call, and give up the one in flight."""
        self.mute, self.broken = True, asyncio.CancelledError()
        if self._in_flight is not None:
            self._in_flight.cancel()

    def seat_of(self, agent: str) -> str:
        return next(seat for seat, known in self.agents.items() if known == agent)

    def round_of(self, seat: str) -> int:
        """The round in which `seat` would speak now: a new one begins when a juror is called on again."""
        now = max(1, self.transcript.rounds)
        return now + any(entry.speaker == seat for entry in self.transcript.heard if entry.round == now)

    def end(self, stop: Stop) -> None:
        """Stop for this reason; a limit that was reached before stays, and says what came on top."""
        if self.stop is None or self.stop.limit is None:
            self.stop = stop
        else:
            self.stop = self.stop.model_copy(update={"detail": stop.detail or f"then {stop.limit}"})

    def note(self, about: str, text: str, spent: Receipt, failed: AbstentionReason | None = None) -> str:
        """The orchestrator's words on the record; the id of their entry."""
        said = Said(
            round=max(1, self.transcript.rounds),
            who=NAME,
            about=about,
            text=text,
            saw=self.thread,
            spent=spent,
            failed=failed,
        )
        return self.add(said).id

    def add(self, entry: Entry) -> Entry:
        self.transcript = self.bench.add_entries(self.transcript, [entry])
        return self.transcript.entries[-1]

    async def interruptible(self, call: Coroutine[Any, Any, Made]) -> Made:
        """The call's result; `leave` gives it up."""
        self._in_flight = asyncio.ensure_future(call)
        return await self._in_flight

    def _delivered_votes(self, seat: str, memory: Sequence[Heard]) -> list[Standing]:
        """The last vote of each other juror on each attribute, among the ballots that the framework delivered."""
        delivered = {heard.entry for heard in memory if heard.entry}
        latest: dict[tuple[str, str], Standing] = {}
        for cast in self.transcript.ballots:
            if cast.id in delivered and cast.speaker != seat:
                for vote in cast.ballot.votes:
                    latest[vote.attribute, cast.speaker] = Standing(cast.id, cast.speaker, vote)
        return list(latest.values())

    def _ballot(
        self, seat: str, memory: Sequence[Heard], latest: Sequence[Standing], *, voted: bool
    ) -> Coroutine[Any, Any, Turn]:
        """A juror's ballot: its first, or a revision where it has `voted`.

        A new plan makes the framework's agents forget; a juror still knows its own votes.
        """
        standing = self.transcript.standing()
        # The case opens every prompt of a juror already; AutoGen's plan repeats it. What the orchestrator's model
        # wrote was fenced before AutoGen got it.
        said = [
            heard.text.replace(self.task, "(the rubric and the case)") for heard in memory if not heard.entry
        ]
        juror, names, number = self.bench.jurors[seat], self.brief.rubric.names, self.round_of(seat)
        heard = statements(latest, label=self.agents.__getitem__)
        notice = words("magentic-turn", said="\n\n".join(said[:-1]) or _NOTHING, asked=said[-1])
        own = {name: held[seat].vote for name, held in standing.items() if seat in held}
        said_by = [(each.label, each.vote) for each in heard] + [(seat, vote) for vote in own.values()]
        question = (seat, number, notice, *((who, vote.model_dump_json()) for who, vote in said_by))
        again = self._asked[question]
        self._asked[question] += 1
        if not voted:
            examples = self.bench.examples(self.brief)
            return juror.join(
                self.brief, names, round=number, heard=heard, notice=notice, examples=examples, repeat=again
            )
        return juror.revise(
            self.brief, names, round=number, own=own, heard=heard, notice=notice, repeat=again
        )

    def _saw(self, seat: str, latest: Sequence[Standing]) -> tuple[str, ...]:
        """The entries in a juror's prompt: all since the last plan but its own ballots and overtaken ones.

        Where the orchestrator speaks to one juror at a time, of its words only the ledgers that asked this one.
        """
        shown = {held.entry for held in latest}
        if self.private:
            own = {entry.id for entry in self.transcript.heard if entry.speaker == seat}
            asked = {ledger for ledger, answer in pairwise((*self.thread, "")) if answer in {*own, ""}}
            return tuple(entry for entry in self.thread if entry in shown | asked)
        return tuple(
            entry.id
            for entry in self.transcript.entries
            if entry.id in self.thread and (entry.id in shown or not isinstance(entry, Cast))
        )

    def _ballot_text(self, agent: str, cast: Cast) -> str:
        """A ballot in words, and the scores once more as JSON, as 004 had its agents give them."""
        votes = [Standing(cast.id, cast.speaker, vote) for vote in cast.ballot.votes]
        spoken = statements_text(
            statements(votes, label=lambda _: agent), self.brief.rubric.names, self.brief.nonce
        )
        scores = json.dumps({vote.attribute: vote.value for vote in cast.ballot.votes})
        told = f"{spoken}\n\n{scores}"
        self.scores[told] = f"{agent} gave {scores} (the reasons are left out: the conversation is too long)"
        return told


class Heard(NamedTuple):
    """A message as a juror received it; that of another juror names the entry it was cast in."""

    text: str
    entry: str = ""


def seat_description(seat: Seat) -> str:
    """A seat as the orchestrator is told of it."""
    return f"a juror who attends to {seat.persona.attends_to}" if seat.persona else "a juror"


class ProgressLedger(BaseModel):
    """What the orchestrator makes of the conversation so far, and what it wants next."""

    model_config = _FORM

    is_request_satisfied: YesOrNo
    is_in_loop: YesOrNo
    is_progress_being_made: YesOrNo
    next_speaker: InWords
    instruction_or_question: InWords

    @property
    def satisfied(self) -> bool:
        return self.is_request_satisfied.answer

    @property
    def stalled(self) -> bool:
        return not self.is_progress_being_made.answer or self.is_in_loop.answer

    @property
    def speaker(self) -> str:
        return self.next_speaker.answer

    @property
    def summary(self) -> str:
        """What it comes to, in words."""
        if self.satisfied:
            return f"the request is satisfied. {self.is_request_satisfied.reason}".strip()
        stuck = " (in a loop)" if self.is_in_loop.answer else " (no progress)" if self.stalled else ""
        return f"{self.speaker} speaks next{stuck}: {self.instruction_or_question.answer}"

    def problem(self, speakers: Collection[str]) -> str:
        """Why nobody can follow this ledger; empty if someone can."""
        if self.satisfied or self.speaker in speakers:
            return ""
        return f"next_speaker: no juror is named {self.speaker!r}; choose one of {', '.join(speakers)}"


class YesOrNo(BaseModel):
    model_config = _FORM

    reason: str
    answer: bool


class InWords(BaseModel):
    model_config = _FORM

    reason: str
    answer: str


def ledger_words(text: str) -> str:
    """A ledger of the record in words; what is none, such as one that was redacted, as it is."""
    try:
        return ProgressLedger.model_validate_json(text).summary
    except ValidationError:
        return text


@lru_cache(maxsize=256)
def ledger_schema(speakers: tuple[str, ...]) -> Schema:
    """The JSON schema of a ledger that can only name one of `speakers`."""
    schema: dict[str, Any] = copy.deepcopy(dict(inline(ProgressLedger)))
    schema["properties"]["next_speaker"]["properties"]["answer"]["enum"] = list(speakers)
    return Schema(schema)


def move(*, satisfied: bool = False, replan: bool = False, speaker: str = "", instruction: str = "") -> str:
    """A ledger that makes the framework do one thing: give the final answer, plan anew, or let `speaker` speak.

    AutoGen's own counter of stalls is never zeroed, so it is given no stall except to make it plan anew.
    """
    answers: dict[str, bool | str] = {
        "is_request_satisfied": satisfied,
        "is_in_loop": False,
        "is_progress_being_made": not replan,
        "next_speaker": speaker,
        "instruction_or_question": instruction,
    }
    return json.dumps({key: {"reason": "", "answer": answer} for key, answer in answers.items()})
