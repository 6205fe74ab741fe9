"""The list of deliberations: search, filter, sort, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...evals.report.markup import Child, Html, element, fragment, shorten
from ...orchestration.record import Arm
from ..scales import score_words
from ..search import PAGE, SCORED, SORTS, CaseSearch, Row
from .frame import KINDS, Reach, badge, quiet


@dataclass(frozen=True, slots=True)
class FilterValues:
    """What the filters offer beside what the rubrics say."""

    systems: Sequence[str] = ()
    groups: Sequence[str] = ()
    stops: Sequence[str] = ()


def cases_view(
    search: CaseSearch,
    arms: Sequence[Arm],
    rows: Sequence[Row],
    total: int,
    offered: FilterValues,
    reach: Reach,
    *,
    filtered: bool = True,
) -> Html:
    """The page's content: the filter, where the list can be `filtered`, one page of rows, and the way to the others."""
    first = (search.page - 1) * PAGE + 1
    counted = (
        f"{first:,} to {first + len(rows) - 1:,} of {total:,}"
        if rows
        else f"none of the {total:,} cases is on this page"
        if total
        else "none"
    )
    return fragment(
        element("div", {"class": "head"}, element("h1", None, "Cases"), element("p", {"class": "quiet", "id": "count", "data-live": "count"}, counted)),
        _filter(search, arms, offered) if filtered else None,
        element("div", {"data-live": "rows"}, _unread(reach), _table(search, arms, rows, offered), pager(search, "cases", total)),
    )  # fmt: skip


def _unread(reach: Reach) -> Html | None:
    """Which deliberations the list, its filters and its search do not cover yet; nothing once all are read."""
    if reach.reading_scores:
        told = f"{reach.scored:,} of {reach.last:,} deliberations have been read so far; the others will appear as they are read."
    elif reach.reading_flags:
        told = (
            f"So far, flags and reasons of {reach.flagged:,} of {reach.last:,} deliberations have been read. Until the others are read, "
            "filters by flag, searches in reasons and the order “worth a look” leave them out."
        )
    else:
        return None
    return element("p", {"class": "quiet", "id": "unread"}, told)


def _filter(search: CaseSearch, arms: Sequence[Arm], offered: FilterValues) -> Html:
    attributes = list(dict.fromkeys(name for arm in arms for name in arm.rubric.names))
    values = {
        score_words(v): score_words(v, pair=arm.rubric.compares)
        for arm in arms
        for name in arm.rubric.names
        for v in arm.rubric.scale_of(name).values
    }
    kinds = {"any": "any flag", "none": "no flag", **KINDS}
    sorts = {name: words for name, (words, _, _) in SORTS.items()}
    sorts |= {f"{SCORED}{name}": name for name in score_names(arms)}
    return element(
        "form",
        {"class": "filter", "action": "./cases", "method": "get", "aria-label": "Filter"},
        element("label", None, "search cases and reasons", element("input", {"name": "q", "type": "search", "value": search.q, "autocomplete": "off"})),
        option_list("arm", search.arm, {arm.name: arm.name for arm in arms}, "all arms") if len(arms) > 1 else None,
        option_list("system", search.system, {name: name for name in offered.systems}, "all systems") if offered.systems else None,
        option_list("group", search.group, {name: name for name in offered.groups}, "all groups") if offered.groups else None,
        option_list("attribute", search.attribute, {name: name for name in attributes}, "any"),
        option_list("value", search.value, {**values, "hung": "hung", "not_applicable": "n/a"}, "any", "score"),
        option_list("flag", search.flag, kinds, "all"),
        option_list("stop", search.stop, {name: name for name in offered.stops}, "any", "stopped by"),
        option_list("sort", search.sort, sorts, None),
        element("button", {"type": "submit"}, "Show"),
        element("a", {"href": "./cases"}, "clear"),
    )  # fmt: skip


def score_names(arms: Sequence[Arm]) -> list[str]:
    """The attributes of all arms, then their composites: the score columns of a list."""
    names = [name for arm in arms for name in arm.rubric.names]
    return list(dict.fromkeys([*names, *(name for arm in arms for name in arm.rubric.composites)]))


def option_list(
    name: str, chosen: str, options: dict[str, str], none: str | None, words: str | None = None
) -> Html:
    """A labelled list of options to choose from; `none` is what stands for no choice."""
    listed: list[Html] = [element("option", {"value": ""}, none)] if none is not None else []
    listed += [
        element("option", {"value": value, "selected": value == chosen}, shown)
        for value, shown in options.items()
    ]
    return element("label", None, words or name, element("select", {"name": name}, listed))


def _table(search: CaseSearch, arms: Sequence[Arm], rows: Sequence[Row], offered: FilterValues) -> Html:
    if not rows:
        return element("p", {"class": "calm"}, "No case matches. Clear the filter, or wait for more results.")
    scores = score_names(arms)
    columns = [("case", "case")]
    columns += [("arm", "arm")] if len(arms) > 1 else []
    columns += [("system", "system")] if offered.systems else []
    columns += [(f"{SCORED}{name}", name) for name in scores]
    columns += [(name, SORTS[name][0]) for name in ("rounds", "spread", "stop", "tokens")]
    columns.append(("look", "why look at it"))
    head = element(
        "tr",
        None,
        [
            column_head(
                search,
                "cases",
                sort,
                words,
                down=sort.startswith(SCORED) or SORTS[sort][2],
                scored=sort.startswith(SCORED),
            )
            for sort, words in columns
        ],
    )
    pairs = {arm.name for arm in arms if arm.rubric.compares}
    body = [element("tr", {"class": "row"}, _cells(search, row, columns, row.arm in pairs)) for row in rows]
    return element(
        "div",
        {"class": "wide", "tabindex": "0", "role": "region", "aria-label": "Cases"},
        element("table", {"class": "list"}, element("thead", None, head), element("tbody", None, body)),
    )


def column_head(
    search: CaseSearch, path: str, sort: str, words: str, *, down: bool, scored: bool = False
) -> Html:
    """A column's name, which sorts by it, the largest first where it sorts `down`; once more, the other way round."""
    here = search.sort == sort
    turned = "1" if here and not search.up else ""
    order = None if not here else "descending" if down != bool(search.up) else "ascending"
    mark = {"descending": " ↓", "ascending": " ↑", None: ""}[order]
    link = element("a", {"href": search.address(path, sort=sort, up=turned, page=1)}, words, mark)
    return element(
        "th", {"scope": "col", "aria-sort": order, "class": "score-name" if scored else None}, link
    )


def _cells(search: CaseSearch, row: Row, columns: Sequence[tuple[str, str]], pair: bool) -> list[Html]:
    address = search.address("case", id=row.case, in_arm=row.arm)
    link = element("a", {"href": address, "class": "open"}, shorten(row.case, 60))
    cells = [
        element("th", {"scope": "row"}, link, element("p", {"class": "title", "dir": "auto"}, row.title))
    ]
    plain: dict[str, Child] = {
        "arm": row.arm,
        "system": row.system,
        "rounds": row.rounds,
        "spread": "–" if row.spread is None else f"{row.spread:g}",
        "stop": row.stop,
        "tokens": f"{row.tokens:,}",
        "look": _reasons(row),
    }
    for sort, words in columns[1:]:
        cell = _score(row, words, pair) if sort.startswith(SCORED) else plain[sort]
        cells.append(element("td", {"data-label": words}, cell))
    return cells


def _score(row: Row, name: str, pair: bool) -> Html:
    """One attribute's verdict; hung with its cause."""
    if name not in row.outcomes:
        return quiet("not asked")
    status, value, method = row.outcomes[name]
    words = (
        score_words(value, pair=pair)
        if value is not None
        else {"hung": "hung", "not_applicable": "n/a"}.get(status, "–")
    )
    cause = row.cause if status == "hung" else method
    return element("span", {"class": f"cell {status}", "title": f"{name}: {words}, {cause}"}, words)


def _reasons(row: Row) -> list[Child]:
    """The cause of what is hung, the kinds of flag by weight, and the weightiest in words."""
    found: list[Child] = []
    if row.cause:
        found.append(
            element(
                "p",
                {"class": "cause", "dir": "auto"},
                element("b", None, "hung"),
                " ",
                shorten(row.cause, 200),
            )
        )
    if row.flag_count is None:
        found.append(quiet("flags not read yet"))
    found += [badge(kind, weight) for kind, weight, _, _ in row.flags]
    if row.flags:
        attribute, text = row.flags[0][2:]
        found.append(element("p", {"dir": "auto"}, element("b", None, attribute), " ", shorten(text, 180)))
    return found


def pager(search: CaseSearch, path: str, total: int) -> Html:
    """The way to the other pages of a list."""
    last = max(1, -(-total // PAGE))
    here = min(search.page, last)

    def link(page: int, words: str, rel: str | None = None) -> Html:
        if page < 1 or page > last or page == here:
            return quiet(words)
        return element("a", {"href": search.address(path, page=page), "rel": rel}, words)

    return element(
        "nav",
        {"class": "pager", "aria-label": "Pages"},
        link(1, "first"),
        link(here - 1, "← back", "prev"),
        quiet(f"page {here:,} of {last:,}"),
        link(here + 1, "next →", "next"),
        link(last, "last"),
    )
