"""Jurors: one seat's way from a brief to a ballot. A juror holds no memory between cases."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from pydantic import BaseModel

from ..personas.jury import PairOrder
from ..personas.persona import Persona
from ..rubrics.ballot import Abstention, Ballot, Vote, ballot_shape, has_words, votes_from
from ..rubrics.case import Label
from ..rubrics.scale import Value
from .answers import legal_attributes
from .budget import LimitReached
from .cost import Receipt
from .gateway import FillFailed, ModelGateway, Prompt
from .model import Context
from .orchestrator import NAME
from .prompting import (
    PROMPTS,
    Brief,
    Prompts,
    Statement,
    fence,
    fit_statements,
    form_of,
    neutralise,
    same_words,
    votes_text,
    words,
)

Shown = Literal["A", "B", "both"]
"""Which output of a pair stood first in a prompt; `both` where a seat was asked in either order."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What came out of a seat when it was asked, and what that cost."""

    answer: Ballot | Abstention
    spent: Receipt
    first: Shown | None = None
    """Which output of a pair was shown first."""


@dataclass(frozen=True, slots=True)
class OrchestratorQuestion:
    """What the orchestrator wants answered about one attribute."""

    attribute: str
    text: str


class Juror:
    """A persona on a model, for one deliberation."""

    def __init__(
        self,
        name: str,
        persona: Persona | None,
        gateway: ModelGateway,
        *,
        place: int = 0,
        order: PairOrder = "balanced",
    ) -> None:
        self.name = name
        self.persona = persona
        self.gateway = gateway
        """Its access to its model, for what is asked of it besides ballots."""
        self._stance = _stance(persona)
        self._place = place
        """Its seat's number: of a pair, neighbours are shown the outputs in different orders."""
        self._order = order

    async def cast(
        self,
        brief: Brief,
        asked: Sequence[str],
        *,
        examples: str = "",
        confidence: bool = False,
        repeat: int = 0,
        name: str | None = None,
    ) -> Turn:
        """A first ballot, made with nothing of the others in sight."""

        def ask(form: str, names: str, room: int | None) -> str:
            return same_words(
                PROMPTS, "ballot", stance=self._stance, examples=examples, asked=names, form=form
            )

        return await self._answer(
            brief,
            asked,
            ask,
            round=1,
            confidence=confidence,
            repeat=repeat,
            name=name or self.name,
            context=Context(notes=_notes(examples, nonce=brief.nonce)),
        )

    def overflow(self, brief: Brief) -> str | None:
        """Why this seat's model cannot read the case at all; None if it can."""
        form = form_of(ballot_shape(brief.rubric))
        asked = ", ".join(brief.rubric.names)
        tail = words("ballot", stance=self._stance, examples="", asked=asked, form=form)
        return self.gateway.window.overflow(same_words(brief.prompts, "juror"), brief.text, tail)

    async def revise(
        self,
        brief: Brief,
        asked: Sequence[str],
        *,
        round: int,
        own: Mapping[str, Vote],
        heard: Sequence[Statement],
        questions: Sequence[OrchestratorQuestion] = (),
        notice: str = "",
        repeat: int = 0,
    ) -> Turn:
        """A ballot on `asked` by a juror who has read `heard`; a change must name what moved it."""

        def ask(form: str, names: str, room: int | None) -> str:
            put = "\n".join(f"- {question.attribute}: {question.text}" for question in questions)
            asks = f"The orchestrator asks you:\n{fence('words', NAME, put, brief.nonce)}\n" if put else ""

            def tail(told: str) -> str:
                return words(
                    "revision",
                    stance=self._stance,
                    round=round,
                    nonce=brief.nonce,
                    heard="\n\n".join(filter(None, (notice, told))),
                    questions=asks,
                    own=votes_text((own[name] for name in asked if name in own), brief.nonce),
                    asked=names,
                    form=form,
                )

            return fit_statements(room, tail, heard, asked, brief.nonce)

        questioned = (f"The orchestrator asks about {each.attribute}: {each.text}" for each in questions)
        return await self._answer(
            brief,
            asked,
            ask,
            round=round,
            held=_values(own),
            saw=_entries(heard),
            repeat=repeat,
            context=_context(own, heard, *_notes(notice, nonce=brief.nonce), *questioned),
        )

    async def join(
        self,
        brief: Brief,
        asked: Sequence[str],
        *,
        round: int,
        heard: Sequence[Statement],
        notice: str,
        examples: str = "",
        repeat: int = 0,
    ) -> Turn:
        """A first ballot by a juror who is called on when a discussion has begun."""

        def ask(form: str, names: str, room: int | None) -> str:
            def tail(told: str) -> str:
                return words(
                    "magentic-first",
                    stance=self._stance,
                    examples=examples,
                    nonce=brief.nonce,
                    heard="\n\n".join(filter(None, (notice, told))),
                    asked=names,
                    form=form,
                )

            return fit_statements(room, tail, heard, asked, brief.nonce)

        return await self._answer(
            brief,
            asked,
            ask,
            round=round,
            saw=_entries(heard),
            repeat=repeat,
            context=_context({}, heard, *_notes(notice, examples, nonce=brief.nonce)),
        )

    async def argue(
        self,
        brief: Brief,
        asked: Sequence[str],
        *,
        side: Literal["high", "low"],
        round: int,
        own: Mapping[str, Vote],
        heard: Sequence[Statement],
    ) -> Turn:
        """An advocate's ballot: the best honest case for the `side` of the scale, against the other's last one.

        Of a pair, the low side is output A and the high one output B.
        """

        if brief.rubric.compares:
            named = ("output B", "output A") if side == "high" else ("output A", "output B")
        else:
            named = ("better", "too severe") if side == "high" else ("worse", "too lenient")
        parts = {"side": named[0], "against": named[1], "moved": words("moved") if own else ""}
        return await self.ask(
            brief,
            asked,
            brief.prompts,
            "advocate",
            round=round,
            own=own or None,
            heard=heard,
            parts=parts,
            notes=(
                f"You are an advocate: make the strongest honest case for {named[0]}, and against {named[1]}."
                if brief.rubric.compares
                else f"You are an advocate: make the strongest honest case that the text is {named[0]} than the other "
                f"side makes it out to be, and that the other side is {named[1]}.",
            ),
        )

    async def vote(
        self, brief: Brief, asked: Sequence[str], *, round: int, heard: Sequence[Statement]
    ) -> Turn:
        """A first ballot by a juror who has listened to advocates."""
        return await self.ask(brief, asked, brief.prompts, "vote", round=round, heard=heard)

    async def ask(
        self,
        brief: Brief,
        asked: Sequence[str],
        prompts: Prompts,
        prompt: str,
        *,
        round: int,
        own: Mapping[str, Vote] | None = None,
        heard: Sequence[Statement] = (),
        parts: Mapping[str, object] | None = None,
        quotes: Mapping[str, str] | None = None,
        notes: Sequence[str] = (),
        repeat: int = 0,
    ) -> Turn:
        """A ballot on `asked` in answer to any prompt, such as one that a protocol brings.

        The prompt follows the rubric and the case. It has to name `$asked` and `$form`, and may use `$stance`, `$round`, `$heard`, `$own` and `$nonce`,
        the code in the markers around what others wrote, besides `parts` and `quotes`.

        Args:
            own: The juror's votes so far; with them, a changed score must name what moved it.
            heard: What it may read of the others: each statement is fenced, and shortened where the model reads little.
            parts: The protocol's own words. Nothing in them can pass for a marker.
            quotes: Words of a case or a model, by the name of their place: fenced.
            notes: What a person in the seat is told in place of the prompt.
        """

        votes = own or {}

        def render(form: str, names: str, room: int | None) -> str:
            given = {name: neutralise(str(part), brief.nonce) for name, part in (parts or {}).items()}
            given |= {name: fence("words", name, text, brief.nonce) for name, text in (quotes or {}).items()}

            def tail(told: str) -> str:
                return prompts.words(
                    prompt,
                    stance=self._stance,
                    round=round,
                    nonce=brief.nonce,
                    heard=told,
                    own=votes_text((votes[name] for name in asked if name in votes), brief.nonce),
                    asked=names,
                    form=form,
                    **given,
                )

            return fit_statements(room, tail, heard, asked, brief.nonce)

        held = None if own is None else _values(own)
        told = (*notes, *(f"{name}: {text}" for name, text in (quotes or {}).items()))
        return await self._answer(
            brief,
            asked,
            render,
            round=round,
            held=held,
            saw=_entries(heard),
            repeat=repeat,
            context=_context(votes, heard, *told),
        )

    async def challenge(
        self, brief: Brief, asked: Sequence[str], *, round: int, own: Mapping[str, Vote], saw: tuple[str, ...]
    ) -> Turn:
        """The strongest case against what everyone agreed on at once."""

        def ask(form: str, names: str, room: int | None) -> str:
            agreed = "\n".join(f"- {name}: {own[name].value}" for name in asked)
            return words("challenge", stance=self._stance, agreed=agreed, asked=names, form=form)

        told = "Everyone gave the same score at once. Make the strongest honest case against it; then keep your score or change it."
        return await self._answer(
            brief, asked, ask, round=round, held=_values(own), saw=saw, context=_context(own, (), told)
        )

    async def _answer(
        self,
        brief: Brief,
        asked: Sequence[str],
        ask: Callable[[str, str, int | None], str],
        *,
        round: int,
        held: Mapping[str, Value] | None = None,
        saw: tuple[str, ...] = (),
        confidence: bool = False,
        repeat: int = 0,
        name: str | None = None,
        context: Context = Context(),  # noqa: B008
    ) -> Turn:
        """The seat's answer; of a pair, to the outputs in the order in which this seat is shown them."""
        answer = partial(
            self._answer_to, brief, asked, ask, round=round, held=held, saw=saw, confidence=confidence, repeat=repeat,
            name=name or self.name, context=context,
        )  # fmt: skip
        first = brief.first(self._place + repeat)
        if first is None or not self.gateway.reads_prompts:
            return await answer(None)
        if self._order != "both":
            first = "A" if self._order == "fixed" else first
            return replace(await answer(first), first=first)
        return in_both_orders(*await asyncio.gather(answer("A"), answer("B")))

    async def _answer_to(
        self,
        brief: Brief,
        asked: Sequence[str],
        ask: Callable[[str, str, int | None], str],
        first: Label | None,
        *,
        round: int,
        held: Mapping[str, Value] | None,
        saw: tuple[str, ...],
        confidence: bool,
        repeat: int,
        name: str,
        context: Context,
    ) -> Turn:
        """The seat's answer to the case, `first` of its outputs shown first where it is a pair."""
        asked, text = tuple(asked), brief.text_with(first)
        able = self.gateway.answers_for(brief.subject(self.name, asked, round=round))
        if not able:
            return Turn(Ballot(juror=name, round=round, votes=(), asked=asked, saw=saw), Receipt())

        def shape_of(names: Sequence[str]) -> type[BaseModel]:
            return ballot_shape(brief.rubric, names, revision=held is not None, confidence=confidence)

        shape, check = shape_of(able), _names_what_moved(held)
        system, window = same_words(brief.prompts, "juror"), self.gateway.window
        tail = ask(form_of(shape), ", ".join(able), window.room(system, text))
        if too_long := window.overflow(system, text, tail):
            answer: Ballot | Abstention = Abstention(
                juror=name, round=round, reason="too_long", detail=too_long, asked=asked, saw=saw
            )
            return Turn(answer, Receipt())
        shown = context if first is None else replace(context, first=first)
        subject = brief.subject(self.name, able, round=round, context=shown)
        prompt = Prompt(system, text, tail, subject, brief.nonce)
        try:
            filled = await self.gateway.fill(prompt, shape, check=check, repeat=repeat)
        except FillFailed as failed:
            legal, abstained = legal_attributes(
                failed.fields, {a: shape_of([a]) for a in able}, prompt.messages, check
            )
            if legal:
                votes = tuple(vote for part in legal for vote in votes_from(part, brief.exhibits))
                answer = Ballot(
                    juror=name, round=round, votes=votes, asked=asked, saw=saw, abstained=abstained
                )
                return Turn(answer, failed.spent)
            failure = failed.failure
            answer = Abstention(
                juror=name, round=round, reason=failure.reason, detail=failure.detail, asked=asked, saw=saw
            )
            return Turn(answer, failed.spent)
        except LimitReached as reached:
            return Turn(limit_abstention(name, round, asked, reached.limit), Receipt())
        votes = votes_from(filled.value, brief.exhibits)
        return Turn(Ballot(juror=name, round=round, votes=votes, asked=asked, saw=saw), filled.spent)


def in_both_orders(with_a_first: Turn, with_b_first: Turn) -> Turn:
    """One turn of two, as in MT-bench (Zheng et al., 2023): a preference must hold in both orders, else it is a tie.

    Of two degrees of one preference the weaker counts. A seat that could answer in one order only has not answered.
    """
    spent, turns = with_a_first.spent.beside(with_b_first.spent), (with_a_first, with_b_first)
    failed = next((turn.answer for turn in turns if isinstance(turn.answer, Abstention)), None)
    if failed is not None:
        return Turn(failed, spent, "both")
    ballots = [turn.answer for turn in turns if isinstance(turn.answer, Ballot)]
    second = {vote.attribute: vote for vote in ballots[1].votes}
    votes = [
        _held_in_both(vote, second[vote.attribute]) for vote in ballots[0].votes if vote.attribute in second
    ]
    abstained = {each.attribute: each for ballot in ballots for each in ballot.abstained}
    answer = ballots[0].model_copy(update={"votes": tuple(votes), "abstained": tuple(abstained.values())})
    return Turn(answer, spent, "both")


def _held_in_both(a_first: Vote, b_first: Vote) -> Vote:
    values = (a_first.value, b_first.value)
    value: Value
    if isinstance(a_first.value, str) or isinstance(b_first.value, str):
        value = a_first.value if values[0] == values[1] else 0
    else:
        same_side = a_first.value * b_first.value > 0
        value = min(a_first.value, b_first.value, key=abs) if same_side else 0
    return a_first.model_copy(
        update={
            "value": value,
            "rationale": f"With output A first ({values[0]}): {a_first.rationale}\nWith output B first ({values[1]}): {b_first.rationale}",
            "evidence": tuple(dict.fromkeys((*a_first.evidence, *b_first.evidence))),
            "moved_by": "; ".join(dict.fromkeys(filter(None, (a_first.moved_by, b_first.moved_by)))),
            "orders": values,
        }
    )


def limit_abstention(juror: str, round: int, asked: Sequence[str], limit: str) -> Abstention:
    """The abstention of a seat whose turn a limit took away."""
    return Abstention(
        juror=juror,
        round=round,
        reason="limit",
        detail=f"{limit} was reached before this juror was asked",
        asked=tuple(asked),
    )


def _stance(persona: Persona | None) -> str:
    if persona is None:
        return "You hold no particular stance. Read as a careful, fair expert would."
    return f"You attend to: {persona.attends_to}\n{persona.voice.strip()}"


def _entries(heard: Sequence[Statement]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(statement.entry for statement in heard))


def _context(own: Mapping[str, Vote], heard: Sequence[Statement], *notes: str) -> Context:
    return Context(tuple(own.values()), tuple((each.label, each.vote) for each in heard), notes)


def _notes(*texts: str, nonce: str) -> tuple[str, ...]:
    """What a prompt tells beside the votes, without its markers: nobody but a model needs them."""
    # Every case has a code of its own: an expression with it is compiled only where there is something to look through.
    shown = (re.sub(rf"\[\[[^\n]*{nonce}\]\]\n?", "", text) if nonce in text else text for text in texts)
    return tuple(told for text in shown if (told := text.strip()))


def _values(own: Mapping[str, Vote]) -> dict[str, Value]:
    return {name: vote.value for name, vote in own.items()}


def _names_what_moved(held: Mapping[str, Value] | None) -> Callable[[BaseModel], str | None] | None:
    """Refuse a changed score that does not say what changed it: a reader has to see what it says moved it."""
    if held is None:
        return None

    def check(filled: BaseModel) -> str | None:
        for attribute in type(filled).model_fields:
            answer: Any = getattr(filled, attribute)
            if attribute in held and answer.score != held[attribute] and not has_words(answer.moved_by):
                return (
                    f"{attribute} changed from {held[attribute]} to {answer.score} and moved_by is empty; "
                    "name the reason or the quote that moved you, or keep your score"
                )
        return None

    return check
