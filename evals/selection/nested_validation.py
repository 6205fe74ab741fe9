"""Nested cross-validation: inner folds choose the jury, outer folds score it, and nothing is scored on what chose it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..ratings.folds import Fold, Rows, folds, held_rows, held_values
from ..statistics.matrix import FloatArray
from .juror_pool import Pool
from .jury_counts import Members, VoteCounter, mean_credit
from .jury_search import EQUAL, best_juries

INNER = 5


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Credits on held-out questions, in the order of `rows`, of what was chosen without them.

    A question held out several times has the mean of its credits.
    """

    rows: Rows
    """Which questions of the pool."""
    sizes: tuple[int, ...]
    by_size: FloatArray
    """One row a size: the best jury of that size."""
    jury: FloatArray
    """The jury of two or more, its size chosen by inner folds."""
    single: FloatArray
    """The single judge chosen the same way."""
    best: FloatArray
    """Whichever of all sizes the inner folds preferred."""
    selection: pd.DataFrame
    juries: Members
    """Row by row, the best jury of each size when all cases chosen on count: what would be used from now on."""
    seated: Members
    """The one of them, of two or more, that inner folds over those cases choose."""
    naive_jury: float
    """What the best jury of any size earns on the very questions that it was chosen on."""
    naive_single: float


def held_out(
    pool: Pool, outer: Sequence[Fold], *, sizes: tuple[int, ...], rng: np.random.Generator
) -> HeldOut:
    """Credits of what was chosen, on questions that did not choose it; `outer` holds out each case in turn, or one test set."""
    parts, rows = [], []
    for number, fold in enumerate(outer, 1):
        train, test = pool.at(fold.chosen_on), VoteCounter(pool.at(fold.held_out))
        inner = by_inner_folds(train, sizes, rng)
        juries = best_juries(train, sizes)
        credits, before = test.credits(juries), VoteCounter(train).scores(juries)
        seated, liked = _best_of(inner, least=1), _best_of(inner, least=0)
        parts.append((credits, credits[seated], credits[liked]))
        after = mean_credit(credits)
        rows.append(
            {
                "fold": number,
                "size": sizes[seated],
                "jurors": jury_label(pool, juries[seated]),
                "chosen_on": before[seated],
                "held_out": after[seated],
                "single": jury_label(pool, juries[0]),
                "single_chosen_on": before[0],
                "single_held_out": after[0],
                "n": len(fold.held_out),
            }
        )
    chosen_on = pool.at(np.unique(np.concatenate([fold.chosen_on for fold in outer])))
    final, naive = best_juries(chosen_on, sizes), VoteCounter(chosen_on)
    scores = naive.scores(final)
    by_size, jury, best = (held_values(outer, pieces) for pieces in zip(*parts, strict=True))
    return HeldOut(
        rows=held_rows(outer),
        sizes=sizes,
        by_size=by_size,
        jury=jury,
        single=by_size[0],
        best=best,
        selection=pd.DataFrame(rows),
        juries=final,
        seated=final[_best_of(by_inner_folds(chosen_on, sizes, rng), least=1)],
        naive_jury=float(scores[1:].max()),
        naive_single=float(scores[0]),
    )


def by_inner_folds(pool: Pool, sizes: Sequence[int], rng: np.random.Generator) -> FloatArray:
    """The cross-validated score of the best jury of each size."""
    credits = [
        VoteCounter(pool.at(fold.held_out)).credits(best_juries(pool.at(fold.chosen_on), sizes))
        for fold in folds(pool.cluster, INNER, rng)
    ]
    return mean_credit(np.concatenate(credits, axis=1))


def jury_label(pool: Pool, jury: Members) -> str:
    """The members' names, joined by a plus sign."""
    return " + ".join(name for name, sits in zip(pool.jurors, jury, strict=True) if sits)


def _best_of(scores: FloatArray, *, least: int) -> int:
    """The place of the best from `least` on; of equal ones the first."""
    return int(np.argmax(scores[least:] >= np.nanmax(scores[least:]) - EQUAL)) + least
