"""Encoded answers in memory, so that the same case again costs a look-up."""

from __future__ import annotations

from collections import OrderedDict

MOST_BYTES = 32 * 2**20


class AnswerCache:
    """Response bodies by case, at most `most` bytes; the least recently used are dropped."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._size = 0
        self._bodies: OrderedDict[tuple[str, str], bytes] = OrderedDict()

    def get(self, case: tuple[str, str]) -> bytes | None:
        """The answer to the case with this id and fingerprint, if it is kept."""
        if case in self._bodies:
            self._bodies.move_to_end(case)
        return self._bodies.get(case)

    def put(self, case: tuple[str, str], body: bytes) -> None:
        """Keep an answer, in place of the least recently used."""
        self._size += len(body) - len(self._bodies.pop(case, b""))
        self._bodies[case] = body
        while self._size > self._most:
            self._size -= len(self._bodies.popitem(last=False)[1])
