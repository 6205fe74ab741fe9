"""Claims in figures, for the terminal and as JSON."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from ...personas.options import ShareName
from ..claims.claim_table import ClaimFigures
from ..claims.labelled import LabelledClaims
from ..claims.word_overlap import OverlapComparison
from ..statistics.estimate import Estimate
from .json_documents import estimate_json

_MEANINGS: dict[str, str] = {
    "addressed": "S/(S+NS)",
    "all": "S/all",
    "uncontradicted": "(S+NA)/all",
    "precision": "S/all of the text",
    "recall": "S/all of the other text",
    "contradiction": "NS/all",
    "f1": "of precision and recall",
}


def figures_json(figures: ClaimFigures, used: ShareName) -> dict[str, Any]:
    """The figures as JSON; NaN is null, with a note."""
    return {
        "cases": figures.cases,
        "hung": figures.hung,
        "claims": figures.claims,
        "claims_per_case": figures.claims_per_case,
        "verdicts": dict(figures.verdicts),
        "share": used,
        "shares": {name: estimate_json(found) for name, found in figures.shares.items()},
        "measures": {name: estimate_json(found) for name, found in figures.measures.items()},
    }


def labelled_json(labelled: LabelledClaims, figures: ClaimFigures) -> dict[str, Any]:
    """What was imported, as JSON."""
    return {
        "responses": labelled.responses,
        "abstained": len(labelled.abstained),
        "without_claims": len(labelled.claimless),
        "unlabelled": labelled.unlabelled,
        "claims_per_response": figures.claims_per_case,
        **figures_json(figures, "all"),
    }


def overlap_json(found: OverlapComparison) -> dict[str, Any]:
    """A measure beside word overlap, as JSON."""
    return {
        "measure": found.measure,
        "claims": estimate_json(found.claims),
        "word_overlap": estimate_json(found.words),
        "difference": estimate_json(found.difference),
        "sentence": found.sentence,
    }


def figures_table(figures: ClaimFigures, used: ShareName) -> Table:
    """Each share and measure with its mean over cases and interval; the share in use is named."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("", "is", "mean", "95% interval", "cases", ""):
        table.add_column(column)
    for name, found in (*figures.shares.items(), *figures.measures.items()):
        mark = Text("<- used", "bold") if name == used else Text("")
        table.add_row(name, _MEANINGS[name], _value(found), _interval(found), str(found.n), mark)
    return table


def figures_line(figures: ClaimFigures) -> str:
    """How many claims there are, and how they came out."""
    per_case = f", {figures.claims_per_case:.1f} a case" if figures.claims_per_case is not None else ""
    total = sum(figures.verdicts.values())
    counts = ", ".join(
        f"{number} {word.replace('_', ' ')} ({number / total:.1%})"
        for word, number in figures.verdicts.items()
        if number
    )
    hung = f"; {figures.hung} cases hung, in no mean" if figures.hung else ""
    return f"{figures.cases} cases, {figures.claims} claims{per_case}: {counts or 'none'}{hung}"


def _value(found: Estimate) -> str:
    return f"{found.value:.3f}" if found.defined else f"undefined: {found.note}"


def _interval(found: Estimate) -> str:
    return f"{found.low:.3f} to {found.high:.3f}" if found.low == found.low else ""
