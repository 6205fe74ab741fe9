"""A fault: what is to be written where, and what it costs the text."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ..passages import Truth


class Edit(NamedTuple):
    """One replacement in a text, and how grave the fault is that it makes: 1 mild to 4 severe."""

    start: int
    end: int
    after: str
    points: int


@dataclass(frozen=True)
class Material:
    """What a fault is made from: the clean text, what is true, and sentences that were written of other cases."""

    text: str
    truth: Truth
    foreign: Sequence[str]


class FaultFinder(Protocol):
    """Finds a place for one kind of fault; None where it cannot be planted without the text staying true."""

    def __call__(self, material: Material, rng: random.Random) -> Edit | None: ...
