"""Whether new cases look like those that something was learned on, by what can be seen without labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from ..statistics.matrix import FloatArray, IntArray
from ..statistics.significance import LEVEL, p_words
from .labelling import BoolArray

Values = npt.NDArray[np.floating] | npt.NDArray[np.str_]
PERMUTATIONS = 999


@dataclass(frozen=True, slots=True)
class Shift:
    """The signal that differs most between old cases and new ones, and how often chance alone makes one differ so much."""

    signal: str
    distance: float
    """Kolmogorov and Smirnov's, the largest difference between the two shares at or below a value; of words, half the sum of
    differences between shares."""
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
                f"The other cases differ from the labelled ones ({self.signal}: distance {self.distance:.2f}, {p_words(self.p)}): the labelled "
                "ones are no random draw of them, and what was certified need not hold on them; label some, drawn at random."
            )
        return (
            f"No shift was seen between the labelled cases and the others ({p_words(self.p)}); one that leaves scores, signals and systems "
            "as they are would not be."
        )


def shift_test(
    old: Mapping[str, Values],
    new: Mapping[str, Values],
    old_cluster: IntArray,
    new_cluster: IntArray,
    rng: np.random.Generator,
) -> Shift:
    """The signal whose two distributions differ the most surprisingly, with a p for the least of all p by exchanging clusters.

    Args:
        old: By signal, one number a case, NaN where it is not known, which counts as a value of its own; or one word a
            case, whose distance is half the sum of differences between shares.

    References:
        Westfall and Young (1993), "Resampling-Based Multiple Testing", section 2.3.
    """
    names = [name for name in old if name in new]
    if not len(old_cluster) or not len(new_cluster) or not names:
        return Shift(
            "", np.nan, np.nan, "there are no other cases" if len(old_cluster) else "nothing is labelled"
        )
    cluster = np.concatenate([old_cluster, new_cluster + old_cluster.max() + 1])
    code = np.unique(cluster, return_inverse=True)[1]
    first = np.zeros(int(code.max()) + 1, dtype=bool)
    first[code[: len(old_cluster)]] = True
    drawn = np.stack([first, *(rng.permuted(np.tile(first, (PERMUTATIONS, 1)), axis=1))])
    distances = np.stack(
        [_distances(np.concatenate([old[name], new[name]]), code, drawn) for name in names], axis=1
    )
    # By signal, the share of draws that lie as far apart as each draw does: signals of any kind are then alike.
    alone = 1 - (rankdata(np.round(distances, 12), method="min", axis=0) - 1) / len(distances)
    least = alone.min(axis=1)
    at = int(np.lexsort((-distances[0], alone[0]))[0])
    return Shift(names[at], float(distances[0, at]), float((least <= least[0] + 1e-12).mean()))


def _distances(values: Values, code: IntArray, drawn: BoolArray) -> FloatArray:
    """Of each draw of which clusters are old, the distance between the distributions of the old and the new."""
    words = values.dtype.kind not in "fi"
    level = np.unique(values if words else _below_where_unknown(values.astype(float)), return_inverse=True)[1]
    order = np.argsort(level, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(level[order])), len(order) - 1)
    mine = np.cumsum(drawn[:, code[order]], axis=1, dtype=np.int32)[:, ends]
    theirs = ends + 1 - mine
    apart = mine / mine[:, -1:] - theirs / theirs[:, -1:]
    if words:
        return np.asarray(np.abs(np.diff(apart, axis=1, prepend=0.0)).sum(axis=1) / 2)
    return np.asarray(np.abs(apart).max(axis=1))


def _below_where_unknown(values: FloatArray) -> FloatArray:
    """The values with those not known below all others."""
    return np.where(np.isnan(values), np.nanmin(values, initial=0.0) - 1, values)
