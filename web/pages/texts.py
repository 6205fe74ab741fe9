"""The case's texts side by side: what is judged, and what it is judged by, with every quote marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...evals.pages.markup import Html, element
from ...orchestration.verdict import Verdict
from ...rubrics.case import Case
from ...rubrics.rubric import Rubric
from ..lanes import vote_id
from ..passages import Citation, mark_quotes
from .claims import claim_citations

_NAMES = {
    "output": "Under judgement",
    "question": "Question",
    "audience": "Audience",
    "reference": "Reference",
}


def texts(
    case: Case | None, sides: Sequence[tuple[Verdict, Rubric]], prefixes: Sequence[str] = ("",)
) -> Html:
    """Every text that the jurors could read, marked with what any of the deliberations quotes."""
    if case is None:
        return element("p", {"class": "quiet"}, "The record does not hold this case's texts.")
    cited: dict[str, list[Citation]] = {}
    for (verdict, _), prefix in zip(sides, prefixes, strict=True):
        for entry in verdict.transcript.ballots:
            for vote in entry.ballot.votes:
                for quote in vote.evidence:
                    if quote.exhibit is not None:
                        citation = Citation(vote_id(entry.id, vote.attribute, prefix), quote.text)
                        cited.setdefault(quote.exhibit, []).append(citation)
        for exhibit_name, citation in claim_citations(verdict, prefix):
            cited.setdefault(exhibit_name, []).append(citation)
    return marked_texts(case, sides[0][1], cited)


def marked_texts(case: Case, rubric: Rubric, cited: Mapping[str, list[Citation]]) -> Html:
    """Every text that the jurors could read, with the quotes in `cited`, by exhibit, marked."""
    panes = {
        exhibit.name: element(
            "section",
            {"class": "text", "aria-label": _NAMES.get(exhibit.name, exhibit.name)},
            element("h3", None, _NAMES.get(exhibit.name, exhibit.name)),
            element(
                "div",
                {"class": "words", "dir": "auto"},
                mark_quotes(exhibit.text, cited.get(exhibit.name, [])),
            ),
        )
        for exhibit in rubric.exhibits(case)
    }
    judged = panes.pop("output")
    return element(
        "div",
        {"class": "texts"},
        element("div", {"class": "pane", "tabindex": "0", "role": "region", "aria-label": "Text under judgement"}, judged),
        element("div", {"class": "pane", "tabindex": "0", "role": "region", "aria-label": "Sources"}, list(panes.values()))
        if panes
        else None,
    )  # fmt: skip
