"""The HTTP service: serve until SIGINT, SIGTERM or SIGHUP, and finish the accepted requests."""

from __future__ import annotations

import asyncio
import logging
import resource
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol

from aiohttp import web

from ...orchestration.record import Location
from ...orchestration.run_session import on_ending_signal
from ...personas.jury import Jury
from ...rubrics.errors import VenireError
from ...rubrics.rubric import Rubric
from .connections import (
    AccessCheck,
    AllowedHosts,
    Connections,
    ThrottledLog,
    service_token,
    tls_context,
    url_host,
)
from .graders import case_document, grader_answer, read_grader_run, rewarded_name
from .judging import PATIENCE, JudgeQueue, RequestError, ServiceConfig, open_queue, read_case
from .openapi import FARTHEST, MOST, openapi_document

_LOG = logging.getLogger(__name__)

OTHER_FILES = 256
"""Open files beside the clients' connections: the record, and the connections to providers."""
BODY_SECONDS = 10.0
"""Seconds in which a request's body must be there."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def serve(
    rubric: Rubric, jury: Jury, record: Location, config: ServiceConfig, say: Callable[[str], None]
) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP."""
    tls = tls_context(config.tls_cert, config.tls_key)
    is_given, token = service_token(config.token_env, config.host)
    log = ThrottledLog(_LOG)
    connections = Connections(allowed_connections(config.max_connections), tls=tls, log=log)
    access = AccessCheck(AllowedHosts(config.host, config.allow_host), token, log)
    with open_queue(rubric, jury, record, config, say) as queue:
        if not is_given:
            say(f"token: {token}")
        service = Service(queue, access, connections, log, max_body=config.max_body)

        def ready(address: str) -> None:
            say(f"serving at {address}, described at /openapi.json")

        asyncio.run(serve_app(service.app(), connections, config, say, ready))


def allowed_connections(most: int) -> int:
    """`most`, or what the process's limit of open files leaves room for; the limit is raised as far as it may be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed_files = most + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < needed_files:
        soft = needed_files if hard == resource.RLIM_INFINITY else min(needed_files, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return max(1, soft - OTHER_FILES)
    return most


def _quiet() -> logging.Logger:
    """A logger that drops malformed requests, whose bytes may hold a token; they are answered with 400."""
    logger = logging.getLogger(f"{__name__}.bytes")
    logger.setLevel(logging.CRITICAL)
    return logger


class ListenAddress(Protocol):
    """Where to listen."""

    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...
    @property
    def tls_cert(self) -> Path | None: ...


async def serve_app(
    app: web.Application,
    connections: Connections,
    address: ListenAddress,
    say: Callable[[str], None],
    ready: Callable[[str], None],
) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP, then finish what was accepted; `ready` is told the address."""
    runner = web.AppRunner(
        app,
        access_log=None,
        logger=_quiet(),
        shutdown_timeout=PATIENCE,
        # A compressed body is refused, and not inflated before that.
        auto_decompress=False,
    )
    await runner.setup()
    assert runner.server is not None
    stopped = asyncio.Event()
    with on_ending_signal(lambda _: stopped.set()):
        try:
            await _listen(runner.server, connections, address, ready, stopped)
            say("finishing what was accepted")
        finally:
            await runner.cleanup()


async def _listen(
    server: web.Server,
    connections: Connections,
    address: ListenAddress,
    ready: Callable[[str], None],
    stopped: asyncio.Event,
) -> None:
    loop = asyncio.get_running_loop()
    try:
        listening = await loop.create_server(
            connections.protocol_factory(server), address.host, address.port, backlog=1024
        )
    except OSError as error:
        raise VenireError(
            f"cannot serve on {address.host}:{address.port}: {error.strerror}", remedy="choose another --port"
        ) from None
    sweep = loop.create_task(connections.close_idle())
    scheme = "http" if address.tls_cert is None else "https"
    port = listening.sockets[0].getsockname()[1]
    ready(f"{scheme}://{url_host(address.host)}:{port}")
    await stopped.wait()
    sweep.cancel()
    listening.close()


class Service:
    """HTTP API of one jury under one rubric, behind a bearer token."""

    def __init__(
        self,
        queue: JudgeQueue,
        access: AccessCheck,
        connections: Connections,
        log: ThrottledLog,
        *,
        max_body: int,
    ) -> None:
        self._queue = queue
        self._access = access
        self._connections = connections
        self._log = log
        self._max_body = max_body
        self._openapi_document = openapi_document(rubric=queue.sitting.rubric, jury=queue.sitting.jury.name)

    def app(self) -> web.Application:
        app = web.Application(middlewares=[self._guard], client_max_size=self._max_body)
        app.router.add_get("/openapi.json", self._openapi)
        app.router.add_post("/v1/deliberations", self._score)
        app.router.add_get("/v1/deliberations", self._list)
        app.router.add_get("/v1/deliberations/{case:.+}", self._fetch)
        app.router.add_get("/v1/status", self._status)
        app.router.add_post("/v1/fine_tuning/alpha/graders/run", self._grade)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Check `Host`, and the token except for the OpenAPI document; turn every error into JSON."""
        self._connections.request_came(request.protocol)
        try:
            self._access.check_host(request.headers.getall("Host", []))
            if request.path != "/openapi.json":
                self._access.check_token(request.headers.get("Authorization", ""))
            return await handler(request)
        except RequestError as error:
            return _problem_response(error.status, error.problem, error.remedy, error.headers)
        except web.HTTPException as error:
            allow = {"Allow": error.headers["Allow"]} if "Allow" in error.headers else {}
            return _problem_response(error.status, error.reason, "see GET /openapi.json", allow)
        except ConnectionError:
            self._log.warning("the client closed the connection before its request was read")
            return _problem_response(400, "the connection was lost", "send it again", {})
        except VenireError as error:
            return _problem_response(503, error.problem, error.remedy, {})
        except Exception as error:
            self._queue.log_bug(_LOG, error)
            return _problem_response(
                500, "the server failed because of a bug", "see the log of the server", {}
            )

    async def _openapi(self, request: web.Request) -> web.Response:
        return web.json_response(self._openapi_document)

    async def _score(self, request: web.Request) -> web.Response:
        require_json(request)
        case = read_case(await request_body(request), self._queue.sitting.rubric)
        with self._connections.keep_open(request.protocol):
            body = await self._queue.judge(case)
        return web.Response(body=body, content_type="application/json")

    async def _grade(self, request: web.Request) -> web.Response:
        """OpenAI's graders API: the sample as a case, the verdict as a reward."""
        require_json(request)
        run = read_grader_run(await request_body(request))
        rewarded_name(run, self._queue.sitting.rubric)
        case = read_case(case_document(run), self._queue.sitting.rubric)
        with self._connections.keep_open(request.protocol):
            await self._queue.judge(case)
        return web.json_response(grader_answer(run, self._queue.kept_judgement(case.id)))

    async def _fetch(self, request: web.Request) -> web.Response:
        return web.json_response(self._queue.kept_judgement(request.match_info["case"]).document)

    async def _list(self, request: web.Request) -> web.Response:
        offset = _whole(request, "after", 0, least=0, greatest=FARTHEST)
        page_size = _whole(request, "most", 100, least=1, greatest=MOST)
        ids = self._queue.case_ids()
        return web.json_response({"cases": ids[offset : offset + page_size], "total": len(ids)})

    async def _status(self, request: web.Request) -> web.Response:
        return web.json_response(self._queue.state())


def require_json(request: web.Request) -> None:
    """Raises RequestError 415 unless the body is said to be JSON."""
    if request.content_type != "application/json":
        raise RequestError(415, "the body is not application/json", "send Content-Type: application/json")


async def request_body(request: web.Request) -> bytes:
    """The body, read before the request takes a place: whoever sends slowly holds none."""
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise RequestError(415, "the body is compressed", "send it without compression")
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await request.read()
    except TimeoutError:
        raise RequestError(
            408, "the body did not arrive in time", "send it again", Connection="close"
        ) from None
    except RuntimeError:
        # aiohttp's word for a connection that was closed while its body was read.
        if request.transport is not None:
            raise
        raise ConnectionResetError from None


def _whole(request: web.Request, name: str, default: int, *, least: int, greatest: int) -> int:
    values = request.query.getall(name, [str(default)])
    if len(values) == 1 and values[0].isascii() and values[0].isdigit() and len(values[0]) < 19:
        number = int(values[0])
        if least <= number <= greatest:
            return number
    problem = f"{name} is not a whole number from {least} to {greatest}"
    raise RequestError(422, problem, f"correct {name}, or leave it out")


def _problem_response(status: int, problem: str, remedy: str, headers: dict[str, str]) -> web.Response:
    return web.json_response({"problem": problem, "remedy": remedy}, status=status, headers=headers)
