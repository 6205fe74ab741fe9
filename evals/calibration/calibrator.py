"""A jury's calibration: one curve for each juror and attribute."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import copy
from typing import Any, Literal, Self

import numpy as np
import pandas as pd

from ...rubrics.errors import VenireError
from ..statistics.matrix import FloatArray, InvalidRatings
from .curves import (
    Curve,
    Estimator,
    IsotonicCurve,
    LinearCurve,
    NotFitted,
    OrdinalCurve,
    column,
    identity_curve,
)

Method = Literal["isotonic", "linear", "ordinal"]
METHODS: Mapping[str, type[Curve]] = {
    "isotonic": IsotonicCurve,
    "linear": LinearCurve,
    "ordinal": OrdinalCurve,
}
Ends = tuple[float, float]


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
                f"no method of calibration named {self.method!r}",
                remedy=f"choose one of {', '.join(METHODS)}",
            )
        labels = column(y)
        if len(labels) != len(X):
            raise InvalidRatings(
                f"{len(X)} votes and {len(labels)} labels", remedy="give one label for each vote"
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
