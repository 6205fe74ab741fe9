"""Connections to PostgreSQL that reconnect: what was in doubt when the server went away is repeated."""

from __future__ import annotations

import os
import re
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from ...rubrics.errors import MissingExtra, VenireError
from .address import Address
from .database import Row, Values

try:
    from pg8000.exceptions import DatabaseError, InterfaceError  # type: ignore[import-untyped]
    from pg8000.native import Connection  # type: ignore[import-untyped]
except ImportError:
    raise MissingExtra(
        "a run in PostgreSQL needs a package that is not installed", remedy='pip install "venire[postgres]"'
    ) from None

PATIENCE = 60.0
"""Seconds to wait for a server that went away in the middle."""
TIMEOUT = 30.0
"""Seconds without an answer after which the server counts as gone."""

_GONE = (InterfaceError, OSError, struct.error)
_PASSING = ("08", "57P", "53300")
"""Codes of a server that is going down, coming up or full of clients."""

Done = TypeVar("Done")


class PostgresSession:
    """One session with the server. Statements are prepared once and then cost one round trip."""

    def __init__(self, address: Address) -> None:
        self._socket = address.connect(TIMEOUT)
        try:
            self._connection = Connection(**address.options, sock=self._socket)
        except InterfaceError as error:
            self._hang_up()
            # pg8000 also fails to say goodbye to a server that refused it, and raises that instead.
            refused = error.__context__
            raise (refused if isinstance(refused, DatabaseError) else error) from None
        except BaseException:
            self._hang_up()
            raise
        self._prepared: dict[str, Any] = {}

    def run(self, sql: str, values: Values = ()) -> list[Row]:
        if sql not in self._prepared:
            self._prepared[sql] = self._connection.prepare(_with_named_parameters(sql))
        return self._prepared[sql].run(**{f"v{n}": value for n, value in enumerate(values)}) or []

    def script(self, sql: str) -> None:
        """Several statements, none with values."""
        self._connection.run(sql)

    def close(self) -> None:
        with suppress(*_GONE):
            self._connection.close()
        self._hang_up()

    def _hang_up(self) -> None:
        """Close the socket itself: what pg8000 could not flush would keep it open."""
        if (handle := self._socket.detach()) != -1:
            os.close(handle)


class ReconnectingSession:
    """A session that is opened on first use, and opened again when it was lost."""

    def __init__(self, address: Address, greet: Callable[[PostgresSession], None]) -> None:
        self._address = address
        self._greet = greet
        self._session: PostgresSession | None = None
        self._mutex = threading.Lock()
        self._opened_before = False

    def do(self, act: Callable[[PostgresSession], Done]) -> Done:
        """The result of `act` on an open session. It may run twice, so it must be idempotent.

        A server that was never reached is an error at once; one that goes away is waited for.
        """
        with self._mutex:
            until, pause = time.monotonic() + PATIENCE, 0.05
            while True:
                try:
                    return act(self._open())
                except DatabaseError as error:
                    why = _server_message(error)
                    if not _passing(error):
                        self._undo()
                        raise VenireError(
                            f"{self._address.shown}: the database refused: {why}",
                            remedy="mend what it names, and run again: everything committed before is kept",
                        ) from None
                except _GONE as error:
                    why = str(error) or type(error).__name__
                self.close()
                if not self._opened_before or time.monotonic() > until:
                    raise VenireError(
                        f"{self._address.shown}: the database cannot be reached: {why}",
                        remedy="start it or correct the address, and run again: everything committed before is kept",
                    )
                time.sleep(pause)
                pause = min(2 * pause, 2.0)

    def close(self, parting: str = "") -> None:
        """Close the session, after a last statement if it is still connected."""
        if self._session is not None:
            if parting:
                with suppress(*_GONE, DatabaseError):
                    self._session.script(parting)
            self._session.close()
            self._session = None

    def _open(self) -> PostgresSession:
        if self._session is None:
            session = PostgresSession(self._address)
            try:
                self._greet(session)
            except BaseException:
                session.close()
                raise
            self._session, self._opened_before = session, True
        return self._session

    def _undo(self) -> None:
        if self._session is not None:
            try:
                self._session.script("ROLLBACK")
            except (*_GONE, DatabaseError):
                self.close()


def _with_named_parameters(sql: str) -> str:
    """The statement with pg8000's named parameters in place of `?`."""
    parts = sql.split("?")
    return parts[0] + "".join(f":v{number}{part}" for number, part in enumerate(parts[1:]))


def _code(error: DatabaseError) -> str:
    fields = error.args[0] if error.args else None
    return str(fields.get("C", "")) if isinstance(fields, dict) else ""


def _passing(error: DatabaseError) -> bool:
    return _code(error).startswith(_PASSING)


def _server_message(error: DatabaseError) -> str:
    """The server's error message, without its detail: that may hold values."""
    fields = error.args[0] if error.args else None
    said = str(fields.get("M", "")) if isinstance(fields, dict) else str(fields or type(error).__name__)
    return re.sub(r"\s+", " ", said)[:200]
