"""Deliberations as one page that stands alone: opened from disk, it asks the network for nothing."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import TextIO

from ..evals.pages.markup import Html, document, element, inline_script, inline_style
from ..orchestration.record import Location, Store
from ..rubrics.errors import VenireError
from ..rubrics.files import nearest
from .deliberation_reader import DeliberationReader, run_name
from .pages.deliberation import deliberation_view
from .server import STATIC, redaction_note

_MOST = 200
"""More deliberations than this make a page that no browser shows with ease."""


def export_page(run: Location, output: Path | None, out: TextIO, *, case: str | None, arm: str | None) -> int:
    """Write the run's deliberations, or one case's or arm's, as one page; how many they were."""
    store = Store.read(run)
    try:
        reader = DeliberationReader(store)
        arms = [found.name for found in reader.arms()]
        if arm is not None and arm not in arms:
            raise VenireError(f"no arm named {arm!r} in this run", remedy=nearest(arm, arms))
        ids = store.case_ids()
        if case is not None and case not in ids:
            raise VenireError(f"{store.name}: no case {case!r} in it", remedy=nearest(case, ids))
        wanted = [(c, a) for c in ([case] if case else ids) for a in reader.arms_of(c) if arm in (None, a)]
        if len(wanted) > _MOST:
            raise VenireError(
                f"{len(wanted)} deliberations are too many for one page",
                remedy="name one with --case, or read the run with venire inspect",
            )
        page = standalone(
            run_name(run, store),
            [_article(store, reader, c, a, f"d{n}-") for n, (c, a) in enumerate(wanted)],
        )
    finally:
        store.release()
    if output is None:
        out.write(page)
    else:
        output.write_text(page, encoding="utf-8")
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


def _article(store: Store, reader: DeliberationReader, case: str, arm: str, prefix: str) -> Html:
    read = reader.read(case, arm)
    return element(
        "article",
        None,
        deliberation_view(
            read.verdict, read.rubric, store.case(case), read.flags, way=redaction_note(store), prefix=prefix
        ),
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
