"""Support: stretches of the output that share no content word with the notes."""

from __future__ import annotations

from collections.abc import Sequence

from .words import LensReading, content, count_of, first_quotes, merit_after, split_sentences, vocabulary

RUN = 3
"""Content words in a row that the notes lack. Two may be one thing renamed; three say something."""


def support(source: Sequence[str], output: str) -> LensReading | None:
    """How free the output is of statements that nothing in the notes resembles.

    Lexical: a rewording of three words is taken for an invention, and an invention in borrowed words is
    missed. Numbers are left to `numbers`.
    """
    known = vocabulary(source)
    spoken = split_sentences(output)
    if not known or not spoken:
        return None
    strange = [stretch for sentence in spoken for stretch in _unknown_stretches(sentence, known)]
    return LensReading(
        merit=merit_after(len(strange)),
        rationale=f"The output has {count_of(len(strange), 'stretch', 'stretches')} of {RUN} or more content "
        "words in a row that occur nowhere in the notes.",
        quotes=first_quotes(strange),
    )


def _unknown_stretches(sentence: str, known: frozenset[str]) -> list[str]:
    found: list[str] = []
    start, length, end = 0, 0, 0
    for word in content(sentence):
        if word.stem[0].isdigit():
            continue
        if word.stem not in known:
            start = word.start if length == 0 else start
            length, end = length + 1, word.end
            continue
        if length >= RUN:
            found.append(sentence[start:end])
        length = 0
    if length >= RUN:
        found.append(sentence[start:end])
    return found
