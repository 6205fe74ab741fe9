"""The desk's server: a link for each person, on which she sees and answers what is hers, and nothing else."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field

from ...agents.desk import Answers, Desk, DeskTask, TaskSheet, asked_now
from ...rubrics.ballot import QUOTES_LIMIT, TEXT_LIMIT, has_words
from ...rubrics.errors import VenireError
from ...rubrics.rubric import Rubric
from ...rubrics.scale import NOT_APPLICABLE, value_words
from ..report.markup import PAGE_HEADERS
from ..service.connections import AllowedHosts, Connections, ThrottledLog, is_loopback, tls_context
from ..service.judging import RequestError, read_body
from ..service.server import allowed_connections, request_body, require_json, serve_app
from .pages import Attention, PersonProgress, coordinator_page, done_page, refusal_page, task_page
from .ratings_desk import Rated, file_ratings, ratings_of

_LOG = logging.getLogger(__name__)
COORDINATOR = ""
"""The coordinator's name among those who have a link: no rater has it."""
STATIC = Path(__file__).parent / "static"
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
MAX_BODY = 64 << 10
MOST_APART = 20
EVERY = 2.0
"""Seconds between two looks at whether the files are behind the clicks."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class DeskAddress:
    """Where the desk's server listens."""

    host: str
    port: int
    allow_host: tuple[str, ...]
    tls_cert: Path | None
    tls_key: Path | None
    max_connections: int


def serve_desk(
    desk: Desk,
    people: list[str],
    address: DeskAddress,
    say: Callable[[str], None],
    *,
    rating: bool,
    only: bool = False,
) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP, after printing each person's link; with `rating`, keep the files of ratings up.

    `only`: whether nobody but `people` is let in, though others have links.
    """
    tls = tls_context(address.tls_cert, address.tls_key)
    if tls is None and not is_loopback(address.host) and not address.allow_host:
        raise VenireError(
            f"{address.host} can be reached from other machines, and the raters' links would be sent to it unencrypted",
            remedy="give --tls-cert and --tls-key; if a proxy in front handles TLS, give its host name: --allow-host NAME",
        )
    log = ThrottledLog(_LOG)
    connections = Connections(allowed_connections(address.max_connections), tls=tls, log=log)
    server = DeskServer(desk, address, connections, log, people if only else None)
    links = desk.links([*people, *([COORDINATOR] if rating else [])])

    def ready(at: str) -> None:
        if address.allow_host:
            # A proxy has the certificate and the usual port.
            at = f"https://{address.allow_host[0]}" + ("" if tls is None else f":{at.rpartition(':')[2]}")
        width = max(map(len, [*people, "coordinator"]))
        for name in [*people, *([COORDINATOR] if rating else [])]:
            say(f"{name or 'coordinator':<{width}}  {at}/{links[name]}/")
        say("anyone who has a link can use it, so send each link only to its person; press Ctrl-C to stop")

    async def run() -> None:
        filing = asyncio.create_task(_keep_files(desk)) if rating else None
        try:
            await serve_app(server.app(), connections, address, say, ready)
        finally:
            if filing is not None:
                filing.cancel()

    asyncio.run(run())
    if rating:
        say(f"written: {file_ratings(desk)}")


async def _keep_files(desk: Desk) -> None:
    """Write the ratings' files again where there are new clicks, in a thread, seldom enough to cost little."""
    filed = -1
    pause = EVERY
    while True:
        if (last := desk.last_click()) != filed:
            began = time.monotonic()
            await asyncio.to_thread(_write_apart, desk.folder)
            filed, pause = last, max(EVERY, 20 * (time.monotonic() - began))
        await asyncio.sleep(pause)


def _write_apart(folder: Path) -> None:
    desk = Desk(folder)
    try:
        file_ratings(desk)
    finally:
        desk.close()


class _Save(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    click: str = Field(min_length=8, max_length=64)
    task: int
    attribute: str
    part: str
    value: Any
    seconds: float = Field(ge=0, le=3600, strict=False)


class _Send(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    task: int


class DeskServer:
    """The pages of one desk. A path begins with a link's secret, and reaches what that person was given."""

    def __init__(
        self,
        desk: Desk,
        address: DeskAddress,
        connections: Connections,
        log: ThrottledLog,
        people: list[str] | None = None,
    ) -> None:
        self._desk = desk
        self._hosts = AllowedHosts(address.host, address.allow_host)
        self._proxies = (
            AllowedHosts(address.allow_host[0], address.allow_host) if address.allow_host else None
        )
        self._connections = connections
        self._log = log
        self._people = people
        # Read once, served by name: no request ever names a path on the disk.
        self._static = {path.name: (path.read_bytes(), _TYPES[path.suffix]) for path in STATIC.iterdir()}
        self._rubrics: dict[str, Rubric] = {}
        self._agreement: tuple[int, list[tuple[str, str, str]], list[Attention]] | None = None
        self._working: asyncio.Task[None] | None = None
        self._pace: tuple[int, dict[str, float], dict[str, float]] | None = None

    def app(self) -> web.Application:
        app = web.Application(middlewares=[self._guard], client_max_size=MAX_BODY)
        app.router.add_get("/{secret}/", self._show)
        app.router.add_post("/{secret}/save", self._save)
        app.router.add_post("/{secret}/send", self._send)
        app.router.add_get("/{secret}/static/{name}", self._asset)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuses a wrong host or secret, and a POST from elsewhere; puts the security headers on every answer."""
        self._connections.request_came(request.protocol)
        try:
            named = request.headers.getall("Host", [])
            if not self._hosts.allow(named) or not self._hosts.allow([request.url.authority]):
                raise RequestError(
                    421, "This page is served only at the address that the program printed.", ""
                )
            secret = request.path.partition("/")[2].partition("/")[0]
            person = self._person(secret)
            if request.method == "POST":
                self._check_post(request, secret)
            request["person"], request["token"] = person, _token(secret)
            response = await handler(request)
        except RequestError as error:
            response = _refusal(request, error.status, error.problem)
        except web.HTTPException as refusal:
            response = _refusal(request, refusal.status, refusal.reason)
        except ConnectionError:
            response = _refusal(request, 400, "The connection was lost.")
        except Exception as error:
            # Neither its message nor its traceback: either may hold a patient's words.
            _LOG.error("not answered: %s", type(error).__name__)
            response = _refusal(request, 500, "This is a bug in the server.")
        response.headers.update(PAGE_HEADERS)
        return response

    def _person(self, secret: str) -> str:
        """Whose link it is. Asked of the desk each time: a link that was closed leads nowhere at once."""
        rows = self._desk.rows("SELECT name, secret FROM people WHERE secret = ?", secret)
        person = next(
            (name for name, kept in rows if hmac.compare_digest(kept.encode(), secret.encode())), None
        )
        if person is None or (self._people is not None and person not in self._people):
            self._log.warning("request refused: the link is not valid")
            raise RequestError(
                403, "This link is not valid, or was closed. Ask the person who sent it to you.", ""
            )
        return str(person)

    def _check_post(self, request: web.Request, secret: str) -> None:
        """Raises RequestError 403 unless the page that sent it is ours: by its origin, and by the token that stood on it."""
        origin = request.headers.getall("Origin", [])
        place = origin[0].partition("://")[2] if len(origin) == 1 else ""
        # A proxy may send its own name on as the host, or ours. No other port of this machine is this desk.
        if not place or (place != request.host and not (self._proxies and self._proxies.allow([place]))):
            raise RequestError(403, "This request did not come from a page of this server.", "")
        token = request.headers.get("X-Desk-Token", "")
        if not hmac.compare_digest(token.encode("utf-8", "replace"), _token(secret).encode()):
            raise RequestError(403, "This request did not come from a page of this server.", "")
        require_json(request)

    async def _asset(self, request: web.Request) -> web.Response:
        if (asset := self._static.get(request.match_info["name"])) is None:
            raise web.HTTPNotFound
        return web.Response(body=asset[0], content_type=asset[1], charset="utf-8")

    async def _show(self, request: web.Request) -> web.Response:
        person = request["person"]
        if person == COORDINATOR:
            return _html(await self._overview())
        progress = PersonProgress(person, *self._desk.count(person))
        task = self._task_asked_for(request, person)
        if task is None:
            return _html(done_page(progress, sitting=self._desk.fact("rubric") is None))
        sheet, answers = self._desk.sheet(task), self._desk.answers(task)
        return _html(task_page(task, sheet, self._rubric(sheet), answers, progress, request["token"]))

    def _task_asked_for(self, request: web.Request, person: str) -> DeskTask | None:
        """The task at `at`; the first that is not done looking on from `after`; or the first of all that is not done."""
        at, after = (_whole(request.query.get(name)) for name in ("at", "after"))
        if at is not None:
            if (task := self._desk.task(person, at - 1)) is None:
                raise web.HTTPNotFound
            return task
        place = self._desk.open_place(person, -1 if after is None else after - 1)
        return None if place is None else self._desk.task(person, place)

    def _rubric(self, sheet: TaskSheet) -> Rubric:
        if sheet.rubric not in self._rubrics:
            self._rubrics[sheet.rubric] = self._desk.rubric(sheet)
        return self._rubrics[sheet.rubric]

    def _own_task(self, request: web.Request, number: int) -> DeskTask:
        rows = self._desk.rows(
            "SELECT place FROM tasks WHERE id = ? AND person = ?", number, request["person"]
        )
        task = self._desk.task(request["person"], rows[0][0]) if rows else None
        if task is None:
            raise RequestError(404, "This case is not assigned to you.", "")
        return task

    async def _save(self, request: web.Request) -> web.Response:
        """Commit one click; what is answered is committed."""
        saved = read_body(_Save, await request_body(request), "a click", "a click")
        task = self._own_task(request, saved.task)
        sheet = self._desk.sheet(task)
        schema = sheet.parts.get(saved.attribute, {}).get(saved.part)
        if schema is None or not is_legal(saved.value, schema, unfinished=True):
            raise RequestError(422, "This is not a valid answer to that question.", "")
        if sheet.seat and task.done_at is not None:
            raise RequestError(409, "Your vote was sent and is final.", "")
        if task.withdrawn_at is not None:
            raise RequestError(409, "The time for this vote is over: the jury continued without you.", "")
        answers = self._desk.save(
            task, saved.click, saved.attribute, saved.part, saved.value, seconds=saved.seconds
        )
        open_names = missing_answers(self._rubric(sheet), sheet, answers)
        if not sheet.seat:
            self._desk.mark_done(task, not open_names)
        return web.json_response({"open": len(open_names), "done": self._desk.count(request["person"])[0]})

    async def _send(self, request: web.Request) -> web.Response:
        """A juror's vote is sent: whole and legal, and not to be changed."""
        task = self._own_task(request, read_body(_Send, await request_body(request), "a task", "a task").task)
        sheet = self._desk.sheet(task)
        open_names = missing_answers(self._rubric(sheet), sheet, self._desk.answers(task))
        if task.withdrawn_at is not None:
            raise RequestError(409, "The time for this vote is over: the jury continued without you.", "")
        if open_names or not sheet.seat:
            needed = ": each needs a score and a reason" if sheet.kind == "ballot" else ""
            raise RequestError(422, f"Still open: {', '.join(open_names)}{needed}", "")
        self._desk.mark_done(task, True)
        return web.json_response({"open": 0, "done": self._desk.count(request["person"])[0]})

    # The coordinator's page

    async def _overview(self) -> str:
        last = self._desk.last_click()
        if (self._agreement is None or self._agreement[0] != last) and (
            self._working is None or self._working.done()
        ):
            self._working = asyncio.create_task(self._work_out(last))
        if self._working is not None and self._agreement is None:
            await asyncio.wait([self._working], timeout=0.5)
        paces = self._paces()
        people = [
            (PersonProgress(person, done, total), *paces.get(person, ("", "")))
            for person, (done, total) in self._desk.counts().items()
        ]
        if self._agreement is None:
            return coordinator_page(people, None, ())
        return coordinator_page(people, *self._agreement[1:])

    async def _work_out(self, last: int) -> None:
        self._agreement = (last, *await asyncio.to_thread(_agreement_so_far, self._desk.folder))

    def _paces(self) -> dict[str, tuple[str, str]]:
        """By person, the median time that a done case took, and when she was last seen; worked out once for a click."""
        last = self._desk.last_click()
        if self._pace is None or self._pace[0] != last:
            seconds: dict[str, list[float]] = {}
            seen: dict[str, float] = {}
            for person, done_at, spent, made_at in self._desk.rows(
                "SELECT person, done_at, sum(seconds), max(made_at) FROM clicks JOIN tasks ON tasks.id = task GROUP BY task"
            ):
                seen[person] = max(seen.get(person, 0.0), made_at)
                if done_at is not None:
                    seconds.setdefault(person, []).append(spent)
            self._pace = (last, {name: statistics.median(spent) for name, spent in seconds.items()}, seen)
        _, medians, seen = self._pace
        return {
            name: (f"{medians[name]:.0f} s" if name in medians else "", _ago(time.time() - moment))
            for name, moment in seen.items()
        }


def is_legal(value: Any, schema: dict[str, Any], *, unfinished: bool = False) -> bool:
    """Whether a value fits its part's JSON schema; a text that is being written, `unfinished`, may be empty still."""
    if "anyOf" in schema:
        return any(is_legal(value, option) for option in schema["anyOf"])
    if "const" in schema or "enum" in schema:
        legal = [schema["const"]] if "const" in schema else schema["enum"]
        return not isinstance(value, bool) and not isinstance(value, list | dict) and value in legal
    match schema.get("type"):
        case "string":
            return (
                isinstance(value, str)
                and len(value) <= TEXT_LIMIT
                and (unfinished or not schema.get("minLength") or has_words(value))
            )
        case "array":
            return (
                isinstance(value, list)
                and len(value) <= max(QUOTES_LIMIT, len(schema["items"].get("enum", ())))
                and (unfinished or len(value) >= schema.get("minItems", 0))
                and all(is_legal(each, schema["items"]) for each in value)
            )
        case "number" | "integer":
            low, high = schema.get("minimum", -float("inf")), schema.get("maximum", float("inf"))
            return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high
    return False


def missing_answers(rubric: Rubric, sheet: TaskSheet, answers: Answers) -> list[str]:
    """The questions that are asked and have no whole answer yet: of a rater a score is enough, of a juror all that a ballot has."""
    own = {vote.attribute: vote.value for vote in sheet.own}

    def is_missing(name: str) -> bool:
        form, parts = answers.get(name, {}), sheet.parts[name]
        if not sheet.seat:
            return form.get("score") is None
        if not all(is_legal(form.get(part, empty_part(schema)), schema) for part, schema in parts.items()):
            return True
        moved = "moved_by" in parts and name in own and form["score"] != own[name]
        return moved and not has_words(form.get("moved_by", ""))

    return [name for name in asked_now(rubric, sheet.asked, answers) if is_missing(name)]


def empty_part(schema: dict[str, Any]) -> Any:
    """What a part holds that nobody touched."""
    return {"array": [], "string": ""}.get(schema.get("type", ""))


def _agreement_so_far(folder: Path) -> tuple[list[tuple[str, str, str]], list[Attention]]:
    """By question, the coefficient to report and its interval; and the cases where raters differ most."""
    import pandas as pd

    from ..agreement.rater_agreement import agreement
    from ..ratings.question import rubric_questions
    from ..report.terminal import estimate_words

    desk = Desk(folder)
    try:
        rubric = Rubric.model_validate_json(desk.content(desk.fact("rubric") or ""))
        rated = [each for each in ratings_of(desk, rubric) if each.value != NOT_APPLICABLE]
    finally:
        desk.close()
    if not rated:
        return [], []
    table = pd.DataFrame([each[:4] for each in rated], columns=["case", "rater", "attribute", "value"])
    found = agreement(table, questions=rubric_questions(rubric))
    lines = [
        (name, estimate_words(found.attributes[name][choice.coefficient]), choice.coefficient)
        if choice.coefficient
        else (name, "", choice.why)
        for name, choice in found.report.items()
    ]
    return lines, _most_apart(rated, rubric)


def _most_apart(rated: list[Rated], rubric: Rubric) -> list[Attention]:
    """The cases whose ratings of a question are farthest apart, as a share of its scale; of words, whether they differ at all."""
    apart: list[tuple[float, Attention]] = []
    key = lambda each: (each.case, each.attribute)  # noqa: E731
    for (case, attribute), group in groupby(sorted(rated, key=key), key=key):
        ratings = list(group)
        length = rubric.scale_lengths[attribute]
        values = [each.value for each in ratings]
        if length is None:
            share = float(len(set(values)) > 1)
        else:
            numbers = [float(value) for value in values]
            share = (max(numbers) - min(numbers)) / length
        if share > 0:
            given = ", ".join(
                f"{each.rater} {value_words(each.value, pair=rubric.compares)}" for each in ratings
            )
            apart.append((share, Attention(case, attribute, given)))
    return [each for _, each in sorted(apart, key=lambda each: (-each[0], each[1]))[:MOST_APART]]


def _token(secret: str) -> str:
    """What a page must send back with every click; whoever has the link alone has no page."""
    return hmac.new(secret.encode(), b"desk form", hashlib.sha256).hexdigest()


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 10 else None


def _ago(seconds: float) -> str:
    for size, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            number = int(seconds // size)
            return f"{number} {name}{'' if number == 1 else 's'} ago"
    return "now"


def _html(text: str) -> web.Response:
    return web.Response(text=text, content_type="text/html")


def _refusal(request: web.Request, status: int, words: str) -> web.Response:
    if request.method == "POST":
        return web.json_response({"problem": words}, status=status)
    return web.Response(status=status, text=refusal_page(status, words), content_type="text/html")
