"""The chair: AutoGen's orchestrator as it may preside here, every call on the record, every limit kept.

AutoGen asks, the chair answers, and always so that AutoGen can go on: where the model gave no usable answer,
or a limit is reached, the answer leads AutoGen to its own end. Nothing is raised inside AutoGen.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from ...agents.answers import UnusableAnswer, read_answer
from ...agents.budget import LimitReached
from ...agents.context import estimated_tokens
from ...agents.cost import Receipt
from ...agents.model import Message, ModelFailure, Reply
from ...agents.orchestrator import NAME
from ...agents.prompting import fence, repair_request, words
from ...agents.statements import statements_text
from ...rubrics.ballot import AbstentionReason
from ...rubrics.shapes import Schema
from ..bench import statements
from ..stopping import disputed_attributes
from ..transcript import Stop
from .magentic_floor import Floor
from .magentic_ledger import ProgressLedger, ledger_schema, move

LEDGER_TRIES = 3
"""How often one progress ledger is asked for, each time with what was wrong with the last try."""


class Final(NamedTuple):
    """The final answer in free text, and the conversation it ended."""

    messages: tuple[Message, ...]
    text: str
    spent: Receipt


class Chair:
    """The orchestrator of one deliberation, as far as AutoGen can tell."""

    def __init__(self, floor: Floor, final_prompt: str) -> None:
        self.final_prompt = final_prompt
        self.final: Final | None = None
        self._floor = floor
        self._facts_given = False
        self._stalls = 0
        self._replans = 0

    async def answer(self, messages: tuple[Message, ...], schema: Schema | None) -> Reply:
        """What AutoGen is told. It asks for nothing but a progress ledger with a schema."""
        if schema is not None:
            return Reply(text=await self._ledger(messages))
        if messages[-1].content == self.final_prompt:
            return Reply(text=await self._final_answer(messages))
        return Reply(text=await self._plan(messages))

    async def ask(
        self, messages: tuple[Message, ...], schema: Schema | None = None, spent: Receipt | None = None
    ) -> tuple[str, Receipt] | None:
        """What the orchestrator says, and all it has cost; None when it cannot be asked, which ends everything."""
        floor, spent = self._floor, spent or Receipt()
        if floor.mute:
            return None
        try:
            reply, key = await floor.interruptible(
                floor.bench.orchestrator.say(self._fitting(messages), schema)
            )
            spent = spent.plus(key, reply)
            if reply.finish != "refusal":
                return reply.text, spent
            self._end_in_silence("refused", reply.text.strip()[:300], spent)
        except ModelFailure as failure:
            self._end_in_silence(failure.reason, failure.detail, spent)
        except LimitReached as reached:
            floor.end(floor.bench.stop_at(reached.limit))
        except Exception as error:
            floor.broken = error
        except asyncio.CancelledError:
            if floor.broken is None:
                raise
        floor.mute = True
        return None

    def _fitting(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """The conversation as the orchestrator's model can read it whole.

        Where it is too long, ballots are cut down to their scores, the oldest first, as far as is needed.
        """
        room = self._floor.bench.orchestrator.room(messages)
        fitting = list(messages)
        for place, message in enumerate(messages):
            if room is None or room >= 0:
                break
            if scores := self._floor.scores.get(message.content):
                fitting[place] = Message(message.role, scores)
                room += estimated_tokens(message.content) - estimated_tokens(scores)
        if room is not None and room < 0:
            raise ModelFailure("too_long", "the conversation does not fit into the orchestrator's model")
        return tuple(fitting)

    async def _plan(self, messages: tuple[Message, ...]) -> str:
        """Facts, then a plan; both anew when the jury is stuck."""
        about = "facts" if not self._facts_given else "replan" if self._replans else "plan"
        self._facts_given = not self._facts_given
        said = await self.ask(messages)
        if said is None:
            return ""
        floor = self._floor
        entry = floor.note(about, *said)
        # The plan is made from the whole conversation; once it is made, AutoGen begins a new one with it.
        floor.thread = (*floor.thread, entry) if about == "facts" else (floor.thread[-1], entry)
        if about != "facts":
            floor.heard_since_plan, self._stalls = False, 0
        return self._fence_words(said[0])

    async def _ledger(self, messages: tuple[Message, ...]) -> str:
        """The move that follows from the orchestrator's ledger, or from a limit."""
        floor = self._floor
        if floor.stop is None and (limit := self._limit()):
            floor.end(limit)
        if floor.stop is None and (ledger := await self._ledger_read(messages)):
            if not ledger.satisfied:
                return self._next_move(ledger)
            floor.end(Stop(reason="consensus" if self._agreed() else "complete"))
        return move(satisfied=True)

    async def _ledger_read(self, messages: tuple[Message, ...]) -> ProgressLedger | None:
        """The ledger, sent back with what is wrong with it until it can be followed, a few times."""
        floor, speakers = self._floor, tuple(self._floor.agents.values())
        asked, spent, problem = messages, Receipt(), ""
        for _ in range(LEDGER_TRIES):
            said = await self.ask(asked, ledger_schema(speakers), spent)
            if said is None:
                return None
            text, spent = said
            try:
                ledger = read_answer(text, ProgressLedger, messages)
                problem = ledger.problem(speakers)
            except UnusableAnswer as misread:
                problem = misread.failure.detail
            if not problem:
                floor.thread = (*floor.thread, floor.note("ledger", ledger.model_dump_json(), spent))
                return ledger
            asked = (*messages, *repair_request(text, problem, floor.brief.nonce))
        self._end_in_silence("unparsable", problem, spent)
        # It may still read the ballots and decide, where there are any.
        floor.mute = not floor.transcript.ballots
        return None

    def _next_move(self, ledger: ProgressLedger) -> str:
        """Who speaks next, unless too many stalls call for a new plan or the end.

        Stalls are counted as AutoGen counts them (progress takes one back), but from nought after each plan;
        and no plan is given up before anyone has spoken under it.
        """
        floor, limits = self._floor, self._floor.bench.jury.limits
        self._stalls = self._stalls + 1 if ledger.stalled else max(0, self._stalls - 1)
        too_many = limits.max_stalls is not None and self._stalls >= max(1, limits.max_stalls)
        if too_many and floor.heard_since_plan:
            if limits.max_replans is None or self._replans < limits.max_replans:
                self._replans += 1
                return move(replan=True, speaker=ledger.speaker)
            floor.end(floor.bench.stop_at("max_replans" if limits.max_replans else "max_stalls"))
            return move(satisfied=True)
        if (
            limits.max_rounds is not None
            and floor.round_of(floor.seat_of(ledger.speaker)) > limits.max_rounds
        ):
            floor.end(floor.bench.stop_at("max_rounds"))
            return move(satisfied=True)
        instruction = ledger.instruction_or_question.answer
        return move(speaker=ledger.speaker, instruction=self._fence_words(instruction))

    def _limit(self) -> Stop | None:
        """The limit after which nobody can speak again, whatever a ledger would say."""
        floor, limits = self._floor, self._floor.bench.jury.limits
        if spent := floor.bench.meter.reached:
            return floor.bench.stop_at(spent)
        if limits.max_turns is not None and floor.transcript.turns >= limits.max_turns:
            return floor.bench.stop_at("max_turns")
        if limits.max_rounds is not None:
            over = all(floor.round_of(seat) > limits.max_rounds for seat in floor.agents)
            return floor.bench.stop_at("max_rounds") if over else None
        return None

    def _agreed(self) -> bool:
        """Whether every seat has voted and no attribute is in dispute."""
        transcript, jury = self._floor.transcript, self._floor.bench.jury
        return {cast.speaker for cast in transcript.ballots} == set(
            jury.seat_names
        ) and not disputed_attributes(
            transcript, self._floor.brief.rubric, tolerance=jury.tolerance, quorum=jury.quorum
        )

    async def _final_answer(self, messages: tuple[Message, ...]) -> str:
        """The orchestrator's last words, made with the ballots that a new plan had taken out of its sight."""
        floor = self._floor
        standing = [held for votes in floor.transcript.standing().values() for held in votes.values()]
        lost = [held for held in standing if held.entry not in floor.thread]
        if lost:
            heard = statements(lost, label=floor.agents.__getitem__)
            told = statements_text(heard, floor.brief.rubric.names, floor.brief.nonce)
            messages = (*messages[:-1], Message("user", words("magentic-recap", heard=told)), messages[-1])
        said = await self.ask(messages)
        if said is None:
            return ""
        self.final = Final(messages, *said)
        return self.final.text

    def _fence_words(self, text: str) -> str:
        """The orchestrator's words as AutoGen repeats them in later prompts, its own and the jurors'."""
        return fence("words", NAME, text, self._floor.brief.nonce)

    def _end_in_silence(self, reason: AbstentionReason, detail: str, spent: Receipt) -> None:
        self._floor.note("silence", f"{reason}: {detail}", spent, failed=reason)
        told = f"the orchestrator gave no usable answer ({reason})"
        self._floor.end(Stop(reason="orchestrator", detail=told))
