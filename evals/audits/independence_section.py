"""Is a jury more than one judge? Effective votes as a part of a comparison, before deliberation and after each round."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from ..figures.section import Section
from ..inference.effective_votes import votes_by_round
from ..ratings.evidence import Evidence
from ..ratings.question import Question
from ..ratings.reference import codes
from .audit import Audit

TITLE = "Is the jury more than one judge?"
COLUMNS = ["arm", "attribute", "jurors", "round", "kish", "eigenvalues", "correlation", "majority", "independent", "right_to_wrong", "wrong_to_right", "cases", "note"]  # fmt: skip


def independence_table(evidence: Evidence) -> pd.DataFrame:
    """One row an arm, attribute and round: what the jury is worth in independent votes where people's reference is known.

    On a scale of three points or more a vote is right within half a step of the reference, and the majority is right where
    most jurors are.
    """
    votes = evidence.rounds
    truth = evidence.reference().table
    parts: list[pd.DataFrame] = []
    if votes.empty or truth.empty:
        return pd.DataFrame(columns=COLUMNS)
    for (arm, attribute), mine in votes.groupby(["arm", "attribute"], sort=False):
        labels = truth[truth["attribute"] == attribute].set_index("case")["value"]
        if mine["juror"].nunique() < 2 or not mine["case"].isin(labels.index).any():
            continue
        question = evidence.questions[str(attribute)]
        graded = _right_or_wrong(mine, labels, str(attribute), question)
        found = votes_by_round(graded, pd.Series(1, index=graded["case"].unique()))
        parts.append(found.assign(arm=str(arm), attribute=str(attribute), jurors=mine["juror"].nunique()))
    return pd.concat(parts, ignore_index=True)[COLUMNS] if parts else pd.DataFrame(columns=COLUMNS)


def independence_section(evidence: Evidence) -> Section | None:
    """The effective votes of every jury; None where no jury of two seats or more has labels."""
    table = independence_table(evidence)
    if table.empty:
        return None
    sentences = [
        _sentence(str(arm), str(attribute), rows)
        for (arm, attribute), rows in table.groupby(["arm", "attribute"], sort=False)
    ]
    return Section(
        name="independence",
        title=TITLE,
        sentences=tuple(sentences),
        tables={"rounds": table},
        methods=(
            "Effective votes from the correlation of jurors' being right: Kish's, and the participation ratio of its eigenvalues; "
            "beside the majority, what a majority of members as good as these would get right if they erred apart (Condorcet).",
        ),
        notes=tuple(f"{row['arm']}, {row['attribute']}, round {row['round']}: {row['note']}" for row in table.to_dict("records") if row["note"]),
    )  # fmt: skip


def _sentence(arm: str, attribute: str, rows: pd.DataFrame) -> str:
    first, last = rows.iloc[0], rows.iloc[-1]
    worth = "an unknown number of" if math.isnan(last["kish"]) else f"{last['kish']:.1f}"
    told = (
        f"{arm}, {attribute}: {last['jurors']} jurors are worth {worth} independent votes (by eigenvalues {last['eigenvalues']:.1f}); most "
        f"of them are right on {last['majority']:.0%} of {last['cases']} cases, {last['independent']:.0%} if they erred apart."
    )
    if len(rows) == 1:
        return told
    back, ahead = int(rows["right_to_wrong"].sum()), int(rows["wrong_to_right"].sum())
    gain, closer = last["majority"] - first["majority"], last["correlation"] - first["correlation"]
    added = "information" if gain > 0 and ahead > back else "agreement only" if closer > 0 else "neither"
    return (
        f"{told} Before deliberation they were worth {first['kish']:.1f} and right on {first['majority']:.0%}; {ahead} votes went from wrong "
        f"to right and {back} from right to wrong: deliberation added {added}."
    )


def _right_or_wrong(
    votes: pd.DataFrame, labels: pd.Series, attribute: str, question: Question
) -> pd.DataFrame:
    """The votes on labelled cases as right (1) or wrong (0); a blank one stays blank."""
    kept = votes[votes["case"].isin(labels.index)]
    scale = question.scale
    given = codes(kept.assign(attribute=attribute), {attribute: question}).to_numpy(float)
    wanted = labels.reindex(kept["case"])
    truth = codes(
        pd.DataFrame({"attribute": attribute, "value": wanted.to_numpy()}), {attribute: question}
    ).to_numpy(float)
    steps = (
        [float(b) - float(a) for a, b in zip(scale.values, scale.values[1:], strict=False)]
        if scale.numeric
        else []
    )
    allowed = min(steps, default=0.0) / 2 if scale.ordered else 0.0
    right = np.where(np.isnan(given), np.nan, np.abs(given - truth) <= allowed + 1e-9)
    return kept.assign(value=right)[["case", "juror", "round", "value"]]


INDEPENDENCE = Audit("independence", lambda given, draws: independence_section(given.evidence), 80)
