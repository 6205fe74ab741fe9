"""One arm, person or text baseline against people: every coefficient, by attribute and overall."""

from __future__ import annotations

import pandas as pd

from ..agreement.against_people import coefficients, nothing
from ..ratings.pooling import pooling
from ..ratings.sheet import ARM, OVERALL, PEOPLE, Sheet, pairs
from ..statistics.correlation import spearman
from ..statistics.draws import Draws
from ..statistics.estimate import Estimate


def arm_agreement(sheet: Sheet, arm: str, kind: str, draws: Draws) -> dict[str, dict[str, Estimate]]:
    """By attribute, `overall` first, every coefficient of one arm, person or baseline with the people's reference."""
    found = {}
    for attribute in (OVERALL, *sheet.questions):
        rows, asked = sheet.of(attribute), sheet.scale_question(attribute)
        if asked is None or rows.empty:
            found[attribute] = nothing("nobody rated it")
        elif kind == "text overlap":
            found[attribute] = _by_overlap(sheet, arm, rows, attribute, draws)
        else:
            people = sheet.reference(attribute, without=arm if kind == "person" else None)
            estimates = coefficients(pairs(rows["cluster"], rows[arm], people), asked.scale, draws)
            found[attribute] = {name: each.out_of(len(rows)) for name, each in estimates.items()}
    return found


def _by_overlap(
    sheet: Sheet, arm: str, rows: pd.DataFrame, attribute: str, draws: Draws
) -> dict[str, Estimate]:
    """Overlap gives an order and no scores: of cases by an attribute, or by the mean of all, good being high."""
    found = nothing("text overlap gives an order, not scores on the scale")
    people = pd.to_numeric(sheet.references[None].loc[rows.index], errors="coerce")
    if attribute == OVERALL:
        upright = pooling(sheet.questions, sheet.pooling.names, good_is_high=True)
        people = upright.turn(people, rows["attribute"])
        mean = people.groupby(rows["case"]).mean()
        rows = rows.drop_duplicates("case").set_index("case", drop=False)
        people = mean.reindex(rows.index)
    overlap = rows["case"].map(sheet.overlap[arm])
    grid = pairs(rows["cluster"], overlap, people)
    if not grid.cases:
        return nothing("no case has both a reference text and people's scores")
    return found | {"spearman": spearman(grid, bootstrap=draws.bootstrap(by="cluster"), raters=(ARM, PEOPLE))}
