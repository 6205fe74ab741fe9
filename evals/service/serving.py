"""A service from its first request to its last: it finishes what it has accepted before it goes."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import secrets
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from ...orchestration.record import Location, Store
from ...personas.jury import Jury
from ...rubrics.errors import VenireError
from ...rubrics.rubric import Rubric
from ..plugins.sitting import convene
from .service import Service

PATIENCE = 60.0
"""Seconds that a server that was told to stop gives what it has accepted."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Where the service is, who may ask, and how much."""

    host: str
    port: int
    token_env: str
    """The environment variable with the token; where it is not set, one is made and told once."""
    max_body: int
    """Bytes."""
    in_flight: int
    """Calls to each provider at a time."""
    at_once: int
    """Deliberations at a time."""
    most_waiting: int
    """Requests that may wait for their turn."""
    max_usd: float | None
    """What may be spent until the server is started again."""
    max_tokens: int | None
    prices: Path | None
    redact: bool
    """Keep the words of cases and jurors out of the record."""


def serve(rubric: Rubric, jury: Jury, record: Location, terms: Terms, say: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM."""
    token = _token(terms, say)
    sitting = convene(
        rubric,
        jury,
        record=record,
        prices=terms.prices,
        max_usd=terms.max_usd,
        max_tokens=terms.max_tokens,
        in_flight=terms.in_flight,
        redact=terms.redact,
    )
    try:
        reading = Store.read(record)
        try:
            asyncio.run(
                _serve(
                    lambda: Service(
                        sitting,
                        reading,
                        token=token,
                        max_body=terms.max_body,
                        at_once=terms.at_once,
                        most_waiting=terms.most_waiting,
                    ),
                    terms,
                    say,
                )
            )
        finally:
            reading.release()
    finally:
        sitting.close()


def _token(terms: Terms, say: Callable[[str], None]) -> str:
    given = os.environ.get(terms.token_env, "").strip()
    if given:
        return given
    if not _loopback(terms.host):
        raise VenireError(
            f"{terms.host} can be reached from other machines, and {terms.token_env} is not set",
            remedy=f"set {terms.token_env} to a token of your own, or serve on 127.0.0.1",
        )
    made = secrets.token_urlsafe(24)
    say(f"token: {made}")
    return made


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _quiet() -> logging.Logger:
    """For what is no HTTP at all: it is answered with 400, and its bytes, which may hold a token, are not logged."""
    logger = logging.getLogger(f"{__name__}.bytes")
    logger.setLevel(logging.CRITICAL)
    return logger


async def _serve(service: Callable[[], Service], terms: Terms, say: Callable[[str], None]) -> None:
    runner = web.AppRunner(service().app(), access_log=None, logger=_quiet(), shutdown_timeout=PATIENCE)
    await runner.setup()
    told = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, told.set)
    try:
        try:
            await web.TCPSite(runner, terms.host, terms.port, backlog=1024).start()
        except OSError as error:
            raise VenireError(
                f"cannot serve on {terms.host}:{terms.port}: {error.strerror}", remedy="choose another --port"
            ) from None
        shown = f"[{terms.host}]" if ":" in terms.host else terms.host
        say(f"serving at http://{shown}:{runner.addresses[0][1]}, described at /openapi.json")
        await told.wait()
        say("finishing what was accepted")
    finally:
        await runner.cleanup()
