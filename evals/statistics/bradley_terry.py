"""Strengths of players from who beat whom, by the model of Bradley and Terry."""

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, stdtrit

from .estimate import Estimate, undefined
from .matrix import FloatArray, IntArray

METHOD = "Bradley-Terry, log-odds against the average player; interval robust to comparisons of one case"
STEPS = 100


def bradley_terry(
    first: IntArray,
    second: IntArray,
    shares: FloatArray,
    cluster: IntArray,
    *,
    players: int,
    confidence: float = 0.95,
) -> list[Estimate]:
    """For each player, the log-odds of beating one of average strength: the odds of i over j are exp(i - j).

    A tie is half a win each, and a probability a share of one; so the likelihood is taken as a quasi-likelihood and
    the standard errors are sandwich estimates, comparisons of one case counting as one.

    Args:
        first: For each comparison, the number of one player, and `second` that of the other.
        shares: What the first won of each: 1, 0, or between.

    Returns:
        NaN with a note where no finite strengths exist: some players never lost to the others, or were never compared
        with them. No interval where every comparison came out as the strengths have it, ties alone for one, or all are of one case.

    References:
        Bradley and Terry (1952), Biometrika 39:324-345. Ford (1957), American Mathematical Monthly 64(8):28-33.
    """
    n = [int(((first == player) | (second == player)).sum()) for player in range(players)]
    beats = np.zeros((players, players))
    np.add.at(beats, (first, second), shares)
    np.add.at(beats, (second, first), 1 - shares)
    if connected_components(beats > 0, directed=True, connection="strong")[0] > 1:
        why = (
            "some never lost to the others, or were never compared with them: strengths have no finite value"
        )
        return [undefined(why, method=METHOD, n=each, confidence=confidence) for each in n]
    design = np.zeros((len(shares), players))
    design[np.arange(len(shares)), first] += 1
    design[np.arange(len(shares)), second] -= 1
    strength = _maximum(design, shares)
    chance = expit(design @ strength)
    bread = _inverse(design, chance)
    score = np.zeros((int(cluster.max()) + 1, players))
    np.add.at(score, cluster, design * (shares - chance)[:, None])
    cases = len(score)
    spread = bread @ (score.T @ score) @ bread * (cases / max(cases - 1, 1))
    error = np.sqrt(np.maximum(np.diag(spread), 0.0))
    if cases < 2 or error.max() < 1e-9:
        why = "all comparisons are of one case" if cases < 2 else "comparisons of the same two never differ"
        return [
            Estimate(float(s), np.nan, np.nan, each, METHOD, confidence, f"no interval: {why}")
            for s, each in zip(strength, n, strict=True)
        ]
    reach = float(stdtrit(cases - 1, (1 + confidence) / 2)) * error
    return [
        Estimate(float(s), float(s - r), float(s + r), each, METHOD, confidence, se=float(e))
        for s, r, e, each in zip(strength, reach, error, n, strict=True)
    ]


def _inverse(design: FloatArray, chance: FloatArray) -> FloatArray:
    """The generalised inverse of the information, which says nothing of all strengths rising together."""
    information = design.T @ (design * (chance * (1 - chance))[:, None])
    together = np.full_like(information, 1 / len(information))
    # By singular values the direction of all together would be told from the others by rounding.
    return np.asarray(np.linalg.inv(information + together) - together)


def _maximum(design: FloatArray, shares: FloatArray) -> FloatArray:
    """Newton's method on strengths that add up to zero, steps halved until the likelihood rises."""
    strength = np.zeros(design.shape[1])

    def likelihood(at: FloatArray) -> float:
        gap = design @ at
        return float((shares * gap - np.logaddexp(0, gap)).sum())

    for _ in range(STEPS):
        chance = expit(design @ strength)
        slope = design.T @ (shares - chance)
        step = _inverse(design, chance) @ slope
        while likelihood(strength + step) < likelihood(strength) - 1e-12:
            step = step / 2
        strength = strength + step
        if np.abs(step).max() < 1e-10:
            break
    return strength - strength.mean()
