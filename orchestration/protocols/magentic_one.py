"""`magentic-one`: AutoGen's MagenticOneGroupChat with our jurors, limits and record; the published arm of 004."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, NamedTuple

from pydantic import BaseModel, create_model

from ...agents.answers import UnusableAnswer, read_answer
from ...agents.budget import LimitReached
from ...agents.cost import Receipt
from ...agents.model import Answer, CachedText, Message, ModelFailure, Reply
from ...agents.orchestrator import NAME, Finding
from ...agents.prompting import Brief, fence, form_of, repair_request, statements_text, words
from ...agents.tokens import estimated_tokens
from ...personas.jury import Jury
from ...rubrics.ballot import STRICT, TEXT, Abstention, AbstentionReason, Legal, Schema, answer_model, inline
from ...rubrics.errors import MissingExtra
from ...rubrics.rubric import Rubric
from ..bench import Bench, statements
from ..stopping import disputed_attributes
from ..transcript import Abstained, Decided, Entry, Said, Standing, Stop, Transcript
from ..worked_examples import ShotOptions
from . import Protocol
from .magentic_chat import GroupChat, ProgressLedger, ledger_schema, move

LEDGER_TRIES = 3
"""How often one progress ledger is asked for, each time with what was wrong with the last try."""


RunTeam = Callable[[GroupChat, Answer, str], Awaitable[None]]
"""A framework's team: from the chat, what its model answers, and the words that ask for the final answer."""


async def run(brief: Brief, bench: Bench) -> Transcript:
    """AutoGen deliberates."""
    check(bench.jury)
    from .magentic_team import run_team

    return await preside(GroupChat(brief, bench, agent_names(bench.jury.seat_names)), run_team)


async def preside(chat: GroupChat, run_team: RunTeam) -> Transcript:
    """The team deliberates; then its final answer is read, and every seat that it passed over is recorded."""
    shape = final_shape(chat.brief.rubric)
    presider = Presider(chat, words("magentic-final", form=form_of(shape)))
    await run_team(chat, presider.answer, presider.final_prompt)
    await _close(chat, presider, shape)
    assert chat.stop is not None
    return chat.transcript.with_stop(chat.stop)


def check(jury: Jury) -> None:
    """Refuse to begin without AutoGen."""
    require("the magentic-one protocol needs AutoGen", "autogen", "autogen_agentchat", "autogen_core")


def require(problem: str, extra: str, *packages: str) -> None:
    """Raises MissingExtra where one of `packages` is not installed."""
    for package in packages:
        if find_spec(package) is None:
            raise MissingExtra(
                f"{problem} ({package} is not installed)", remedy=f"pip install 'venire[{extra}]'"
            )


def agent_names(seats: Iterable[str]) -> dict[str, str]:
    """A name for each seat that the frameworks accept: an identifier, not an orchestrator's, and no other seat's."""
    taken = {"MagenticOneOrchestrator", "magentic_orchestrator", "magentic_manager"}
    names: dict[str, str] = {}
    for seat in seats:
        name = seat.replace("-", "_")
        while name in taken:
            name += "_"
        taken.add(name)
        names[seat] = name
    return names


def final_shape(rubric: Rubric) -> type[BaseModel]:
    """The JSON object in the final answer: for each attribute the reasons, then the score."""
    return _shape(tuple((name, Legal.of(rubric, name)) for name in rubric.names))


@lru_cache(maxsize=256)
def _shape(questions: tuple[tuple[str, Legal], ...]) -> type[BaseModel]:
    fields: dict[str, Any] = {
        name: (
            create_model(f"Final_{name}", __config__=STRICT, rationale=(TEXT, ...), score=(legal.score, ...)),
            ...,
        )
        for name, legal in questions
    }
    return answer_model("FinalAnswer", fields)


class Presider:
    """The orchestrator of one deliberation, as far as the framework can tell."""

    def __init__(self, chat: GroupChat, final_prompt: str) -> None:
        self.final_prompt = final_prompt
        self.final: Final | None = None
        self._chat = chat
        self._texts: dict[str, CachedText] = {}
        """The texts of the conversation, which comes again with every call, longer by a message or two."""
        self._facts_given = False
        self._stalls = 0
        self._replans = 0

    async def answer(self, messages: tuple[Message, ...], schema: Schema | None) -> Reply:
        """What the framework is told. It asks for nothing but a progress ledger with a schema."""
        messages = tuple(replace(message, body=self._cached_text(message.body)) for message in messages)
        if schema is not None:
            return Reply(text=await self._ledger(messages))
        if messages[-1].content == self.final_prompt:
            return Reply(text=await self._final_answer(messages))
        return Reply(text=await self._plan(messages))

    def _cached_text(self, text: str) -> CachedText:
        if text not in self._texts:
            self._texts[text] = CachedText(text)
        return self._texts[text]

    async def ask(
        self, messages: tuple[Message, ...], schema: Schema | None = None, spent: Receipt | None = None
    ) -> tuple[str, Receipt] | None:
        """What the orchestrator says, and all it has cost; None when it cannot be asked, which ends everything."""
        chat, spent = self._chat, spent or Receipt()
        if chat.mute:
            return None
        try:
            reply, key = await chat.interruptible(
                chat.bench.orchestrator.say(self._fitting(messages), schema)
            )
            spent = spent.plus(key, reply)
            if reply.finish != "refusal":
                return reply.text, spent
            self._end_in_silence("refused", reply.text.strip()[:300], spent)
        except ModelFailure as failure:
            self._end_in_silence(failure.reason, failure.detail, spent.with_failures(failure.failures))
        except LimitReached as reached:
            chat.end(chat.bench.stop_at(reached.limit))
        except Exception as error:
            chat.broken = error
        except asyncio.CancelledError:
            if chat.broken is None:
                raise
        chat.mute = True
        return None

    def _fitting(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """The conversation as the orchestrator's model can read it whole.

        Where it is too long, ballots are cut down to their scores, the oldest first, as far as is needed.
        """
        room = self._chat.bench.orchestrator.room(messages)
        fitting = list(messages)
        for place, message in enumerate(messages):
            if room is None or room >= 0:
                break
            if scores := self._chat.scores.get(message.content):
                fitting[place] = Message(message.role, scores)
                room += estimated_tokens(message.content) - estimated_tokens(scores)
        if room is not None and room < 0:
            raise ModelFailure("too_long", "the conversation does not fit into the orchestrator's model")
        return tuple(fitting)

    async def _plan(self, messages: tuple[Message, ...]) -> str:
        """Facts, then a plan; both anew when the jury is stuck."""
        about = "facts" if not self._facts_given else "replan" if self._replans else "plan"
        self._facts_given = not self._facts_given
        if self._chat.private and self._replans:
            standing = self._standing()
            messages = self._with_ballots(messages, standing)
            if about == "facts":
                self._chat.thread = tuple(dict.fromkeys(held.entry for held in standing))
        said = await self.ask(messages)
        if said is None:
            return ""
        chat = self._chat
        entry = chat.note(about, *said)
        # AutoGen plans from the whole conversation; once the plan is made, a new one begins with it.
        chat.thread = (*chat.thread, entry) if about == "facts" else (chat.thread[-1], entry)
        if about != "facts":
            chat.heard_since_plan, self._stalls = False, 0
        return self._fence_words(said[0])

    async def _ledger(self, messages: tuple[Message, ...]) -> str:
        """The move that follows from the orchestrator's ledger, or from a limit."""
        chat = self._chat
        if chat.stop is None and (limit := self._limit()):
            chat.end(limit)
        if chat.stop is None and (ledger := await self._ledger_read(messages)):
            if not ledger.satisfied:
                return self._next_move(ledger)
            chat.end(Stop(reason="consensus" if self._agreed() else "complete"))
        return move(satisfied=True)

    async def _ledger_read(self, messages: tuple[Message, ...]) -> ProgressLedger | None:
        """The ledger, sent back with what is wrong with it until it can be followed, a few times."""
        chat, speakers = self._chat, tuple(self._chat.agents.values())
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
                chat.thread = (*chat.thread, chat.note("ledger", ledger.model_dump_json(), spent))
                return ledger
            asked = (*messages, *repair_request(text, problem, chat.brief.nonce))
        self._end_in_silence("unparsable", problem, spent)
        # It may still read the ballots and decide, where there are any.
        chat.mute = not chat.transcript.ballots
        return None

    def _next_move(self, ledger: ProgressLedger) -> str:
        """Who speaks next, unless too many stalls call for a new plan or the end.

        Stalls are counted as AutoGen counts them (progress takes one back), but from nought after each plan;
        and no plan is given up before anyone has spoken under it.
        """
        chat, limits = self._chat, self._chat.bench.jury.limits
        self._stalls = self._stalls + 1 if ledger.stalled else max(0, self._stalls - 1)
        too_many = limits.max_stalls is not None and self._stalls >= max(1, limits.max_stalls)
        if too_many and chat.heard_since_plan:
            if limits.max_replans is None or self._replans < limits.max_replans:
                self._replans += 1
                return move(replan=True, speaker=ledger.speaker)
            chat.end(chat.bench.stop_at("max_replans" if limits.max_replans else "max_stalls"))
            return move(satisfied=True)
        if limits.max_rounds is not None and chat.round_of(chat.seat_of(ledger.speaker)) > limits.max_rounds:
            chat.end(chat.bench.stop_at("max_rounds"))
            return move(satisfied=True)
        instruction = ledger.instruction_or_question.answer
        return move(speaker=ledger.speaker, instruction=self._fence_words(instruction))

    def _limit(self) -> Stop | None:
        """The limit after which nobody can speak again, whatever a ledger would say."""
        chat, limits = self._chat, self._chat.bench.jury.limits
        if spent := chat.bench.meter.reached:
            return chat.bench.stop_at(spent)
        if limits.max_turns is not None and chat.transcript.turns >= limits.max_turns:
            return chat.bench.stop_at("max_turns")
        if limits.max_rounds is not None:
            over = all(chat.round_of(seat) > limits.max_rounds for seat in chat.agents)
            return chat.bench.stop_at("max_rounds") if over else None
        return None

    def _agreed(self) -> bool:
        """Whether every seat has voted and no attribute is in dispute."""
        transcript, jury = self._chat.transcript, self._chat.bench.jury
        return {cast.speaker for cast in transcript.ballots} == set(
            jury.seat_names
        ) and not disputed_attributes(
            transcript, self._chat.brief.rubric, tolerance=jury.tolerance, quorum=jury.quorum
        )

    async def _final_answer(self, messages: tuple[Message, ...]) -> str:
        """The orchestrator's last words, made with the ballots that a new plan had taken out of its sight."""
        chat = self._chat
        lost = [held for held in self._standing() if held.entry not in chat.thread]
        messages = self._with_ballots(messages, lost)
        said = await self.ask(messages)
        if said is None:
            return ""
        self.final = Final(messages, *said)
        return self.final.text

    def _standing(self) -> list[Standing]:
        return [held for votes in self._chat.transcript.standing().values() for held in votes.values()]

    def _with_ballots(
        self, messages: tuple[Message, ...], ballots: Sequence[Standing]
    ) -> tuple[Message, ...]:
        """The conversation with `ballots` that are no longer in it, before its last message."""
        if not ballots:
            return messages
        heard = statements(ballots, label=self._chat.agents.__getitem__)
        text = statements_text(heard, self._chat.brief.rubric.names, self._chat.brief.nonce)
        return (*messages[:-1], Message("user", words("magentic-recap", heard=text)), messages[-1])

    def _fence_words(self, text: str) -> str:
        """The orchestrator's words as the framework repeats them in later prompts, its own and the jurors'."""
        return fence("words", NAME, text, self._chat.brief.nonce)

    def _end_in_silence(self, reason: AbstentionReason, detail: str, spent: Receipt) -> None:
        self._chat.note("silence", f"{reason}: {detail}", spent, failed=reason)
        told = f"the orchestrator gave no usable answer ({reason})"
        self._chat.end(Stop(reason="orchestrator", detail=told))


class Final(NamedTuple):
    """The final answer in free text, and the conversation it ended."""

    messages: tuple[Message, ...]
    text: str
    spent: Receipt


async def _close(chat: GroupChat, presider: Presider, shape: type[BaseModel]) -> None:
    """The last step: the final answer, what it decides, and who was never called on."""
    unheard = list(_unheard(chat))
    final = presider.final
    if final is None:
        chat.transcript = chat.bench.add_entries(chat.transcript, unheard)
        return
    said = Said(
        round=_now(chat),
        who=NAME,
        about="final",
        text=final.text,
        saw=chat.thread,
        spent=final.spent,
    )
    try:
        decided: list[Entry] = [_decision(chat, read_answer(final.text, shape, final.messages), Receipt())]
        problem = ""
    except UnusableAnswer as misread:
        decided, problem = [], misread.failure.detail
    chat.transcript = chat.bench.add_entries(chat.transcript, [said, *decided, *unheard])
    if problem:
        await _repair(chat, presider, final, shape, problem)


async def _repair(
    chat: GroupChat, presider: Presider, final: Final, shape: type[BaseModel], problem: str
) -> None:
    """Have the final answer given once more in its form; what it does not decide then is left to the ballots."""
    asked = (*final.messages, *repair_request(final.text, problem, chat.brief.nonce))
    said = await presider.ask(asked, inline(shape))
    if chat.broken is not None:
        raise chat.broken
    if said is None:
        return
    text, spent = said
    try:
        chat.add(_decision(chat, read_answer(text, shape, final.messages), spent))
    except UnusableAnswer as misread:
        chat.note(
            "silence", f"the orchestrator's final answer cannot be read: {misread.failure.detail}", spent
        )
        assert chat.stop is not None
        chat.stop = chat.stop.model_copy(
            update={"detail": "the orchestrator's final answer could not be read"}
        )


def _decision(chat: GroupChat, answer: BaseModel, spent: Receipt) -> Decided:
    standing = chat.transcript.standing()
    findings = []
    for name in type(answer).model_fields:
        part: Any = getattr(answer, name)
        weighed = tuple(standing.get(name, {}))
        findings.append(Finding(attribute=name, value=part.score, rationale=part.rationale, weighed=weighed))
    saw = dict.fromkeys(held.entry for votes in standing.values() for held in votes.values())
    return Decided(round=_now(chat), findings=tuple(findings), saw=tuple(saw), spent=spent)


def _unheard(chat: GroupChat) -> Iterable[Abstained]:
    heard = {entry.speaker for entry in chat.transcript.heard}
    stop = chat.stop or Stop(reason="orchestrator")
    satisfied = stop.reason in ("complete", "consensus")
    for seat in chat.agents:
        if seat not in heard:
            abstention = Abstention(
                juror=seat,
                round=1,
                reason="not_called" if satisfied else "limit",
                detail=f"the deliberation ended ({stop}) before this juror was called on",
                asked=chat.brief.rubric.names,
            )
            yield Abstained(abstention=abstention, round=1, purpose="vote")


def _now(chat: GroupChat) -> int:
    return max(1, chat.transcript.rounds)


magentic_one = Protocol(
    run=run,
    options=ShotOptions,
    check=check,
    count="decision",
    orchestrator=True,
    replans=True,
    framework=True,
    summary="AutoGen's own MagenticOneGroupChat (the published method) with the jurors and limits of the jury file; its known faults are guarded against",
    speaks="The orchestrator lists facts and plans. Then, again and again, it fills in a ledger and names one juror, who speaks.",
    sees="The orchestrator sees everything since its last plan. A juror sees the plan, what was asked since, and the others' last ballots.",
    ends="Stop reasons: complete or consensus (the orchestrator is satisfied), turns, rounds, stall, replans, budget, time or orchestrator. "
    "Then the orchestrator's final answer decides every attribute.",
    calls="2RN + 4 calls for N jurors if the orchestrator is satisfied after R rounds; 2RN + 3 calls if max_rounds ends it; "
    "three more calls for each new plan",
    steps="as many steps as calls, because every call waits for the one before",
    drawing="""
1  orchestrator      lists the facts
2  orchestrator      makes a plan
   +-- over and over ----------------------------------------------------------------------------+
3  | orchestrator    fills a ledger: satisfied? stuck? who speaks next, and on what?              |
   | code            a ledger nobody can follow goes back; at a limit it ends; stuck: 1 and 2 anew |
4  | that juror      votes, seeing the plan, what was asked and the others' last ballots           |
   +----------------------------------------------------------------------------------------------+
5  orchestrator      gives the final answer, which decides every attribute
""",
    most=lambda n, r: (2 * r * n + 6, 2 * r * n + 6),
)
