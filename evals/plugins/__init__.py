"""Juries inside the suites that people already run: one small file a host, and what they share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def host(package: str, *, extra: str) -> Iterator[None]:
    """Where a plug-in imports its host: without it, an error that names what to install."""
    try:
        yield
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != package:
            raise
        # Imported late: a plug-in of pytest is loaded for everyone who runs pytest, and errors come with pydantic.
        from ...rubrics.errors import MissingExtra

        raise MissingExtra(f"this plug-in needs {package}", remedy=f"pip install 'venire[{extra}]'") from None
