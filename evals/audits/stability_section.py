"""Stability as a part of a comparison."""

from __future__ import annotations

from typing import Any

from ..figures.section import Section
from ..figures.stability import convergence_figure
from ..ratings.evidence import Evidence
from ..ratings.pooling import pooling
from ..ratings.sheet import OVERALL
from ..statistics.draws import Draws
from ..statistics.significance import LEVEL, interval_phrase, p_words
from .audit import Audit
from .repeats import RELIABLE, convergence, enough_repeats
from .stability import PEOPLE, judges_scatter, scatter, steadier

TITLE = "Stability: the same judge, the same case, again"


def stability_section(evidence: Evidence, draws: Draws) -> Section:
    """How far repeats scatter, against people's scatter, and how many repeats are enough."""
    by_case = scatter(evidence)
    if set(by_case["judge"]) <= {PEOPLE}:
        why = "No seat judged a case twice, so stability cannot be told: run a single judge with `repeats` of 2 or more."
        return Section("stability", TITLE, (why,))
    shared = pooling(evidence.questions).names
    judges = judges_scatter(by_case, evidence.groups, draws)
    against = steadier(by_case, evidence.groups, shared, draws)
    curve, enough = convergence(evidence, seed=draws.seed), enough_repeats(evidence)
    overall = against[against["attribute"] == OVERALL]
    sentences = [
        *(_judge(str(judge), rows) for judge, rows in judges.groupby("judge", sort=False)),
        *(_steadier(row) for row in overall.to_dict("records")),
        *(_enough(str(judge), rows) for judge, rows in enough.groupby("judge", sort=False)),
    ]
    figures = {
        "The scatter that so many repeats show, with the range of 95% of choices of them; where it is flat and narrow, "
        "more repeats would not change it.": convergence_figure(curve)
    }
    tables = {"judges": judges, "steadier": against, "convergence": curve, "enough": enough, "cases": by_case}
    methods = (
        "Stability is of repeats with everything held fixed. The SD of a judge is the root of the mean variance within a "
        f"case (n - 1 below), with an interval from {draws.resamples} resamples of cases or their groups, seed {draws.seed}; two "
        "judges are compared by swapping them within cases or groups. Beside it stand the means of each case's SD and CV (SD over mean). People's is the scatter among those who rated a case. "
        f"Enough repeats are the fewest whose mean is reliable to {RELIABLE:g} by the Spearman-Brown formula. Overall pools "
        f"the attributes that share a scale ({', '.join(shared)}).",
    )
    return Section("stability", TITLE, tuple(sentences), tables, figures, methods)


def _judge(judge: str, rows: Any) -> str:
    worst = rows.loc[rows["sd"].idxmax()]
    who = "People who rated the same case" if judge == PEOPLE else f"{judge}, asked again,"
    return (
        f"{who} scattered by an SD of {rows['sd'].median():.2f} points (the median over attributes; most on "
        f"{worst['attribute']}: {worst['sd']:.2f}, mean CV {worst['mean_cv']:.2f})."
    )


def _steadier(row: dict[Any, Any]) -> str:
    if row["difference"] != row["difference"]:
        return f"{row['first']} and {row['second']} cannot be compared in scatter: {row['note']}."
    size = f"SD {row['difference']:+.2f} ({interval_phrase(row['low'], row['high'], '+.2f')}, n = {row['n']} cases"
    size += f", Holm-corrected {p_words(row['p_holm'])})" if row["p_holm"] == row["p_holm"] else ")"
    if not row["p_holm"] < LEVEL:
        return f"{row['first']} does not scatter demonstrably more or less than {row['second']}: {size}."
    verb = "scatters less" if row["difference"] < 0 else "scatters more"
    return f"{row['first']} {verb} than {row['second']}: {size}."


def _enough(judge: str, rows: Any) -> str:
    known = rows.dropna(subset=["enough"])
    made = int(rows["repeats"].max())
    if known.empty:
        return (
            f"No number of repeats of {judge} would be enough: cases do not differ by more than repeats do."
        )
    most = known.loc[known["enough"].idxmax()]
    asked = "1 repeat is" if most["enough"] == 1 else f"{most['enough']:.0f} repeats are"
    told = f"{asked} enough for {judge} on every attribute"
    beyond = (
        f"; {made} were made, so that is an extrapolation"
        if most["enough"] > made
        else f" ({made} were made)"
    )
    needing = f", {most['attribute']} needing the most" if known["enough"].nunique() > 1 else ""
    return f"{told}{needing}{beyond}."


STABILITY = Audit("stability", lambda given, draws: stability_section(given.evidence, draws), 60)
