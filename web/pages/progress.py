"""Deliberations in progress: which there are, and one of them as far as it has come."""

from __future__ import annotations

from collections.abc import Sequence

from ...evals.pages.markup import Child, Html, element, fragment, shorten
from ...orchestration.record import Arm, UnfinishedDeliberation
from ...orchestration.transcript import Transcript
from ...rubrics.case import Case
from ...rubrics.rubric import Rubric
from ..scales import score_words
from ..search import CaseSearch
from .frame import heading, quiet
from .proceedings import spoken_lines
from .texts import marked_texts


def progress_section(going: Sequence[UnfinishedDeliberation], arms: Sequence[Arm]) -> Html:
    """What is being deliberated now, with the way to each; empty where nothing is, but there to be renewed."""
    names = {arm.id: arm.name for arm in arms}
    items = [
        element(
            "li",
            None,
            element("a", {"class": "case open", "href": CaseSearch().address("case", id=each.case, in_arm=names[each.arm])}, shorten(each.case, 60)),
            quiet(" ", names[each.arm], " · ", _how_far(each.transcript)),
        )
        for each in going
        if each.arm in names
    ]  # fmt: skip
    shown = (heading("In progress"), element("ul", {"class": "progress"}, items)) if items else ()
    return element("section", {"data-live": "progress"}, *shown)


def progress_view(going: UnfinishedDeliberation, arm: Arm, case: Case | None, way: Child) -> Html:
    """One deliberation as far as it has come: the votes that stand, and everything said, in order."""
    transcript = going.transcript
    return fragment(
        element(
            "div",
            {"class": "head"},
            way,
            element("h1", None, shorten(going.case, 120)),
            element("p", {"class": "quiet"}, element("b", None, arm.name), f" · {transcript.protocol} · in progress"),
        ),
        element(
            "div",
            {"data-live": "deliberation"},
            element("p", {"role": "status", "class": "progress-told"}, _how_far(transcript)),
            heading("Votes that stand"),
            _standing(transcript, arm.rubric),
            heading("Everything in order"),
            element("ol", {"class": "proceedings"}, spoken_lines(transcript)),
        ),
        element("aside", {"aria-label": "The case's texts"}, marked_texts(case, arm.rubric, {})) if case else None,
    )  # fmt: skip


def _how_far(transcript: Transcript) -> str:
    last = transcript.entries[-1].speaker if transcript.entries else ""
    spoke = f"; {last} spoke last" if last else ""
    turns = transcript.turns
    return f"round {max(1, transcript.rounds)}, {turns} juror turn{'' if turns == 1 else 's'}{spoke}"


def _standing(transcript: Transcript, rubric: Rubric) -> Html:
    """Each juror's last vote on each attribute."""
    standing = transcript.standing()

    def cells(name: str) -> list[Html]:
        votes = standing.get(name, {})
        held = [votes.get(seat) for seat in transcript.seats]
        return [element("td", None, "" if each is None else score_words(each.vote.value)) for each in held]

    head = [element("th", {"scope": "col"}, words) for words in ("attribute", *transcript.seats)]
    rows = [element("tr", None, element("th", {"scope": "row"}, name), cells(name)) for name in rubric.names]
    return element(
        "div",
        {"class": "wide", "tabindex": "0", "role": "region", "aria-label": "Votes that stand"},
        element(
            "table",
            None,
            element("thead", None, element("tr", None, head)),
            element("tbody", None, rows),
        ),
    )
