"""The inspector without a server: deliberations as one page that asks the network for nothing, or every page that its links lead to, as files for any web server."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from html import unescape
from pathlib import Path
from typing import TextIO
from urllib.parse import parse_qsl, urlencode

import aiohttp

from ..evals.report.markup import Html, document, element, inline_script, inline_style
from ..orchestration.reading.export import ExportedRun, sealed_cases
from ..orchestration.reading.show import judges_line
from ..orchestration.record import Location, Store
from ..orchestration.record.private_files import open_private
from ..rubrics.errors import VenireError
from .deliberation_reader import DeliberationReader, run_name
from .loopback import STATIC, serve_inspector
from .pages.deliberation import deliberation_view
from .server import Inspector, redaction_note

_MOST = 200
"""More deliberations than this make a page that no browser shows with ease."""


def html(run: ExportedRun, out: TextIO) -> int:
    """The export format `html`: one page with every deliberation, counted by the jury's own rule."""
    store = run.store
    reader = DeliberationReader(store)
    sealed = sealed_cases(store)
    cases = [case for case in store.case_ids() if case not in sealed] if run.case is None else [run.case]
    if run.picked is not None:
        cases = [case for case in run.picked if case in cases]
    wanted = [(case, arm) for case in cases for arm in reader.arms_of(case) if run.arm in (None, arm)]
    if len(wanted) > _MOST:
        raise VenireError(
            f"{len(wanted)} deliberations are too many for one page",
            remedy="choose one with --case, or write a page for each with --to site",
        )
    articles = [
        _article(store, reader, case, arm, f"d{n}-", prompts=run.prompts)
        for n, (case, arm) in enumerate(wanted)
    ]
    out.write(standalone(run_name(store), articles))
    return len(wanted)


def standalone(title: str, articles: list[Html]) -> str:
    """A page with its style sheet and script inside it, and a content security policy that admits nothing else."""
    style = (STATIC / "inspector.css").read_text(encoding="utf-8")
    script = (STATIC / "inspector.js").read_text(encoding="utf-8")
    policy = f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; base-uri 'none'; form-action 'none'"
    head = element(
        "head",
        None,
        element("meta", {"charset": "utf-8"}),
        element("meta", {"http-equiv": "Content-Security-Policy", "content": policy}),
        element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        element("title", None, f"{title} · venire"),
        inline_style(style),
    )
    body = element(
        "body",
        {"data-here": "case"},
        element("main", {"id": "main", "class": "case"}, articles),
        inline_script(script),
    )
    return document(head, body, theme="auto")


def _article(
    store: Store, reader: DeliberationReader, case: str, arm: str, prefix: str, *, prompts: bool
) -> Html:
    read = reader.read(case, arm)
    return element(
        "article",
        None,
        deliberation_view(
            read.verdict,
            read.rubric,
            store.case(case),
            read.flags,
            way=redaction_note(store),
            prefix=prefix,
            judges=judges_line(read.arm, read.verdict.transcript),
            calls=reader.calls(read.verdict) if prompts else None,
        ),
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


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
        raise VenireError(f"{folder} is not an empty folder", remedy="name a new or an empty folder")
    inspector = Inspector(run, still=True, prompts=prompts)
    try:
        inspector.catch_up()
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
