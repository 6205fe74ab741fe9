"""Sessions with PostgreSQL without a server: where they go, what they wait for, and what they give up at once."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pg8000", reason="an extra")

from pg8000.exceptions import DatabaseError, InterfaceError

from venire import VenireError
from venire.orchestration.record import postgres
from venire.orchestration.record.postgres import PostgresSession, ReconnectingSession, address


@pytest.mark.parametrize(
    ("url", "environment", "place", "options"),
    [
        ("postgresql://me:p%40ss@h:6000/db", {"PGHOST": "x", "PGPORT": "1", "PGUSER": "x", "PGPASSWORD": "x", "PGDATABASE": "x"}, ("h", 6000), ("me", "p@ss", "db")),
        ("postgresql:///", {"PGHOST": "x", "PGPORT": "7000", "PGUSER": "u", "PGPASSWORD": "w", "PGDATABASE": "d"}, ("x", 7000), ("u", "w", "d")),
        ("postgresql://u@h", {}, ("h", 5432), ("u", None, "u")),
        ("postgresql://u@/db", {}, ("localhost", 5432), ("u", None, "db")),
        ("postgresql:///db", {}, ("localhost", 5432), ("login", None, "db")),
        ("postgresql://u@h/db?host=/run/pg", {"PGHOST": "x"}, "/run/pg/.s.PGSQL.5432", ("u", None, "db")),
    ],
)  # fmt: skip
def test_the_environment_fills_what_an_address_leaves_out(
    url: str,
    environment: dict[str, str],
    place: Any,
    options: tuple[Any, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(postgres.getpass, "getuser", lambda: "login")
    found = address(url)

    assert (found.place, found.run) == (place, "venire")
    assert tuple(found.options[name] for name in ("user", "password", "database")) == options
    # A socket of this machine is not encrypted; elsewhere it is where the server can.
    assert found.options["ssl_context"] is (False if isinstance(place, str) else None)


def test_a_certificate_is_checked_where_that_is_asked() -> None:
    def context(mode: str) -> Any:
        return address(f"postgresql://u@h/db?run=x&sslmode={mode}").options["ssl_context"]

    assert (context("disable"), context("prefer"), context("require")) == (False, None, True)
    assert [context(mode).check_hostname for mode in ("verify-ca", "verify-full")] == [False, True]
    assert address("postgresql://u@h/db?run=monday").run == "monday"


def refused(code: str) -> DatabaseError:
    return DatabaseError({"C": code, "M": f"said {code}", "D": "canary"})


class Wire:
    """In the place of a session: does what it is told to, and notes what it is asked."""

    def __init__(self, log: list[str], *answers: Any) -> None:
        self.log, self.answers = log, list(answers)

    def script(self, sql: str) -> None:
        self.log.append(sql)

    def close(self) -> None:
        self.log.append("closed")

    def ask(self) -> str:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return str(answer)


@pytest.mark.parametrize(
    ("sessions", "result", "log"),
    [
        ([["a"]], "a", ["opened"]),
        # Going down, coming up, full of clients, or gone: it is asked again over another session.
        *(
            ([["warm", error], ["b"]], "b", ["opened", "closed", "opened"])
            for error in (refused("57P01"), refused("08006"), refused("53300"), InterfaceError("gone"), OSError("gone"))
        ),
        ([["warm", OSError("gone")], [OSError("gone")], ["c"]], "c", ["opened", "closed", "opened", "closed", "opened"]),
        # Anything else that it says is final, and what was begun is undone.
        ([["warm", refused("23505")]], "returned an error: said 23505", ["opened", "ROLLBACK"]),
        ([["warm", refused("53100")]], "returned an error: said 53100", ["opened", "ROLLBACK"]),
        ([[refused("57P01")]], "cannot be reached: said 57P01", ["opened", "closed"]),
        ([["warm", OSError("gone")], *[[OSError("gone")]] * 40], "cannot be reached: gone", None),
    ],
)  # fmt: skip
def test_a_server_that_goes_away_is_waited_for_and_one_that_refuses_is_not(
    sessions: list[list[Any]], result: str, log: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, now, waiting = list[str](), [0.0], list(sessions)

    def connect(_: Any) -> Wire:
        told.append("opened")
        return Wire(told, *waiting.pop(0))

    def sleep(seconds: float) -> None:
        assert 0 < seconds <= 2
        now[0] += seconds

    monkeypatch.setattr(postgres, "PostgresSession", connect)
    monkeypatch.setattr(postgres.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(postgres.time, "sleep", sleep)

    def greet(wire: Any) -> None:
        # A server that was never reached is an error at once.
        if isinstance(sessions[0][0], Exception):
            wire.ask()

    session = ReconnectingSession(address("postgresql://u:hunter2@h/db?run=x"), greet)
    if len(sessions[0]) > 1:
        assert session.do(lambda wire: wire.ask()) == "warm"  # type: ignore[attr-defined]
    if " " in result:
        with pytest.raises(VenireError) as caught:
            session.do(lambda wire: wire.ask())  # type: ignore[attr-defined]
        assert result in caught.value.problem
        assert "hunter2" not in str(caught.value) and "canary" not in str(caught.value)
    else:
        assert session.do(lambda wire: wire.ask()) == result  # type: ignore[attr-defined]
    if log is None:
        assert postgres.PATIENCE < now[0] <= postgres.PATIENCE + 2
    else:
        assert told == log


@pytest.mark.parametrize("error", [None, OSError("gone")])
def test_a_session_that_is_closed_leaves_no_socket_open(error: Exception | None) -> None:
    mine, theirs = socket.socketpair()
    theirs.settimeout(1)

    def close() -> None:
        if error is not None:
            raise error

    session = object.__new__(PostgresSession)
    session._socket, session._connection = mine, SimpleNamespace(close=close)
    session.close()
    assert theirs.recv(1) == b""
    theirs.close()
