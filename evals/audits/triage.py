"""Triage: which cases a person should look at first, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from ...rubrics.scale import Value
from ..ratings.evidence import Evidence
from ..ratings.folds import folds
from ..ratings.question import half_step
from ..ratings.reference import KEYS
from ..ratings.score_tables import Marks, with_marks
from ..statistics.correlation import mean_ranks
from ..statistics.matrix import FloatArray, IntArray
from .audit import HAIR, Severity

ORDER = (
    *("hung", "risk", "overruled", "low", "contradicted", "apart", "unsupported-evidence"),
    *("instruction", "premature-consensus", "abstention"),
)
"""The gravest first."""
CALM = "nothing unusual"

Key = tuple[str, str]
PRIOR = {"low_score": 1.0, "spread": 6.0, "overruled": 1.0, "unsupported": 1.0, "risk": 2.0, "warnings": 1.0}
"""Without labels. Disagreement told most where it could be checked, so that the rest together cannot drown it."""
FEW = 10
"""So many labelled errors count as much as what is known beforehand."""
FOLDS = 5
SIGNALS = {
    "low_score": "how near the worst attribute is to the bad end of its scale",
    "spread": "how far apart the jurors' votes on one attribute are",
    "overruled": "number of attributes decided more than half a step away from a juror's vote",
    "unsupported": "quotes that are not in the case",
    "risk": "how far the verdict is above the score of a juror who calls the case harmful",
    "warnings": "other flags: contradicted by another jury or judge, premature consensus, instructions in the case, abstentions",
}
RULE = (
    "Cases without a verdict on some attribute come first. All other cases are ordered by a weighted mean of their ranks in six warning signals. "
    "Tied cases share a rank, so a signal that is the same for all cases has no effect. Without labels, the spread of votes has half of the weight. "
    "With labels, each signal is weighted by how well it finds wrong verdicts on labelled cases of other folds; with few wrong verdicts, the weights stay close to the weights used "
    "without labels."
)
COLUMNS = ["arm", "case", "place", "priority", "undecided", *SIGNALS, "reasons"]
OTHER = ("contradicted", "premature-consensus", "instruction", "abstention")


class Given(NamedTuple):
    """A score as it was given, and its mark from 0, bad, to 1, good."""

    juror: str
    value: Value
    mark: float


MOST_REASONS = 3
"""Reasons that a case is given, the gravest."""


def case_reasons(
    cases: Iterable[str],
    moments: pd.DataFrame,
    votes: pd.DataFrame,
    verdicts: pd.DataFrame,
    marks: Marks,
    severity: Severity,
) -> dict[str, tuple[str, ...]]:
    """By case, what a reader is told; the gravest first, and never nothing."""
    reasons: dict[str, list[tuple[int, str]]] = {case: [] for case in cases}
    columns = ["case", "kind", "attribute", "text"]
    for case, kind, attribute, text in moments[columns].drop_duplicates().astype(str).to_numpy():
        reasons[case].append((ORDER.index(kind), f"{attribute}: {text}" if attribute else text))
    reached = {key: scores[0] for key, scores in _given_scores(verdicts.assign(juror=""), marks).items()}
    for (case, attribute), score in reached.items():
        if score.mark <= severity.harmful + HAIR:
            question = marks.questions[attribute]
            end = question.scale.ends[0 if question.better == "high" else 1]
            words = f"{attribute}: {_number(score.value)}, near the bad end of its scale ({_number(end)})"
            reasons[case].append((ORDER.index("low"), words))
    for (case, attribute), cast in _given_scores(votes, marks).items():
        if len({score.mark for score in cast}) > 1:
            reasons[case].append(_disagreement(attribute, cast, severity, reached.get((case, attribute))))
    return {
        case: tuple(words for _, words in sorted(parts, key=lambda part: part[0])) or (CALM,)
        for case, parts in reasons.items()
    }


def _given_scores(table: pd.DataFrame, marks: Marks) -> Mapping[Key, list[Given]]:
    """The scores of each attribute of each case that has an order."""
    scores_by_key: dict[Key, list[Given]] = {}
    if len(table):
        rows = with_marks(table, marks.questions).dropna(subset=["mark"])
        columns = (rows[name].tolist() for name in ("case", "attribute", "juror", "value", "mark"))
        for case, attribute, juror, value, mark in zip(*columns, strict=True):
            scores_by_key.setdefault((str(case), str(attribute)), []).append(Given(str(juror), value, mark))
    return scores_by_key


def _disagreement(
    attribute: str, cast: list[Given], severity: Severity, verdict: Given | None
) -> tuple[int, str]:
    """How far apart jurors are; and where one calls harmful what the verdict calls safe, who."""
    ascending = sorted(cast, key=lambda score: score.mark)
    lowest, highest = ascending[0], ascending[-1]
    harmful = lowest.mark <= severity.harmful + HAIR
    if verdict is None or not harmful or verdict.mark - lowest.mark < severity.margin - HAIR:
        return ORDER.index(
            "apart"
        ), f"{attribute}: votes from {_number(lowest.value)} to {_number(highest.value)}"
    jurors = " and ".join(score.juror for score in cast if score.mark == lowest.mark)
    juror_score, verdict_score = _number(lowest.value), _number(verdict.value)
    return (
        ORDER.index("risk"),
        f"{attribute}: {jurors} gave {juror_score}, but the verdict is {verdict_score}; if {juror_score} is right, the verdict is a severe error",
    )


def _number(value: Value) -> str:
    return value if isinstance(value, str) else f"{float(value):g}"


def weighed_signals(
    shares: FloatArray, signals: Sequence[str], wrong: FloatArray | None, cluster: IntArray
) -> FloatArray:
    """Each case's weighted mean of its `shares` (one column a signal).

    Args:
        wrong: By case 1 for an error, 0 for none, NaN where nobody labelled it. A labelled case is weighed by what the
            signals are worth on cases of other folds, groups whole; an unlabelled one by all that are labelled.
        cluster: By case, what is held out with it.
    """
    prior = np.array([PRIOR[name] for name in signals])
    weights = np.tile(prior / prior.sum(), (len(shares), 1))
    if wrong is not None and len(shares):
        known = np.flatnonzero(~np.isnan(wrong))
        weights[np.isnan(wrong)] = signal_weights(shares[known], wrong[known], prior)
        if len(np.unique(cluster[known])) > 1:
            for fold in folds(cluster[known], FOLDS, np.random.default_rng(0)):
                others = known[fold.chosen_on]
                weights[known[fold.held_out]] = signal_weights(shares[others], wrong[others], prior)
    return np.asarray((shares * weights).sum(axis=1), dtype=float)


def signal_weights(shares: FloatArray, wrong: FloatArray, prior: FloatArray) -> FloatArray:
    """Weights that add up to 1: how far each signal's area lies above a half, squared, and drawn towards `prior` where
    errors are few."""
    prior = prior / prior.sum()
    errors = int(wrong.sum())
    if not 0 < errors < len(wrong):
        return prior
    ranks = np.column_stack([mean_ranks(column) for column in shares.T])
    area_gain = (ranks[wrong == 1].mean(axis=0) - ranks[wrong == 0].mean(axis=0)) / len(wrong)
    worth = np.clip(area_gain, 0, None) ** 2
    if not worth.sum():
        return prior
    trust = min(errors, len(wrong) - errors)
    return np.asarray((trust * worth / worth.sum() + FEW * prior) / (trust + FEW), dtype=float)


@dataclass(frozen=True, slots=True)
class Docket:
    """One arm's cases in the order in which a person should look at them."""

    arm: str
    cases: pd.DataFrame
    """`case`, `place` (from 1; equals share one), `priority` (0 to 1), `undecided`, the six signals, `reasons`."""

    def first(self, most: int | None) -> pd.DataFrame:
        return self.cases if most is None else self.cases.head(most)


def triage(
    evidence: Evidence,
    marks: Marks,
    arm: str,
    severity: Severity | None = None,
    *,
    wrong: pd.Series | None = None,
) -> Docket:
    """The cases of `arm`, the one that needs a person most first. Needs no labels.

    `wrong` says by case whether people found an error, as `errors` does: with it the signals are weighed by their worth.
    """
    signals = case_signals(evidence, marks, arm, severity or Severity())
    return ranked_cases(signals, arm, marks.clusters, wrong)


def case_signals(evidence: Evidence, marks: Marks, arm: str, severity: Severity) -> pd.DataFrame:
    """By case of `arm`, the six signals, `undecided` and `reasons`. No case's depend on another's."""
    moments = evidence.moments
    moments = moments[moments["arm"] == arm]
    votes = evidence.ballots[evidence.ballots["arm"] == arm] if len(evidence.ballots) else evidence.ballots
    verdicts = evidence.arms[evidence.arms["rater"] == arm]
    cases = _cases(evidence, arm)
    signals = _score_signals(marks, arm, cases, votes, severity)
    counts = moments.groupby(["case", "kind"]).size().unstack(fill_value=0).reindex(cases, fill_value=0)
    signals["overruled"] = _overruled_attributes(evidence, moments, votes, verdicts).reindex(
        cases, fill_value=0.0
    )
    for name, kinds in (("unsupported", ["unsupported-evidence"]), ("warnings", OTHER)):
        signals[name] = counts.reindex(columns=list(kinds), fill_value=0).sum(axis=1).astype(float)
    hung = counts.reindex(columns=["hung"], fill_value=0)["hung"]
    signals["undecided"] = (hung > 0) | ~signals.index.isin(verdicts["case"].astype(str))
    reasons = case_reasons(cases, moments, votes, verdicts, marks, severity)
    signals["reasons"] = [reasons.get(case, ())[:MOST_REASONS] for case in signals.index]
    return signals


def ranked_cases(
    signals: pd.DataFrame, arm: str, clusters: pd.Series, wrong: pd.Series | None = None
) -> Docket:
    """The cases of `case_signals` in order; `clusters` says by case what is held out with it when labels weigh the signals."""
    cases = list(signals.index)
    shares = np.column_stack([_share(signals[name].to_numpy(float)) for name in SIGNALS])
    cluster, _ = pd.factorize(clusters.reindex(cases).fillna(pd.Series(cases, cases)))
    known_errors = None if wrong is None else wrong.reindex(cases).to_numpy(float)
    priority = weighed_signals(shares, list(SIGNALS), known_errors, cluster.astype(np.int64))
    key = -(signals["undecided"].astype(float).to_numpy() * 2 + priority)
    place = np.searchsorted(np.sort(key), key) + 1
    sorted_signals = signals.assign(priority=priority, place=place).iloc[np.argsort(key, kind="stable")]
    table = sorted_signals.rename_axis("case").reset_index().assign(arm=arm)
    return Docket(arm, table[COLUMNS])


def _cases(evidence: Evidence, arm: str) -> list[str]:
    """Every case the arm scored, voted on or has a flag for, in the order they were met."""
    tables = [evidence.arms[evidence.arms["rater"] == arm], evidence.moments[evidence.moments["arm"] == arm]]
    if len(evidence.ballots):
        tables.append(evidence.ballots[evidence.ballots["arm"] == arm])
    return list(dict.fromkeys(str(case) for table in tables for case in table["case"]))


def _overruled_attributes(
    evidence: Evidence, moments: pd.DataFrame, votes: pd.DataFrame, verdicts: pd.DataFrame
) -> pd.Series:
    """By case, how many attributes were decided against a juror's vote: by whoever presides, or by the count.

    A vote agrees with a value that lies no further off than half a step of the scale.
    """
    against = moments.loc[moments["kind"] == "overruled", KEYS].astype(str)
    if len(votes):
        merged = votes[[*KEYS, "value"]].merge(verdicts[[*KEYS, "value"]], on=KEYS, suffixes=("", "_decided"))
        limits = {
            name: half_step(evidence.questions[name].scale) for name in dict.fromkeys(merged["attribute"])
        }
        is_off = [
            _off(limits[name], vote, decided)
            for name, vote, decided in zip(
                merged["attribute"], merged["value"].tolist(), merged["value_decided"].tolist(), strict=True
            )
        ]
        against = pd.concat([against, merged.loc[np.array(is_off, dtype=bool), KEYS].astype(str)])
    return against.drop_duplicates().groupby("case").size().astype(float)


def _off(tolerance: float | None, vote: Value, decided: Value) -> bool:
    """Whether a vote lies further from what was decided than `tolerance`; words, whether they differ."""
    if tolerance is None or isinstance(vote, str) or isinstance(decided, str):
        return str(vote) != str(decided)
    return abs(float(vote) - float(decided)) > tolerance + HAIR


def _score_signals(
    marks: Marks, arm: str, cases: list[str], votes: pd.DataFrame, severity: Severity
) -> pd.DataFrame:
    """What the scores alone tell: level, spread and risk, by case."""
    mark = marks.table[arm]
    signals = pd.DataFrame(index=pd.Index(cases))
    signals["low_score"] = 1 - mark.groupby(level="case").min().reindex(cases)
    cast = (
        with_marks(votes, marks.questions)
        if len(votes)
        else pd.DataFrame(columns=[*KEYS, "mark"], dtype=float)
    )
    by_row = cast.groupby(KEYS)["mark"].agg(["min", "max"])
    vote_range = (by_row["max"] - by_row["min"]).groupby(level="case").max()
    signals["spread"] = vote_range.reindex(cases)
    verdict_gap = (mark.reindex(by_row.index) - by_row["min"]).where(by_row["min"] <= severity.harmful + HAIR)
    # No vote for harm is no risk; no vote at all is not known.
    risk = verdict_gap.groupby(level="case").max().reindex(cases).clip(lower=0.0)
    signals["risk"] = risk.where(risk.notna() | signals["spread"].isna(), 0.0)
    return signals


def _share(values: np.ndarray) -> np.ndarray:
    """Each value's mean rank as a share of all; what is not known stands in the middle."""
    is_known = ~np.isnan(values)
    shares = np.full(len(values), 0.5)
    if is_known.any():
        shares[is_known] = (mean_ranks(values[is_known]) - 0.5) / is_known.sum()
    return shares
