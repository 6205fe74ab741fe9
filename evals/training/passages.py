"""What faults are made from: sentences with their places, numbers, and the source that bears a sentence out."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple, Protocol

from ...agents.lenses.words import NUMBER_WORDS, stems, vocabulary

_SENTENCE = re.compile(
    r"[^\s](?:[^.!?;\n]|(?<=\d)\.(?=\d)|(?<=\b[A-Z])\.|(?<=\bDr)\.|(?<=\bMr)\.|(?<=\bMrs)\.)*[.!?;]*"
)
_TENS = {
    word: 10 * number
    for number, word in enumerate(
        ["ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], start=1
    )
}
_ONES = {word: int(number) for word, number in NUMBER_WORDS.items()}
_SCALES = {"hundred": 100, "thousand": 1000}
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_WORD = re.compile(r"[a-z]+|\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of a text."""

    start: int
    end: int
    text: str


def passages(text: str) -> list[Passage]:
    """The sentences of `text`, and the parts between its semicolons and lines, with where they stand."""
    sentences = []
    for match in _SENTENCE.finditer(text):
        piece = match.group().rstrip()
        if any(map(str.isalnum, piece)):
            sentences.append(Passage(match.start(), match.start() + len(piece), piece))
    return sentences


@lru_cache(maxsize=4096)
def numbers_in(text: str) -> frozenset[str]:
    """Every number that `text` gives, in figures or spelt out ('seventy six', 'two thousand eight')."""
    values = {_plain(match.group()) for match in _NUMBER.finditer(text)}
    return frozenset(values | {str(value) for value in _spelt_out(_WORD.findall(text.lower()))})


def _plain(figure: str) -> str:
    return figure.rstrip("0").rstrip(".") if "." in figure else figure.lstrip("0") or "0"


def _spelt_out(words: Sequence[str]) -> Iterator[int]:
    """The numbers in words, and those that a part of them would give: 'twenty five' is 25, and 20 and 5."""
    total = current = hundreds = 0
    open_number = False
    for word in [*words, ""]:
        value = _ONES.get(word, _TENS.get(word))
        if value is not None:
            yield value
            if open_number and (current % 100 == 0 or (current % 10 == 0 and 0 < value < 10)):
                current += value
            else:
                # 'nineteen ninety five' is a year.
                hundreds = total + current if open_number else 0
                if open_number:
                    yield hundreds
                total, current = 0, value
            open_number = True
        elif word in _SCALES and open_number:
            current = max(current, 1) * _SCALES[word]
            if word == "thousand":
                total, current = total + current, 0
        elif word != "and" and open_number:
            yield total + current
            yield hundreds * 100 + total + current
            total = current = hundreds = 0
            open_number = False


@dataclass(frozen=True)
class Truth:
    """What a clean text may be held against: its source, or where it has none, the clean text itself."""

    texts: tuple[str, ...]
    passages: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "passages", tuple(p.text for text in self.texts for p in passages(text)))

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        return vocabulary(self.texts)

    @cached_property
    def numbers(self) -> frozenset[str]:
        return frozenset().union(*(numbers_in(text) for text in self.texts))

    @cached_property
    def _words(self) -> list[tuple[str, frozenset[str]]]:
        return [(text, frozenset(stems(text)) | numbers_in(text)) for text in self.passages]

    def support(self, text: str) -> float:
        """The share of the content words of `text` that stand somewhere in the source."""
        words = frozenset(stems(text))
        supported = [word for word in words if word in self.vocabulary or word in self.numbers]
        return len(supported) / len(words) if words else 0.0

    def nearest_passage(self, text: str, *, above_all: str = "") -> str | None:
        """The passage of the source with most of the content words and numbers of `text`; None where none has two of them.

        One of the words `above_all` counts for four, and is enough.
        """
        words_of_text, key = (frozenset(stems(words)) | numbers_in(words) for words in (text, above_all))
        best, best_score = None, 0.0
        for passage, words in self._words:
            overlap = len(words_of_text & words) + 3 * len(key & words)
            score = overlap / (len(words) + 6) ** 0.5
            if overlap >= min(2, len(words_of_text | key)) and score > best_score:
                best, best_score = passage, score
        return best


class Edit(NamedTuple):
    """One replacement in a text, and how grave the fault is that it makes: 1 mild to 4 severe."""

    start: int
    end: int
    after: str
    points: int


@dataclass(frozen=True)
class Material:
    """What a fault is made from: the clean text, what is true, and sentences that were written of other cases."""

    text: str
    truth: Truth
    foreign: Sequence[str]


class FaultFinder(Protocol):
    """Finds a place for one kind of fault; None where it cannot be planted without the text staying true."""

    def __call__(self, material: Material, rng: random.Random) -> Edit | None: ...
