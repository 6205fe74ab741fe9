"""Quotes: what a juror says it read, checked against what was there to be read."""

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
    """Where `text` stands, with white space and case folded and quotation marks at its ends ignored."""
    wanted = _fold(text).strip(_EDGES)
    if wanted:
        for exhibit in exhibits:
            if wanted in _folded(exhibit.text):
                return Quote(text=text, exhibit=exhibit.name)
    return Quote(text=text, exhibit=None)


def _fold(text: str) -> str:
    return _SPACE.sub(" ", text).casefold()


@lru_cache(maxsize=512)
def _folded(text: str) -> str:
    return _fold(text)
