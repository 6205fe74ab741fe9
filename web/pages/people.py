"""Scores before anything else, by arm and by system; and beside people's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...evals.report.drawing import XY
from ...evals.report.html import svg
from ...evals.report.markup import Child, Html, element, fragment, shorten
from ...evals.report.panel import padded_range
from ...orchestration.reading.scores import ScoreCounts, ScoreSummary
from ...orchestration.record import Arm
from ..charts import scatter_figure
from ..people import ORDERS, Difference, People
from ..scales import difference_words, score_words
from ..search import SCORED, CaseSearch
from .cases import column_head, option_list, pager
from .frame import heading, quiet

FOLDED = 24
"""Rows by arm and system beyond which the table of systems is folded."""
SHOWN = 8
"""Differences from people on the overview; the page of them has more."""
PLOTS = 6
"""Arms whose scatter is drawn; the filter shows any other."""
_WIDTH, _HEIGHT = 60, 18


def scores_section(arms: Sequence[Arm], counts: ScoreCounts) -> Html:
    """One row an arm, one column an attribute or composite; then the same by system, where there are several."""
    found = [(arm, counts.summaries(arm)) for arm in arms]
    if not any(summaries for _, summaries in found):
        return element(
            "p", {"class": "calm"}, "There are no scores yet. They appear here as deliberations end."
        )
    names = list(dict.fromkeys(each.attribute for _, summaries in found for each in summaries))
    rows = [_row(arm, None, summaries, names) for arm, summaries in found]
    legend = element("p", {"class": "quiet"}, "Each cell shows the mean and a histogram (lowest score at left); hung cases, n/a (not applicable) and abstentions are counted beside it.")  # fmt: skip
    return fragment(_table(("arm",), names, rows, "Scores by arm"), legend, _by_system(arms, counts, names))


def differences_section(differences: Sequence[Difference], total: int, *, reading: bool = False) -> Html:
    """Where the arms and people differ most, as a list that leads to the cases.

    `reading`: more of the run is still to be read.
    """
    items = [
        element(
            "li",
            None,
            element("a", {"class": "case", "href": _case_address(each)}, shorten(each.case, 60)),
            quiet(each.arm),
            element("p", None, element("b", None, each.attribute), f" {score_words(each.score)}, people {score_words(each.people)}: {each.apart:+.3g}"),
        )
        for each in differences
    ]  # fmt: skip
    link = element("a", {"href": "./people"}, f"all {total:,} scores with people's ratings")
    return fragment(
        heading("Where verdicts and people differ most"),
        element("ol", {"class": "look"}, items) if items else _no_difference(reading),
        element("p", None, link) if total > len(items) else None,
    )


def people_view(
    search: CaseSearch,
    arms: Sequence[Arm],
    shown: Sequence[Difference],
    counts: Mapping[tuple[str, float, float], int],
    people: People,
    *,
    reading: bool = False,
) -> Html:
    """Every score that people rated too: a scatter for each arm, and a table to sort and to filter by arm and attribute.

    `shown` is one page of them; `counts` says how many there are by arm, people's median and score. `reading`: more are still to be found.
    """
    total = sum(counts.values())
    names = dict.fromkeys(name for arm in arms for name in arm.rubric.names)
    return fragment(
        element("div", {"class": "head"}, element("h1", None, "Verdicts and people"), element("p", {"class": "quiet"}, f"{total:,} scores with people's ratings")),
        [element("p", {"class": "calm"}, note) for note in people.notes],
        element(
            "form",
            {"class": "filter", "action": "./people", "method": "get", "aria-label": "Filter"},
            option_list("arm", search.arm, {arm.name: arm.name for arm in arms}, "all arms"),
            option_list("attribute", search.attribute, {name: name for name in names}, "all attributes"),
            element("button", {"type": "submit"}, "Show"),
        ),
        _scatters(counts) if counts else _no_difference(reading),
        _difference_table(search, shown, people) if shown else None,
        pager(search, "people", total),
    )  # fmt: skip


def people_search(query: Mapping[str, str]) -> CaseSearch:
    """The arm, attribute, order and page in the address of the page of people; by default the furthest apart come first."""
    sort = query.get("sort", "")
    return replace(CaseSearch.of(query), sort=sort if sort in ORDERS else "apart")


def _difference_table(search: CaseSearch, rows: Sequence[Difference], people: People) -> Html:
    heads = [
        column_head(search, "people", name, words, down=down) for name, (words, down, _) in ORDERS.items()
    ]
    body = [
        element("tr", {"class": "row"}, element("th", {"scope": "row"}, element("a", {"href": _case_address(each), "class": "open"}, shorten(each.case, 60))),
                [element("td", {"data-label": label}, cell) for label, cell in (
                    ("arm", each.arm), ("attribute", each.attribute), ("verdict", score_words(each.score)),
                    ("people's median", score_words(each.people)), ("difference", difference_words(each.apart)),
                    ("each person", ", ".join(f"{rater} {score_words(value)}" for rater, value in people.of(each.case)[each.attribute].items())),
                )])
        for each in rows
    ]  # fmt: skip
    return element(
        "div",
        {"class": "wide", "tabindex": "0", "role": "region", "aria-label": "Verdicts and people"},
        element("table", {"class": "list"}, element("thead", None, element("tr", None, heads, element("th", {"scope": "col"}, "each person"))), element("tbody", None, body)),
    )  # fmt: skip


def _scatters(counts: Mapping[tuple[str, float, float], int]) -> Html:
    by_arm: dict[str, dict[XY, int]] = {}
    for (arm, median, score), times in counts.items():
        by_arm.setdefault(arm, {})[median, score] = times
    span = padded_range([end for points in by_arm.values() for point in points for end in point])
    figures = [
        element("figure", None, svg(scatter_figure(points, span, arm), {"class": "plot scatter"}),
                element("figcaption", {"class": "quiet"}, element("b", None, arm), f": {_summary(points)}"))
        for arm, points in sorted(by_arm.items())[:PLOTS]
    ]  # fmt: skip
    more = f" The first {PLOTS} of {len(by_arm)} arms are drawn." if len(by_arm) > PLOTS else None
    legend = "A larger dot stands for more scores. On the dashed line, the verdict equals people's median."
    return fragment(element("div", {"class": "plots"}, figures), element("p", {"class": "quiet"}, legend, more))  # fmt: skip


def _summary(points: Mapping[XY, int]) -> str:
    number = sum(points.values())
    equal = sum(times for (median, score), times in points.items() if median == score)
    apart = sum((score - median) * times for (median, score), times in points.items())
    return (
        f"{number:,} scores, {equal / number:.0%} equal, mean difference {difference_words(apart / number)}"
    )


def _case_address(each: Difference) -> str:
    return f"{CaseSearch().address('case', id=each.case, in_arm=each.arm)}#a-{each.attribute}"


def _no_difference(reading: bool) -> Html:
    told = "The record is being read: scores appear here as they are found." if reading else "No score of this run was also rated by people."  # fmt: skip
    return element("p", {"class": "calm"}, told)


def _by_system(arms: Sequence[Arm], counts: ScoreCounts, names: Sequence[str]) -> Html:
    systems = counts.systems()
    if len(systems) < 2:
        return fragment()
    rows = [
        _row(arm, system, summaries, names)
        for arm in arms
        if not arm.rubric.compares
        for system in systems
        if (summaries := counts.summaries(arm, system=system))
    ]
    if not rows:
        return fragment()
    table = _table(("arm", "system"), names, rows, "Scores by system")
    return element(
        "details",
        {"class": "systems", "open": len(rows) <= FOLDED},
        element("summary", None, f"By system: {len(systems)} systems"),
        table,
    )


def _table(first: Sequence[str], names: Sequence[str], rows: Sequence[Child], label: str) -> Html:
    head = [element("th", {"scope": "col"}, word) for word in first]
    head += [element("th", {"scope": "col", "class": "score-name"}, name) for name in names]
    return element(
        "div",
        {"class": "wide", "tabindex": "0", "role": "region", "aria-label": label},
        element("table", {"class": "scores-by"}, element("thead", None, element("tr", None, head)), element("tbody", None, rows)),
    )  # fmt: skip


def _row(arm: Arm, system: str | None, summaries: Sequence[ScoreSummary], names: Sequence[str]) -> Html:
    by_name = {each.attribute: each for each in summaries}
    link = element("a", {"href": CaseSearch(arm=arm.name, system=system or "").address("cases")}, shorten(arm.name, 40))  # fmt: skip
    cells: list[Html] = [element("th", {"scope": "row"}, link)]
    if system is not None:
        cells.append(element("td", None, shorten(system, 40)))
    cells += [
        element(
            "td",
            {"data-label": name},
            _cell(by_name[name], system, pair=arm.rubric.compares) if name in by_name else quiet("–"),
        )
        for name in names
    ]
    return element("tr", None, cells)


def _cell(found: ScoreSummary, system: str | None, *, pair: bool) -> Html:
    listed = CaseSearch(arm=found.arm, system=system or "", sort=f"{SCORED}{found.attribute}", up="1")
    mean = "–" if found.mean is None else f"{found.mean:.2f}"
    lost = [f"{found.hung:,} hung" if found.hung else "", f"{found.not_applicable:,} n/a" if found.not_applicable else "",
            f"{found.abstained:,} abst." if found.abstained else ""]  # fmt: skip
    told = ", ".join(filter(None, lost))
    return fragment(
        element("a", {"class": "mean", "href": listed.address("cases"), "title": f"{found.n:,} scores, lowest first"}, mean),
        _bars(found, pair=pair) if found.counts else None,
        element("span", {"class": "lost"}, told) if told else None,
    )  # fmt: skip


def _bars(found: ScoreSummary, *, pair: bool) -> Html:
    """The distribution as bars, one a value of the scale, named in words for those who cannot see them."""
    most = max((times for _, times in found.counts), default=0) or 1
    step = _WIDTH / len(found.counts)
    bars = [
        element(
            "rect",
            {"x": round(number * step, 1), "y": round(_HEIGHT * (1 - times / most), 1), "width": round(max(1.0, step - 1.5), 1), "height": round(_HEIGHT * times / most, 1)},
        )
        for number, (_, times) in enumerate(found.counts)
        if times
    ]  # fmt: skip
    words = (
        ", ".join(f"{score_words(value, pair=pair)}: {times:,}" for value, times in found.counts if times)
        or "none"
    )
    return element(
        "svg",
        {"class": "distribution", "viewBox": f"0 0 {_WIDTH} {_HEIGHT}", "width": _WIDTH, "height": _HEIGHT, "role": "img",
         "aria-label": f"{found.attribute}: {words}"},
        element("title", None, words),
        element("line", {"x1": 0, "y1": _HEIGHT, "x2": _WIDTH, "y2": _HEIGHT}),
        bars,
    )  # fmt: skip
