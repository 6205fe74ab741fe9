"""Tokens: how many a model reads at once, what a provider counted, and an estimate where it did not, or cannot have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ..personas.jury import ModelSettings
from .model import Estimated, Reply, Request, Usage

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
            f"the prompt has about {sum(map(estimated_tokens, texts))} tokens, but the model reads only {self.tokens}, "
            f"and {self.answer} of these are kept for its answer"
        )


@lru_cache(maxsize=256)
def window(settings: ModelSettings, context_window: int | None) -> Window:
    """The window of a seat: as the jury file states it, else its client's `context_window`."""
    size = settings.context or context_window
    if size is None:
        return Window(None)
    asked = settings.max_tokens
    return Window(size, min(size // 4, 3 * _REPAIR) if asked is None else min(size, asked + _REPAIR))


_MOST_CHARACTERS = 10
"""Characters to a token at the most, taken over a whole text, runs of white space as one: prose has four or five."""
_MOST_TOKENS = 4
"""Tokens to a character at the most: one for each of its bytes."""
_PROMPT_EXTRA = 20_000
"""Prompt tokens that a provider may add of its own: chat markers, a system prompt, the form of the answer."""
_MOST_COUNTED = 10**12
"""What no provider counts for one call."""
_HIDDEN_ANSWER = 200_000
"""Tokens of reasoning that a provider may count and not show, where the seat states no `max_tokens`."""


_NO_USAGE = Usage()


def reported_usage(prompt: object, completion: object, cached: object = None) -> Usage:
    """The usage that a provider reports: -1 for what is no count of tokens, 0 for what is left out."""
    return Usage(reported_count(prompt), reported_count(completion), reported_count(cached))


def reported_count(value: object) -> int:
    """A token count as a provider wrote it: 0 where it wrote none, -1 for anything that is no whole number."""
    if value is None:
        return 0
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > _MOST_COUNTED:
        return -1
    return value


def estimated_prompt(request: Request) -> int:
    """Tokens of a request's messages by our own count, which errs high."""
    return sum(estimated_tokens(m.opening) + estimated_tokens(m.body) for m in request.messages)


def impossible_usage(request: Request, reply: Reply) -> str | None:
    """What is impossible about the token counts of a reply; None where they are possible, or missing."""
    usage = reply.usage
    if usage == _NO_USAGE:
        return None
    if usage.prompt < 0 or usage.completion < 0 or usage.cached < 0:
        return "a token count is negative or not a number"
    if usage.cached > usage.prompt:
        return "more tokens are reported as cached than the prompt has"
    sent = [part for m in request.messages for part in (m.opening, m.body)]
    form = 0 if request.schema is None else len(request.schema.text)
    most = _MOST_TOKENS * (sum(map(len, sent)) + form) + _PROMPT_EXTRA
    if usage.prompt > most or _too_few(usage.prompt, sent):
        return "the prompt's token count does not match its length"
    most = _MOST_TOKENS * len(reply.text) + request.settings.get("max_tokens", 0) + _HIDDEN_ANSWER
    if usage.completion > most or _too_few(usage.completion, [reply.text]):
        return "the answer's token count does not match its length"
    return None


def _too_few(tokens: int, texts: Sequence[str]) -> bool:
    """Whether texts are too long for so many tokens. A run of white space may be one token, however long."""
    most = tokens * _MOST_CHARACTERS
    return sum(map(len, texts)) > most and sum(len(" ".join(text.split())) for text in texts) > most


def estimated_usage(request: Request, reply: Reply, why: Estimated) -> Reply:
    """The reply with token counts of our own in place of the provider's, marked as an estimate; its price is open."""
    usage = Usage(estimated_prompt(request), estimated_tokens(reply.text))
    return replace(reply, usage=usage, usd=None, estimated=why)
