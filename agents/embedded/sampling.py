"""The choice of the next token: the likeliest that is allowed, or one drawn by its likelihood among those that are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, takewhile

import numpy as np

from .merged_weights import Array

_RECENT = 64
"""Tokens within which a repeat is penalised."""
_LEAST_SHARE = 0.05
"""Tokens that are less likely than this share of the likeliest are never drawn."""
_CANDIDATES = 40
"""Tokens of which one is drawn, at the most."""
_FIRST = 64
"""Tokens that are put in order before all are."""


class Sampler:
    """Chooses the tokens of one answer. The same settings and seed choose the same.

    At a temperature above zero a token is drawn from those allowed that have at least a twentieth of the likelihood of the likeliest, forty at
    the most, and of these from the likeliest that together have `top_p`.
    """

    def __init__(
        self,
        *,
        temperature: float = 0.0,
        top_p: float = 1.0,
        seed: int = 0,
        repeat_penalty: float = 1.0,
    ) -> None:
        self._temperature = temperature
        self._top_p = top_p
        self._repeat_penalty = repeat_penalty
        self._rng = np.random.default_rng(seed % 2**64)

    def choose(self, logits: Array, before: Sequence[int], is_allowed: Callable[[int], bool]) -> int | None:
        """The next token after those before it; None where none is allowed."""
        logits = self._penalised_logits(logits, before)
        by_likelihood = _by_likelihood(logits)
        best = next(filter(is_allowed, by_likelihood), None)
        if best is None or self._temperature <= 0:
            return best
        least = logits[best] + np.log(_LEAST_SHARE)
        others = takewhile(lambda token: logits[token] >= least, by_likelihood)
        tokens = np.array([best, *islice(filter(is_allowed, others), _CANDIDATES - 1)])
        return self._draw(tokens, logits[tokens].astype(np.float64))

    def _draw(self, tokens: Array, logits: Array) -> int:
        """One of the tokens, which come likeliest first."""
        shares = _shares(logits)
        kept = int(np.count_nonzero(np.cumsum(shares) - shares < self._top_p)) or 1
        shares = _shares(logits[:kept] / self._temperature)
        return int(self._rng.choice(tokens[:kept], p=shares))

    def _penalised_logits(self, logits: Array, before: Sequence[int]) -> Array:
        if self._repeat_penalty == 1.0:
            return logits
        logits, recent = logits.copy(), np.unique(before[-_RECENT:])
        seen = logits[recent]
        logits[recent] = np.where(seen > 0, seen / self._repeat_penalty, seen * self._repeat_penalty)
        return logits


def _by_likelihood(logits: Array) -> Iterator[int]:
    """The tokens, the likeliest first. The first few are there without all being sorted."""
    first = min(_FIRST, len(logits))
    top = np.flatnonzero(logits >= np.partition(logits, -first)[-first])
    yield from map(int, top[np.argsort(-logits[top], kind="stable")])
    yield from map(int, np.argsort(-logits, kind="stable")[len(top) :])


def _shares(logits: Array) -> Array:
    """The likelihoods of these logits, which add up to one."""
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()
