"""The service's process: start, serve, and on SIGINT or SIGTERM finish the accepted requests."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
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
from .connections import Connections
from .hosts import AllowedHosts, is_loopback
from .service import Service
from .throttled_log import ThrottledLog
from .tls import tls_context

_LOG = logging.getLogger(__name__)

OTHER_FILES = 256
"""Open files beside the clients' connections: the record, and the connections to providers."""

PATIENCE = 60.0
"""Seconds to finish accepted requests after a signal."""


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """Settings of the service."""

    host: str
    port: int
    allow_host: tuple[str, ...]
    """Names that a request's `Host` may have, beside `host`."""
    tls_cert: Path | None
    """Certificate chain in PEM; with `tls_key`, the service speaks HTTPS."""
    tls_key: Path | None
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
    max_connections: int
    """Open connections at a time; beyond that, those that wait for their client give way."""
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
    tls = tls_context(config.tls_cert, config.tls_key)
    given, token = _token(config)
    log = ThrottledLog(_LOG)
    connections = Connections(_allowed_connections(config.max_connections), tls=tls, log=log)
    sitting = convene(
        rubric,
        jury,
        record=record,
        prices=config.prices,
        max_usd=config.max_usd,
        max_tokens=config.max_tokens,
        in_flight=config.in_flight,
        redact=config.redact,
        must_reach=True,
    )
    if not given:
        say(f"token: {token}")
    try:
        reading = Store.read(record)
        try:
            service = Service(
                sitting,
                reading,
                token=token,
                hosts=AllowedHosts(config.host, config.allow_host),
                connections=connections,
                log=log,
                max_body=config.max_body,
                at_once=config.at_once,
                most_waiting=config.most_waiting,
            )
            asyncio.run(_serve(service, connections, config, say))
        finally:
            reading.release()
    finally:
        sitting.close()


def _allowed_connections(most: int) -> int:
    """`most`, or what the process's limit of open files leaves room for; the limit is raised as far as it may be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return max(1, soft - OTHER_FILES)
    return most


def _token(config: ServiceConfig) -> tuple[bool, str]:
    """Whether a token was given, and the token: the one in the environment, or a new one."""
    given = os.environ.get(config.token_env, "").strip()
    if given:
        return True, given
    if not is_loopback(config.host):
        raise VenireError(
            f"{config.host} can be reached from other machines, and {config.token_env} is not set",
            remedy=f"set {config.token_env} to a token of your own, or serve on 127.0.0.1",
        )
    return False, secrets.token_urlsafe(24)


def _quiet() -> logging.Logger:
    """A logger that drops malformed requests, whose bytes may hold a token; they are answered with 400."""
    logger = logging.getLogger(f"{__name__}.bytes")
    logger.setLevel(logging.CRITICAL)
    return logger


async def _serve(
    service: Service, connections: Connections, config: ServiceConfig, say: Callable[[str], None]
) -> None:
    runner = web.AppRunner(
        service.app(),
        access_log=None,
        logger=_quiet(),
        shutdown_timeout=PATIENCE,
        # A compressed body is refused, and not inflated before that.
        auto_decompress=False,
    )
    await runner.setup()
    assert runner.server is not None
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stopped.set)
    try:
        try:
            listening = await loop.create_server(
                connections.protocol_factory(runner.server), config.host, config.port, backlog=1024
            )
        except OSError as error:
            raise VenireError(
                f"cannot serve on {config.host}:{config.port}: {error.strerror}",
                remedy="choose another --port",
            ) from None
        sweep = loop.create_task(connections.close_idle())
        shown = f"[{config.host}]" if ":" in config.host else config.host
        scheme = "http" if config.tls_cert is None else "https"
        port = listening.sockets[0].getsockname()[1]
        say(f"serving at {scheme}://{shown}:{port}, described at /openapi.json")
        await stopped.wait()
        say("finishing what was accepted")
        sweep.cancel()
        listening.close()
    finally:
        await runner.cleanup()
