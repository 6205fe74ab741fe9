"""The same case under two arms, side by side: where they differ comes first."""

from __future__ import annotations

from collections.abc import Sequence

from ...evals.report.markup import Html, element, fragment, shorten
from ...orchestration.reading.analysis.movement import distance
from ...orchestration.reading.side_by_side import AlignedRow, SideBySide
from ...orchestration.verdict import Outcome, Verdict
from ...rubrics.case import Case
from ...rubrics.rubric import Rubric
from ..lanes import Lanes
from ..scales import score_words
from ..search import CaseSearch
from .frame import heading, quiet
from .texts import texts
from .votes import how, verdict_words, votes


def replay_section(search: CaseSearch, pair: SideBySide) -> Html:
    """What a replay changed, where it first differed, what became of each verdict, and the way to both lanes."""
    address = search.address("parent", id=pair.after.case, in_arm=pair.after.arm)
    return element(
        "section",
        {"class": "beside", "aria-label": "Replay"},
        heading(
            f"Replay: {pair.change}",
            element("a", {"href": address}, "see this replay beside the original deliberation"),
        ),
        _changes(pair),
    )


def _changes(pair: SideBySide) -> Html:
    first = next(iter(pair.differences()), None)
    changed = pair.changed_outcomes().items()
    verdicts = [f"{name}: {before} would have been {after}" for name, (before, after) in changed]
    told = [f"first difference: {first}"] if first else ["nothing differs"]
    told += verdicts or ["every verdict of the replay is the same as in the original deliberation"]
    return element("ul", {"class": "advice"}, [element("li", {"dir": "auto"}, shorten(words, 300)) for words in told])  # fmt: skip


def comparison_view(
    search: CaseSearch,
    arms: Sequence[str],
    case: Case | None,
    sides: Sequence[tuple[Verdict, Rubric]],
    pair: SideBySide | None = None,
    way: Html | None = None,
) -> Html:
    """The page's content. Attributes that only one of the arms was asked about stand last; `way` leads on in place of the run's arms.

    Of a replay and its parent, a `pair`, the attribute that differed first stands first.
    """
    (one, _), (two, _) = sides
    names = list(dict.fromkeys(name for _, rubric in sides for name in rubric.names))
    apart = {name: _apart(one.outcomes.get(name), two.outcomes.get(name)) for name in names}
    differences = [row.attribute for row in pair.differences()] if pair else []
    names.sort(
        key=lambda name: (differences.index(name) if name in differences else len(differences), -apart[name])
    )
    opened = {name for name in names if apart[name] > 0 or name in differences}
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
        told = _difference_words(one.outcomes.get(name), two.outcomes.get(name), pair=one.transcript.compares)
        rows.append(
            element("details", {"class": "pair differs" if apart[name] > 0 else "pair", "open": name in opened},
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
            _changes(pair) if pair else None,
            way or _choices(search, arms, [two] if pair else [one, two]),
        ),
        rows,
        _aligned_rows(pair) if pair else None,
        heading("The case's texts"),
        texts(case, sides, "ab"),
    )


def _side(verdict: Verdict, rubric: Rubric, lanes: Lanes, attribute: str, prefix: str) -> Html:
    if attribute not in rubric.by_name:
        return fragment(element("h3", None, verdict.arm), quiet("was not asked"))
    outcome = verdict.outcomes[attribute]
    return fragment(
        element(
            "h3",
            None,
            verdict.arm,
            " ",
            element("span", {"class": "outcome"}, verdict_words(outcome, pair=rubric.compares)),
        ),
        quiet(how(outcome)),
        votes(verdict, lanes, attribute, prefix=prefix),
    )


def _aligned_rows(pair: SideBySide) -> Html:
    """Everything that either jury said, aligned by round and seat."""
    heads = [
        element("th", {"scope": "col"}, name) for name in ("round", "seat", "attribute", "parent", "replay")
    ]
    rows = [
        element(
            "tr",
            {"class": "differs"} if row.differs else None,
            [element("td", None, words) for words in (row.round, row.who, row.attribute, row.before or "–", _after(row))],
        )
        for row in pair.rows()
    ]  # fmt: skip
    table = element("table", {"class": "aligned"}, element("thead", None, element("tr", None, heads)), element("tbody", None, rows))  # fmt: skip
    return fragment(
        heading("By round and seat"),
        element("div", {"class": "wide", "tabindex": "0", "role": "region", "aria-label": "By round and seat"}, table),
    )  # fmt: skip


def _after(row: AlignedRow) -> str:
    return f"{row.after or '–'}{' (other words)' if row.differs and row.before == row.after else ''}"


def _choices(search: CaseSearch, arms: Sequence[str], sides: Sequence[Verdict]) -> Html:
    one, here = sides[0], {side.arm for side in sides}
    back = [
        element("a", {"href": search.address("case", id=one.case, in_arm=name)}, f"read {name}")
        for name in dict.fromkeys(side.arm for side in sides)
    ]
    others = [
        element("a", {"href": search.address("compare", id=one.case, a=one.arm, b=name)}, f"against {name}")
        for name in arms
        if name not in here
    ]
    return element("nav", {"class": "arms", "aria-label": "Arms"}, back, others)


def _apart(one: Outcome | None, two: Outcome | None) -> float:
    if one is None or two is None:
        return -1.0
    if one.value is None or two.value is None:
        return 0.0 if one.status == two.status else 0.5
    return distance(one.value, two.value)


def _difference_words(one: Outcome | None, two: Outcome | None, *, pair: bool) -> str:
    if one is None or two is None:
        return "only one arm was asked this question"
    words = f"{verdict_words(one, pair=pair)} and {verdict_words(two, pair=pair)}"
    # Between categories, or a score and "not applicable", there is no distance.
    if one.value is None or two.value is None or isinstance(one.value, str) or isinstance(two.value, str):
        return words
    apart = distance(one.value, two.value)
    return f"{words}, {score_words(apart)} apart" if apart > 0 else words
