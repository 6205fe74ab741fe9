"""Libraries kept quiet while we use them: what they log and warn of may be a case's words, a model's, or a key."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

_HTTP = ("httpx", "openai._base_client")
_quiet: ContextVar[bool] = ContextVar("quiet", default=False)


def _heard_elsewhere(_: logging.LogRecord) -> bool:
    return not _quiet.get()


@contextmanager
def silence_loggers(*names: str) -> Iterator[None]:
    """Inside, these loggers and those of HTTP clients log nothing, here and in tasks started here.

    What a host program logs of its own use of the libraries is not touched.
    """
    for name in (*names, *_HTTP):
        logging.getLogger(name).addFilter(_heard_elsewhere)
    before = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(before)


def silence_package(package: str) -> AbstractContextManager[None]:
    """Inside, no logger whose name begins with `package` logs anything."""
    return silence_loggers(*(name for name in logging.root.manager.loggerDict if name.startswith(package)))


def silence_warnings() -> None:
    """Have nobody warn of replies of another form, or of another model's name, than a library expects: the warnings repeat their words."""
    warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)
    warnings.filterwarnings("ignore", "Resolved model mismatch", UserWarning)
