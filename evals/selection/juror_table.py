"""One row a juror: how well it does alone, and what it adds to others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from ..statistics.estimate import Estimate
from .contributions import Shares, leave_one_out
from .jury_counts import VoteCounter
from .nested_validation import HeldOut
from .paired_means import mean_credit_estimate, mean_difference


def jurors_table(counter: VoteCounter, shares: Shares, chosen: HeldOut) -> pd.DataFrame:
    """Scores, leave-one-out and Shapley values with their intervals; those who add most first."""
    pool = counter.pool
    alone = counter.credits(np.eye(len(pool.jurors), dtype=bool))
    without = leave_one_out(counter)
    rows = []
    for at, name in enumerate(pool.jurors):
        found = {
            "": mean_credit_estimate(alone[at], pool.cluster, method="agreement"),
            "leave_one_out": mean_difference(
                without[at], pool.cluster, method="with less without"
            ).difference,
            "shapley": _with_sampling(
                mean_difference(shares.each[at], pool.cluster, method="Shapley value").difference,
                shares.se[at],
            ),
        }
        rows.append(
            {
                "juror": name,
                "in_jury": bool(chosen.seated[at]),
                "score": found[""].value,
                "low": found[""].low,
                "high": found[""].high,
                "answered": float((~np.isnan(pool.votes[:, at])).mean()),
                "cost": pool.cost[at],
                **{
                    f"{what}{end}": value
                    for what in ("leave_one_out", "shapley")
                    for end, value in (
                        ("", found[what].value),
                        ("_low", found[what].low),
                        ("_high", found[what].high),
                    )
                },
                "shapley_se": shares.se[at],
            }
        )
    table = pd.DataFrame(rows)
    return table.sort_values("shapley", ascending=False, ignore_index=True)


def _with_sampling(found: Estimate, se: float) -> Estimate:
    """The interval over cases, wider by the error of having sampled orders."""
    low = found.value - float(np.hypot(found.value - found.low, 1.96 * se))
    return replace(found, low=low, high=found.value + float(np.hypot(found.high - found.value, 1.96 * se)))
