"""Which cases have labels, and how these were drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..statistics.matrix import FloatArray, IntArray

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Labelling:
    """Which cases have labels, and how these were drawn."""

    labelled: BoolArray
    weight: FloatArray
    """The inverse of each case's probability of being labelled, up to a factor."""
    stratum: IntArray
    """Labels were drawn at random within each; one stratum where there are none."""
    cluster: IntArray
    """Cases of one cluster are not independent."""

    @classmethod
    def random(cls, labelled: BoolArray, cluster: IntArray | None = None) -> Labelling:
        """Labels drawn at random from all cases."""
        size = len(labelled)
        alone = np.arange(size) if cluster is None else cluster
        return cls(labelled, np.ones(size), np.zeros(size, dtype=np.int64), alone)

    @property
    def design(self) -> str:
        """`random`, `stratified` (one probability in each stratum) or `active`."""
        known, where = self.weight[self.labelled], self.stratum[self.labelled]
        for name in np.unique(where):
            mine = known[where == name]
            if np.ptp(mine) > 1e-9 * mine.max():
                return "active"
        return "stratified" if len(np.unique(self.stratum)) > 1 else "random"
