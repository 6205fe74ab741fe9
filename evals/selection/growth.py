"""How agreement grows with the size of the jury: drawn at random, and chosen on other cases."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb

import numpy as np
import pandas as pd

from ..statistics.matrix import FloatArray, IntArray
from .jury_counts import Members, VoteCounter, mean_credit
from .jury_search import every_jury
from .nested_validation import HeldOut
from .paired_means import mean_credit_estimate

DRAWN = 100
"""Random juries of each size."""


def growth(
    counter: VoteCounter, chosen: HeldOut, *, widening: float, rng: np.random.Generator
) -> pd.DataFrame:
    """One row for each size and way to fill it.

    `low` and `high` are for other cases; `weakest` and `strongest` are the 5th and 95th percentiles over random
    juries of that size on these cases.
    """
    rows = []
    for size in _sizes(len(counter.pool.jurors), chosen.sizes):
        credits = counter.credits(_random(len(counter.pool.jurors), size, rng))
        rows.append(_row("random", size, _mean(credits), counter.pool.cluster, mean_credit(credits), 1.0))
    cluster = counter.pool.cluster[chosen.rows]
    for size, held in zip(chosen.sizes, chosen.by_size, strict=True):
        rows.append(_row("chosen", size, held, cluster, np.full(1, np.nan), widening))
    return pd.DataFrame(rows)


def _row(
    how: str,
    size: int,
    credits: FloatArray,
    cluster: IntArray,
    scores: FloatArray,
    widening: float,
) -> dict[str, object]:
    found = mean_credit_estimate(credits, cluster, method=f"{how} juries of {size}", widening=widening)
    weakest, strongest = np.quantile(scores, [0.05, 0.95])
    return {
        "how": how,
        "size": size,
        "score": found.value,
        "low": found.low,
        "high": found.high,
        "weakest": weakest,
        "strongest": strongest,
        "juries": len(scores),
        "n": found.n,
    }


def _mean(credits: FloatArray) -> FloatArray:
    """By question, over the juries that count for it."""
    return mean_credit(credits.T)


def _sizes(jurors: int, searched: tuple[int, ...]) -> Iterator[int]:
    """Every size searched, then ever larger steps up to the whole pool; odd sizes stay odd until the last."""
    yield from searched
    size, odd = searched[-1], len(searched) > 1 and searched[1] == 3
    while size < jurors:
        size = min(jurors, max(size + 2, round(size * 1.5)) | odd)
        yield size


def _random(jurors: int, size: int, rng: np.random.Generator) -> Members:
    """Every jury of that size where they are few, otherwise some drawn without preference."""
    if comb(jurors, size) <= DRAWN:
        return every_jury(jurors, size)
    ranks = rng.random((DRAWN, jurors)).argsort(axis=1).argsort(axis=1)
    return ranks < size
