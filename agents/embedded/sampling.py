"""The choice of the next token: the likeliest that is allowed, or one drawn by its likelihood; and how sure a taught model must be before a reason finds fault.

A small model decides with the first word of a reason (Right, or Wrong): the score follows from it. How likely it holds the one word and the other
tells faulty texts from clean ones better than the word that it writes, so the odds at which it may find fault are a matter of choice. An adapter
names the words and the odds, found on texts that played no part in teaching; reason and score are then written on from there, and agree.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .merged_weights import Array

KEY = "venire.fault_thresholds"
"""The entry of an adapter's header: a list of thresholds, in JSON."""

_ON_THE_MATTER = 0.5
"""Of the likelihood that the words of a threshold must hold together: else the reason is about another matter."""


class FaultThreshold(BaseModel):
    """The words with which a reason on one matter begins, and the odds that it takes to find fault. Other keys of an entry are not read."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    after: str = '"rationale": "'
    """Where a reason begins."""
    fine: str
    """The first word where nothing is wrong."""
    faults: tuple[str, ...]
    """The first words where something is."""
    odds: float = Field(gt=0)
    """How much likelier a fault must be than none, as a natural logarithm. It can only be made harder to find fault."""


def read_thresholds(header: Mapping[str, Any]) -> tuple[FaultThreshold, ...]:
    """The thresholds that an adapter's header names; none where it names none.

    Raises:
        ValueError: The entry is not what it should be.
    """
    try:
        return tuple(FaultThreshold.model_validate(entry) for entry in json.loads(header.get(KEY, "[]")))
    except (TypeError, ValidationError, json.JSONDecodeError):
        raise ValueError(f"the adapter's {KEY} cannot be read") from None


class Reasons:
    """The reasons of one answer, as they are written."""

    def __init__(self, thresholds: Sequence[FaultThreshold], encode: Callable[[str], list[int]]) -> None:
        self._words = [
            (threshold, encode(threshold.fine)[0], sorted({encode(word)[0] for word in threshold.faults}))
            for threshold in thresholds
        ]

    def weighed_logits(self, logits: Array, text: bytes) -> Array:
        """The logits of what may follow `text`; where a reason begins, those of its first words moved by their threshold."""
        for threshold, fine, faults in self._words:
            if not text.endswith(threshold.after.encode()):
                continue
            found = np.logaddexp.reduce(logits[faults])
            everything = np.logaddexp.reduce(logits)
            if np.logaddexp(found, logits[fine]) - everything > np.log(_ON_THE_MATTER):
                if found - logits[fine] < threshold.odds:
                    logits = logits.copy()
                    logits[faults] -= threshold.odds
                return logits
        return logits


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
