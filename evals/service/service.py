"""The service: who may ask, how much, and how many at a time. What it answers is heard by a sitting of the jury."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Awaitable, Callable

from aiohttp import web

from ...orchestration.reading.export import case_json, verdicts
from ...orchestration.record import Store
from ...rubrics.errors import VenireError
from ..plugins.sitting import Sitting
from .asked import Refused, read_case
from .openapi import FARTHEST, MOST, described

_LOG = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Service:
    """One jury under one rubric, for whoever holds the token."""

    def __init__(
        self,
        sitting: Sitting,
        record: Store,
        *,
        token: str,
        max_body: int,
        at_once: int,
        most_waiting: int,
    ) -> None:
        self._sitting = sitting
        self._record = record
        self._token = token
        self._max_body = max_body
        self._most = at_once + most_waiting
        self._places = asyncio.Semaphore(at_once)
        self._held = self._hearing = 0
        self._described = described(rubric=sitting.rubric.name, jury=sitting.jury.name)

    def app(self) -> web.Application:
        app = web.Application(middlewares=[self._guard], client_max_size=self._max_body)
        app.router.add_get("/openapi.json", self._openapi)
        app.router.add_post("/v1/deliberations", self._score)
        app.router.add_get("/v1/deliberations", self._list)
        app.router.add_get("/v1/deliberations/{case:.+}", self._fetch)
        app.router.add_get("/v1/status", self._status)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Only the description of the service is for everybody; whatever is refused says why, as JSON."""
        try:
            if request.path != "/openapi.json":
                self._let_in(request)
            return await handler(request)
        except Refused as refused:
            return _told(refused.status, refused.problem, refused.remedy, refused.headers)
        except web.HTTPException as known:
            return _told(known.status, known.reason, "see GET /openapi.json", _allowed(known))
        except VenireError as error:
            return _told(503, error.problem, error.remedy, {})
        except Exception as error:
            # The message of an error may hold a patient's words, and so may its traceback.
            withheld = self._record.redacted
            _LOG.error("not answered: %s", type(error).__name__, exc_info=None if withheld else error)
            return _told(500, "this is a bug of the server's", "see its log", {})

    def _let_in(self, request: web.Request) -> None:
        kind, _, given = request.headers.get("Authorization", "").partition(" ")
        known = hmac.compare_digest(given.strip().encode("utf-8", "replace"), self._token.encode())
        if kind.lower() != "bearer" or not known:
            challenge = {"WWW-Authenticate": "Bearer"}
            raise Refused(401, "a token is needed", "send Authorization: Bearer TOKEN", **challenge)

    async def _openapi(self, request: web.Request) -> web.Response:
        return web.json_response(self._described)

    async def _score(self, request: web.Request) -> web.Response:
        if request.content_type != "application/json":
            raise Refused(415, "the body is not application/json", "send Content-Type: application/json")
        if self._held >= self._most:
            raise Refused(503, "too many requests are waiting", "try again", **{"Retry-After": "5"})
        self._held += 1
        try:
            case = read_case(await request.read())
            async with self._places:
                self._hearing += 1
                try:
                    judgement = await self._sitting.hear(case)
                finally:
                    self._hearing -= 1
        finally:
            self._held -= 1
        return web.json_response(judgement.document)

    async def _fetch(self, request: web.Request) -> web.Response:
        found = verdicts(self._record, arm=self._sitting.jury.name, case=request.match_info["case"])
        for _, verdict in found:
            return web.json_response(case_json(verdict))
        raise Refused(404, "no such case was heard to its end", "post it: what was paid for is kept")

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


def _whole(request: web.Request, name: str, default: int, *, least: int, greatest: int) -> int:
    given = request.query.getall(name, [str(default)])
    if len(given) == 1 and given[0].isascii() and given[0].isdigit() and len(given[0]) < 19:
        number = int(given[0])
        if least <= number <= greatest:
            return number
    told = f"{name} is not a whole number from {least} to {greatest}"
    raise Refused(422, told, f"leave {name} out, or mend it")


def _told(status: int, problem: str, remedy: str, headers: dict[str, str]) -> web.Response:
    return web.json_response({"problem": problem, "remedy": remedy}, status=status, headers=headers)


def _allowed(known: web.HTTPException) -> dict[str, str]:
    return {"Allow": known.headers["Allow"]} if "Allow" in known.headers else {}
