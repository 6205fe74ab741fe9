"""Plan: whether what was decided, and what happens next, reaches the reader."""

from __future__ import annotations

from collections.abc import Sequence

from .coverage import left_out
from .words import LensReading, count_of, first_quotes, split_sentences, stem, stems

_DECIDING = """
start started restart begin stop stopped continue change replace reduce increase raise switch hold refer
referral book booked appointment review repeat follow recheck plan planned advise advised return discharge
request recommend supply prescribe arrange list need avoid
"""

CUES = frozenset(stem(word) for word in _DECIDING.split())
"""Words with which notes record a decision. Our own list, from how discharge letters are laid out."""


def plan(source: Sequence[str], output: str) -> LensReading | None:
    """The share of decisions and next steps in the notes that the output carries: what its reader acts on."""
    decisions = [
        sentence
        for note in source
        for sentence in split_sentences(note)
        if not CUES.isdisjoint(stems(sentence))
    ]
    missing = left_out(decisions, output)
    if missing is None:
        return None
    kept = len(decisions) - len(missing)
    return LensReading(
        merit=kept / len(decisions),
        rationale=f"The notes hold {count_of(len(decisions), 'statement')} of a decision or a next step; "
        f"the output carries {kept}.",
        quotes=first_quotes(missing),
    )
