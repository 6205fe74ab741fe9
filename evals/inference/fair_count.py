"""`count: fair`: what a juror of mean severity would give, harshness having been learned over the run and removed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import pandas as pd

from ...orchestration.counting.averages import mean
from ...orchestration.counting.rule import Count, Counted, Rule, Tally, too_few
from .many_facets import many_facets

FEWEST = 10
"""Cases with two votes below which no severity is learned, and the plain mean counts."""


def learn_severities(run: Sequence[Tally]) -> Count:
    """The fair average of each case, by a rating scale model of each attribute on its own.

    Raises:
        VenireError: Jurors fall into sets that share no case.
    """
    by_attribute: dict[str, list[Tally]] = defaultdict(list)
    for tally in run:
        if tally.votes and tally.scale.ordered:
            by_attribute[tally.attribute].append(tally)
    fair = {name: averages for name, tallies in by_attribute.items() if (averages := _fair_averages(tallies))}

    def count(tally: Tally) -> Counted:
        if hung := too_few(tally):
            return hung
        if not tally.scale.ordered:
            return Counted(
                None, "none", "there is no fair average, because the values of this scale have no order"
            )
        value = fair.get(tally.attribute, {}).get(tally.case)
        if value is None:
            return Counted(
                mean([float(vote) for vote in tally.votes.values()]),
                "fair",
                "the plain mean is used, because there are too few cases to estimate the severity of jurors",
            )
        return Counted(value, "fair")

    return count


def _fair_averages(tallies: Sequence[Tally]) -> dict[str, float]:
    """By case; nothing where severity cannot be learned."""
    rows = [
        (tally.case, juror.partition("#")[0], tally.attribute, float(vote))
        for tally in tallies
        for juror, vote in tally.votes.items()
    ]
    table = pd.DataFrame(rows, columns=["case", "rater", "attribute", "value"])
    raters_by_case = table.groupby("case")["rater"].nunique()
    if (raters_by_case > 1).sum() < FEWEST or table["value"].nunique() < 2:
        return {}
    cases = many_facets(table).cases
    return dict(zip(cases["case"], cases["fair"].round(9), strict=True))


fair = Rule(
    "the score that a juror of average severity would give: each juror's severity is estimated from the whole run and removed",
    fit=learn_severities,
)
