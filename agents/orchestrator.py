"""The orchestrator's mind: it names disputes and, at the end, decides what the jury left open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from ..personas.jury import Seat
from ..rubrics.ballot import STRICT, TEXT, AbstainedAttribute, AbstentionReason, Legal, Schema, answer_model
from ..rubrics.scale import Value
from .answers import legal_attributes
from .budget import LimitReached
from .cost import Receipt
from .gateway import FillFailed, ModelGateway, Prompt
from .model import Context, Message, Reply, Subject
from .prompting import Brief, Statement, fit_statements, form_of, same_words, words

NAME = "orchestrator"


class Dispute(BaseModel):
    """What is disputed about one attribute, the question that could settle it, and who should answer."""

    model_config = ConfigDict(frozen=True)

    attribute: str
    dispute: str
    question: str
    to: tuple[str, ...]
    answering: str = ""
    """Whose argument is to be answered, where a moderator says so."""


class Finding(BaseModel):
    """The orchestrator's decision on one attribute, the ballots it weighed and its own reasons."""

    model_config = ConfigDict(frozen=True)

    attribute: str
    value: Value
    rationale: str
    weighed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Disputes:
    disputes: tuple[Dispute, ...]
    spent: Receipt


@dataclass(frozen=True, slots=True)
class Moderation:
    """A moderator's turn: what is still disputed, and what it declares agreed."""

    disputes: tuple[Dispute, ...]
    declared: tuple[str, ...]
    spent: Receipt


@dataclass(frozen=True, slots=True)
class Decision:
    findings: tuple[Finding, ...]
    spent: Receipt
    abstained: tuple[AbstainedAttribute, ...] = ()
    """The attributes for which it gave no legal finding."""


@dataclass(frozen=True, slots=True)
class Silence:
    """The orchestrator gave no usable answer."""

    reason: AbstentionReason
    detail: str
    spent: Receipt


class Orchestrator:
    """One deliberation's presiding mind. Counting and stopping are not its business: code does both."""

    def __init__(self, gateway: ModelGateway, seats: Sequence[Seat], stance: str = "") -> None:
        self._gateway = gateway
        self._stance = stance.strip()
        self._names = tuple(seat.name for seat in seats)
        self._bench = "\n".join(
            f"- {seat.name}" + (f": attends to {seat.persona.attends_to}" if seat.persona else "")
            for seat in seats
        )

    async def name_disputes(
        self, brief: Brief, disputed: Sequence[str], heard: Sequence[Statement], *, round: int, replan: bool
    ) -> Disputes | Silence:
        """What is disputed after `round`; with `replan`, after questions that moved nobody."""
        shape = _ledger_shape(tuple(disputed), self._names)

        def tail(told: str) -> str:
            return words(
                "ledger",
                jurors=self._bench,
                round=round,
                heard=told,
                disputed=", ".join(disputed),
                replan=words("replan") if replan else "",
                form=form_of(shape),
            )

        subject = brief.subject(NAME, tuple(disputed), round=round, kind="ledger")
        filled = await self._fill(brief, tail, heard, shape, subject)
        if isinstance(filled, Silence):
            return filled
        answer, spent = filled
        return Disputes(
            tuple(
                Dispute(attribute=name, dispute=part.dispute, question=part.question, to=tuple(part.to))
                for name, part in _parts(answer)
            ),
            spent,
        )

    async def moderate(
        self, brief: Brief, pending: Sequence[str], heard: Sequence[Statement], *, round: int, replan: bool
    ) -> Moderation | Silence:
        """Who should answer whom about each attribute, or that the jury agrees on it. Code checks the latter."""
        shape = _moderation_shape(tuple(pending), self._names)

        def tail(told: str) -> str:
            return words(
                "moderation",
                jurors=self._bench,
                round=round,
                heard=told,
                pending=", ".join(pending),
                replan=words("replan") if replan else "",
                form=form_of(shape),
            )

        subject = brief.subject(NAME, tuple(pending), round=round, kind="ledger")
        filled = await self._fill(brief, tail, heard, shape, subject)
        if isinstance(filled, Silence):
            return filled
        answer, spent = filled
        disputes = tuple(
            Dispute(
                attribute=name,
                dispute=part.dispute,
                question=part.question,
                to=tuple(part.to),
                answering=part.answering,
            )
            for name, part in _parts(answer)
        )
        declared = tuple(name for name, part in _parts(answer) if part.finding == "consensus")
        return Moderation(disputes, declared, spent)

    async def decide(
        self, brief: Brief, undecided: Sequence[str], heard: Sequence[Statement], *, round: int, why: str
    ) -> Decision | Silence:
        """The orchestrator's own, reasoned score for each attribute that the jury left open."""
        parts = {name: (name, Legal.of(brief.rubric, name), _voters(heard, name)) for name in undecided}
        shape = _decision_shape(tuple(parts.values()))

        def tail(told: str) -> str:
            return words(
                "decision",
                jurors=self._bench,
                heard=told,
                why=why,
                open=", ".join(undecided),
                form=form_of(shape),
            )

        subject = brief.subject(NAME, tuple(undecided), round=round, kind="decision")
        prompt = self._prompt(brief, tail, heard, subject)
        if isinstance(prompt, Silence):
            return prompt
        try:
            filled = await self._gateway.fill(prompt, shape)
        except FillFailed as failed:
            shapes = {name: _decision_shape((part,)) for name, part in parts.items()}
            legal, abstained = legal_attributes(failed.fields, shapes, prompt.messages)
            if not legal:
                return Silence(failed.failure.reason, failed.failure.detail, failed.spent)
            return Decision(_findings(legal), failed.spent, abstained)
        except LimitReached as reached:
            return _limit_silence(reached)
        return Decision(_findings([filled.value]), filled.spent)

    async def say(self, messages: tuple[Message, ...], schema: Schema | None = None) -> tuple[Reply, str]:
        """Its words to an open conversation, and the key of the call. Fails as the gateway does."""
        return await self._gateway.say(messages, schema)

    def room(self, messages: Sequence[Message]) -> int | None:
        """The tokens left beside a conversation: below zero where it does not fit, None where all do."""
        return self._gateway.window.room(*(message.content for message in messages))

    async def _fill(
        self,
        brief: Brief,
        tail: Callable[[str], str],
        heard: Sequence[Statement],
        shape: type[BaseModel],
        subject: Subject,
    ) -> tuple[BaseModel, Receipt] | Silence:
        prompt = self._prompt(brief, tail, heard, subject)
        if isinstance(prompt, Silence):
            return prompt
        try:
            filled = await self._gateway.fill(prompt, shape)
        except FillFailed as failed:
            return Silence(failed.failure.reason, failed.failure.detail, failed.spent)
        except LimitReached as reached:
            return _limit_silence(reached)
        return filled.value, filled.spent

    def _prompt(
        self, brief: Brief, tail: Callable[[str], str], heard: Sequence[Statement], subject: Subject
    ) -> Prompt | Silence:
        """The prompt, with the statements shortened where they must be; a silence where it is too long even so."""
        system = "\n\n".join(filter(None, (same_words(brief.prompts, "orchestrator"), self._stance)))
        text, window = brief.text_with(brief.first(None)), self._gateway.window
        body = fit_statements(window.room(system, text), tail, heard, subject.asked, brief.nonce)
        if too_long := window.overflow(system, text, body):
            return Silence("too_long", too_long, Receipt())
        heard_votes = tuple((each.label, each.vote) for each in heard)
        shown = Context(heard=heard_votes, notes=tuple(self._bench.split("\n")), first=brief.first(None))
        return Prompt(system, text, body, replace(subject, context=shown), brief.nonce)


def _limit_silence(reached: LimitReached) -> Silence:
    return Silence("limit", f"{reached.limit} was reached", Receipt())


def _findings(answers: Sequence[BaseModel]) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            attribute=name,
            value=part.score,
            rationale=part.rationale,
            weighed=tuple(dict.fromkeys(part.weighed)),
        )
        for answer in answers
        for name, part in _parts(answer)
    )


def _voters(heard: Sequence[Statement], attribute: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(s.label for s in heard if s.vote.attribute == attribute))


def _parts(filled: BaseModel) -> list[tuple[str, Any]]:
    return [(name, getattr(filled, name)) for name in type(filled).model_fields]


@lru_cache(maxsize=1024)
def _ledger_shape(disputed: tuple[str, ...], seats: tuple[str, ...]) -> type[BaseModel]:
    to: Any = list[Literal[seats]]  # type: ignore[valid-type]
    part = create_model("Dispute", __config__=STRICT, dispute=(TEXT, ...), question=(TEXT, ...), to=(to, ...))
    fields: dict[str, Any] = dict.fromkeys(disputed, (part, ...))
    return answer_model("Ledger", fields)


@lru_cache(maxsize=1024)
def _moderation_shape(pending: tuple[str, ...], seats: tuple[str, ...]) -> type[BaseModel]:
    parts: dict[str, Any] = {
        "dispute": (TEXT, ...),
        "finding": (Literal["disputed", "consensus"], ...),
        "question": (str, ...),
        "answering": (Literal[(*seats, "")], ...),
        "to": (list[Literal[seats]], ...),  # type: ignore[valid-type]
    }
    part = create_model("Exchange", __config__=STRICT, **parts)
    fields: dict[str, Any] = dict.fromkeys(pending, (part, ...))
    return answer_model("Moderation", fields)


@lru_cache(maxsize=1024)
def _decision_shape(undecided: tuple[tuple[str, Legal, tuple[str, ...]], ...]) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for name, legal, voters in undecided:
        weighed: Any = Annotated[list[Literal[voters]], Field(min_length=1)]  # type: ignore[valid-type]
        part = create_model(
            f"Finding_{name}",
            __config__=STRICT,
            weighed=(weighed, ...),
            rationale=(TEXT, ...),
            score=(legal.score, ...),
        )
        fields[name] = (part, ...)
    return answer_model("Decision", fields)
