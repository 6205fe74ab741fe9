"""What the record asks of a database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

Row = Sequence[Any]
Values = tuple[Any, ...]
Write = tuple[str, Values]
"""A statement with `?` for its values; safe to be made twice."""


class Database(Protocol):
    """One run's tables. SQL is written once, with `?` for values. Raises `VenireError` for what goes wrong."""

    name: str
    """The run as it is shown: never with a password."""
    distant: bool
    """Whether a look-up may take so long that the event loop must not wait for it."""

    def lock(self) -> None:
        """Become the one process that writes, until closed; an error if there is another."""
        ...

    def writing(self) -> bool:
        """Whether a process is writing the run now."""
        ...

    def version(self) -> int:
        """How many migrations were applied."""
        ...

    def apply(self, script: str, number: int) -> None:
        """Make migration `number`, whole or not at all."""
        ...

    def rows(self, sql: str, values: Values = ()) -> list[Row]: ...

    def rows_of_each(self, asked: Sequence[tuple[str, Values]]) -> list[list[Row]]:
        """The rows of several queries, made together."""
        ...

    def commit(self, writes: Sequence[Write]) -> None:
        """Make all writes in one transaction. Once this returns they survive the process."""
        ...

    def close(self) -> None: ...
