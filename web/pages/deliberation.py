"""One deliberation: what became of each attribute, why, and the texts it is about."""

from __future__ import annotations

import shlex
import statistics
from collections.abc import Mapping, Sequence

from ...evals.report.drawing import amount
from ...evals.report.markup import Child, Html, element, fragment, shorten
from ...orchestration.reading.analysis import Flag, distinct_flags
from ...orchestration.record.reader import RecordedCall
from ...orchestration.verdict import Verdict
from ...rubrics.case import Case
from ...rubrics.ratings import Rating
from ...rubrics.rubric import Rubric
from ..lanes import Lanes, vote_id
from ..people import Numbers
from ..scales import score_words
from ..search import CaseSearch
from .frame import arm_words, badge, heading, quiet
from .proceedings import movement, proceedings
from .texts import claims_section, texts
from .votes import Revisions, attribute_section, how, verdict_words


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
        heads.append(
            element(
                "th",
                {"scope": "col"},
                link,
                quiet(f" {verdict.transcript.protocol}")
                if verdict.transcript.protocol != verdict.arm
                else None,
            )
        )
    if len(raters) > 1:
        heads.append(element("th", {"scope": "col"}, "people's median"))
    heads += [element("th", {"scope": "col"}, shorten(rater, 30)) for rater in raters]
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
            element("span", {"class": f"cell {outcome.status}", "title": how(outcome)}, verdict_words(outcome, pair=verdict.transcript.compares)),
            quiet(" ", shorten(outcome.why, 90)) if outcome.status == "hung" else None,
        )  # fmt: skip
        cells.append(element("td", {"data-label": verdict.arm}, words))
    pair = asked and verdicts[0].transcript.compares
    numbers = [value for value in given.values() if not isinstance(value, str)]
    if len(raters) > 1:
        middle = score_words(statistics.median(numbers), pair=pair) if numbers else "–"
        cells.append(element("td", {"data-label": "people's median"}, element("b", None, middle)))
    cells += [
        element("td", {"data-label": rater}, score_words(given.get(rater), pair=pair)) for rater in raters
    ]
    return element("tr", None, cells)


BRIEF = 1_500
"""Characters of all its texts up to which a case's attributes stand side by side below them."""
MINOR = 1
"""The weight of flags that are worth knowing and no more; beside weightier ones they are folded."""


def deliberation_view(
    verdict: Verdict,
    rubric: Rubric,
    case: Case | None,
    found: Sequence[Flag],
    *,
    way: Child | None = None,
    beside: Child | None = None,
    prefix: str = "",
    people: Sequence[Rating] = (),
    revisions: Revisions | None = None,
    judges: str = "",
    calls: Mapping[str, RecordedCall] | None = None,
) -> Html:
    """The whole reading room for one deliberation: every attribute's reasons unfolded, the texts beside them, or above where they are brief.

    `way` leads to its neighbours, where there are any; `beside` sets it beside other arms and people; `prefix` tells
    its ids from another's on the same page; what `people` said of the case stands with its claims, what is known of
    its `revisions` with them. `judges` says which models judged; `calls` are what they were sent and replied; None where that is left out.
    """
    found = distinct_flags(found, verdict.transcript.rounds)
    lanes = Lanes(verdict, rubric, prefix=prefix)
    sections = [
        attribute_section(verdict, rubric, lanes, name, found, prefix=prefix, revisions=revisions)
        for name in rubric.names
    ]
    bench = element("div", {"class": "bench"}, heading("Attributes", _legend()), sections)
    aside = element("aside", {"aria-label": "The case's texts"}, texts(case, [(verdict, rubric)], [prefix]))
    brief = case is None or sum(len(exhibit.text) for exhibit in rubric.exhibits(case)) <= BRIEF
    return fragment(
        _head(verdict, way, judges),
        _flags(found, prefix),
        beside,
        element("div", {"class": "room brief"}, aside, bench)
        if brief
        else element("div", {"class": "room"}, bench, aside),
        claims_section(verdict, prefix, people),
        heading("Movement"),
        movement(verdict, rubric),
        element(
            "details",
            {"class": "said"},
            element("summary", None, element("h2", None, "Everything that happened, in order")),
            element("p", {"class": "quiet"}, _told_words(verdict, calls)),
            proceedings(verdict, calls),
        ),
    )


def neighbours(search: CaseSearch, before: tuple[str, str] | None, after: tuple[str, str] | None) -> Html:
    """The way to the case before and the case after, as the list orders them."""

    def link(place: tuple[str, str] | None, words: str, key: str) -> Html:
        if place is None:
            return element("span", {"class": "quiet"}, words)
        address = search.address("case", id=place[0], in_arm=place[1])
        return element("a", {"href": address, "data-go": key, "rel": key}, words)

    return element(
        "nav",
        {"class": "neighbours", "aria-label": "Cases"},
        link(before, "← previous", "prev"),
        link(after, "next →", "next"),
    )


def arm_choice(search: CaseSearch, case: str, arm: str, arms: Sequence[str]) -> Html:
    """The arms that judged the case, and the way to set two of them side by side."""
    links = [
        element(
            "a",
            {
                "href": search.address("case", id=case, in_arm=name),
                "aria-current": "true" if name == arm else None,
            },
            name,
        )
        for name in arms
    ]
    other = next((name for name in arms if name != arm), None)
    compare = (
        element("a", {"class": "compare", "data-key": "c", "href": search.address("compare", id=case, a=arm, b=other)}, "compare side by side")
        if other
        else None
    )  # fmt: skip
    graph = element("a", {"class": "compare", "href": search.address("graph", id=case, in_arm=arm)}, "graph")
    return element("nav", {"class": "arms", "aria-label": "Arms"}, links, compare, graph)


def _told_words(verdict: Verdict, calls: Mapping[str, RecordedCall] | None) -> str:
    if calls is None:
        return "The messages to models and their replies were left out of this page (--no-prompts)."
    made = len({key for entry in verdict.transcript.entries for key in entry.spent.calls})
    if len(calls) == made:
        return "Open a line to see the messages that were sent to the model, and its reply."
    return f"The record holds the full text of {len(calls)} of {made} model calls (a redacted run keeps no text)."


def _head(verdict: Verdict, way: Child, judges: str) -> Html:
    transcript = verdict.transcript
    cost = transcript.cost
    facts = (
        f" · {_times(transcript.rounds, 'round')} · {_times(transcript.turns, 'turn')} · {cost.tokens:,} tokens · "
        f"{cost.price} · stopped: {shorten(str(verdict.stop), 200)}"
    )
    derived = ", ".join(f"{name} {amount(value, 3)}" for name, value in verdict.derived.items())
    return element(
        "div",
        {"class": "head"},
        way,
        element("h1", None, shorten(verdict.case, 120)),
        element("p", {"class": "quiet"}, arm_words(verdict.arm, transcript.protocol), facts),
        element("p", {"class": "quiet judges"}, judges) if judges else None,
        element("p", {"class": "quiet"}, "derived: ", derived) if derived else None,
    )


def copy_buttons(run: str, verdict: Verdict, case: Case | None) -> Html:
    """Buttons that copy the page's address, the case as a line of a file of cases, and the command that shows the deliberation."""
    command = shlex.join(["venire", "show", run, verdict.case, "--arm", verdict.arm])
    copied: dict[str, dict[str, object]] = {
        "link": {"data-copy-link": True},
        "command": {"data-copy": command},
    }
    if case is not None:
        copied["case"] = {"data-copy": case.model_dump_json(exclude_defaults=True)}
    return element("p", {"class": "copies"}, [
        element("button", {"type": "button", "title": f"Copy the {what}", **where}, f"copy {what}") for what, where in copied.items()
    ])  # fmt: skip


def _times(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _flags(found: Sequence[Flag], prefix: str) -> Html:
    if not found:
        return element("p", {"class": "calm"}, "Nothing unusual was found in this deliberation.")
    weighty = [flag for flag in found if flag.weight > MINOR] or list(found)
    minor = [flag for flag in found if flag not in weighty]
    folded = element("details", None, element("summary", None, _times(len(minor), "minor flag")), element("ul", None, _flag_items(minor, prefix))) if minor else None  # fmt: skip
    return element(
        "section",
        {"class": "flags", "aria-label": "Worth a look", "tabindex": "0"},
        element("ul", None, _flag_items(weighty, prefix)),
        folded,
    )


def _flag_items(found: Sequence[Flag], prefix: str) -> list[Html]:
    items = []
    for flag in found:
        entry = flag.entries[0] if flag.entries else None
        if flag.attribute:
            place = (
                f"#{vote_id(entry, flag.attribute, prefix)}"
                if entry and "orchestrator" not in entry
                else f"#{prefix}a-{flag.attribute}"
            )
            where: Child = element("a", {"href": place}, flag.attribute)
        else:
            where = quiet("the case")
        items.append(
            element(
                "li",
                None,
                badge(flag.kind, flag.weight),
                " ",
                where,
                " ",
                element("span", {"dir": "auto"}, flag.text),
            )
        )
    return items


def _legend() -> Html:
    return element(
        "details",
        {"class": "legend"},
        element("summary", None, "how to read this figure"),
        element(
            "ul",
            None,
            [
                element("li", None, words)
                for words in (
                    "Each juror has a lane, and each round has a column. A dot is a vote; the higher the dot, the higher the score.",
                    "A filled dot is a vote that quotes the case; a hollow dot quotes nothing. A red ring marks a quote that is not in the case.",
                    "A dashed ring means that the juror was told to argue against its own score.",
                    "A thick line is a changed score; a dashed amber line is a change to the majority's score without new evidence.",
                    "Dotted lines come from votes that the juror had read; a coloured line means that the juror then moved towards that vote.",
                    "A shaded column means that all jurors gave the same score in the first round: the lowest or the highest of the scale.",
                )
            ],
        ),
    )
