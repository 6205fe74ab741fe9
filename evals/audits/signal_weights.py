"""How much each signal of a triage weighs: what is known beforehand, and, where people labelled cases, what it is worth there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ratings.folds import folds
from ..statistics.matrix import FloatArray, IntArray
from ..statistics.mean_ranks import mean_ranks

PRIOR = {"low_score": 1.0, "spread": 6.0, "overruled": 1.0, "unsupported": 1.0, "risk": 2.0, "warnings": 1.0}
"""Without labels. Disagreement told most where it could be checked, so that the rest together cannot drown it."""
FEW = 10
"""So many labelled errors count as much as what is known beforehand."""
FOLDS = 5


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
                other = known[fold.chosen_on]
                weights[known[fold.held_out]] = signal_weights(shares[other], wrong[other], prior)
    return np.asarray((shares * weights).sum(axis=1), dtype=float)


def signal_weights(shares: FloatArray, wrong: FloatArray, prior: FloatArray) -> FloatArray:
    """Weights that add up to 1: how far each signal's area lies above a half, squared, and drawn towards `prior` where
    errors are few."""
    prior = prior / prior.sum()
    errors = int(wrong.sum())
    if not 0 < errors < len(wrong):
        return prior
    ranks = np.column_stack([mean_ranks(column) for column in shares.T])
    above = (ranks[wrong == 1].mean(axis=0) - ranks[wrong == 0].mean(axis=0)) / len(wrong)
    worth = np.clip(above, 0, None) ** 2
    if not worth.sum():
        return prior
    trust = min(errors, len(wrong) - errors)
    return np.asarray((trust * worth / worth.sum() + FEW * prior) / (trust + FEW), dtype=float)
