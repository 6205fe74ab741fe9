"""One case's scores side by side: every jury and single judge that heard it, and the people who rated it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from ...evals.pages.markup import Child, Html, element, fragment, shorten
from ...orchestration.verdict import Verdict
from ...rubrics.rubric import Rubric
from ..people import Numbers
from ..scales import score_words
from ..search import CaseSearch
from .frame import heading, quiet
from .votes import how, verdict_words


def side_by_side(
    search: CaseSearch, verdicts: Sequence[Verdict], rubric: Rubric, people: Mapping[str, Numbers] | None
) -> Html:
    """Attributes as rows, those that people alone were asked last; the arm that is being read first, then the others, then people.

    `people` are the ratings of this case by attribute; None where the inspector was given none.
    """
    raters = list(dict.fromkeys(rater for given in (people or {}).values() for rater in given))
    if len(verdicts) < 2 and not raters:
        return fragment()
    heads: list[Child] = [element("th", {"scope": "col"}, "attribute")]
    for verdict in verdicts:
        link = element("a", {"href": search.address("case", id=verdict.case, in_arm=verdict.arm)}, shorten(verdict.arm, 30))  # fmt: skip
        heads.append(element("th", {"scope": "col"}, link, quiet(f" {verdict.transcript.protocol}")))
    if len(raters) > 1:
        heads.append(element("th", {"scope": "col"}, "people's median"))
    heads += [element("th", {"scope": "col"}, shorten(rater, 30), quiet(" person")) for rater in raters]
    names = dict.fromkeys((*rubric.names, *(people or {})))
    rows = [_row(name, verdicts, raters, (people or {}).get(name, {})) for name in names]
    return element(
        "section",
        {"class": "beside"},
        heading("Side by side"),
        element(
            "div",
            {"class": "wide", "tabindex": "0", "role": "region", "aria-label": "Side by side"},
            element("table", {"class": "beside"}, element("thead", None, element("tr", None, heads)), element("tbody", None, rows)),
        ),
    )  # fmt: skip


def _row(name: str, verdicts: Sequence[Verdict], raters: Sequence[str], given: Numbers) -> Html:
    asked = name in verdicts[0].outcomes
    head: Child = element("a", {"href": f"#a-{name}"}, name) if asked else shorten(name, 60)
    cells = [element("th", {"scope": "row"}, head)]
    for verdict in verdicts:
        outcome = verdict.outcomes.get(name)
        words: Child = quiet("not asked") if outcome is None else fragment(
            element("span", {"class": f"cell {outcome.status}", "title": how(outcome)}, verdict_words(outcome)),
            quiet(" ", shorten(outcome.why, 90)) if outcome.status == "hung" else None,
        )  # fmt: skip
        cells.append(element("td", {"data-label": verdict.arm}, words))
    numbers = [value for value in given.values() if not isinstance(value, str)]
    if len(raters) > 1:
        middle = score_words(statistics.median(numbers)) if numbers else "–"
        cells.append(element("td", {"data-label": "people's median"}, element("b", None, middle)))
    cells += [element("td", {"data-label": rater}, score_words(given.get(rater))) for rater in raters]
    return element("tr", None, cells)
