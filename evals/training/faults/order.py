"""Sentences told out of their place."""

from __future__ import annotations

import random
from itertools import pairwise

from ..passages import passages
from .fault import Edit, Material

_FEWEST = 4
_MIXED = 6


def find_order(material: Material, rng: random.Random) -> Edit | None:
    there = [p for p in passages(material.text) if p.text[-1] in ".!?"]
    if len(there) < _FEWEST:
        return None
    before = [p.text for p in there]
    after = list(before)
    moves = rng.choice((1, 2, len(before)))
    if moves == len(before):
        after = after[::-1] if rng.random() < 0.5 else after[1::2] + after[::2]
    else:
        for _ in range(moves):
            taken = after.pop(rng.randrange(len(after)))
            far = [i for i in range(len(after) + 1) if abs(i - before.index(taken)) >= len(before) // 2]
            after.insert(rng.choice(far), taken)
    if after == before:
        return None
    misplaced = sum(one != other for one, other in zip(before, after, strict=True))
    points = 4 if moves == len(before) and len(before) >= _MIXED else 3 if moves == len(before) else moves
    text = material.text
    gaps = [text[a.end : b.start] for a, b in pairwise(there)]
    written = "".join(piece + gap for piece, gap in zip(after, [*gaps, ""], strict=True))
    return Edit(there[0].start, there[-1].end, written, points) if misplaced > 1 else None
