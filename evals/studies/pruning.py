"""Pruning: an arm is given up when one that costs no more has been shown to agree better, on the same cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import t as student

from ..ratings.clusters import clusters, groups_in
from ..selection.candidates import pareto
from ..selection.choices import scored_votes
from ..selection.objectives import AnswerScale, Objective

CONFIDENCE = 0.95
"""One-sided, and shared out among all the arms that it is held against: how sure it must be that one is better."""
FEWEST = 3
"""Cases (or groups of cases) without which nothing is given up."""


@dataclass(frozen=True, slots=True)
class Score:
    """What an arm earned and took on some cases."""

    agreement: float
    cost: float
    latency: float
    by_cluster: Mapping[str, float]
    """Its mean credit on each case, or on each group of cases; or the pseudo-values of its objective."""

    @property
    def objectives(self) -> dict[str, float]:
        return {"agreement": self.agreement, "cost": self.cost, "latency": self.latency}


def arm_scores(
    credits: pd.DataFrame, wanted: Objective | None = None, scales: Mapping[str, AnswerScale] | None = None
) -> dict[str, Score]:
    """Each arm's score on the cases of `credits`: by mean credit, or by the objective that the study chooses by, high being good."""
    table = credits.dropna(subset=["credit"])
    table = table.assign(cluster=clusters(table["case"], groups_in(table)))
    if wanted is not None and scales:
        return _by_objective(table, wanted, scales)
    scores = {}
    for arm, rows in table.groupby("arm", sort=False):
        scores[str(arm)] = Score(
            agreement=float(rows["credit"].mean()),
            cost=float(rows["cost"].iloc[0]),
            latency=float(rows["seconds"].iloc[0]),
            by_cluster={
                str(name): float(mean) for name, mean in rows.groupby("cluster")["credit"].mean().items()
            },
        )
    return scores


def _by_objective(
    table: pd.DataFrame, wanted: Objective, scales: Mapping[str, AnswerScale]
) -> dict[str, Score]:
    """Scores by an objective. By cluster stand the jackknife's pseudo-values, whose mean is the score less its bias and whose paired
    differences can be tested as those of means are."""
    fitting = {name: scale for name, scale in scales.items() if wanted.fits(scale)}
    asked = table[table["attribute"].isin(list(fitting))]
    scores = {}
    for arm, rows in asked.groupby("arm", sort=False):
        number, names = pd.factorize(rows["cluster"])
        votes = scored_votes(
            rows[["value"]].to_numpy(float),
            rows["truth"].to_numpy(float),
            rows["attribute"].tolist(),
            number,
            fitting,
        )
        said = votes.votes.T
        value = float(votes.scores(said, wanted)[0])
        kept = (number[None, :] != np.arange(len(names))[:, None]).astype(float)
        left_out = votes.scores(np.repeat(said, len(names), axis=0), wanted, kept)
        pseudo = len(names) * value - (len(names) - 1) * left_out
        if not np.isnan(value):
            by_cluster = {
                str(name): float(each) for name, each in zip(names, pseudo, strict=True) if not np.isnan(each)
            }
            scores[str(arm)] = Score(
                value, float(rows["cost"].iloc[0]), float(rows["seconds"].iloc[0]), by_cluster
            )
    return scores


def beaten_by(mine: Score, others: Mapping[str, Score], objectives: Sequence[str]) -> str | None:
    """The arm that agrees demonstrably better on the same cases and is no worse in the other objectives; None if none."""
    rest = [objective for objective in objectives if objective != "agreement"]
    rivals = {
        name: other
        for name, other in others.items()
        if all(other.objectives[each] <= mine.objectives[each] for each in rest)
    }
    return next((name for name, other in rivals.items() if _better(other, mine, len(rivals))), None)


def _better(one: Score, two: Score, tests: int) -> bool:
    """Student's t on the paired differences, case by case or group by group."""
    shared = [name for name in two.by_cluster if name in one.by_cluster]
    if len(shared) < FEWEST:
        return False
    gaps = np.array([one.by_cluster[name] - two.by_cluster[name] for name in shared])
    error = float(gaps.std(ddof=1)) / len(gaps) ** 0.5
    return bool(gaps.mean() - student.ppf(1 - (1 - CONFIDENCE) / tests, len(gaps) - 1) * error > 0)


def pareto_front(arms: Mapping[str, Score], objectives: Sequence[str]) -> list[str]:
    """The arms that no other equals in every objective and beats in one, the best agreement first."""
    rest = [objective for objective in objectives if objective != "agreement"]
    columns = {each: np.array([score.objectives[each] for score in arms.values()]) for each in rest}
    on_front = pareto(np.array([score.agreement for score in arms.values()]), *columns.values())
    kept = [name for name, on in zip(arms, on_front, strict=True) if on]
    return sorted(kept, key=lambda name: -arms[name].agreement)
