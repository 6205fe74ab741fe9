"""Bloom filter over stored keys: spares a new run the queries for what cannot be stored yet."""

from __future__ import annotations

from collections.abc import Hashable

ANYTHING = "SELECT 1 FROM calls UNION ALL SELECT 1 FROM transcripts LIMIT 1"
"""Query: whether anything is stored at all."""
_SLOTS = 2**22


class KeyFilter:
    """Bloom filter over stored keys: False means definitely absent.

    One hash function over four million slots, so that its size does not grow. A record that held something when it
    was opened has keys that were never added: its filter answers True to every key.
    """

    def __init__(self, *, since_empty: bool) -> None:
        self._slots = bytearray(_SLOTS) if since_empty else None

    def add(self, key: Hashable) -> None:
        if self._slots is not None:
            self._slots[hash(key) % _SLOTS] = 1

    def may_contain(self, key: Hashable) -> bool:
        return self._slots is None or self._slots[hash(key) % _SLOTS] == 1
