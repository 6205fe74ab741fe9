"""Errors of a redacted run: where it went wrong, and never with whose words."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...rubrics.errors import VenireError


class WordsWithheld(RuntimeError):
    """A bug in a redacted run: its traceback is kept, its message could hold a patient's words and is not."""


@contextmanager
def words_withheld(active: bool) -> Iterator[None]:
    """While `active`, let no exception out with its message; an error that is meant for people has no case's words."""
    try:
        yield
    except (VenireError, WordsWithheld):
        raise
    except Exception as error:
        if not active:
            raise
        told = f"{type(error).__name__} (its message is withheld: this run is redacted)"
        raise WordsWithheld(told).with_traceback(error.__traceback__) from None


def tell_without_words(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What asyncio says of an exception that nobody waits for, by its type alone."""
    print(f"{context['message']}: {type(context.get('exception')).__name__}", file=sys.stderr)
