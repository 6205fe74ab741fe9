"""Giving an arm up early: another that costs no more has already been shown to agree better, on the same cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import t as student

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
    """Its mean credit on each case, or on each group of cases."""

    @property
    def objectives(self) -> dict[str, float]:
        return {"agreement": self.agreement, "cost": self.cost, "latency": self.latency}


def scores(credits: pd.DataFrame) -> dict[str, Score]:
    """Each arm's score on the cases of `credits`."""
    table = credits.dropna(subset=["credit"])
    cluster = table["case"]
    if "group" in table:
        cluster = table["group"].where(table["group"].notna(), table["case"])
    found = {}
    for arm, rows in table.assign(cluster=cluster).groupby("arm", sort=False):
        found[str(arm)] = Score(
            agreement=float(rows["credit"].mean()),
            cost=float(rows["cost"].iloc[0]),
            latency=float(rows["seconds"].iloc[0]),
            by_cluster={
                str(name): float(mean) for name, mean in rows.groupby("cluster")["credit"].mean().items()
            },
        )
    return found


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


def front(found: Mapping[str, Score], objectives: Sequence[str]) -> list[str]:
    """The arms that no other equals in every objective and beats in one, the best agreement first."""

    def goods(score: Score) -> tuple[float, ...]:
        told = score.objectives
        return tuple(told[each] if each == "agreement" else -told[each] for each in objectives)

    known = {name: goods(score) for name, score in found.items() if not np.isnan(goods(score)).any()}

    def beaten(name: str) -> bool:
        mine = known[name]
        return any(
            all(a >= b for a, b in zip(other, mine, strict=True)) and other != mine
            for other in known.values()
        )

    kept = [name for name in known if not beaten(name)]
    return sorted(kept, key=lambda name: -found[name].agreement)
