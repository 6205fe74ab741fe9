"""Scores before anything else: each attribute's distribution, mean, hung and abstained, by arm and by system."""

from __future__ import annotations

from collections.abc import Sequence

from ...evals.report.markup import Child, Html, element, fragment, shorten
from ...orchestration.reading.scores import ScoreCounts, ScoreSummary
from ...orchestration.record import Arm
from ..people import Difference
from ..scales import score_words
from ..search import SCORED, CaseSearch
from .frame import heading, quiet

FOLDED = 24
"""Rows by arm and system beyond which the table of systems is folded."""
SHOWN = 8
"""Differences from people on the overview; the page of them has more."""
_WIDTH, _HEIGHT = 60, 18


def scores_section(arms: Sequence[Arm], counts: ScoreCounts) -> Html:
    """One row an arm, one column an attribute or composite; then the same by system, where there are several."""
    found = [(arm, counts.summaries(arm)) for arm in arms]
    if not any(summaries for _, summaries in found):
        return element("p", {"class": "calm"}, "No score yet: they appear here as deliberations end.")
    names = list(dict.fromkeys(each.attribute for _, summaries in found for each in summaries))
    rows = [_row(arm, None, summaries, names) for arm, summaries in found]
    legend = element("p", {"class": "quiet"}, "Mean, with a histogram (lowest score at left). Unresolved cases are listed below.")  # fmt: skip
    return fragment(_table(("arm",), names, rows, "Scores by arm"), legend, _by_system(arms, counts, names))


def differences_section(
    differences: Sequence[Difference],
    total: int,
    *,
    all_of_them: bool = False,
    reading: bool = False,
    notes: Sequence[str] = (),
) -> Html:
    """Where the arms and people differ most, as a list that leads to the cases.

    `reading`: more of the run is still to be read. `notes`: which ratings could not be used.
    """
    items = [
        element(
            "li",
            None,
            element("a", {"class": "case", "href": f"{CaseSearch().address('case', id=each.case, in_arm=each.arm)}#a-{each.attribute}"}, shorten(each.case, 60)),
            quiet(each.arm),
            element("p", None, element("b", None, each.attribute), f" {score_words(each.score)}, people {score_words(each.people)}: {each.apart:+.3g}"),
        )
        for each in differences
    ]  # fmt: skip
    more = None
    if total > len(items):
        rest = f"the {len(items):,} furthest apart of {total:,} scores that people rated too"
        link = element("a", {"href": "./people"}, f"all {total:,} scores that people rated too")
        more = element("p", None, quiet(rest) if all_of_them else link)
    none = (
        "Reading the record: they appear here as they are found."
        if reading
        else "No score of this run was rated by people."
    )
    told = None if items else element("p", {"class": "calm"}, none)
    return fragment(
        heading("Where verdicts and people differ most", level=1 if all_of_them else 2),
        [element("p", {"class": "calm"}, note) for note in notes],
        element("ol", {"class": "look"}, items) if items else None,
        told,
        more,
    )


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
