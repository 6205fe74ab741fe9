"""Is a jury more than one judge? Effective votes as a part of a comparison, before deliberation and after each round."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from ..figures.section import Section
from ..inference.effective_votes import votes_by_round
from ..ratings.question import Question, half_step
from ..ratings.reference import KEYS, codes
from ..statistics.draws import Draws
from .audit import Audit, AuditInput

TITLE = "Is the jury more than one judge?"
COLUMNS = ["arm", "attribute", "jurors", "round", "kish", "eigenvalues", "correlation", "majority", "independent", "right_to_wrong", "wrong_to_right", "cases", "note"]  # fmt: skip


def independence_table(
    rounds: pd.DataFrame, truth: pd.DataFrame, questions: Mapping[str, Question]
) -> pd.DataFrame:
    """One row an arm, attribute and round: what the jury is worth in independent votes where people's reference is known.

    On a scale of three points or more a vote is right within half a step of the reference, and the majority is right where
    most jurors are.

    Args:
        rounds: The votes, as `RoundVotes` gives them.
        truth: `case`, `attribute`, `value`: people's reference.
    """
    parts: list[pd.DataFrame] = []
    if rounds.empty or truth.empty:
        return pd.DataFrame(columns=COLUMNS)
    graded = rounds.assign(**_right_or_wrong(rounds, truth, questions))
    for (arm, attribute), mine in graded.groupby(["arm", "attribute"], sort=False):
        jurors = mine["juror"].nunique()
        labelled = mine[mine["labelled"]]
        if jurors < 2 or labelled.empty:
            continue
        found = votes_by_round(labelled, pd.Series(1, index=labelled["case"].unique()))
        parts.append(found.assign(arm=str(arm), attribute=str(attribute), jurors=jurors))
    return pd.concat(parts, ignore_index=True)[COLUMNS] if parts else pd.DataFrame(columns=COLUMNS)


def independence_section(
    rounds: pd.DataFrame,
    truth: pd.DataFrame,
    questions: Mapping[str, Question],
    *,
    most: int | None = None,
) -> Section | None:
    """The effective votes of every jury, as `compare`, `study` and the inspector show them; None where no jury of two seats
    or more has labels.

    Args:
        most: Sentences to say, the first arms' first; the table has every arm.
    """
    table = independence_table(rounds, truth, questions)
    if table.empty:
        return None
    sentences = [
        _sentence(str(arm), str(attribute), rows)
        for (arm, attribute), rows in table.groupby(["arm", "attribute"], sort=False)
    ]
    if most is not None and len(sentences) > most:
        sentences = [
            *sentences[:most],
            f"{len(sentences) - most} more juries and attributes are in the table.",
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
    told = (
        f"{arm}, {attribute}: {last['jurors']} jurors are worth {_votes(last['kish'])} independent votes (by eigenvalues {_votes(last['eigenvalues'])}); most "
        f"of them are right on {_share(last['majority'])} of {last['cases']} cases, {_share(last['independent'])} if they erred apart."
    )
    if len(rows) == 1:
        return told
    back, ahead = int(rows["right_to_wrong"].sum()), int(rows["wrong_to_right"].sum())
    gain, closer = last["majority"] - first["majority"], last["correlation"] - first["correlation"]
    added = "information" if gain > 0 and ahead > back else "agreement only" if closer > 0 else "neither"
    return (
        f"{told} Before deliberation they were worth {_votes(first['kish'])} and right on {_share(first['majority'])}; {ahead} {'vote' if ahead == 1 else 'votes'} went from wrong "
        f"to right and {back} from right to wrong: deliberation added {added}."
    )


def _votes(number: float) -> str:
    return "an unknown number of" if math.isnan(number) else f"{number:.1f}"


def _share(value: float) -> str:
    return "an unknown share" if math.isnan(value) else f"{value:.0%}"


def _right_or_wrong(
    votes: pd.DataFrame, truth: pd.DataFrame, questions: Mapping[str, Question]
) -> dict[str, np.ndarray]:
    """Vote by vote whether its case is `labelled`, and as its `value` 1 for right, 0 for wrong; a blank one stays blank."""
    known = truth[truth["attribute"].isin(votes["attribute"])]
    place = pd.MultiIndex.from_frame(known[KEYS]).get_indexer(pd.MultiIndex.from_frame(votes[KEYS]))
    labelled = place >= 0
    given, right = votes[labelled], np.full(len(votes), np.nan)
    if len(given):
        wanted = codes(known, questions).to_numpy(float)[place[labelled]]
        scales = {name: questions[str(name)].scale for name in dict.fromkeys(given["attribute"])}
        allowed = {name: half_step(scale) or 0.0 if scale.ordered else 0.0 for name, scale in scales.items()}
        apart = np.abs(codes(given, questions).to_numpy(float) - wanted)
        near = apart <= given["attribute"].map(allowed).to_numpy(float) + 1e-9
        right[labelled] = np.where(np.isnan(apart), np.nan, near)
    return {"labelled": labelled, "value": right}


def _audit(given: AuditInput, draws: Draws) -> Section | None:
    evidence = given.evidence
    return independence_section(evidence.rounds, evidence.reference().table, evidence.questions)


INDEPENDENCE = Audit("independence", _audit, 80)
