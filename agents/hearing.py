"""What a seat may hear of the others: statements, and how they are put into words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..rubrics.ballot import Vote
from .prompting import fenced


@dataclass(frozen=True, slots=True)
class Statement:
    """A vote as others hear it: under a label that the protocol chooses, which may hide who spoke."""

    entry: str
    """The id of the transcript entry it comes from."""
    label: str
    vote: Vote


def heard_text(statements: Sequence[Statement], attributes: Iterable[str], nonce: str) -> str:
    """The statements by attribute, each between markers, quotes that stand in no exhibit marked so."""
    parts: list[str] = []
    for attribute in attributes:
        spoken = [s for s in statements if s.vote.attribute == attribute]
        if spoken:
            parts.append(f"## {attribute}\n" + "\n".join(_statement(s, nonce) for s in spoken))
    return "\n\n".join(parts) or "(nothing has been said)"


def _statement(statement: Statement, nonce: str) -> str:
    vote = statement.vote
    lines = [vote.rationale]
    for quote in vote.evidence:
        lines.append(f'quotes ({quote.exhibit or "these words stand in no exhibit"}): "{quote.text}"')
    if vote.moved_by:
        lines.append(f"moved by: {vote.moved_by}")
    return f"{statement.label} gave {vote.value}:\n" + fenced(
        "words", statement.label, "\n".join(lines), nonce
    )


def own_text(votes: Iterable[Vote]) -> str:
    return "\n".join(f"- {vote.attribute}: {vote.value}. {vote.rationale}" for vote in votes) or "- none"
