"""The whole inspector as files: every page that its links lead to, to be put on any web server."""

from __future__ import annotations

import asyncio
import hashlib
import re
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import aiohttp

from ..orchestration.record import Location
from ..orchestration.record.private_files import open_private
from ..rubrics.errors import VenireError
from .server import Inspector, serve_inspector

_LINK = re.compile(r' (href|src)="\./([^"#]*)(#[^"]*)?"')
_DELIBERATION = ("id", "in_arm")
_KEPT = {
    "cases": ("page",),
    "case": _DELIBERATION,
    "graph": _DELIBERATION,
    "parent": _DELIBERATION,
    "compare": ("id", "a", "b"),
    "scenario": ("name", "system", "page"),
    "study-figure": ("name",),
    "board-figure": ("name",),
}
"""What of a query makes another page; the rest is the search that a reader came by."""


def write_site(run: Location, folder: Path, *, prompts: bool = True) -> int:
    """Write the run's pages into a new or empty folder; how many there are.

    Search, filters and the list's other orders need a server, and are left out. `prompts`: whether cases have what models were sent and replied.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise VenireError(f"{folder} is not an empty folder", remedy="name one that is new, or empty")
    inspector = Inspector(run, still=True, prompts=prompts)
    try:
        inspector.index.catch_up()
        (folder / "static").mkdir(mode=0o700, parents=True)
        return asyncio.run(_write_pages(inspector, folder))
    finally:
        inspector.close()


async def _write_pages(inspector: Inspector, folder: Path) -> int:
    address = asyncio.get_running_loop().create_future()
    server = asyncio.create_task(serve_inspector(inspector, 0, address.set_result))
    waiting, files = [""], {"": "index.html"}

    def to_file(link: re.Match[str]) -> str:
        target = page_of(unescape(link[2]))
        if target is None:
            return ""
        if target not in files:
            files[target] = _file_name(target)
            waiting.append(target)
        return f' {link[1]}="./{files[target]}{link[3] or ""}"'

    try:
        root = await address
        async with aiohttp.ClientSession() as session:
            while waiting:
                page = waiting.pop()
                async with session.get(root + page) as answer:
                    text = _LINK.sub(to_file, await answer.text())
                with open_private(folder / files[page]) as out:
                    out.write(text)
    finally:
        server.cancel()
        await asyncio.gather(server, return_exceptions=True)
    return sum(name.endswith(".html") for name in files.values())


def page_of(address: str) -> str | None:
    """The address without the search that led there; None of a list that only a server can make."""
    path, _, query = address.partition("?")
    given = dict(parse_qsl(query))
    if path == "cases" and given.keys() - {"page"}:
        return None
    kept = {name: given[name] for name in _KEPT.get(path, ()) if name in given}
    return f"{path}?{urlencode(kept)}" if kept else path


def _file_name(page: str) -> str:
    path, _, query = page.partition("?")
    if path.startswith("static/"):
        return path
    mark = f"-{hashlib.sha256(query.encode()).hexdigest()[:16]}" if query else ""
    return f"{path}{mark}.{'svg' if path.endswith('-figure') else 'html'}"
