"""When a coefficient gets no interval: where the sample lacks the cases that would tell.

With nearly every rating at one value, what a coefficient will be is decided by the few cases on which raters leave that value
together. A sample that has met fewer than five of them knows nothing of those to come, and no rule repairs that.
"""

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .matrix import FloatArray, IntArray, Matrix

LEAST_DEPARTURES = 5
"""Clusters on which raters must depart together from the commonest value."""
FEW_GROUPS = 25
"""Groups of several cases below which an interval carries a warning."""


class Gate(NamedTuple):
    """What ratings must have before a coefficient of them gets an interval."""

    groups: int
    """The fewest groups, where cases come in groups of several."""
    departures: Literal["none", "table", "pair"] = "none"
    """Whether shared departures are counted: in the whole table, or for every pair of raters."""


SQUARED = Gate(12, "table")
"""ICC, interval and ratio alpha."""
RANKED = Gate(8, "table")
"""Ordinal and nominal alpha, Fleiss."""
SQUARED_PAIRS = Gate(12, "pair")
"""Quadratic kappa, Pearson, pairwise ICC."""
RANKED_PAIRS = Gate(8, "pair")
"""The other kappas, Spearman, Kendall."""
OPEN = Gate(5)
"""AC1, AC2, percent, errors, offset, and whatever is no coefficient of agreement."""


def interval_refusal(grid: Matrix, gate: Gate, *, own: bool = False, pairs: IntArray | None = None) -> str:
    """Why there is no interval; nothing where there is one.

    Args:
        grid: The ratings that the coefficient rests on.
        own: Each rater is held against its own commonest value: for a judge against a mean.
        pairs: The columns of each pair of raters that takes part; by default every two.
    """
    if grid.clustered and grid.clusters < gate.groups:
        return f"no interval: there are {grid.clusters} groups of cases, and {gate.groups} are needed"
    if gate.departures == "none":
        return ""
    # Columns beyond the raters' say where a case belongs.
    departs = _departures(grid.values[:, : len(grid.raters)], own)
    if gate.departures == "table" or len(grid.raters) == 2:
        names, departures = "raters", len(np.unique(grid.cluster[departs.sum(axis=1) >= 2]))
    else:
        names, departures = _fewest_of_pairs(grid, departs, pairs)
    if departures >= LEAST_DEPARTURES:
        return ""
    share = f"{departures} of {grid.clusters} {'groups' if grid.clustered else 'cases'}"
    return f"no interval: {names} depart from their most common value on the same case in only {share}, and {LEAST_DEPARTURES} are needed"


def group_warning(grid: Matrix) -> str:
    """A caution where groups of several cases are few."""
    if grid.clustered and grid.clusters < FEW_GROUPS:
        return f"{grid.clusters} groups of cases are few: the interval may be too narrow"
    return ""


def _departures(values: FloatArray, own_commonest: bool) -> npt.NDArray[np.bool_]:
    """By case and rater, whether the rating is another than the commonest; of several as common, the lowest."""
    if own_commonest:
        columns = [_departures(values[:, [column]], own_commonest=False) for column in range(values.shape[1])]
        return np.hstack(columns)
    has_value = ~np.isnan(values)
    scale, counts = np.unique(values[has_value], return_counts=True)
    return has_value & (values != scale[counts.argmax()]) if len(scale) else has_value


def _fewest_of_pairs(grid: Matrix, departs: npt.NDArray[np.bool_], pairs: IntArray | None) -> tuple[str, int]:
    """The pair of raters who depart together in the fewest clusters, and in how many."""
    joint = np.zeros((len(grid.raters), len(grid.raters)))
    if grid.clustered:
        for number in range(grid.clusters):
            cluster_departs = departs[grid.cluster == number].astype(float)
            joint += cluster_departs.T @ cluster_departs > 0
    else:
        joint = departs.T.astype(float) @ departs
    left_rater, right_rater = np.triu_indices(len(grid.raters), 1) if pairs is None else pairs.T
    if not len(left_rater):
        return "raters", 0
    least = int(joint[left_rater, right_rater].argmin())
    names = f"{grid.raters[left_rater[least]]} and {grid.raters[right_rater[least]]}"
    return names, int(joint[left_rater[least], right_rater[least]])
