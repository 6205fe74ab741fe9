"""Which slots hold which prompts: what a new prompt has in common with one that was read before is not read again."""

from __future__ import annotations

from collections.abc import Sequence


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
