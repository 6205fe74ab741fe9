"""Garbage collector tuning: how often Python looks for cycles while a run goes on."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLD = 50_000
"""New objects between two collections. What a deliberation leaves behind holds no cycles and is freed by reference
counts; at Python's default of 700, collections that found nothing took a seventh of a run."""


@contextmanager
def infrequent_gc() -> Iterator[None]:
    """While the block runs, collect seldom, and leave out the objects that existed before it."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(THRESHOLD, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
