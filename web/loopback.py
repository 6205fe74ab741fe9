"""How pages are served: on loopback only, read-only, to whoever holds the token."""

from __future__ import annotations

import asyncio
import hmac
import webbrowser
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import Protocol

from aiohttp import web

from ..evals.report.markup import PAGE_HEADERS, document, element
from .deliberation_reader import NotThere
from .pages.frame import look_links

HOST = "127.0.0.1"
STATIC = Path(__file__).parent / "static"
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Served(Protocol):
    """What can be shown in the browser: a run, or a folder of runs."""

    token: str

    def app(self) -> web.Application: ...

    def start(self) -> None: ...

    def close(self) -> None: ...


async def serve_inspector(inspector: Served, port: int, ready: Callable[[str], None]) -> None:
    """Serve on loopback until cancelled; `ready` is told the address, token included."""
    runner = web.AppRunner(inspector.app(), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, HOST, port)
        await site.start()
        inspector.start()
        ready(f"http://{HOST}:{runner.addresses[0][1]}/{inspector.token}/")
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def serve_until_interrupted(
    inspector: Served, name: str, *, port: int, opened: bool, say: Callable[[str], None]
) -> None:
    """Serve until Ctrl-C; `opened`: in the browser at once."""
    # networkx takes longer to import than a page may take to make: nobody waits for it on the first graph.
    import_module(".pages.graph", __package__)

    def ready(address: str) -> None:
        say(f"inspecting {name} at {address}")
        say("press Ctrl-C to stop")
        if opened:
            webbrowser.open(address)

    try:
        asyncio.run(serve_inspector(inspector, port, ready))
    except KeyboardInterrupt:
        say("stopped")
    finally:
        inspector.close()


def guarded_app(token: str) -> web.Application:
    """An application that refuses a wrong host, method or token, and puts the security headers on every answer."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        host, _, port = request.host.rpartition(":")
        if host not in (HOST, "localhost", "[::1]") or port != str(_port(request)):
            return _refusal(403, "This inspector answers only at the address it printed.")
        if request.method not in ("GET", "HEAD"):
            return _refusal(405, "The inspector is read-only.", {"Allow": "GET, HEAD"})
        given = request.path.partition("/")[2].partition("/")[0]
        if not hmac.compare_digest(given.encode(), token.encode()):
            return _refusal(403, "Open the whole address that venire inspect printed: it holds a token.")
        try:
            response = await handler(request)
        except web.HTTPException as refusal:
            return _refusal(refusal.status, refusal.reason, root=_root(request))
        except NotThere as gone:
            return _refusal(404, str(gone), root=_root(request))
        response.headers.update(PAGE_HEADERS)
        return response

    return web.Application(middlewares=[guard])


def _port(request: web.Request) -> int | None:
    address = request.transport.get_extra_info("sockname") if request.transport else None
    return address[1] if address else None


def _root(request: web.Request) -> str:
    """The address of the first page, from where the request is."""
    return "./" + "../" * (request.path.count("/") - 2)


def _refusal(
    status: int, words: str, headers: dict[str, str] | None = None, *, root: str = ""
) -> web.Response:
    """A page that says why there is no other; `root` is the first page's address for whoever holds the token."""
    head = element(
        "head",
        None,
        element("meta", {"charset": "utf-8"}),
        element("title", None, f"{status} · venire"),
        look_links(f"{root}static/") if root else None,
    )
    back = element("p", None, element("a", {"href": root}, "to the first page")) if root else None
    main = element(
        "main", {"class": "refusal"}, element("h1", None, str(status)), element("p", None, words), back
    )
    return web.Response(
        status=status,
        text=document(head, element("body", None, main), theme="auto"),
        content_type="text/html",
        headers={**PAGE_HEADERS, **(headers or {})},
    )


def static_handlers() -> dict[str, Handler]:
    """By path, what gives out the style sheet, the script and the mark: read once, so that no request names a path on the disk."""

    def giving(path: Path) -> Handler:
        content = path.read_bytes()

        async def give(request: web.Request) -> web.Response:
            return web.Response(body=content, content_type=_TYPES[path.suffix], charset="utf-8")

        return give

    return {f"static/{path.name}": giving(path) for path in STATIC.iterdir()}
