"""The HTTP service: token, size limits and concurrency. The verdicts come from a `Sitting` of the jury."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import web

from ...orchestration.reading.export import verdicts
from ...orchestration.record import Store
from ...orchestration.record.manifest import case_fingerprint
from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from ..plugins.judgement import Judgement
from ..plugins.sitting import Sitting
from .answer_cache import AnswerCache
from .case_request import RequestError, read_case
from .connections import Connections
from .graders import case_document, grader_answer, read_grader_run, rewarded_name
from .hosts import AllowedHosts
from .mcp import McpServer, Tool, ToolAnswer, case_schema
from .mcp_tools import EXPLAIN, JUDGE, ExplainRequest, explained_answer, judged_answer, read_explain_request
from .openapi import FARTHEST, MOST, openapi_document
from .throttled_log import ThrottledLog

_LOG = logging.getLogger(__name__)

BODY_SECONDS = 10.0
"""Seconds in which a request's body must be there."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Service:
    """HTTP API of one jury under one rubric, behind a bearer token."""

    def __init__(
        self,
        sitting: Sitting,
        record: Store,
        *,
        token: str,
        hosts: AllowedHosts,
        connections: Connections,
        log: ThrottledLog,
        max_body: int,
        at_once: int,
        most_waiting: int,
    ) -> None:
        self._sitting = sitting
        self._record = record
        self._token = token
        self._hosts = hosts
        self._connections = connections
        self._log = log
        self._answers = AnswerCache()
        self._max_body = max_body
        self._most = at_once + most_waiting
        self._places = asyncio.Semaphore(at_once)
        self._held = self._hearing = 0
        rubric, jury = sitting.rubric, sitting.jury
        self._mcp_server = McpServer(
            [
                Tool("judge_case", "Judge a case", JUDGE, case_schema(), self._judge_tool, free=False),
                Tool(
                    "explain_verdict",
                    "Explain a verdict",
                    EXPLAIN,
                    ExplainRequest.model_json_schema(),
                    self._explain_tool,
                    free=True,
                ),
            ],
            instructions=f"A jury ({jury.name}) that judges texts under the rubric {rubric.name}: {', '.join(rubric.names)}.",
        )
        self._openapi_document = openapi_document(rubric=sitting.rubric.name, jury=sitting.jury.name)

    def app(self) -> web.Application:
        app = web.Application(middlewares=[self._guard], client_max_size=self._max_body)
        app.router.add_get("/openapi.json", self._openapi)
        app.router.add_post("/v1/deliberations", self._score)
        app.router.add_get("/v1/deliberations", self._list)
        app.router.add_get("/v1/deliberations/{case:.+}", self._fetch)
        app.router.add_get("/v1/status", self._status)
        app.router.add_post("/v1/fine_tuning/alpha/graders/run", self._grade)
        app.router.add_post("/mcp", self._mcp)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Check `Host`, and the token except for the OpenAPI document; turn every error into JSON."""
        self._connections.request_came(request.protocol)
        try:
            self._check_host(request)
            if request.path != "/openapi.json":
                self._check_token(request)
            return await handler(request)
        except RequestError as error:
            return _problem_response(error.status, error.problem, error.remedy, error.headers)
        except web.HTTPException as known:
            return _problem_response(
                known.status, known.reason, "see GET /openapi.json", _allow_header(known)
            )
        except ConnectionError:
            self._log.warning("client gone before its request was read")
            return _problem_response(400, "the connection was lost", "send it again", {})
        except VenireError as error:
            return _problem_response(503, error.problem, error.remedy, {})
        except Exception as error:
            # The message of an error may hold a patient's words, and so may its traceback.
            logged = None if self._record.redacted else error
            _LOG.error("not answered: %s", type(error).__name__, exc_info=logged)
            return _problem_response(500, "this is a bug of the server's", "see its log", {})

    def _check_host(self, request: web.Request) -> None:
        if not self._hosts.allow(request.headers.getall("Host", [])):
            self._log.warning("request refused: its Host is not one that is served")
            remedy = "ask by the address it listens at, or start it with --allow-host NAME"
            raise RequestError(421, "this Host is not served here", remedy)

    def _check_token(self, request: web.Request) -> None:
        kind, _, given = request.headers.get("Authorization", "").partition(" ")
        known = hmac.compare_digest(given.strip().encode("utf-8", "replace"), self._token.encode())
        if kind.lower() != "bearer" or not known:
            challenge = {"WWW-Authenticate": "Bearer"}
            raise RequestError(401, "a token is needed", "send Authorization: Bearer TOKEN", **challenge)

    async def _openapi(self, request: web.Request) -> web.Response:
        return web.json_response(self._openapi_document)

    async def _score(self, request: web.Request) -> web.Response:
        _check_json(request)
        case = read_case(await _body(request))
        with self._connections.keep_open(request.protocol):
            body = await self._judged_body(case)
        return web.Response(body=body, content_type="application/json")

    async def _grade(self, request: web.Request) -> web.Response:
        """OpenAI's graders API: the sample as a case, the verdict as a reward."""
        _check_json(request)
        run = read_grader_run(await _body(request))
        rewarded_name(run, self._sitting.rubric)
        case = read_case(case_document(run))
        with self._connections.keep_open(request.protocol):
            await self._judged_body(case)
        return web.json_response(grader_answer(run, self._kept_judgement(case.id)))

    async def _mcp(self, request: web.Request) -> web.Response:
        """One message of the Model Context Protocol."""
        origin = request.headers.get("Origin")
        if origin is not None and not self._hosts.allow([origin.partition("://")[2]]):
            raise RequestError(403, "this Origin is not served here", "start it with --allow-host NAME")
        _check_json(request)
        message = await _body(request)
        with self._connections.keep_open(request.protocol):
            status, answer = await self._mcp_server.answer(message, request.headers)
        return web.Response(status=status) if answer is None else web.json_response(answer, status=status)

    async def _judge_tool(self, arguments: Mapping[str, Any]) -> ToolAnswer:
        try:
            return judged_answer(
                json.loads(await self._judged_body(read_case(json.dumps(arguments).encode())))
            )
        except VenireError as error:
            raise RequestError(503, error.problem, error.remedy) from None

    async def _explain_tool(self, arguments: Mapping[str, Any]) -> ToolAnswer:
        asked = read_explain_request(arguments)
        return explained_answer(self._kept_judgement(asked.case), asked.attribute)

    async def _judged_body(self, case: Case) -> bytes:
        """The deliberation as JSON: the answer in memory, or the jury's."""
        known = (case.id, case_fingerprint(case))
        body = self._answers.get(known)
        if body is None:
            body = await self._judge(case)
            self._answers.put(known, body)
        return body

    async def _judge(self, case: Case) -> bytes:
        """The deliberation as JSON, after waiting for a place; refused at once where too many wait already."""
        if self._held >= self._most:
            raise RequestError(503, "too many requests are waiting", "try again", **{"Retry-After": "5"})
        self._held += 1
        try:
            async with self._places:
                self._hearing += 1
                try:
                    judgement = await self._sitting.hear(case)
                finally:
                    self._hearing -= 1
        finally:
            self._held -= 1
        return json.dumps(judgement.document).encode()

    async def _fetch(self, request: web.Request) -> web.Response:
        return web.json_response(self._kept_judgement(request.match_info["case"]).document)

    def _kept_judgement(self, case: str) -> Judgement:
        """The judgement of a case in the record; asks no model."""
        for _, verdict in verdicts(self._record, arm=self._sitting.jury.name, case=case):
            return Judgement(verdict, self._sitting.rubric, fresh=False)
        raise RequestError(404, "no such case was heard to its end", "post it: what was paid for is kept")

    async def _list(self, request: web.Request) -> web.Response:
        after = _whole(request, "after", 0, least=0, greatest=FARTHEST)
        most = _whole(request, "most", 100, least=1, greatest=MOST)
        ids = self._record.case_ids()
        return web.json_response({"cases": ids[after : after + most], "total": len(ids)})

    async def _status(self, request: web.Request) -> web.Response:
        return web.json_response(
            {
                "rubric": self._sitting.rubric.name,
                "jury": self._sitting.jury.name,
                "hearing": self._hearing,
                "waiting": self._held - self._hearing,
                "heard": len(self._record.case_ids()),
            }
        )


def _check_json(request: web.Request) -> None:
    if request.content_type != "application/json":
        raise RequestError(415, "the body is not application/json", "send Content-Type: application/json")


async def _body(request: web.Request) -> bytes:
    """The body, read before the request takes a place: whoever sends slowly holds none."""
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise RequestError(415, "the body is compressed", "send it as it is")
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await request.read()
    except TimeoutError:
        raise RequestError(
            408, "the body did not come in time", "send it again", Connection="close"
        ) from None
    except RuntimeError:
        # aiohttp's word for a connection that was closed while its body was read.
        if request.transport is not None:
            raise
        raise ConnectionResetError from None


def _whole(request: web.Request, name: str, default: int, *, least: int, greatest: int) -> int:
    given = request.query.getall(name, [str(default)])
    if len(given) == 1 and given[0].isascii() and given[0].isdigit() and len(given[0]) < 19:
        number = int(given[0])
        if least <= number <= greatest:
            return number
    problem = f"{name} is not a whole number from {least} to {greatest}"
    raise RequestError(422, problem, f"leave {name} out, or mend it")


def _problem_response(status: int, problem: str, remedy: str, headers: dict[str, str]) -> web.Response:
    return web.json_response({"problem": problem, "remedy": remedy}, status=status, headers=headers)


def _allow_header(known: web.HTTPException) -> dict[str, str]:
    return {"Allow": known.headers["Allow"]} if "Allow" in known.headers else {}
