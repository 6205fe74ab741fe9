"""Weights of jurors from recorded votes: non-negative, adding up to one, drawn towards equal ones."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from ..statistics.matrix import FloatArray, IntArray
from ..statistics.mean_ranks import mean_ranks

STEPS = 300
TINY = 1e-12


def simplex_weights(votes: FloatArray, truth: FloatArray, *, ridge: float) -> FloatArray:
    """The weights whose mean of `votes` (one column a juror) comes nearest to `truth` in squares.

    Args:
        ridge: How strongly they are drawn towards equal ones; 1 counts as much as the votes themselves.
    """
    x, y, _ = _known_votes(votes, truth)
    jurors = votes.shape[1]
    equal = np.full(jurors, 1 / jurors)
    if len(y) < 3:
        return equal
    # On the simplex the error of a weighted mean is the weighted mean of the errors.
    errors = x - y[:, None]
    gram = errors.T @ errors / len(y)
    strength = ridge * float(np.trace(gram)) / jurors
    gram, target = gram + strength * np.eye(jurors), strength * equal
    step = 1 / max(float(np.linalg.eigvalsh(gram)[-1]), TINY)
    weights = equal
    for _ in range(STEPS):
        moved = _onto_simplex(weights - step * (gram @ weights - target))
        if np.abs(moved - weights).max() < 1e-9:
            break
        weights = moved
    return weights


def ordering_weights(
    votes: FloatArray, truth: FloatArray, attribute: IntArray, *, ridge: float, ranked: bool
) -> FloatArray:
    """The weights whose mean of `votes` goes with `truth` most closely, whatever the offset and the unit of either.

    Args:
        attribute: What votes and truth are centred within.
        ridge: How strongly they are drawn towards equal ones; 1 counts as much as the votes themselves.
        ranked: Whether the ranks of `truth` stand for it.
    """
    x, y, kept = _known_votes(votes, truth)
    jurors = votes.shape[1]
    equal = np.full(jurors, 1 / jurors)
    if len(y) < 3:
        return equal
    for place in np.unique(attribute[kept]):
        rows = attribute[kept] == place
        x[rows] -= x[rows].mean(axis=0)
        goal = mean_ranks(y[rows]) / rows.sum() if ranked else y[rows]
        y[rows] = goal - goal.mean()
    mean = x.mean(axis=1)
    slope = float(mean @ y) / max(float(mean @ mean), TINY)
    gram = x.T @ x / len(y)
    strength = ridge * float(np.trace(gram)) / jurors
    root = np.linalg.cholesky(gram + (strength + TINY) * np.eye(jurors))
    pulled = x.T @ y / len(y) + strength * max(slope, 0.0) * equal
    weights, _ = nnls(root.T, np.linalg.solve(root, pulled))
    return weights / weights.sum() if weights.sum() > TINY else equal


def _known_votes(votes: FloatArray, truth: FloatArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """The questions with a truth and a vote: votes, those missing being the mean of the others', truth, and which they are."""
    given = ~np.isnan(votes)
    rows = np.flatnonzero(given.any(axis=1) & ~np.isnan(truth))
    votes, given = votes[rows], given[rows]
    mean = np.where(given, votes, 0.0).sum(axis=1) / given.sum(axis=1)
    return np.where(given, votes, mean[:, None]), truth[rows], rows


def _onto_simplex(point: FloatArray) -> FloatArray:
    """The nearest point whose coordinates are non-negative and add up to one.

    References:
        Duchi et al. (2008), "Efficient projections onto the l1-ball for learning in high dimensions".
    """
    ranked = np.sort(point)[::-1]
    over = (ranked.cumsum() - 1) / np.arange(1, len(point) + 1)
    last = int(np.flatnonzero(ranked > over)[-1])
    return np.maximum(point - over[last], 0.0)
