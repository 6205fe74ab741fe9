"""What every page has: head, way round, search, help."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from aiohttp import web

from ...evals.report.markup import Child, Html, document, element, fragment
from ..search import CaseSearch

KEYS = (
    ("/", "search"),
    ("j  k", "in a list: go to the next or previous case; in a deliberation: to the next or previous ballot"),
    ("→  ←", "when a case is open: go to the next or the previous case"),
    ("Enter", "open what is selected"),
    ("c", "compare with another arm"),
    ("t", "switch between light and dark colours"),
    ("Esc", "clear the selection"),
    ("?", "this help"),
)

KINDS = {
    "contradicted": "contradicted",
    "premature-consensus": "agreed at once",
    "unsupported-evidence": "quote not in the case",
    "conformity": "conformed",
    "overruled": "overruled",
    "instruction": "instructs the jury",
    "hung": "no verdict",
    "moved-towards": "moved towards",
    "abstention": "abstained",
    "usage-implausible": "odd token counts",
}
"""Each kind of flag in a reader's words."""


@dataclass(frozen=True, slots=True)
class Page:
    """A part of the inspector with a place in its menu."""

    name: str
    """In the address, and in `data-here`."""
    title: str
    key: str | None
    """The key that opens it."""
    main: Callable[[web.Request], Awaitable[Sequence[Child]]]
    """What stands on it."""
    there: Callable[[], bool] = lambda: True
    """Whether this run has it."""
    absent: str = ""
    """What is said in its place where it has not."""
    path: str | None = None
    """In the address, where it is not the name."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How many deliberations the index has read, of how many in the record."""

    scored: int
    """Those whose scores it knows."""
    flagged: int
    """Those of them whose flags and reasons it knows too."""
    last: int
    going: str
    """How far the run has come while it goes on; nothing once it has ended."""
    figures: int = 0
    """Grows with what is computed beside the index: of people's ratings, of systems compared."""

    @property
    def reading_scores(self) -> bool:
        return self.scored < self.last

    @property
    def reading_flags(self) -> bool:
        return self.flagged < self.last

    @property
    def told(self) -> str:
        told = [f"still running: {self.going}"] if self.going else []
        if self.reading_scores:
            told.append(f"reading the record: {self.scored:,} of {self.last:,}")
        elif self.reading_flags:
            told.append(f"looking for flags: {self.flagged:,} of {self.last:,}")
        return "; ".join(told)


def inspector_page(
    title: str,
    run: str,
    judges: str,
    here: str,
    search: CaseSearch | None,
    reach: Reach | None,
    pages: Sequence[Page],
    *main: Child,
) -> str:
    """A page of the inspector. `here` names the part of it that the reader is in, `judges` says which models judged, or answered.

    A page that is of no single run has neither `search` nor `reach`.
    """
    head = element(
        "head",
        None,
        element("meta", {"charset": "utf-8"}),
        element("title", None, f"{title} · venire"),
        look_links("./static/"),
        element("script", {"src": "./static/inspector.js", "defer": True}),
    )
    body = element(
        "body",
        {"data-here": here, "data-read": reach and reach.scored + reach.flagged + reach.figures},
        element("a", {"class": "skip", "href": "#main"}, "Skip to the content"),
        _banner(run, judges, here, search, reach, pages),
        element("main", {"id": "main", "class": here, "tabindex": "-1"}, *main),
        _help(pages),
    )
    return document(head, body, theme="auto")


def look_links(static: str) -> Html:
    """What of a page's head says how it looks; `static` is the address of the style sheet and the mark."""
    return fragment(
        element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        element("meta", {"name": "color-scheme", "content": "light dark"}),
        element("link", {"rel": "icon", "href": f"{static}mark.svg", "type": "image/svg+xml"}),
        element("link", {"rel": "stylesheet", "href": f"{static}inspector.css"}),
    )


_FEW = 110
"""Letters of models that fit into the head of a page."""


def _judges(judges: str) -> Html:
    """The models; of many, the first ones and how many more, and all of them once it is opened. What follows them stays."""
    words, dot, prompts = judges.partition(" · ")
    models = words.split("; ")
    fitting = [number for number in (1, 2, 3) if len("; ".join(models[:number])) <= _FEW]
    named = models[: max(fitting, default=1)]
    if len(named) == len(models):
        return element("p", {"class": "judges"}, judges)
    return element(
        "details",
        {"class": "judges"},
        element("summary", None, "; ".join([*named, f"and {len(models) - len(named)} more"]) + dot + prompts),
        element("ul", None, [element("li", None, model) for model in models[len(named) :]]),
    )


def badge(kind: str, weight: int) -> Html:
    """A flag's kind as a small label."""
    return element("span", {"class": f"badge w{min(4, max(1, weight))}"}, KINDS.get(kind, kind))


def quiet(*words: Child) -> Html:
    return element("span", {"class": "quiet"}, *words)


def arm_words(arm: str, protocol: str) -> Html:
    """An arm's name, and its protocol where that is not the same word."""
    return fragment(element("b", None, arm), "" if protocol == arm else f" · {protocol}")


def _banner(
    run: str,
    judges: str,
    here: str,
    search: CaseSearch | None,
    reach: Reach | None,
    pages: Sequence[Page],
) -> Html:
    menu = [
        element(
            "a",
            {
                "href": f"./{page.name if page.path is None else page.path}",
                "aria-current": "page" if here == page.name else None,
                "data-key": page.key,
            },
            page.title,
        )
        for page in pages
    ]
    return element(
        "header",
        {"class": "banner"},
        element("a", {"class": "brand", "href": "./"}, "venire", element("span", {"class": "run"}, run)),
        judges and _judges(judges),
        element("nav", {"aria-label": "Inspector"}, menu),
        reach and element("p", {"role": "status", "class": "reach", "id": "reach"}, reach.told),
        search and element(
            "form",
            {"role": "search", "action": "./cases", "method": "get"},
            element("label", {"class": "unseen", "for": "q"}, "Search cases"),
            element(
                "input",
                {"id": "q", "name": "q", "type": "search", "value": search.q, "placeholder": "Search cases  ( / )", "autocomplete": "off"},
            ),
        ),
        element("button", {"type": "button", "id": "theme", "aria-label": "Light or dark", "title": "Light or dark (t)"}, "◐"),
        element("button", {"type": "button", "id": "ask", "aria-label": "Keyboard help", "title": "Keyboard (?)"}, "?"),
    )  # fmt: skip


def _help(pages: Sequence[Page]) -> Html:
    own_keys = [(page.key, page.title.lower()) for page in pages if page.key]
    rows = [
        element(
            "tr",
            None,
            element("th", {"scope": "row"}, element("kbd", None, keys)),
            element("td", None, words),
        )
        for keys, words in (*KEYS[:5], *own_keys, *KEYS[5:])
    ]
    return element(
        "dialog",
        {"id": "help", "aria-labelledby": "help-title"},
        element("h2", {"id": "help-title"}, "Keyboard"),
        element("table", None, element("tbody", None, rows)),
        element("form", {"method": "dialog"}, element("button", {"type": "submit"}, "Close")),
    )


def heading(title: Child, *beside: Child, level: int = 2) -> Html:
    return element("div", {"class": "heading"}, element(f"h{level}", None, title), fragment(*beside))
