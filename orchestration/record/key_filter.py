"""What may have been kept: spares a new run the search for what cannot be there."""

from __future__ import annotations

from collections.abc import Hashable

ANYTHING = "SELECT 1 FROM calls UNION ALL SELECT 1 FROM transcripts LIMIT 1"
"""Whether there is anything at all."""
_MARKS = 2**22


class Kept:
    """Told of all that is kept in a run that began empty, it knows of most things that they are not; its size does not grow."""

    def __init__(self, *, since_empty: bool) -> None:
        self._marks = bytearray(_MARKS) if since_empty else None

    def note(self, what: Hashable) -> None:
        if self._marks is not None:
            self._marks[hash(what) % _MARKS] = 1

    def perhaps(self, what: Hashable) -> bool:
        """Whether it may have been kept; False is certain."""
        return self._marks is None or self._marks[hash(what) % _MARKS] == 1
