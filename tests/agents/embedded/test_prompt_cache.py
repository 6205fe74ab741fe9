"""What of an earlier prompt is used again: whole chunks that are surely there, of the prompt that has most in common."""

from __future__ import annotations

from typing import Any

import pytest

from venire.agents.embedded.prompt_cache import KeptPrompts, PrefixSlots, in_common
from venire.agents.embedded.transformer import CHUNK

ONE, OTHER = list(range(1, 5)), list(range(11, 15))


@pytest.mark.parametrize(
    ("held", "tokens", "common"),
    [
        ("abcdef", "abcdef", 4),
        ("abcdef", "abcdefgh", 6),
        ("abcdef", "abcxef", 2),
        ("abcdef", "xbcdef", 0),
        ("abc", "abcd", 2),
        ("", "abc", 0),
    ],
)
def test_two_prompts_have_whole_chunks_in_common_and_the_last_token_is_always_left(
    held: str, tokens: str, common: int
) -> None:
    assert in_common([*map(ord, held)], [*map(ord, tokens)], 2) == common


def test_a_slot_is_taken_for_what_it_holds_or_as_the_least_recently_used_and_holds_nothing_meanwhile() -> (
    None
):
    slots = PrefixSlots(2, chunk=2)
    for tokens, taken in ((ONE, 0), (OTHER, 1)):
        assert slots.take(tokens) == (taken, 0)
        slots.hold(taken, tokens)

    assert slots.take([*ONE, 5]) == (0, 4)
    # It was broken off: what stands in the slot is not certain.
    assert slots.take([*ONE, 6]) == (1, 0)
    slots.hold(1, ONE)
    assert slots.take([*OTHER, 15]) == (0, 0), "what the slot held before is gone"


class Room:
    """A cache that only knows how large it is and what was copied into it."""

    def __init__(self) -> None:
        self.room, self.copied = 0, list[tuple[Any, int]]()

    def copy(self, other: Room, tokens: int) -> None:
        self.copied.append((other, tokens))


def test_a_prompt_that_goes_on_otherwise_is_kept_and_one_that_was_broken_off_is_not() -> None:
    made: list[Room] = []

    def new_cache() -> Any:
        made.append(Room())
        return made[-1]

    kept = KeptPrompts(new_cache, slots=2, room=10 * CHUNK)
    first = list(range(3 * CHUNK))
    cache, ready = kept.take(first)
    assert (cache, ready) == (made[0], 0)
    cache.room = 3 * CHUNK  # type: ignore[misc]
    kept.hold(first)

    fork = [*first[:CHUNK], *range(5_000, 5_000 + CHUNK), 0]
    cache, ready = kept.take(fork)
    assert (cache, ready) == (made[1], CHUNK) and made[1].copied == [(made[0], CHUNK)]
    kept.hold(fork)
    assert kept.take([*first, 1]) == (made[0], 3 * CHUNK)
    # It was broken off: only what the other prompt shares with it is surely there.
    assert kept.take([*first, 2]) == (made[1], CHUNK)


def test_caches_are_let_go_where_all_together_have_no_room() -> None:
    made: list[Room] = []

    def new_cache() -> Any:
        made.append(Room())
        return made[-1]

    kept = KeptPrompts(new_cache, slots=2, room=3 * CHUNK)
    kept.take(ONE)
    made[0].room = 2 * CHUNK
    kept.hold(ONE)
    assert kept.take(list(range(100, 100 + CHUNK)))[0] is made[1] and len(made) == 2
    made[1].room = CHUNK
    kept.hold(list(range(100, 100 + CHUNK)))
    kept.take([*range(100, 100 + CHUNK), *range(2 * CHUNK)])
    assert len(made) == 3, "three chunks beside two are more than there is room for"
    assert kept._slots[0].cache is made[2] and not kept._slots[0].held
