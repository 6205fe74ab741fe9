"""The same case under two arms, side by side: where they differ comes first."""

from __future__ import annotations

from collections.abc import Sequence

from ...evals.report.markup import Html, element, fragment, shorten
from ...orchestration.reading.analysis.movement import distance
from ...orchestration.verdict import Outcome, Verdict
from ...rubrics.case import Case
from ...rubrics.rubric import Rubric
from ..lanes import Lanes
from ..scales import score_words
from ..search import CaseSearch
from .frame import heading, quiet
from .texts import texts
from .votes import how, verdict_words, votes


def comparison_view(
    search: CaseSearch, arms: Sequence[str], case: Case | None, sides: Sequence[tuple[Verdict, Rubric]]
) -> Html:
    """The page's content. Attributes that only one of the arms was asked about stand last."""
    (one, _), (two, _) = sides
    names = list(dict.fromkeys(name for _, rubric in sides for name in rubric.names))
    apart = {name: _apart(one.outcomes.get(name), two.outcomes.get(name)) for name in names}
    names.sort(key=lambda name: -apart[name])
    lanes = [
        Lanes(verdict, rubric, prefix=prefix) for (verdict, rubric), prefix in zip(sides, "ab", strict=True)
    ]
    differing = sum(value > 0 for value in apart.values())
    rows = []
    for name in names:
        cells = [
            element("div", {"class": "side"}, _side(verdict, rubric, lane, name, prefix))
            for (verdict, rubric), lane, prefix in zip(sides, lanes, "ab", strict=True)
        ]
        told = _difference_words(one.outcomes.get(name), two.outcomes.get(name))
        rows.append(
            element("details", {"class": "pair differs" if apart[name] > 0 else "pair", "open": apart[name] > 0},
                    element("summary", None, element("h2", None, name), element("span", {"class": "outcome"}, told)),
                    element("div", {"class": "sides"}, cells))
        )  # fmt: skip
    return fragment(
        element(
            "div",
            {"class": "head"},
            element("h1", None, shorten(one.case, 120)),
            element(
                "p",
                {"class": "quiet"},
                f"{one.arm} and {two.arm} differ on {differing} of {len(names)} attributes",
            ),
            _choices(search, arms, one, two),
        ),
        rows,
        heading("The case's texts"),
        texts(case, sides, "ab"),
    )


def _side(verdict: Verdict, rubric: Rubric, lanes: Lanes, attribute: str, prefix: str) -> Html:
    if attribute not in rubric.by_name:
        return fragment(element("h3", None, verdict.arm), quiet("was not asked"))
    outcome = verdict.outcomes[attribute]
    return fragment(
        element("h3", None, verdict.arm, " ", element("span", {"class": "outcome"}, verdict_words(outcome))),
        quiet(how(outcome)),
        votes(verdict, lanes, attribute, prefix=prefix),
    )


def _choices(search: CaseSearch, arms: Sequence[str], one: Verdict, two: Verdict) -> Html:
    back = [
        element("a", {"href": search.address("case", id=one.case, in_arm=side.arm)}, f"read {side.arm}")
        for side in (one, two)
    ]
    others = [
        element("a", {"href": search.address("compare", id=one.case, a=one.arm, b=name)}, f"against {name}")
        for name in arms
        if name not in (one.arm, two.arm)
    ]
    return element("nav", {"class": "arms", "aria-label": "Arms"}, back, others)


def _apart(one: Outcome | None, two: Outcome | None) -> float:
    if one is None or two is None:
        return -1.0
    if one.value is None or two.value is None:
        return 0.0 if one.status == two.status else 0.5
    return distance(one.value, two.value)


def _difference_words(one: Outcome | None, two: Outcome | None) -> str:
    if one is None or two is None:
        return "asked of one arm only"
    words = f"{verdict_words(one)} and {verdict_words(two)}"
    apart = _apart(one, two)
    return (
        f"{words}, {score_words(apart)} apart"
        if apart > 0 and one.value is not None and two.value is not None
        else words
    )
