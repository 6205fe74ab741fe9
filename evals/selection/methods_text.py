"""The methods of a selection as sentences for a paper: every choice behind its numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ratings.folds import Fold, held_rows
from ..ratings.reference import Rule, rule_words
from ..statistics.draws import Draws
from ..statistics.matrix import IntArray
from ..statistics.paired_test import LEAST_CLUSTERS
from .contributions import Shares
from .juror_pool import Pool
from .jury_search import EVERY
from .nested_validation import INNER
from .power import EFFECTS

_CREDIT = (
    "Agreement is the mean credit of an answer: on nominal and binary scales 1 for the people's answer and 0 for any other or for none; on scales "
    "of numbers 1 less the distance from the people's value as a share of the scale's width, questions without an answer left out "
    "(percent agreement with linear weights)."
)  # fmt: skip


def pool_methods(
    pool: Pool, parts: Sequence[Fold], counting: str, shares: Shares, *, largest: int, tested: bool, rule: Rule | None, draws: Draws,
    usual: tuple[float, float],
) -> tuple[str, ...]:  # fmt: skip
    """The methods of juries made of recorded jurors."""
    sampled = (
        f"sampled over {shares.orders} orders of arrival, half of them reverses of the others; the standard error is that of the sampling"
        if shares.orders
        else "over every coalition"
    )
    return (
        f"{len(pool.jurors)} jurors answered {len(pool.truth)} questions on {pool.questions['case'].nunique()} cases. Juries were counted by {counting}, by the "
        "rules of a panel with a quorum of one: on a binary scale a tie has no answer, which is a miss; an abstention is no vote.",
        _credit_words(rule),
        f"For each size up to {largest} the jury that agrees best was searched: all juries where there are up to {EVERY}, otherwise forward "
        "steps with exchanges of single members. " + _split_words(parts, pool.cluster, tested)
        + f" Within what chooses, {INNER} inner folds choose the size; the single judge is chosen on the same cases. The naive figure is that of the best "
        "jury on the cases that chose it. Costs are those of the jury chosen on all of them; seconds are those of its slowest member.",
        f"A juror's share is the Shapley value of mean credit, {sampled}; with no juror at all the best constant answer to each attribute is given.",
        "Errors are wrong answers (or none) on nominal and binary scales, signed distances on others. The effective number of jurors is "
        "n / (1 + (n - 1) r), r the mean correlation of errors; participation is the squared sum of the eigenvalues of their correlations "
        "over the sum of squares.",
        _interval_words(pool.cluster, draws),
        _power_words(usual),
    )  # fmt: skip


def arm_methods(
    shape: tuple[int, int], parts: Sequence[Fold], cluster: IntArray, tested: bool, rule: Rule | None, draws: Draws, usual: tuple[float, float]
) -> tuple[str, ...]:  # fmt: skip
    """The methods of arms that deliberated."""
    return (
        f"{shape[1]} arms answered {shape[0]} questions.",
        _credit_words(rule),
        "The best arm, the best jury and the best single judge were each chosen on some cases and scored on others. "
        + _split_words(parts, cluster, tested),
        _interval_words(cluster, draws),
        _power_words(usual),
    )


def _split_words(parts: Sequence[Fold], cluster: IntArray, tested: bool) -> str:
    held = len(np.unique(cluster[held_rows(parts)]))
    if tested:
        return f"One test set of {held} cases or groups was held out."
    rounds = sum(len(fold.held_out) for fold in parts) // len(cluster)
    again = f", {rounds} times in different folds; its credit is the mean over them" if rounds > 1 else ""
    return f"Each case was held out in one of {len(parts) // rounds} folds that keep cases of one group together{again}."


def _credit_words(rule: Rule | None) -> str:
    return f"{_CREDIT} The people's value is the {rule_words(rule)}."


def _interval_words(cluster: IntArray, draws: Draws) -> str:
    return (
        f"Intervals are 95%, by the jackknife over {len(np.unique(cluster))} cases or groups and Student's t (of shares, on the logit scale); differences are paired, and "
        f"interval and p of one are from the same t. Below {LEAST_CLUSTERS} cases or groups none is given. Intervals of what was chosen in folds are widened, for "
        f"folds share cases (Nadeau and Bengio 2003). Folds are drawn by seed {draws.seed}."
    )  # fmt: skip


def _power_words(usual: tuple[float, float]) -> str:
    effects = " and ".join(map(str, EFFECTS))
    mean = (
        f" Over all pairs of arms, {usual[0]:.3f} ± {usual[1]:.3f} can be detected."
        if not np.isnan(usual[0])
        else ""
    )
    return (
        "Detectable differences have 80% power at 5% (two-sided), from the standard deviation of the paired difference by case: "
        f"(1.96 + 0.84) s / sqrt(n) (Bedi et al. 2025, Appendix E); cases are given for {effects}.{mean}"
    )  # fmt: skip
