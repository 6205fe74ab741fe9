"""What lenses share: sentences and words of a text with where each one stands, and what a lens saw in it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

QUOTES = 4
"""Quotes kept in one reading: enough to see the fault, short enough to read."""

QUOTE_LENGTH = 240


@dataclass(frozen=True, slots=True)
class LensReading:
    """How free of one kind of fault a text is, what was counted, and where."""

    merit: float
    """From 0 to 1; 1 is no fault seen, which is not the same as no fault."""
    rationale: str
    quotes: tuple[str, ...] = ()
    """Verbatim stretches of the output or of a source note."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.merit <= 1.0:
            raise ValueError(f"merit {self.merit!r} is outside 0 to 1")


Reads = Callable[[Sequence[str], str], LensReading | None]
"""Source notes and output in, a reading out; None where there is nothing to examine."""


def merit_after(faults: int) -> float:
    """Merit after `faults` faults, where each one halves the trust that is left.

    For faults of which one is enough to matter, however long the text around it.
    """
    return 0.5**faults


def first_quotes(stretches: Iterable[str]) -> tuple[str, ...]:
    """The first few distinct stretches, cut to a readable length; a cut one is still verbatim."""
    kept = dict.fromkeys(stretch[:QUOTE_LENGTH].strip() for stretch in stretches)
    return tuple(quote for quote in kept if quote)[:QUOTES]


def count_of(number: int, singular: str, plural: str = "") -> str:
    """'1 date', '2 dates', 'no dates'."""
    noun = singular if number == 1 else plural or f"{singular}s"
    return f"{number or 'no'} {noun}"


_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'\u201d\u2019)\]]*\s+(?![a-z\s])|\n+")
WORD = re.compile(r"\d+(?:[.,:/]\d+)*|[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_SUFFIXES = ("ations", "ation", "ings", "ing", "ies", "ied", "ed", "es", "ly", "s", "y", "e")
_SHORTEST_STEM = 3

GAP = r"[\s\u2010\u2011\u2013-]+"
"""What may stand between the parts of a compound: white space, or a hyphen of any make."""

_COUNTING = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen twenty
"""
NUMBER_WORDS = {word: str(number) for number, word in enumerate(_COUNTING.split())}

_FUNCTION = """
a about above after again against all also although always am an and any are as at away back be because been
before being below between both but by can could did do does done down during each either else ever every
few for from further given had has have having he her here hers him his how however if in into is it its
itself just like many may me might more most much must my no nor not now of off often on once one only or
other our out over own per rather same seen she should since so some still such than that the their them
then there these they this those though through thus to too under until up upon us very via was we well were
what when where whether which while who whom whose why will with within without would yet you your
"""
FUNCTION_WORDS = frozenset(_FUNCTION.split())
"""English words that hold a sentence together and carry no fact of their own."""


@dataclass(frozen=True, slots=True)
class Word:
    """One content word or number: its stem, and the stretch of the text it came from."""

    stem: str
    start: int
    end: int


def split_sentences(text: str) -> list[str]:
    """The sentences and lines of `text`, verbatim, without the blank ones."""
    return [piece for piece in (part.strip() for part in _SENTENCE_END.split(text)) if piece]


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of each sentence or line with the white space after it; together they are the whole text."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    edges = [0, *ends, len(text)]
    return [(start, end) for start, end in pairwise(edges) if start < end]


def content(text: str) -> Iterator[Word]:
    """The words of `text` that carry facts, in order; function words are left out."""
    for match in WORD.finditer(text):
        folded = folded_case(match.group())
        if folded not in FUNCTION_WORDS:
            yield Word(stem(folded), match.start(), match.end())


def stems(text: str) -> list[str]:
    """The stems of the content words of `text`, in order and with repeats."""
    return [word.stem for word in content(text)]


def vocabulary(texts: Iterable[str]) -> frozenset[str]:
    """Every content stem that occurs in any of `texts`."""
    return frozenset(each for text in texts for each in stems(text))


@lru_cache(maxsize=2**14)
def stem(folded: str) -> str:
    """A common form for inflections of one word, and for a number in words or figures.

    Cuts one English ending. It confuses some words and misses some kinship: a lens counts, it does not parse.
    """
    if folded[0].isdigit():
        return _THOUSANDS.sub("", folded)
    if folded in NUMBER_WORDS:
        return NUMBER_WORDS[folded]
    bare = folded.partition("'")[0]
    for suffix in _SUFFIXES:
        if bare.endswith(suffix) and len(bare) - len(suffix) >= _SHORTEST_STEM:
            return bare[: -len(suffix)]
    return bare or folded


def folded_case(text: str) -> str:
    """`text` without case and accents, typographic apostrophes made plain."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.replace("\u2019", "'").casefold())
    return "".join(character for character in apart if not unicodedata.combining(character))
