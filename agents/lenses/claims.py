"""Claims by counting words: clauses as claims, checked by the content words, numbers and negation they share with a text.

No language model: a rewording is missed, and a text that uses the same words otherwise is taken for support. It needs no key,
and is the floor that a verifier must beat.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ...rubrics.claim import ClaimVerdict
from .words import FUNCTION_WORDS, WORD, folded_case, sentence_spans, stem

CARRIED = 0.5
"""The share of a claim's words that a text must have in order to speak of it."""
KINSHIP = 6
"""Letters that two stems must share to be one word: hypertension and hypertensive."""

_CLAUSE_END = re.compile(r"[;:,]\s+|\s+(?:and|but|which|who)\s+")
_HYPHEN = re.compile(r"(?<=[^\W\d_])[\u2010\u2011-](?=[^\W\d_])")
_NEGATIONS = frozenset(
    [
        "no",
        "not",
        "none",
        "never",
        "nor",
        "neither",
        "without",
        "deny",
        "denies",
        "denied",
        "denying",
        "negative",
        "noncontributory",
        "unremarkable",
        "absent",
        "absence",
        "nothing",
        "nil",
        "cannot",
    ]
)
_NEGATED = "(negated)"


@dataclass(frozen=True, slots=True)
class LensCheck:
    """What the words of a text say of a claim, and the sentence that has most of them."""

    verdict: ClaimVerdict
    quote: str
    reason: str


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    words: frozenset[str]


def clauses(text: str) -> list[tuple[int, int]]:
    """Start and end of each clause that has a content word: the claims that can be told by punctuation alone. A bare number is none."""
    found: list[tuple[int, int]] = []
    for start, end in sentence_spans(text):
        at = start
        for stop in (*_CLAUSE_END.finditer(text, start, end), None):
            clause = text[at : stop.start() if stop else end]
            if any(not word[0].isdigit() for word in _words(clause)):
                lead = len(clause) - len(clause.lstrip())
                found.append((at + lead, at + len(clause.rstrip())))
            at = stop.end() if stop else end
    return found


def check_claim(claim: str, text: str) -> LensCheck:
    """Whether half of the claim's words stand in the text, with its numbers, and negated where it is negated."""
    wanted = _words(claim)
    sentences = _sentences(text)
    known = frozenset().union(*(sentence.words for sentence in sentences))
    if not wanted or not sentences:
        return LensCheck("not_addressed", "", "There are no content words to compare.")
    shared = len(wanted & known)
    told = f"{shared} of {len(wanted)} content words of the claim stand in the text"
    nearest = max(sentences, key=lambda sentence: len(sentence.words & wanted))
    if shared < CARRIED * len(wanted):
        return LensCheck("not_addressed", "", f"{told}: fewer than half.")
    if numbers := sorted(word for word in wanted - known if word[0].isdigit()):
        return LensCheck("not_supported", nearest.text, f"{told}, but not {', '.join(numbers)}.")
    facts = wanted - {_NEGATED}
    if facts and (_NEGATED in wanted) != (_NEGATED in nearest.words):
        side = "claim" if _NEGATED in wanted else "nearest sentence"
        return LensCheck("not_supported", nearest.text, f"{told}; only the {side} is negated.")
    return LensCheck("supported", nearest.text, f"{told}.")


@lru_cache(maxsize=512)
def _sentences(text: str) -> tuple[_Sentence, ...]:
    """Cached: every claim of a case is checked against the same text."""
    pieces = (text[start:end].strip() for start, end in sentence_spans(text))
    return tuple(_Sentence(piece, _words(piece)) for piece in pieces if piece)


def _words(text: str) -> frozenset[str]:
    """The content words by their first letters, numbers whole, and one mark for any negation."""
    found: set[str] = set()
    for match in WORD.finditer(_HYPHEN.sub("", text)):
        word = folded_case(match.group())
        if word in _NEGATIONS or word.endswith("n't"):
            found.add(_NEGATED)
        elif word not in FUNCTION_WORDS:
            root = stem(word)
            found.add(root if root[0].isdigit() else root[:KINSHIP])
    return frozenset(found)
