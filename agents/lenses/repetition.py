"""Repetition: parts of the output that say again what it has already said."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .words import LensReading, count_of, first_quotes, split_sentences, stems

MAY_BE_NEW = 1 / 3
"""A clause repeats when no more than this share of its content words is new, and no number is."""

SHORTEST = 2
"""Content words in the shortest clause considered; one alone is a term that has to recur."""

ALL_REPEATED = 0.5
"""No merit is left when half of the content words stand in clauses that repeat."""

_CLAUSE_END = re.compile(r"[;:,]\s+|\s+(?=(?:and|but|so|thus|which)\s)")


def repetition(source: Sequence[str], output: str) -> LensReading | None:
    """How little of the output stands in clauses made of words that it has used before. Reads no note."""
    said: set[str] = set()
    words, again = 0, 0
    repeats: list[str] = []
    for clause in _clauses(output):
        spoken = stems(clause)
        words += len(spoken)
        if len(spoken) >= SHORTEST and _says_again(spoken, said):
            again += len(spoken)
            repeats.append(clause)
        said.update(spoken)
    if not words:
        return None
    return LensReading(
        merit=max(0.0, 1.0 - again / words / ALL_REPEATED),
        rationale=f"The output has {count_of(len(repeats), 'clause')} ({again / words:.0%} of its content "
        "words) whose numbers and most other words it has used before.",
        quotes=first_quotes(repeats),
    )


def _says_again(spoken: list[str], said: set[str]) -> bool:
    fresh = [stem for stem in spoken if stem not in said]
    # a number not yet given is a fact, however familiar the words around it
    return not any(stem[0].isdigit() for stem in fresh) and len(fresh) <= MAY_BE_NEW * len(spoken)


def _clauses(output: str) -> list[str]:
    return [
        clause for sentence in split_sentences(output) for clause in _CLAUSE_END.split(sentence) if clause
    ]
