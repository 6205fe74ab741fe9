"""What is resampled and held out as a whole, and folds: cases to choose on and cases to be scored on, never the same."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...rubrics.errors import VenireError
from ..statistics.matrix import FloatArray, IntArray

Rows = npt.NDArray[np.integer]


def groups_in(table: pd.DataFrame) -> pd.Series:
    """By case, the group in the table's column `group`; cases without one are not in it."""
    if "group" not in table:
        return pd.Series(dtype=object)
    grouped = table.dropna(subset=["group"]).drop_duplicates("case")
    return grouped.set_index("case")["group"]


def clusters(cases: pd.Series, groups: Mapping[str, object] | pd.Series) -> pd.Series:
    """Each case's cluster, in words: `group G`, or `case C` where it has none, so that no two of them are confused.

    Args:
        cases: Case ids, one a row.
        groups: The group of each case by its id; absent, None and NaN mean that it has none.
    """
    labels = {str(case): f"group {group}" for case, group in groups.items() if pd.notna(group)}
    return pd.Series([labels.get(case, f"case {case}") for case in cases.astype(str)], cases.index, object)


def shared_group_note(parts: Mapping[str, str], groups: Mapping[str, object] | pd.Series, column: str) -> str:
    """A sentence that says how many cases of each smaller part of a split have their group in another part too; empty for none.

    Args:
        parts: By case id, the part that it is in, such as train or test.
        column: Where that stands.
    """
    cases = pd.Series(list(parts), dtype=object)
    table = pd.DataFrame({"cluster": clusters(cases, groups), "part": list(parts.values())})
    sizes = table["part"].value_counts()
    torn = table.groupby("cluster")["part"].transform("nunique") > 1
    counts = [
        f"{count} of the {size} cases of {part!r}"
        for part, size in sizes.iloc[1:].items()
        if (count := int(torn[table["part"] == part].sum()))
    ]
    if not counts:
        return ""
    return (
        f"The column {column!r} splits groups: {' and '.join(counts)} have other cases of their group in another part. "
        "An arm that was trained or chosen on one part has seen groups of the other part, so its results on the other part are too good."
    )


def cluster_numbers(cases: pd.Series, groups: Mapping[str, object] | pd.Series) -> IntArray:
    """`clusters` as numbers from 0, in the order in which they are met."""
    return pd.factorize(clusters(cases, groups))[0].astype(np.int64)


class Fold(NamedTuple):
    """Row numbers: what is chosen on, and what the choice is scored on."""

    chosen_on: Rows
    held_out: Rows


def fold_numbers(clusters: Sequence[Hashable] | IntArray, number: int, rng: np.random.Generator) -> IntArray:
    """Each row's fold, from 0: rows of one cluster share theirs, and folds are as equal in rows as clusters allow.

    With fewer clusters than `number`, as many folds as there are clusters.
    """
    code, names = pd.factorize(np.asarray(clusters, dtype=object))
    size = np.bincount(code, minlength=len(names))
    shuffled = rng.permutation(len(names))
    fold_sizes = np.zeros(min(number, len(names)), dtype=np.int64)
    fold = np.zeros(len(names), dtype=np.int64)
    for cluster in shuffled[np.argsort(-size[shuffled], kind="stable")]:
        fold[cluster] = fold_sizes.argmin()
        fold_sizes[fold[cluster]] += size[cluster]
    return fold[code]


def folds(clusters: Sequence[Hashable] | IntArray, number: int, rng: np.random.Generator) -> list[Fold]:
    """Folds that hold out each row once, by `fold_numbers`."""
    at = fold_numbers(clusters, number, rng)
    return [Fold(np.flatnonzero(at != part), np.flatnonzero(at == part)) for part in range(at.max() + 1)]


def widening(parts: Sequence[Fold]) -> float:
    """How much wider intervals have to be for what was chosen in folds, whose choices share cases; 1 for a test set.

    References:
        Nadeau and Bengio (2003), "Inference for the generalization error", Machine Learning 52:239-281: the variance
        of a mean over K folds is larger by 1 + K n_test / n_train.
    """
    if len(parts) == 1:
        return 1.0
    fold = parts[0]
    number = (len(fold.chosen_on) + len(fold.held_out)) / len(fold.held_out)
    return float(np.sqrt(1 + number * len(fold.held_out) / len(fold.chosen_on)))


def held_rows(parts: Sequence[Fold]) -> Rows:
    """The rows that some fold holds out, in order."""
    return np.unique(np.concatenate([fold.held_out for fold in parts]))


def held_values(parts: Sequence[Fold], pieces: Sequence[FloatArray]) -> FloatArray:
    """What each fold found of its held-out rows (the last axis), in the order of `held_rows`.

    A row that is held out several times has the mean of what was found of it, without what is NaN.
    """
    rows = held_rows(parts)
    at = np.searchsorted(rows, np.concatenate([fold.held_out for fold in parts]))
    table = np.concatenate(pieces, axis=-1)
    total, number = np.zeros((2, *table.shape[:-1], len(rows)))
    has_value = ~np.isnan(table)
    for positions, values, counted_rows in zip(at, np.moveaxis(np.where(has_value, table, 0), -1, 0), np.moveaxis(has_value, -1, 0), strict=True):  # fmt: skip
        total[..., positions] += values
        number[..., positions] += counted_rows
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)


def selection_folds(
    cases: pd.Series,
    cluster: IntArray,
    test: Collection[str] | None,
    *,
    number: int,
    rounds: int,
    rng: np.random.Generator,
) -> list[Fold]:
    """The one fold that holds out the cases in `test`, or `number` that hold out each case in turn, `rounds` times anew.

    Raises:
        VenireError: There are too few cases to choose on some and score on others, or a group lies on both sides.
    """
    if len(np.unique(cluster)) < 4:
        raise VenireError(
            f"too few cases (or groups of cases), {len(np.unique(cluster))}: some are needed to choose on, and others to score on",
            remedy="give four cases or groups, or more",
        )
    if test is None:
        return [fold for _ in range(rounds) for fold in folds(cluster, number, rng)]
    is_test = cases.astype(str).isin({str(case) for case in test}).to_numpy(bool)
    if is_test.all() or not is_test.any():
        raise VenireError(
            f"{is_test.sum()} of {len(is_test)} judged questions belong to test cases, so nothing can be "
            + ("chosen" if is_test.all() else "scored"),
            remedy="put some of the judged cases into the test part, and leave others out of it",
        )
    if set(cluster[is_test]) & set(cluster[~is_test]):
        raise VenireError(
            "the split puts cases of one group into both parts", remedy="keep each group in one part"
        )
    return [Fold(np.flatnonzero(~is_test), np.flatnonzero(is_test))]
