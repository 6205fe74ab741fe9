"""The report of a study of compositions: the advice, then what it rests on, then how it was done."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from ..figures.drawing import Figure
from ..figures.section import Section
from ..selection import Composition
from .composition_tables import study_table
from .markup import Html
from .parts import figure, items, methods_section, page, paragraph, section, subheading
from .section_markup import section_part
from .study_tables import TABLES

CAPTIONS = {
    "frontier": "Agreement with people against cost. Dashed: the front, where more agreement costs more. Intervals are 95%.",
    "growth": "Agreement against the size of the jury. Bands are 95% intervals for other cases.",
    "contributions": "What each juror adds on average over all juries that could be.",
}
FIGURES = {"frontier": "frontier", "jurors": "contributions", "growth": "growth"}
"""The figure of a table's section."""
SECTIONS = (
    ("choices", "measures"),
    ("answers",),
    ("frontier", "noise"),
    ("jurors",),
    ("growth",),
    ("independence", "correlations"),
    ("selection",),
    ("position",),
    ("power",),
)
"""The tables of each section, which is named for the first."""
MOST_CORRELATED = 12
"""Pairs of jurors that are listed, those whose errors correlate most."""


def composition_page(
    composition: Composition, figures: Mapping[str, Figure], sections: tuple[Section, ...] = ()
) -> str:
    """The whole page, with its figures by name."""
    tables = {**composition.tables, **_most_correlated(composition.correlations)}
    body = [section("What to do", items(composition.sentences(), "said"))]
    body += [
        _section(names, {name: tables[name] for name in names if name in tables}, figures)
        for names in SECTIONS
        if names[0] in tables
    ]
    body += map(section_part, sections)
    methods = [*composition.methods, *(said for part in sections for said in part.methods)]
    body.append(methods_section(methods))
    body.append(section("Notes", items(composition.notes, "notes") or paragraph("None.")))
    arms = composition.frontier
    under = f"{len(arms)} arms; agreement from 0 to 1; cost in {composition.unit}"
    return page("Which jury to use", under, body)


def _section(
    names: tuple[str, ...], tables: Mapping[str, pd.DataFrame], figures: Mapping[str, Figure]
) -> Html:
    first, drawn = names[0], FIGURES.get(names[0], "")
    parts = [figure(figures[drawn], CAPTIONS[drawn])] if drawn in figures else []
    for name, frame in tables.items():
        if name != first:
            parts.append(subheading(TABLES[name].title))
        parts.append(study_table(name, frame))
    return section(TABLES[first].title, *parts)


def _most_correlated(correlations: pd.DataFrame) -> dict[str, pd.DataFrame]:
    if correlations.empty:
        return {}
    most = correlations.dropna().sort_values("correlation", ascending=False).head(MOST_CORRELATED)
    return {"correlations": most}
