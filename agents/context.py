"""Context windows: how many tokens a model reads at once, and what is left beside a prompt."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ..personas.jury import ModelSettings

_REPAIR = 2_000
"""What an answer that has to be sent back takes up."""


def estimated_tokens(text: str) -> int:
    """An estimate that errs high: one token for every three bytes. English prose has four or more to a token."""
    return -(-(len(text) if text.isascii() else len(text.encode())) // 3)


@dataclass(frozen=True, slots=True)
class Window:
    """What a model reads at once, part of it kept free for its answer."""

    tokens: int | None
    """None for what reads no prompt: lenses, and jurors played back from a table."""
    answer: int = 0
    """Kept free for the answer, and for sending it back once."""

    def room(self, *texts: str) -> int | None:
        """The tokens left beside `texts`; below zero where they do not fit, None where nothing is too long."""
        if self.tokens is None:
            return None
        return self.tokens - self.answer - sum(map(estimated_tokens, texts))

    def overflow(self, *texts: str) -> str | None:
        """Why `texts` cannot be read, or None if they can."""
        room = self.room(*texts)
        if room is None or room >= 0:
            return None
        return (
            f"about {sum(map(estimated_tokens, texts))} tokens, and the model reads {self.tokens} "
            f"of which {self.answer} are kept for its answer"
        )


@lru_cache(maxsize=256)
def window(settings: ModelSettings, context_window: int | None) -> Window:
    """The window of a seat: as the jury file states it, else its client's `context_window`."""
    size = settings.context or context_window
    if size is None:
        return Window(None)
    asked = settings.max_tokens
    return Window(size, min(size // 4, 3 * _REPAIR) if asked is None else min(size, asked + _REPAIR))
