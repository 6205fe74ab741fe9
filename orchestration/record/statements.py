"""Many writes merged into few statements: each costs a round trip, or a turn at the interpreter."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

from .database import Values, Write

CHUNKS = (64, 16, 4, 1)
"""How many rows or queries one statement holds: few sizes, so that each is prepared once."""

_ROW = re.compile(r"VALUES (\([?, ]+\))")

One = TypeVar("One")


def merge_statements(writes: Sequence[Write]) -> list[Write]:
    """The same writes with inserts as multi-row statements, in the order in which each kind first comes.

    What inserts no row stands alone, after all that came before it and before all that comes after.
    """
    merged: list[Write] = []
    kinds: dict[str, list[Values]] = {}
    for statement, values in writes:
        if _ROW.search(statement) is not None:
            kinds.setdefault(statement, []).append(values)
        else:
            merged += [*_merged_inserts(kinds), (statement, values)]
            kinds = {}
    return [*merged, *_merged_inserts(kinds)]


def _merged_inserts(kinds: Mapping[str, Sequence[Values]]) -> list[Write]:
    return [
        (_of_many(statement, len(chunk)), tuple(value for values in chunk for value in values))
        for statement, many in kinds.items()
        for chunk in chunks(many)
    ]


def chunks(many: Sequence[One]) -> list[Sequence[One]]:
    """The sequence cut into the few sizes that statements are prepared for."""
    chunks: list[Sequence[One]] = []
    at = 0
    while at < len(many):
        size = next(size for size in CHUNKS if size <= len(many) - at)
        chunks.append(many[at : at + size])
        at += size
    return chunks


@lru_cache(maxsize=256)
def _of_many(statement: str, rows: int) -> str:
    """The statement that inserts so many rows."""
    row = _ROW.search(statement)
    assert row is not None
    return statement[: row.end()] + f", {row.group(1)}" * (rows - 1) + statement[row.end() :]
