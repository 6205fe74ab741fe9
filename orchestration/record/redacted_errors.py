"""Redacted errors: the traceback is kept, the message, which could quote a case, is not."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...rubrics.errors import VenireError


class RedactedError(RuntimeError):
    """An exception of a redacted run without its message, which could hold a patient's words."""


@contextmanager
def redact_errors(active: bool) -> Iterator[None]:
    """While `active`, exceptions leave the block as `RedactedError`; `VenireError` never quotes a case and passes."""
    try:
        yield
    except (VenireError, RedactedError):
        raise
    except Exception as error:
        if not active:
            raise
        redacted = f"{type(error).__name__} (its message is withheld: this run is redacted)"
        raise RedactedError(redacted).with_traceback(error.__traceback__) from None


def print_redacted(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """asyncio exception handler: prints the type of an exception that nobody awaits, not its message."""
    print(f"{context['message']}: {type(context.get('exception')).__name__}", file=sys.stderr)
