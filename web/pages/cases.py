"""The list of deliberations: search, filter, sort, page by page."""

from __future__ import annotations

from collections.abc import Sequence

from ...evals.pages.markup import Child, Html, element, fragment, shorten
from ...orchestration.record import Arm
from ..scales import score_words
from ..search import PAGE, SORTS, CaseSearch, Row
from .frame import KINDS, badge, quiet


def cases_view(search: CaseSearch, arms: Sequence[Arm], rows: Sequence[Row], total: int) -> Html:
    """The page's content: the filter, one page of rows, and the way to the others."""
    first = (search.page - 1) * PAGE + 1
    counted = (
        f"{first:,} to {first + len(rows) - 1:,} of {total:,}"
        if rows
        else f"none of {total:,} on this page"
        if total
        else "none"
    )
    return fragment(
        element("div", {"class": "head"}, element("h1", None, "Cases"), element("p", {"class": "quiet", "id": "count"}, counted)),
        _filter(search, arms),
        element("div", {"data-live": "rows"}, _table(search, rows), _pager(search, total)),
    )  # fmt: skip


def _filter(search: CaseSearch, arms: Sequence[Arm]) -> Html:
    attributes = list(dict.fromkeys(name for arm in arms for name in arm.rubric.names))
    values = list(
        dict.fromkeys(
            score_words(v)
            for arm in arms
            for name in arm.rubric.names
            for v in arm.rubric.scale_of(name).values
        )
    )
    stops = ("consensus", "complete", "stall", "turns", "rounds", "replans", "budget", "time", "orchestrator")
    kinds = {"any": "any flag", "none": "no flag", **KINDS}
    return element(
        "form",
        {"class": "filter", "action": "./cases", "method": "get", "aria-label": "Filter"},
        element("label", None, "search", element("input", {"name": "q", "type": "search", "value": search.q, "autocomplete": "off"})),
        _choice("flag", search.flag, kinds, "all"),
        _choice("arm", search.arm, {arm.name: arm.name for arm in arms}, "all arms") if len(arms) > 1 else None,
        _choice("attribute", search.attribute, {name: name for name in attributes}, "any"),
        _choice("value", search.value, {**{v: v for v in values}, "hung": "hung", "not_applicable": "n/a"}, "any"),
        _choice("stop", search.stop, {name: name for name in stops}, "any"),
        _choice("sort", search.sort, {name: words for name, (words, _) in SORTS.items()}, None),
        element("button", {"type": "submit"}, "Show"),
        element("a", {"href": "./cases"}, "clear"),
    )  # fmt: skip


def _choice(name: str, chosen: str, options: dict[str, str], none: str | None) -> Html:
    listed: list[Html] = [element("option", {"value": ""}, none)] if none is not None else []
    listed += [
        element("option", {"value": value, "selected": value == chosen}, words)
        for value, words in options.items()
    ]
    return element("label", None, name, element("select", {"name": name}, listed))


def _table(search: CaseSearch, rows: Sequence[Row]) -> Html:
    if not rows:
        return element(
            "p", {"class": "calm"}, "Nothing fits. Clear the filter, or wait for the run to go on."
        )
    columns = ("case", "verdict", "rounds", "spread", "stopped by", "tokens", "worth a look because")
    head = element("tr", None, [element("th", {"scope": "col"}, column) for column in columns])
    body = [element("tr", {"class": "row"}, _cells(search, row, columns)) for row in rows]
    return element(
        "div",
        {"class": "wide"},
        element("table", {"class": "list"}, element("thead", None, head), element("tbody", None, body)),
    )


def _cells(search: CaseSearch, row: Row, columns: Sequence[str]) -> list[Html]:
    address = search.address("case", id=row.case, in_arm=row.arm)
    link = element("a", {"href": address, "class": "open"}, shorten(row.case, 60))
    reasons: list[Child] = [badge(kind, weight) for kind, weight, _, _ in row.flags]
    if row.flags:
        reasons.append(
            element(
                "p",
                {"dir": "auto"},
                element("b", None, row.flags[0][2]),
                " ",
                shorten(row.flags[0][3], 180),
            )
        )
    scores = [
        element(
            "span",
            {
                "class": f"cell {status}",
                "title": f"{name}: {score_words(value) if value is not None else status}, {method}",
            },
            element("span", {"class": "unseen"}, f"{name} "),
            score_words(value)
            if value is not None
            else {"hung": "?", "not_applicable": "·"}.get(status, "–"),
        )
        for name, (status, value, method) in row.outcomes.items()
    ]
    cells: list[Child] = [
        element("span", {"class": "scores"}, scores),
        row.rounds,
        "–" if row.spread is None else f"{row.spread:g}",
        row.stop,
        f"{row.tokens:,}",
        reasons,
    ]
    name = element(
        "th",
        {"scope": "row"},
        link,
        quiet(" ", row.arm),
        element("p", {"class": "title", "dir": "auto"}, row.title),
    )
    return [
        name,
        *(element("td", {"data-label": label}, cell) for label, cell in zip(columns[1:], cells, strict=True)),
    ]


def _pager(search: CaseSearch, total: int) -> Html:
    last = max(1, -(-total // PAGE))
    here = min(search.page, last)

    def link(page: int, words: str, rel: str | None = None) -> Html:
        if page < 1 or page > last or page == here:
            return quiet(words)
        return element("a", {"href": search.address("cases", page=page), "rel": rel}, words)

    return element(
        "nav",
        {"class": "pager", "aria-label": "Pages"},
        link(1, "first"),
        link(here - 1, "← back", "prev"),
        quiet(f"page {here:,} of {last:,}"),
        link(here + 1, "on →", "next"),
        link(last, "last"),
    )
