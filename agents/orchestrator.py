"""The orchestrator's mind: it names disputes and, at the end, decides what the jury left open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from ..personas.jury import Seat
from ..rubrics.scale import Value
from ..rubrics.shapes import STRICT, TEXT, Legal, inline
from .brief import Brief
from .door import Cost, FillFailed, ModelClient, Prompt
from .hearing import Statement, heard_text
from .meter import LimitReached
from .model import Subject
from .prompting import form_of, words

NAME = "orchestrator"


class Dispute(BaseModel):
    """What is disputed about one attribute, the question that could settle it, and who should answer."""

    model_config = ConfigDict(frozen=True)

    attribute: str
    dispute: str
    question: str
    to: tuple[str, ...]


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
    cost: Cost


@dataclass(frozen=True, slots=True)
class Decision:
    findings: tuple[Finding, ...]
    cost: Cost


@dataclass(frozen=True, slots=True)
class Silence:
    """The orchestrator gave no usable answer."""

    reason: str
    detail: str
    cost: Cost


class Orchestrator:
    """One deliberation's presiding mind. Counting and stopping are not its business: code does both."""

    def __init__(self, client: ModelClient, seats: Sequence[Seat]) -> None:
        self._client = client
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
        again = (
            "The questions you put last time moved nobody and brought no new evidence. Put different ones.\n"
            if replan
            else ""
        )
        tail = words(
            "ledger",
            jurors=self._bench,
            round=round,
            heard=heard_text(heard, disputed, brief.nonce),
            disputed=", ".join(disputed),
            replan=again,
            form=form_of(inline(shape)),
        )
        subject = brief.subject(NAME, tuple(disputed), round=round, kind="ledger")
        filled = await self._fill(brief, tail, shape, subject)
        if isinstance(filled, Silence):
            return filled
        answer, cost = filled
        return Disputes(
            tuple(
                Dispute(attribute=name, dispute=part.dispute, question=part.question, to=tuple(part.to))
                for name, part in _parts(answer)
            ),
            cost,
        )

    async def decide(
        self, brief: Brief, undecided: Sequence[str], heard: Sequence[Statement], *, round: int, why: str
    ) -> Decision | Silence:
        """The orchestrator's own, reasoned score for each attribute that the jury left open."""
        shape = _decision_shape(
            tuple((name, Legal.of(brief.rubric, name), _voters(heard, name)) for name in undecided)
        )
        tail = words(
            "decision",
            jurors=self._bench,
            heard=heard_text(heard, undecided, brief.nonce),
            why=why,
            open=", ".join(undecided),
            form=form_of(inline(shape)),
        )
        subject = brief.subject(NAME, tuple(undecided), round=round, kind="decision")
        filled = await self._fill(brief, tail, shape, subject)
        if isinstance(filled, Silence):
            return filled
        answer, cost = filled
        return Decision(
            tuple(
                Finding(
                    attribute=name,
                    value=part.score,
                    rationale=part.rationale,
                    weighed=tuple(dict.fromkeys(part.weighed)),
                )
                for name, part in _parts(answer)
            ),
            cost,
        )

    async def _fill(
        self, brief: Brief, tail: str, shape: type[BaseModel], subject: Subject
    ) -> tuple[BaseModel, Cost] | Silence:
        prompt = Prompt(words("orchestrator"), brief.text, tail, subject)
        try:
            filled = await self._client.fill(prompt, shape)
        except FillFailed as failed:
            return Silence(failed.failure.reason, failed.failure.detail, failed.cost)
        except LimitReached as reached:
            return Silence("limit", f"{reached.limit} was reached", Cost())
        return filled.value, filled.cost


def _voters(heard: Sequence[Statement], attribute: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(s.label for s in heard if s.vote.attribute == attribute))


def _parts(filled: BaseModel) -> list[tuple[str, Any]]:
    return [(name, getattr(filled, name)) for name in type(filled).model_fields]


@lru_cache(maxsize=1024)
def _ledger_shape(disputed: tuple[str, ...], seats: tuple[str, ...]) -> type[BaseModel]:
    to: Any = list[Literal[seats]]  # type: ignore[valid-type]
    part = create_model("Dispute", __config__=STRICT, dispute=(TEXT, ...), question=(TEXT, ...), to=(to, ...))
    fields: dict[str, Any] = dict.fromkeys(disputed, (part, ...))
    return create_model("Ledger", __config__=STRICT, **fields)


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
    return create_model("Decision", __config__=STRICT, **fields)
