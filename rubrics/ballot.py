"""Ballots and abstentions: the two things that can come out of a seat."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from .quotes import Quote
from .scale import Value

AbstentionReason = Literal[
    "unparsable",
    "out_of_scale",
    "refused",
    "timeout",
    "unavailable",
    "no_record",
    "no_evidence",
    "limit",
    "too_long",
    "not_called",
]
"""`not_called`: whoever presides was satisfied before the seat was called on."""


class Vote(BaseModel):
    """One seat's answer to one question."""

    model_config = ConfigDict(frozen=True)

    attribute: str
    value: Value
    """A legal value of the attribute's scale, or `not_applicable`."""
    rationale: str
    evidence: tuple[Quote, ...] = ()
    moved_by: str = ""
    """In a revision that changes the value: the reason or quote that changed it."""
    confidence: Literal["low", "medium", "high"] | None = None
    """How sure the juror says it is, where the protocol asks."""


class AbstainedAttribute(BaseModel):
    """An attribute whose answer in a ballot was illegal even after the one repair, and why."""

    model_config = ConfigDict(frozen=True)

    attribute: str
    reason: AbstentionReason
    detail: str


class Ballot(BaseModel):
    """One seat's answers in one round, and what it had seen when it gave them."""

    model_config = ConfigDict(frozen=True)

    juror: str
    round: int
    votes: tuple[Vote, ...]
    asked: tuple[str, ...]
    """The attributes it was asked about; those with neither a vote nor an abstention, it had no opinion on."""
    saw: tuple[str, ...] = ()
    """The ids of the transcript's entries that were in its prompt."""
    abstained: tuple[AbstainedAttribute, ...] = ()

    @property
    def silent_on(self) -> tuple[str, ...]:
        answered = {vote.attribute for vote in self.votes} | {part.attribute for part in self.abstained}
        return tuple(name for name in self.asked if name not in answered)

    @property
    def abstentions(self) -> tuple[Abstention, ...]:
        """One abstention for each attribute that it abstained on."""
        return tuple(
            Abstention(
                juror=self.juror,
                round=self.round,
                reason=part.reason,
                detail=part.detail,
                asked=(part.attribute,),
                saw=self.saw,
                attribute=part.attribute,
            )
            for part in self.abstained
        )


class Abstention(BaseModel):
    """A seat, or one attribute of its ballot, that failed, refused or could not be understood, and why. Never a number."""

    model_config = ConfigDict(frozen=True)

    juror: str
    round: int
    reason: AbstentionReason
    detail: str
    asked: tuple[str, ...]
    saw: tuple[str, ...] = ()
    attribute: str | None = None
    """The one attribute it is about; None where the seat gave no ballot at all."""
