"""Instructions in a judged text: passages that speak to the jury, in whatever disguise. A flag changes no score."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice

from ..rubrics.quotes import Exhibit
from .folding import fold, fold_spaced
from .instruction_patterns import CLINICAL, PATTERNS, SCORE_REQUESTS, known_words

_FLAGS = 5
"""Passages shown of one case at the most."""

_ENCODED = 32
"""Characters of base64 that are taken for some."""
_AS_RUNS = {code: "b" if chr(code).isalnum() or chr(code) in "+/" else " " for code in range(128)}
_RUN = "b" * _ENCODED
"""What so many characters of base64 become."""
_BASE64 = re.compile(rf"(?<![\w+/])[A-Za-z0-9+/]{{{_ENCODED},}}={{0,2}}(?![\w+/])")
_HIDDEN = re.compile(r"(?<!\U0001f3f4)[\U000e0020-\U000e007e]{3,}|[\u202d\u202e]")
"""Characters that nobody sees and that spell words, or turn them round; a flag's own are not meant."""


def attempts_to_instruct(exhibits: Iterable[Exhibit]) -> tuple[str, ...]:
    """Passages in which a text seems to speak to the jury, as `exhibit: words`, the words as they look once unmasked."""
    found: list[str] = []
    for exhibit in exhibits:
        for passage in _all_passages(exhibit.text):
            found.append(f"{exhibit.name}: {passage}")
            if len(found) == _FLAGS:
                return tuple(found)
    return tuple(found)


@lru_cache(maxsize=256)
def _all_passages(text: str) -> tuple[str, ...]:
    """Cached: every arm of a run, and often many cases, have the same source."""
    return tuple(islice(_passages(text), _FLAGS))


def _passages(text: str) -> Iterator[str]:
    folded = fold(text)
    # Letters keep their places where nothing but their case was folded.
    shown = text if len(folded) == len(text) and text.isascii() else folded
    words = known_words(folded)
    for pattern in (*PATTERNS, *SCORE_REQUESTS):
        for match in pattern.find(folded, words):
            around = folded[max(0, match.start() - 60) : match.end() + 60]
            if pattern not in SCORE_REQUESTS or not CLINICAL.search(around):
                yield _excerpt(shown, match.start(), match.end())
    if spaced := fold_spaced(folded):
        yield from (_excerpt(spaced, *match.span()) for match in _CLOSED_UP.finditer(spaced))
    if not text.isascii() and (hidden := _HIDDEN.search(text)):
        yield f"characters that cannot be seen: {fold(hidden.group())[:60]!r}"
    if _RUN in text.translate(_AS_RUNS):
        for encoded in _BASE64.findall(text):
            yield from _passages(_decode_base64(encoded))


_CLOSED_UP = re.compile(
    r"ignore(?:all|any|the|your|previous|prior)|instruction|fullmarks|score(?:it|this|of)?5|givethis"
)


def _decode_base64(encoded: str) -> str:
    """What a run of base64 says; nothing where it is none, or no text."""
    try:
        text = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).decode("ascii")
    except ValueError:
        return ""
    return text if text.isprintable() else ""


def _excerpt(text: str, start: int, end: int) -> str:
    return " ".join(text[max(0, start - 20) : min(end, start + 160) + 40].split())
