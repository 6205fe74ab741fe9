"""Quotes: the words a juror cites, looked up in the exhibits it was shown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from pydantic import BaseModel, ConfigDict

_SPACE = re.compile(r"\s+")
_EDGES = " \t\n\"'“”‘’«»….,;:"


class Exhibit(BaseModel):
    """One named text that a juror may read."""

    model_config = ConfigDict(frozen=True)

    name: str
    text: str


class Quote(BaseModel):
    """Words a juror cites, and the exhibit they stand in; `None` when they stand in none."""

    model_config = ConfigDict(frozen=True)

    text: str
    exhibit: str | None

    @property
    def found(self) -> bool:
        return self.exhibit is not None


def find_quote(text: str, exhibits: Iterable[Exhibit]) -> Quote:
    """`text` and the exhibit it stands in, compared with white space and case folded and quotation marks at its ends ignored."""
    wanted = _fold(text).strip(_EDGES)
    if wanted:
        for exhibit in exhibits:
            if wanted in _fold_exhibit(exhibit.text):
                return Quote(text=text, exhibit=exhibit.name)
    return Quote(text=text, exhibit=None)


def find_span(quote: str, text: str) -> tuple[int, int] | None:
    """Where `quote` stands in `text`, as start and end in characters, compared as `find_quote` does; None where it does not."""
    wanted = quote.strip(_EDGES)
    if not wanted:
        return None
    if (at := text.find(wanted)) != -1:
        return at, at + len(wanted)
    pattern = r"\s+".join(map(re.escape, wanted.split()))
    found = re.search(pattern, text, re.IGNORECASE)
    return found.span() if found else None


def _fold(text: str) -> str:
    return _SPACE.sub(" ", text).casefold()


@lru_cache(maxsize=512)
def _fold_exhibit(text: str) -> str:
    """`_fold`, cached: every quote of a ballot is looked up in the same exhibits."""
    return _fold(text)
