"""The embedded model's last few prompts, kept as they were computed: what a new one has in common with one of them is not read again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .prefix_slots import in_common
from .transformer import CHUNK, Cache


@dataclass
class _Slot:
    cache: Cache
    held: Sequence[int] = ()
    """The prompt last computed in it; empty where that is not certain."""


class KeptPrompts:
    """The caches of the last few prompts. A part of one is used again only in whole chunks, which are computed in the same shape every time."""

    def __init__(self, new_cache: Callable[[], Cache], *, slots: int, room: int) -> None:
        self._new_cache = new_cache
        self._room = room
        """Tokens for which all caches together may have room."""
        self._slots = [_Slot(new_cache()) for _ in range(slots)]
        """The least recently used first."""

    def take(self, tokens: Sequence[int]) -> tuple[Cache, int]:
        """A cache with the beginning of the prompt in it, and how many tokens of that can be used; it counts as empty until `hold`."""
        source = max(self._slots, key=lambda slot: in_common(slot.held, tokens, CHUNK))
        ready = in_common(source.held, tokens, CHUNK)
        # A prompt that goes on otherwise is kept, where another slot can be had for this one.
        slot = source if ready == len(source.held) // CHUNK * CHUNK else self._slots[0]
        self._slots.remove(slot)
        self._slots.append(slot)
        slot.held = ()
        if slot is not source:
            slot.cache.copy(source.cache, ready)
        self._make_room(len(tokens))
        return slot.cache, ready

    def hold(self, tokens: Sequence[int]) -> None:
        """The cache that was taken last holds this prompt now."""
        self._slots[-1].held = tokens

    def _make_room(self, tokens: int) -> None:
        *others, last = self._slots
        for slot in others:
            if sum(other.cache.room for other in others) + max(tokens, last.cache.room) > self._room:
                slot.held, slot.cache = (), self._new_cache()
