"""The page of a study: what to use, the frontier, every arm, what each seat adds, and how it was done."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from ..figures.drawing import Figure
from ..figures.numbers import decimal
from .composition_tables import study_table
from .json_documents import records
from .markup import Html
from .parts import figure, items, methods_section, page, paragraph, section
from .section_markup import section_part
from .study_tables import TABLES, trial_rows

if TYPE_CHECKING:
    from ..selection import Composition
    from ..studies.findings import RunFindings

CAPTIONS = {
    "frontier": "Agreement with people on cases that did not choose the arm, against what a case takes of it alone. "
    "Dashed: the front, where more agreement costs more. Intervals are 95%.",
    "growth": "Agreement against the number of seats: juries made of the seats' own blind ballots. Bands are 95% intervals.",
    "contributions": "What each seat adds, on average over all juries that these seats could make.",
}


def study_page(found: RunFindings, drawn: Mapping[str, Figure]) -> str:
    """The whole page, with its figures by name."""
    study = found.study
    figures = {name: figure(each, CAPTIONS.get(name, name)) for name, each in drawn.items()}
    held_out = f"{len(study.test)} test cases" if study.test else "every case, held out in turn"
    body = [
        section("What to use", items(found.sentences(), "said")),
        section(
            "What agreement costs",
            figures.pop("frontier", None),
            paragraph(
                f"Cost is in {found.arms.unit}. Chosen on {len(study.selection)} cases; held out: {held_out}.",
                "soft",
            ),
            study_table("arms", found.table),
        ),
        section("What each seat adds", *_seats(found.jurors, figures)),
        section(
            TABLES["noise"].title,
            study_table("noise", found.arms.noise),
            study_table("answers", found.arms.answers),
            study_table("power", found.arms.power),
        ),
        *_trials(found.trials),
        *map(section_part, found.sections),
        methods_section(found.methods),
        section("Notes", items(found.notes, "notes") or paragraph("None.")),
    ]
    under = study.description or f"{len(found.table)} arms against people"
    return page(f"Study: {study.name}", under, body)


def _seats(jurors: Composition | None, figures: Mapping[str, Html]) -> list[Html]:
    if jurors is None:
        return [paragraph("Too few seats voted blind for this to be told; the notes say why.", "soft")]
    explained = "Each seat's own blind ballot, counted in every jury that these seats could make, whether it sat or not."
    tables = [
        study_table(name, jurors.tables[name])
        for name in ("jurors", "independence", "growth")
        if name in jurors.tables
    ]
    return [paragraph(explained, "soft"), *figures.values(), *_effective_number(jurors), *tables]


def _effective_number(jurors: Composition) -> list[Html]:
    """How many independent jurors all seats together amount to, as a paragraph; none where that is undefined."""
    whole = jurors.independence[jurors.independence["jury"] == "all jurors"].to_dict("records")
    if not whole or math.isnan(whole[0]["effective"]):
        return []
    row = whole[0]
    return [
        paragraph(
            f"The errors of two of these {row['jurors']} seats correlate by {decimal(float(row['correlation']), 2)} on average: "
            f"together they are worth {decimal(float(row['effective']), 1)} independent jurors "
            f"(95% interval {decimal(float(row['low']), 1)} to {decimal(float(row['high']), 1)})."
        )
    ]


def _trials(trials: pd.DataFrame) -> list[Html]:
    """The section on a search's trials; none without a search."""
    if trials.empty:
        return []
    rows = pd.DataFrame(trial_rows(records(trials)))
    return [section(TABLES["trials"].title, study_table("trials", rows))]
