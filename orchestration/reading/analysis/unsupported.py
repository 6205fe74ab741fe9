"""Unsupported evidence: words a juror quotes that stand in no text of the case."""

from __future__ import annotations

from typing import NamedTuple

from ...transcript import Transcript


class UnsupportedQuote(NamedTuple):
    """One quote that is not there, and where it was used."""

    juror: str
    attribute: str
    round: int
    entry: str
    quote: str
    stands: bool
    """Whether the vote it was given for is still the juror's last on the attribute."""


def unsupported_quotes(transcript: Transcript) -> tuple[UnsupportedQuote, ...]:
    """Every quote found in no exhibit, in the order they were made."""
    missing = [
        (entry, vote, quote)
        for entry in transcript.ballots
        for vote in entry.ballot.votes
        for quote in vote.evidence
        if not quote.found
    ]
    standing = transcript.standing() if missing else {}
    return tuple(
        UnsupportedQuote(
            entry.speaker,
            vote.attribute,
            entry.round,
            entry.id,
            quote.text,
            standing[vote.attribute][entry.speaker].entry == entry.id,
        )
        for entry, vote, quote in missing
    )
