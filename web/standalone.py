"""Deliberations as one page that stands alone: opened from disk, it asks the network for nothing."""

from __future__ import annotations

import base64
import hashlib
from typing import TextIO

from ..evals.report.markup import Html, document, element, inline_script, inline_style
from ..orchestration.reading.export import ExportedRun, sealed_cases
from ..orchestration.reading.show import judges_line
from ..orchestration.record import Store
from ..rubrics.errors import VenireError
from .deliberation_reader import DeliberationReader, run_name
from .pages.deliberation import deliberation_view
from .server import STATIC, redaction_note

_MOST = 200
"""More deliberations than this make a page that no browser shows with ease."""


def html(run: ExportedRun, out: TextIO) -> int:
    """The export format `html`: one page with every deliberation, counted by the jury's own rule."""
    store = run.store
    reader = DeliberationReader(store)
    sealed = sealed_cases(store)
    cases = [case for case in store.case_ids() if case not in sealed] if run.case is None else [run.case]
    wanted = [(case, arm) for case in cases for arm in reader.arms_of(case) if run.arm in (None, arm)]
    if len(wanted) > _MOST:
        raise VenireError(
            f"{len(wanted)} deliberations are too many for one page",
            remedy="name one with --case, or write a page for each with --to site",
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
