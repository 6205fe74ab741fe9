"""Whether new cases look like those that something was learned on, by what can be seen without labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..statistics.matrix import FloatArray, IntArray
from ..statistics.significance import LEVEL, p_words

PERMUTATIONS = 999


@dataclass(frozen=True, slots=True)
class Shift:
    """The signal that differs most between old cases and new ones, and how often chance alone makes one differ so much."""

    signal: str
    distance: float
    """Kolmogorov and Smirnov's: the largest difference between the two shares at or below a value."""
    p: float
    note: str = ""

    @property
    def found(self) -> bool:
        return self.p < LEVEL

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        if self.note:
            return f"A shift could not be tested for: {self.note}."
        if self.found:
            return (
                f"The new cases differ from the labelled ones ({self.signal}: distance {self.distance:.2f}, {p_words(self.p)}): "
                "what was certified on those need not hold on these; label some of them."
            )
        return (
            f"No shift was seen between the labelled cases and the others ({p_words(self.p)}); one that leaves the signals as "
            "they are would not be."
        )


def shift_test(
    old: Mapping[str, FloatArray],
    new: Mapping[str, FloatArray],
    old_cluster: IntArray,
    new_cluster: IntArray,
    rng: np.random.Generator,
) -> Shift:
    """The largest distance of any signal's two distributions, with a p for the largest of all by exchanging clusters.

    Args:
        old: By signal, one number a case; NaN where it is not known, which counts as a value of its own.
    """
    names = [name for name in old if name in new]
    if not len(old_cluster) or not len(new_cluster) or not names:
        return Shift(
            "", np.nan, np.nan, "there are no other cases" if len(old_cluster) else "nothing is labelled"
        )
    cluster = np.concatenate([old_cluster, new_cluster + old_cluster.max() + 1])
    code = np.unique(cluster, return_inverse=True)[1]
    groups = int(code.max()) + 1
    first = np.zeros(groups)
    first[code[: len(old_cluster)]] = 1
    drawn = np.stack([first, *(rng.permuted(np.tile(first, (PERMUTATIONS, 1)), axis=1))])
    distances = np.stack(
        [_distances(np.concatenate([old[name], new[name]]), code, drawn) for name in names], axis=1
    )
    largest = distances.max(axis=1)
    at = int(distances[0].argmax())
    p = float((largest >= largest[0] - 1e-12).mean())
    return Shift(names[at], float(distances[0, at]), p)


def _distances(values: FloatArray, code: IntArray, drawn: FloatArray) -> FloatArray:
    """Of each draw of who is old, the distance between the distributions of the old and the new."""
    ordered = np.where(np.isnan(values), np.nanmin(values, initial=0.0) - 1, values)
    level = np.unique(ordered, return_inverse=True)[1]
    # By cluster and level, how many cases: draws then are sums over clusters.
    table = np.zeros((drawn.shape[1], level.max() + 1))
    np.add.at(table, (code, level), 1.0)
    old = drawn @ table
    both = table.sum(axis=0)
    mine, theirs = np.cumsum(old, axis=1), np.cumsum(both - old, axis=1)
    return np.abs(mine / mine[:, -1:] - theirs / theirs[:, -1:]).max(axis=1)
