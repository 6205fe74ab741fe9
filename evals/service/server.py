"""The service's process: start, serve, and on SIGINT or SIGTERM finish the accepted requests."""

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
"""Seconds to finish accepted requests after a signal."""


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """Settings of the service."""

    host: str
    port: int
    token_env: str
    """Environment variable with the token; if it is not set, one is generated and printed once."""
    max_body: int
    """Bytes."""
    in_flight: int
    """Calls to each provider at a time."""
    at_once: int
    """Deliberations at a time."""
    most_waiting: int
    """Requests that may wait for their turn."""
    max_usd: float | None
    """Budget of this process."""
    max_tokens: int | None
    prices: Path | None
    redact: bool
    """Keep the words of cases and jurors out of the record."""


def serve(
    rubric: Rubric, jury: Jury, record: Location, config: ServiceConfig, say: Callable[[str], None]
) -> None:
    """Serve until SIGINT or SIGTERM."""
    token = _token(config, say)
    sitting = convene(
        rubric,
        jury,
        record=record,
        prices=config.prices,
        max_usd=config.max_usd,
        max_tokens=config.max_tokens,
        in_flight=config.in_flight,
        redact=config.redact,
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
                        max_body=config.max_body,
                        at_once=config.at_once,
                        most_waiting=config.most_waiting,
                    ),
                    config,
                    say,
                )
            )
        finally:
            reading.release()
    finally:
        sitting.close()


def _token(config: ServiceConfig, say: Callable[[str], None]) -> str:
    given = os.environ.get(config.token_env, "").strip()
    if given:
        return given
    if not _loopback(config.host):
        raise VenireError(
            f"{config.host} can be reached from other machines, and {config.token_env} is not set",
            remedy=f"set {config.token_env} to a token of your own, or serve on 127.0.0.1",
        )
    token = secrets.token_urlsafe(24)
    say(f"token: {token}")
    return token


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _quiet() -> logging.Logger:
    """A logger that drops malformed requests, whose bytes may hold a token; they are answered with 400."""
    logger = logging.getLogger(f"{__name__}.bytes")
    logger.setLevel(logging.CRITICAL)
    return logger


async def _serve(service: Callable[[], Service], config: ServiceConfig, say: Callable[[str], None]) -> None:
    runner = web.AppRunner(
        service().app(),
        access_log=None,
        logger=_quiet(),
        shutdown_timeout=PATIENCE,
        # A compressed body is refused, and not inflated before that.
        auto_decompress=False,
    )
    await runner.setup()
    stopped = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stopped.set)
    try:
        try:
            await web.TCPSite(runner, config.host, config.port, backlog=1024).start()
        except OSError as error:
            raise VenireError(
                f"cannot serve on {config.host}:{config.port}: {error.strerror}",
                remedy="choose another --port",
            ) from None
        shown = f"[{config.host}]" if ":" in config.host else config.host
        say(f"serving at http://{shown}:{runner.addresses[0][1]}, described at /openapi.json")
        await stopped.wait()
        say("finishing what was accepted")
    finally:
        await runner.cleanup()
