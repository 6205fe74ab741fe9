"""Many writes merged into few statements: each costs a round trip, or a turn at the interpreter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar

from .database import Values, Write

CHUNKS = (64, 16, 4, 1)
"""How many rows or queries one statement holds: few sizes, so that each is prepared once."""

_ROW = re.compile(r"VALUES (\([?, ]+\))")

One = TypeVar("One")


def merge_statements(writes: Sequence[Write]) -> list[Write]:
    """The same writes as multi-row statements, in the order in which each kind first comes."""
    kinds: dict[str, list[Values]] = {}
    for statement, values in writes:
        kinds.setdefault(statement, []).append(values)
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
    if row is None:
        return statement
    return statement[: row.end()] + f", {row.group(1)}" * (rows - 1) + statement[row.end() :]
