"""A log that strangers cannot fill: at most one line a second of each kind."""

from __future__ import annotations

import logging
import time
from collections import Counter

SECONDS = 1.0


class ThrottledLog:
    """Warnings to `logger`, at most one a second of each kind; the next line says how many were left out."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._last: dict[str, float] = {}
        self._left_out: Counter[str] = Counter()

    def warning(self, kind: str) -> None:
        """Log `kind`, a fixed text, unless it was logged within the last second."""
        now = time.monotonic()
        if now - self._last.get(kind, -SECONDS) < SECONDS:
            self._left_out[kind] += 1
            return
        self._last[kind] = now
        more = self._left_out.pop(kind, 0)
        self._logger.warning("%s%s", kind, f" (and {more} more before)" if more else "")
