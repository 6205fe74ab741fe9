"""A PostgreSQL address: which server, which database, and which run in it."""

from __future__ import annotations

import getpass
import os
import re
import socket
import ssl
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from ...rubrics.errors import VenireError
from .location import without_password

DEFAULT_RUN = "venire"
_RUN = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,62}")
_KNOWN = {"run", "host", "sslmode"}
_SSL: dict[str, bool | None] = {"disable": False, "prefer": None, "require": True}


@dataclass(frozen=True, slots=True)
class Address:
    """Where to connect, and the run there: each run has a schema of its own, named after it."""

    run: str
    shown: str
    """The address without its password."""
    place: str | tuple[str, int]
    """A socket's path, or a host and a port."""
    options: dict[str, Any]
    """What pg8000 is given. Holds the password: never shown, never stored."""

    def connect(self, timeout: float) -> socket.socket:
        """A socket to the server."""
        if isinstance(self.place, str):
            near = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            near.settimeout(timeout)
            try:
                near.connect(self.place)
            except OSError:
                near.close()
                raise
            return near
        far = socket.create_connection(self.place, timeout)
        # Without this, every batch waits for the server's delayed acknowledgement of the one before.
        far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        far.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return far

    def __repr__(self) -> str:
        return f"Address({self.shown})"


def address(url: str) -> Address:
    """The parts of `postgresql://USER:PASSWORD@HOST:PORT/DATABASE?run=NAME`; the environment fills what is left out."""
    shown = without_password(url)
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
    except ValueError:
        raise VenireError(
            f"{shown}: not an address", remedy="write postgresql://USER@HOST:PORT/DATABASE?run=NAME"
        ) from None
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    if unknown := sorted(query.keys() - _KNOWN):
        raise VenireError(
            f"{shown}: {unknown[0]!r} is not known here", remedy=f"choose from {', '.join(sorted(_KNOWN))}"
        )
    run = query.get("run", DEFAULT_RUN)
    if not _RUN.fullmatch(run):
        raise VenireError(
            f"{shown}: {run!r} cannot name a run", remedy="use small letters, digits and _, as in ?run=monday"
        )
    user = unquote(parts.username or "") or os.environ.get("PGUSER") or getpass.getuser()
    host = query.get("host") or host or os.environ.get("PGHOST") or "localhost"
    number = port or int(os.environ.get("PGPORT") or 5432)
    near = host.startswith("/")
    options: dict[str, Any] = {
        "user": user,
        "password": unquote(parts.password or "") or os.environ.get("PGPASSWORD"),
        "host": host,
        "database": unquote(parts.path.strip("/")) or os.environ.get("PGDATABASE") or user,
        "application_name": "venire",
        "ssl_context": False if near else _ssl(query.get("sslmode", "prefer"), shown),
    }
    return Address(run, shown, f"{host}/.s.PGSQL.{number}" if near else (host, number), options)


def _ssl(mode: str, shown: str) -> bool | ssl.SSLContext | None:
    if mode in ("verify-ca", "verify-full"):
        context = ssl.create_default_context()
        context.check_hostname = mode == "verify-full"
        return context
    if mode not in _SSL:
        raise VenireError(
            f"{shown}: no sslmode {mode!r}", remedy=f"choose one of {', '.join(_SSL)}, verify-ca, verify-full"
        )
    return _SSL[mode]
