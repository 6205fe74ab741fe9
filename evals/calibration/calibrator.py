"""A jury's calibration, one curve for each juror and attribute; and its cross-validation: every case scored by curves that saw neither it nor another case of its group."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from ...rubrics.errors import VenireError, count_words
from ..ratings.folds import fold_numbers
from ..statistics.matrix import FloatArray, IntArray, InvalidRatings
from .changes import CalibrationChange, changes, grid, tested_change
from .curves import (
    BoolArray,
    Curve,
    Estimator,
    IsotonicCurve,
    LinearCurve,
    NotFitted,
    OrdinalCurve,
    column,
    identity_curve,
)
from .labelled_scores import LEAST, Ends, LabelledScores, TooFewLabels, composites

METHODS: Mapping[str, type[Curve]] = {
    "isotonic": IsotonicCurve,
    "linear": LinearCurve,
    "ordinal": OrdinalCurve,
}


class JuryCalibrator(Estimator):
    """Learns, from cases that people scored, what each juror's score of each attribute is worth.

    Args:
        ends: By attribute, the ends of its scale. What is not among them is not calibrated.
        method: The kind of curve.
        least: Labelled cases that a juror needs in an attribute to have a curve there.
    """

    curves_: dict[tuple[str, str], Curve]
    """By juror and attribute."""
    cases_: dict[tuple[str, str], int]
    """How many labelled cases each juror has in each attribute, whether or not these made a curve."""

    def __init__(self, ends: Mapping[str, Ends], *, method: str = "isotonic", least: int = 1) -> None:
        self.ends = ends
        self.method = method
        self.least = least

    def fit(self, X: pd.DataFrame, y: Any) -> Self:
        """Learn a curve for each juror and attribute.

        Args:
            X: One row a vote: `case`, `juror`, `attribute`, `value`. Repeats of a juror are rows of their own.
            y: What people gave, row by row; a row without a label or a value teaches nothing.
        """
        if self.method not in METHODS:
            raise VenireError(
                f"there is no calibration method named {self.method!r}",
                remedy=f"choose one of {', '.join(METHODS)}",
            )
        labels = column(y)
        if len(labels) != len(X):
            raise InvalidRatings(
                f"there are {len(X)} votes but {len(labels)} labels", remedy="give one label for each vote"
            )
        usable = X["value"].notna().to_numpy(bool) & ~np.isnan(labels)
        taught, labels = X[usable], labels[usable]
        cases, values = taught["case"].to_numpy(), taught["value"].to_numpy(float)
        self.curves_, self.cases_ = {}, {}
        for pair, rows in _votes_by_curve(taught).items():
            if pair[1] not in self.ends:
                continue
            low, high = self.ends[pair[1]]
            self.cases_[pair] = len(set(cases[rows]))
            if self.cases_[pair] >= self.least:
                self.curves_[pair] = METHODS[self.method](low=low, high=high).fit(values[rows], labels[rows])
        return self

    def without(self, attributes: Collection[str]) -> Self:
        """The same calibrator with curves that change nothing for these attributes."""
        calibrator = copy(self)
        calibrator.curves_ = {
            pair: identity_curve(curve.low, curve.high) if pair[1] in attributes else curve
            for pair, curve in self.curves_.items()
        }
        return calibrator

    def predict(self, X: pd.DataFrame) -> FloatArray:
        """Each vote calibrated; NaN where its juror has no curve for its attribute, never the vote as it was."""
        if not hasattr(self, "curves_"):
            raise NotFitted
        predictions, values = np.full(len(X), np.nan), X["value"].to_numpy(float)
        for pair, rows in _votes_by_curve(X).items():
            if pair in self.curves_:
                predictions[rows] = self.curves_[pair].predict(values[rows])
        return predictions


def _votes_by_curve(votes: pd.DataFrame) -> dict[tuple[str, str], list[int]]:
    """By juror and attribute, in the order in which they are met, the places of their votes."""
    places: dict[tuple[str, str], list[int]] = {}
    for place, pair in enumerate(zip(votes["juror"], votes["attribute"], strict=True)):
        places.setdefault((str(pair[0]), str(pair[1])), []).append(place)
    return places


def jury_means(votes: pd.DataFrame, values: FloatArray) -> pd.DataFrame:
    """The jury's score of each attribute of each case: the mean over jurors who have a value, repeats averaged first.

    Columns `case`, `attribute`, `value`, `jurors`; what no juror has a value for has no row.
    """
    calibrated = votes[["case", "juror", "attribute"]].assign(value=values).dropna(subset=["value"])
    by_juror = calibrated.groupby(["case", "attribute", "juror"], sort=False)["value"].mean()
    return (
        by_juror.groupby(level=["case", "attribute"], sort=False)
        .agg(["mean", "size"])
        .reset_index()
        .rename(columns={"mean": "value", "size": "jurors"})
    )


FOLDS = 5
ENOUGH = 0.02
"""Within this share of the error with all labels, fewer labels are called enough."""
REPEATS = 12
COLUMNS = ["arm", "cases", "rmse", "low", "high", "repeats"]


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """An arm before and after calibration, out of fold, and the curves behind it."""

    labelled: LabelledScores
    votes: pd.DataFrame
    """`labelled.votes` with `fold` and `after`, the vote calibrated out of fold."""
    scores: pd.DataFrame
    """One row an attribute or composite of a case: `case`, `cluster`, `fold`, `attribute`, `before`, `after`, `people`."""
    by_fold: tuple[JuryCalibrator, ...]
    """What each fold was scored by."""
    calibrator: JuryCalibrator
    """Learned from every labelled case; for cases without labels."""
    composites: tuple[str, ...]
    left_alone: Mapping[str, CalibrationChange]
    """The attributes that calibration takes demonstrably further from people, and by how much: `after` is `before` there."""
    notes: tuple[str, ...]

    @property
    def folds(self) -> int:
        return len(self.by_fold)


def cross_validate(
    labelled: LabelledScores,
    *,
    method: str = "isotonic",
    folds: int = FOLDS,
    seed: int = 0,
    split: Callable[..., np.ndarray] = fold_numbers,
) -> CrossValidation:
    """The arm's scores calibrated out of fold, and the curves learned from all of them.

    An attribute whose error grows demonstrably out of fold is left alone: its scores stay as they are, here and in
    the curves learned from all cases.

    Args:
        split: From each case's group, the number of folds and a source of chance to each case's fold.

    Raises:
        TooFewLabels: No juror has labels enough.
    """
    every = JuryCalibrator(labelled.ends, method=method, least=LEAST).fit(
        labelled.votes, labelled.votes["people"]
    )
    if not every.curves_:
        raise TooFewLabels(
            f"no juror of {labelled.arm} has {LEAST} labelled cases for any attribute",
            remedy="have people score more cases, or calibrate the jury's verdict instead of each juror (--direct)",
        )
    pairs = pd.MultiIndex.from_frame(labelled.votes[["juror", "attribute"]])
    votes = labelled.votes[pairs.isin(list(every.curves_))].reset_index(drop=True)
    cases = votes[["case", "cluster"]].drop_duplicates("case")
    fold_of = pd.Series(
        split(cases["cluster"].tolist(), folds, np.random.default_rng(seed)), index=cases["case"].tolist()
    )
    votes["fold"] = votes["case"].map(fold_of)
    by_fold = [
        JuryCalibrator(labelled.ends, method=method).fit(held_out, held_out["people"])
        for held_out in (votes[votes["fold"] != fold] for fold in range(int(fold_of.max()) + 1))
    ]
    votes["after"] = _out_of_fold(votes, by_fold)
    scores = _scores(labelled, votes, fold_of)
    left_alone = _worse_attributes(scores)
    is_left_alone = scores["attribute"].isin(list(left_alone))
    scores["after"] = scores["after"].where(~is_left_alone, scores["before"])
    votes["after"] = votes["after"].where(~votes["attribute"].isin(list(left_alone)), votes["value"])
    combined = composites(scores, labelled.rubric)
    return CrossValidation(
        labelled=labelled,
        votes=votes,
        scores=pd.concat([scores, combined], ignore_index=True),
        by_fold=tuple(calibrator.without(left_alone) for calibrator in by_fold),
        calibrator=every.without(left_alone),
        composites=tuple(dict.fromkeys(combined["attribute"])),
        left_alone=left_alone,
        notes=(
            *labelled.notes,
            *_notes(labelled, every, len(by_fold), folds),
            *_left_alone_notes(left_alone),
        ),
    )


def _out_of_fold(votes: pd.DataFrame, by_fold: list[JuryCalibrator]) -> np.ndarray:
    """Each vote as the curves of its own fold, which did not see it, calibrate it."""
    calibrated = np.full(len(votes), np.nan)
    for fold, learned in enumerate(by_fold):
        in_fold = (votes["fold"] == fold).to_numpy(bool)
        calibrated[in_fold] = learned.predict(votes[in_fold])
    return calibrated


def _scores(labelled: LabelledScores, votes: pd.DataFrame, fold_of: pd.Series) -> pd.DataFrame:
    means = jury_means(votes, votes["after"].to_numpy(float)).rename(columns={"value": "after"})
    scores = labelled.verdicts.merge(means, on=["case", "attribute"])
    scores["fold"] = scores["case"].map(fold_of)
    return scores[["case", "cluster", "fold", "attribute", "before", "after", "people"]]


def _worse_attributes(scores: pd.DataFrame) -> dict[str, CalibrationChange]:
    """The attributes whose error grows out of fold by more than chance would let it, with the change."""
    return {
        str(name): changes(attribute_scores, measures=("rmse",))[0]
        for name, attribute_scores in scores.groupby("attribute", sort=False)
        if tested_change("rmse", grid(attribute_scores, ("before", "after"))).shown > 0
    }


def _notes(labelled: LabelledScores, calibrator: JuryCalibrator, folds: int, asked: int) -> list[str]:
    notes = [
        f"{juror} is left out of the calibrated mean of {attribute!r}: it has {count_words(count, 'labelled case')}, and {LEAST} are needed"
        for (juror, attribute), count in calibrator.cases_.items()
        if (juror, attribute) not in calibrator.curves_
    ]
    uses = labelled.votes.groupby(["juror", "attribute"], sort=False)["value"].nunique().reset_index()
    distinct_by_pair = {
        (str(juror), str(attribute)): int(count) for juror, attribute, count in uses.itertuples(index=False)
    }
    notes += [
        f"{juror} gave every case the same score on {attribute!r}: after calibration this score is people's mean and does not distinguish cases"
        for (juror, attribute), count in distinct_by_pair.items()
        if count == 1 and (juror, attribute) in calibrator.curves_
    ]
    notes += [
        f"{juror}'s scores of {attribute!r} do not rise with people's scores, so after calibration every score of {juror} is people's mean"
        for (juror, attribute), curve in calibrator.curves_.items()
        if distinct_by_pair[juror, attribute] > 1 and np.ptp(curve.y_) < 1e-9
    ]
    for composite, weights in (labelled.rubric.composites if labelled.rubric else {}).items():
        reversed_names = labelled.rubric.reversed_names if labelled.rubric else {}
        parts = [reversed_names.get(part, part) for part, weight in weights.items() if weight]
        lost = sorted(set(parts) - {attribute for _, attribute in calibrator.curves_})
        if lost:
            notes.append(
                f"the composite score {composite!r} is left out: its attributes {', '.join(lost)} could not be calibrated"
            )
    if folds < asked:
        notes.append(
            f"{labelled.arm}: {folds} folds are used instead of {asked}, because there are {folds} groups of cases"
        )
    return notes


def _left_alone_notes(left_alone: Mapping[str, CalibrationChange]) -> list[str]:
    return [
        f"{name!r} is not calibrated: calibration would change its RMSE from {before:.2f} to {after:.2f} on cases that were not trained on"
        for name, before, after in (
            (name, error.before.value, error.after.value) for name, error in left_alone.items()
        )
    ]


def learning_curve(crossed: CrossValidation, *, seed: int, repeats: int = REPEATS) -> pd.DataFrame:
    """Out-of-fold RMSE, as curves learn from more and more of the labelled cases outside the fold.

    Each repeat draws whole groups until the size is reached; `low` and `high` hold the middle 90% of repeats. All
    calibrated attributes are pooled, those left alone not among them, each in units of its own scale's length, times that of the first.
    """
    rng = np.random.default_rng(seed)
    lessons = _Lessons(crossed)
    available = int(min((lessons.fold != fold).sum() for fold in range(lessons.folds)))
    rows = []
    for size in sizes(available):
        times = repeats if size < available else 1
        errors = lessons.errors(size, times, rng)
        low, high = np.quantile(errors, [0.05, 0.95]) if times > 1 else (np.nan, np.nan)
        rows.append((crossed.labelled.arm, size, errors.mean(), low, high, times))
    return pd.DataFrame(rows, columns=COLUMNS)


def sizes(most: int) -> list[int]:
    """From `LEAST` to `most`, each about one and a half times the one before."""
    steps, size = [], float(LEAST)
    while size < most * 0.87:
        steps.append(round(size))
        size *= 1.5
    return [*steps, most]


def enough(curve: pd.DataFrame) -> int | None:
    """The fewest cases from which the error stays within `ENOUGH` of that with all; None where only all of them do."""
    errors, cases = curve["rmse"].to_numpy(float), curve["cases"].to_numpy(int)
    is_near = errors <= errors[-1] * (1 + ENOUGH)
    stays_near = np.logical_and.accumulate(is_near[::-1])[::-1]
    place = int(np.argmax(stays_near))
    return int(cases[place]) if place < len(cases) - 1 else None


class _Lessons:
    """The votes as arrays, to learn from many subsets of the same cases."""

    def __init__(self, crossed: CrossValidation) -> None:
        labelled = crossed.labelled
        votes = crossed.votes[~crossed.votes["attribute"].isin(list(crossed.left_alone))].reset_index(
            drop=True
        )
        self.method, self.ends = crossed.calibrator.method, labelled.ends
        self.case, names = pd.factorize(votes["case"])
        case_rows = votes.drop_duplicates("case").set_index("case").loc[list(names)]
        self.fold, self.cluster = case_rows["fold"].to_numpy(int), pd.factorize(case_rows["cluster"])[0]
        self.folds = crossed.folds
        self.value, self.people = votes["value"].to_numpy(float), votes["people"].to_numpy(float)
        place = pd.Series(np.arange(len(votes)), index=votes.index)
        self.seats = [
            (str(attribute), place[seat_votes.index].to_numpy(int))
            for (_, attribute), seat_votes in votes.groupby(["juror", "attribute"], sort=False)
        ]
        self.unit = votes.groupby(["case", "attribute"], sort=False).ngroup().to_numpy(int)
        repeats = votes.groupby(["case", "attribute", "juror"], sort=False)["value"].transform("size")
        self.share = 1 / repeats.to_numpy(float)
        scale = next(iter(self.ends.values()))
        length = [
            (self.ends[name][1] - self.ends[name][0]) / (scale[1] - scale[0]) for name in votes["attribute"]
        ]
        self.length = np.array(length)

    def errors(self, size: int, times: int, rng: np.random.Generator) -> FloatArray:
        """So many times the out-of-fold RMSE of curves learned from `size` cases outside each fold."""
        outside = [np.flatnonzero(self.fold != fold) for fold in range(self.folds)]
        groups = [np.unique(self.cluster[rows], return_inverse=True)[1] for rows in outside]
        is_known = np.zeros((times, self.folds, len(self.fold)), dtype=bool)
        for time, fold in np.ndindex(times, self.folds):
            is_known[time, fold, outside[fold]] = _some_groups(groups[fold], size, rng)
        calibrated = np.full((times, len(self.value)), np.nan)
        for attribute, rows in self.seats:
            low, high = self.ends[attribute]
            at, place = np.unique(self.value[rows], return_inverse=True)
            taught = is_known.reshape(times * self.folds, -1)[:, self.case[rows]]
            predicted = METHODS[self.method](low=low, high=high).predictions(
                self.value[rows], self.people[rows], taught, at
            )
            by_fold = predicted.reshape(times, self.folds, len(at))
            calibrated[:, rows] = by_fold[:, self.fold[self.case[rows]], place]
        return np.array([self._error(draw) for draw in calibrated])

    def _error(self, calibrated: FloatArray) -> float:
        has_value = ~np.isnan(calibrated)
        share = np.where(has_value, self.share, 0.0)
        gap = np.where(has_value, calibrated - self.people, 0.0) / self.length
        total, weight = (np.bincount(self.unit, weights=weights) for weights in (share * gap, share))
        return float(np.sqrt(np.mean((total[weight > 0] / weight[weight > 0]) ** 2)))


def _some_groups(group: IntArray, size: int, rng: np.random.Generator) -> BoolArray:
    """Marks the rows of whole groups in random order, as many groups as it takes to hold `size` rows; groups are numbered."""
    group_sizes = np.bincount(group)
    order = rng.permutation(len(group_sizes))
    is_kept = np.zeros(len(group_sizes), dtype=bool)
    is_kept[order[: int(np.searchsorted(group_sizes[order].cumsum(), size)) + 1]] = True
    return is_kept[group]
