"""Which value one rater gave where another gave which."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from .estimate import Estimate, undefined
from .matrix import Ratings, Value, on_scale
from .pairs import Raters, pair_matrix
from .proportion import wilson


def confusion_matrix(
    ratings: Ratings, *, raters: Raters, categories: Sequence[Value] | None = None
) -> pd.DataFrame:
    """Counts of cases, the first rater's value down the side and the second's along the top.

    Missing ratings: cases without both are left out.
    """
    grid, scale = on_scale(pair_matrix(ratings, raters), categories)
    counts = np.zeros((len(scale), len(scale)), dtype=np.int64)
    np.add.at(
        counts, (np.searchsorted(scale, grid.values[:, 0]), np.searchsorted(scale, grid.values[:, 1])), 1
    )
    names = [grid.labels[int(code)] for code in scale] if grid.labels else list(scale)
    return pd.DataFrame(
        counts, index=pd.Index(names, name=raters[0]), columns=pd.Index(names, name=raters[1])
    )


def exact_match(ratings: Ratings, *, raters: Raters, confidence: float = 0.95) -> Estimate:
    """The share of cases that both raters gave the same value, with Wilson's interval.

    Missing ratings: cases without both are left out; count them elsewhere if silence is an answer.
    """
    values = pair_matrix(ratings, raters).values
    n = len(values)
    if n == 0:
        return undefined("no case has both ratings", method="exact match", confidence=confidence)
    share = float((values[:, 0] == values[:, 1]).mean())
    low, high = wilson(share, n, confidence)
    return Estimate(share, low, high, n, "exact match; Wilson interval", confidence)
