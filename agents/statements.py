"""Statements: what a seat is shown of the others' votes, as prompt text, shortened where it does not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from ..rubrics.ballot import Vote
from ..rubrics.scale import Value
from .context import estimated_tokens
from .prompting import fence, words


@dataclass(frozen=True, slots=True)
class Statement:
    """A vote as others hear it: under a label that the protocol chooses, which may hide who spoke."""

    entry: str
    """The id of the transcript entry it comes from."""
    label: str
    vote: Vote


def fit_statements(
    room: int | None,
    tail: Callable[[str], str],
    statements: Sequence[Statement],
    attributes: Sequence[str],
    nonce: str,
) -> str:
    """`tail` with the statements in it: whole if they fit into `room` tokens, else shortened.

    Jurors hear standing votes only, so earlier rounds are already left out. If that is too long, the votes on
    each attribute are counted by value and reasons are taken in turns from every value, those with a quote
    that stands in an exhibit first and short ones before long ones, for as long as they fit. The prompt says
    how many reasons were left out of it. Where not even the counts fit, what comes back is longer than `room`.
    """
    whole = tail(statements_text(statements, attributes, nonce))
    if room is None or estimated_tokens(whole) <= room:
        return whole
    return tail(_shortened_text(statements, attributes, nonce, room - estimated_tokens(tail(""))))


def statements_text(statements: Sequence[Statement], attributes: Iterable[str], nonce: str) -> str:
    """The statements by attribute, each between markers, quotes that stand in no exhibit marked so."""
    parts: list[str] = []
    for attribute in attributes:
        spoken = [s for s in statements if s.vote.attribute == attribute]
        if spoken:
            parts.append(f"## {attribute}\n" + "\n".join(_statement(s, nonce) for s in spoken))
    return "\n\n".join(parts) or "(nothing has been said)"


def votes_text(votes: Iterable[Vote], nonce: str) -> str:
    """A seat's own votes, one a line, between markers: its reasons may repeat what the case told it to say."""
    lines = "\n".join(f"- {vote.attribute}: {vote.value}. {vote.rationale}" for vote in votes)
    return fence("words", "your own", lines, nonce) if lines else "- none"


def _statement(statement: Statement, nonce: str) -> str:
    vote = statement.vote
    lines = [vote.rationale]
    for quote in vote.evidence:
        lines.append(f'quotes ({quote.exhibit or "these words stand in no exhibit"}): "{quote.text}"')
    if vote.moved_by:
        lines.append(f"moved by: {vote.moved_by}")
    return f"{statement.label} gave {vote.value}:\n" + fence(
        "words", statement.label, "\n".join(lines), nonce
    )


def _shortened_text(statements: Sequence[Statement], attributes: Sequence[str], nonce: str, room: int) -> str:
    groups = _by_value(statements, attributes)
    left = room - estimated_tokens(_summary_text(groups, {}))
    chosen: dict[int, str] = {}
    # Taken in turns, so that no attribute and no side is left without a reason while another has two.
    for turn in zip_longest(*(group for sides in groups.values() for group in sides.values())):
        for statement in filter(None, turn):
            text = _statement(statement, nonce)
            if (size := estimated_tokens(text + "\n")) <= left:
                chosen[id(statement)] = text
                left -= size
    return _summary_text(groups, chosen)


def _by_value(
    statements: Sequence[Statement], attributes: Sequence[str]
) -> dict[str, dict[Value, list[Statement]]]:
    """Each attribute's statements by value, the best reasons first."""
    groups: dict[str, dict[Value, list[Statement]]] = {}
    for attribute in attributes:
        for statement in statements:
            if statement.vote.attribute == attribute:
                groups.setdefault(attribute, {}).setdefault(statement.vote.value, []).append(statement)
    for sides in groups.values():
        for group in sides.values():
            group.sort(key=lambda s: (not any(q.found for q in s.vote.evidence), len(s.vote.rationale)))
    return groups


def _summary_text(groups: dict[str, dict[Value, list[Statement]]], chosen: dict[int, str]) -> str:
    parts = [words("condensed")]
    for attribute, sides in groups.items():
        lines = [f"## {attribute}"]
        for value, group in sides.items():
            shown = [chosen[id(statement)] for statement in group if id(statement) in chosen]
            missing = len(group) - len(shown)
            lines.append(
                f"{len(group)} gave {value}" + (f"; {missing} of their reasons left out." if missing else ".")
            )
            lines += shown
        parts.append("\n".join(lines))
    return "\n\n".join(parts)
