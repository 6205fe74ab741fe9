"""Ranks of values, ties sharing theirs. In numpy alone: `scipy.stats` takes longer to import than most tables to read."""

import numpy as np

from .matrix import FloatArray


def mean_ranks(values: FloatArray) -> FloatArray:
    """The rank of each value from 1, the lowest; equal ones share the mean of theirs."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[place]
