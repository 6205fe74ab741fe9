"""The learning curve: how much nearer to people each further labelled case brings the arm."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..statistics.matrix import FloatArray, IntArray
from .calibrator import METHODS
from .cross_validation import CrossValidation
from .curve import BoolArray
from .labelled_scores import LEAST

ENOUGH = 0.02
"""Within this share of the error with all labels, fewer labels are called enough."""
REPEATS = 12
COLUMNS = ["arm", "cases", "rmse", "low", "high", "repeats"]


def learning_curve(crossed: CrossValidation, *, seed: int, repeats: int = REPEATS) -> pd.DataFrame:
    """Out-of-fold RMSE, as curves learn from more and more of the labelled cases outside the fold.

    Each repeat draws whole groups until the size is reached; `low` and `high` hold the middle 90% of repeats. All
    calibrated attributes are pooled, those left alone not among them, each in units of its own scale's length, times that of the first.
    """
    rng = np.random.default_rng(seed)
    lessons = _Lessons(crossed)
    most = int(min((lessons.fold != fold).sum() for fold in range(lessons.folds)))
    rows = []
    for size in sizes(most):
        times = repeats if size < most else 1
        drawn = lessons.errors(size, times, rng)
        low, high = np.quantile(drawn, [0.05, 0.95]) if times > 1 else (np.nan, np.nan)
        rows.append((crossed.labelled.arm, size, drawn.mean(), low, high, times))
    return pd.DataFrame(rows, columns=COLUMNS)


def sizes(most: int) -> list[int]:
    """From `LEAST` to `most`, each about one and a half times the one before."""
    found, size = [], float(LEAST)
    while size < most * 0.87:
        found.append(round(size))
        size *= 1.5
    return [*found, most]


def enough(curve: pd.DataFrame) -> int | None:
    """The fewest cases from which the error stays within `ENOUGH` of that with all; None where only all of them do."""
    errors, cases = curve["rmse"].to_numpy(float), curve["cases"].to_numpy(int)
    near = errors <= errors[-1] * (1 + ENOUGH)
    held = np.logical_and.accumulate(near[::-1])[::-1]
    first = int(np.argmax(held))
    return int(cases[first]) if first < len(cases) - 1 else None


class _Lessons:
    """The votes as arrays, to learn from many subsets of the same cases."""

    def __init__(self, crossed: CrossValidation) -> None:
        labelled = crossed.labelled
        votes = crossed.votes[~crossed.votes["attribute"].isin(list(crossed.left_alone))].reset_index(
            drop=True
        )
        self.method, self.ends = crossed.calibrator.method, labelled.ends
        self.case, names = pd.factorize(votes["case"])
        first = votes.drop_duplicates("case").set_index("case").loc[list(names)]
        self.fold, self.cluster = first["fold"].to_numpy(int), pd.factorize(first["cluster"])[0]
        self.folds = crossed.folds
        self.value, self.people = votes["value"].to_numpy(float), votes["people"].to_numpy(float)
        place = pd.Series(np.arange(len(votes)), index=votes.index)
        self.seats = [
            (str(attribute), place[mine.index].to_numpy(int))
            for (_, attribute), mine in votes.groupby(["juror", "attribute"], sort=False)
        ]
        self.unit = votes.groupby(["case", "attribute"], sort=False).ngroup().to_numpy(int)
        repeats = votes.groupby(["case", "attribute", "juror"], sort=False)["value"].transform("size")
        self.share = 1 / repeats.to_numpy(float)
        whole = next(iter(self.ends.values()))
        length = [
            (self.ends[name][1] - self.ends[name][0]) / (whole[1] - whole[0]) for name in votes["attribute"]
        ]
        self.length = np.array(length)

    def errors(self, size: int, times: int, rng: np.random.Generator) -> FloatArray:
        """So many times the out-of-fold RMSE of curves learned from `size` cases outside each fold."""
        outside = [np.flatnonzero(self.fold != fold) for fold in range(self.folds)]
        groups = [np.unique(self.cluster[rows], return_inverse=True)[1] for rows in outside]
        known = np.zeros((times, self.folds, len(self.fold)), dtype=bool)
        for time, fold in np.ndindex(times, self.folds):
            known[time, fold, outside[fold]] = _some_groups(groups[fold], size, rng)
        after = np.full((times, len(self.value)), np.nan)
        for attribute, rows in self.seats:
            low, high = self.ends[attribute]
            at, place = np.unique(self.value[rows], return_inverse=True)
            taught = known.reshape(times * self.folds, -1)[:, self.case[rows]]
            found = METHODS[self.method](low=low, high=high).predictions(
                self.value[rows], self.people[rows], taught, at
            )
            by_fold = found.reshape(times, self.folds, len(at))
            after[:, rows] = by_fold[:, self.fold[self.case[rows]], place]
        return np.array([self._error(each) for each in after])

    def _error(self, after: FloatArray) -> float:
        given = ~np.isnan(after)
        share = np.where(given, self.share, 0.0)
        gap = np.where(given, after - self.people, 0.0) / self.length
        total, weight = (np.bincount(self.unit, weights=each) for each in (share * gap, share))
        return float(np.sqrt(np.mean((total[weight > 0] / weight[weight > 0]) ** 2)))


def _some_groups(group: IntArray, size: int, rng: np.random.Generator) -> BoolArray:
    """Marks the rows of whole groups in random order, as many groups as it takes to hold `size` rows; groups are numbered."""
    held = np.bincount(group)
    order = rng.permutation(len(held))
    kept = np.zeros(len(held), dtype=bool)
    kept[order[: int(np.searchsorted(held[order].cumsum(), size)) + 1]] = True
    return kept[group]
