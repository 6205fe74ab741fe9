"""The last few prompts as they were computed: what a new one has in common with one of them is not read again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .transformer import CHUNK, Cache


class PrefixSlots:
    """Which prompt each of a few slots holds. A part of it is used again only in whole chunks, which are computed in the same shape every time."""

    def __init__(self, slots: int, chunk: int) -> None:
        self._chunk = chunk
        self._held: list[Sequence[int]] = [()] * slots
        """The prompt last computed in each slot; empty where that is not certain."""
        self._order = list(range(slots))
        """The slots, least recently used first."""

    def take(self, tokens: Sequence[int]) -> tuple[int, int]:
        """The slot with most of the prompt already in it, and how many tokens of that can be used; the slot counts as empty until `hold`."""
        slot = max(self._order, key=lambda slot: in_common(self._held[slot], tokens, self._chunk))
        ready = in_common(self._held[slot], tokens, self._chunk)
        self._order.remove(slot)
        self._order.append(slot)
        self._held[slot] = ()
        return slot, ready

    def hold(self, slot: int, tokens: Sequence[int]) -> None:
        """The slot holds this prompt now."""
        self._held[slot] = tokens


def in_common(held: Sequence[int], tokens: Sequence[int], chunk: int) -> int:
    """The tokens that both begin with, in whole chunks; the last token is always left to compute."""
    common = 0
    for one, other in zip(held, tokens[:-1], strict=False):
        if one != other:
            break
        common += 1
    return common // chunk * chunk


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
