"""Sequence: whether the output goes through the notes in the order in which they were written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from .order import inversions
from .words import LensReading, count_of, first_quotes, split_sentences, stems


def sequence(source: Sequence[str], output: str) -> LensReading | None:
    """How far sentences that stem from later notes come later in the output.

    Each sentence belongs to the note with which it shares most words that no other note has; a sentence
    with no such word, or with a tie, is left aside. As with `order`, chance has no merit. None for one note.
    """
    owner = _words_of_one_note(source)
    placed = ((sentence, _note(sentence, owner)) for sentence in split_sentences(output))
    told = [(sentence, note) for sentence, note in placed if note is not None]
    backwards, pairs = inversions([note for _, note in told])
    if not pairs:
        return None
    return LensReading(
        merit=max(0.0, 1.0 - 2.0 * backwards / pairs),
        rationale=f"Of {count_of(pairs, 'pair')} of sentences drawn from different notes, "
        f"{backwards or 'none'} {'puts' if backwards == 1 else 'put'} the later note first.",
        quotes=first_quotes(sentence for (_, before), (sentence, note) in pairwise(told) if note < before),
    )


def _words_of_one_note(source: Sequence[str]) -> dict[str, int]:
    notes: defaultdict[str, set[int]] = defaultdict(set)
    for number, note in enumerate(source):
        for stem in stems(note):
            notes[stem].add(number)
    return {stem: next(iter(where)) for stem, where in notes.items() if len(where) == 1}


def _note(sentence: str, owner: dict[str, int]) -> int | None:
    votes: defaultdict[int, int] = defaultdict(int)
    for stem in set(stems(sentence)):
        if stem in owner:
            votes[owner[stem]] += 1
    most = max(votes.values(), default=0)
    leaders = [note for note, count in votes.items() if count == most]
    return leaders[0] if len(leaders) == 1 else None
