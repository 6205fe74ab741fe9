"""Folds that keep a group whole: no case is scored by what was learned from its own group."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import pandas as pd

from ..statistics.matrix import IntArray


def group_folds(groups: Sequence[Hashable], folds: int, rng: np.random.Generator) -> IntArray:
    """Each row's fold; rows of one group share theirs, and folds are as equal in rows as the groups allow.

    With fewer groups than `folds`, as many folds as there are groups.
    """
    code, names = pd.factorize(np.asarray(groups, dtype=object))
    size = np.bincount(code, minlength=len(names))
    shuffled = rng.permutation(len(names))
    filled = np.zeros(min(folds, len(names)), dtype=np.int64)
    fold = np.zeros(len(names), dtype=np.int64)
    for group in shuffled[np.argsort(-size[shuffled], kind="stable")]:
        fold[group] = filled.argmin()
        filled[fold[group]] += size[group]
    return fold[code]
