"""Internal consistency as a part of a comparison."""

from __future__ import annotations

import math
from typing import Any

from ..figures.consistency import correlation_figure
from ..figures.section import Section
from ..ratings.marks import Marks
from ..statistics.draws import Draws
from ..statistics.significance import LEVEL, p_words
from .audit import Audit
from .consistency import correlations, halo

TITLE = "Internal consistency: which attributes go together"


def consistency_section(marks: Marks, draws: Draws) -> Section:
    """The correlations among attributes, evaluator by evaluator, and whether anyone's are a halo."""
    names = marks.attributes()
    if len(names) < 2:
        why = "One attribute with an order correlates with nothing: internal consistency needs two."
        return Section("consistency", TITLE, (why,))
    found, summary = correlations(marks), halo(marks, draws)
    said = summary[summary["kind"].isin(["jury", "single judge"])]
    sentences = [_sentence(row) for row in said.to_dict("records")]
    jurors = summary[(summary["kind"] == "juror") & (summary["p_holm"] < LEVEL)]
    sentences += [_sentence(row) for row in jurors.to_dict("records")]
    unrated = [name for name in names if marks.reference().xs(name, level="attribute").isna().all()]
    notes = (f"rated by no person, so not compared: {', '.join(unrated)}",) if unrated else ()
    return Section(
        "consistency",
        TITLE,
        tuple(sentences) or ("No arm has marks on two attributes of the same cases.",),
        {"halo": summary, "correlations": found},
        {
            "Spearman's rho between every two attributes, evaluator by evaluator, good being high on both.": correlation_figure(
                found, names
            )
        },
        (
            "Internal consistency is Spearman's rho between every two attributes over the cases an evaluator judged, each "
            "attribute turned so that good is high; its summary is their mean, set against that of the people's reference on "
            "the same scores (a person's against the others'), ranked once, tested by swapping the two within cases or their "
            f"groups ({draws.resamples} ways, seed {draws.seed}), and p corrected by Holm's method over the evaluators.",
        ),
        (*marks.notes, *notes),
    )


def _sentence(row: dict[Any, Any]) -> str:
    if math.isnan(row["difference"]):
        return f"{row['evaluator']}: internal consistency cannot be set against people's ({row['note']})."
    size = (
        f"mean rho {row['mean']:.2f} against people's {row['people']:.2f} (difference {row['difference']:+.2f}, 95% interval "
        f"{row['low']:+.2f} to {row['high']:+.2f}"
    )
    size += f", Holm-corrected {p_words(row['p_holm'])})" if not math.isnan(row["p_holm"]) else ")"
    if not row["p_holm"] < LEVEL:
        return f"{row['evaluator']}'s attributes are not shown to go together more or less than people's: {size}."
    if row["difference"] > 0:
        return f"{row['evaluator']}'s attributes go together more than people's, as under a halo: {size}."
    return f"{row['evaluator']}'s attributes go together less than people's: {size}."


CONSISTENCY = Audit("consistency", lambda given, draws: consistency_section(given.marks, draws), 50)
