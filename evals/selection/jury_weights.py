"""Weights of jurors from recorded votes: non-negative, adding up to one, drawn towards equal ones."""

from __future__ import annotations

import numpy as np

from ..statistics.matrix import FloatArray

STEPS = 300


def simplex_weights(votes: FloatArray, truth: FloatArray, *, ridge: float, absolute: bool) -> FloatArray:
    """The weights whose mean of `votes` (one column a juror) comes nearest to `truth` in squares.

    Args:
        ridge: How strongly they are drawn towards equal ones; 1 counts as much as the votes themselves.
        absolute: Whether offsets count. Where they do not, votes and truth are centred and truth is brought onto the
            spread that the plain mean of the votes has.
    """
    filled = np.where(np.isnan(votes), np.nanmean(votes, axis=1, keepdims=True), votes)
    known = ~(np.isnan(filled).any(axis=1) | np.isnan(truth))
    jurors = votes.shape[1]
    equal = np.full(jurors, 1 / jurors)
    x, y = filled[known], truth[known]
    if len(y) < 3:
        return equal
    if not absolute:
        x, y = x - x.mean(axis=0), y - y.mean()
        mean = x.mean(axis=1)
        slope = float(mean @ y) / max(float(mean @ mean), 1e-12)
        if slope <= 0:
            return equal
        y = y / slope
    # On the simplex the error of a weighted mean is the weighted mean of the errors.
    errors = x - y[:, None]
    gram = errors.T @ errors / len(y)
    strength = ridge * float(np.trace(gram)) / jurors
    gram, target = gram + strength * np.eye(jurors), strength * equal
    step = 1 / max(float(np.linalg.eigvalsh(gram)[-1]), 1e-12)
    weights = equal
    for _ in range(STEPS):
        moved = _onto_simplex(weights - step * (gram @ weights - target))
        if np.abs(moved - weights).max() < 1e-9:
            break
        weights = moved
    return weights


def _onto_simplex(point: FloatArray) -> FloatArray:
    """The nearest point whose coordinates are non-negative and add up to one.

    References:
        Duchi et al. (2008), "Efficient projections onto the l1-ball for learning in high dimensions".
    """
    ranked = np.sort(point)[::-1]
    over = (ranked.cumsum() - 1) / np.arange(1, len(point) + 1)
    last = int(np.flatnonzero(ranked > over)[-1])
    return np.maximum(point - over[last], 0.0)
