"""What verdicts earn beside people's values: question by question to learn from, and as a measure over cases to claim with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...orchestration.verdict import Outcome, Verdict
from ...rubrics.case import is_swapped
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ...rubrics.rubric import Rubric
from ...rubrics.scale import Scale, Value
from ..ratings.question import rubric_questions
from ..ratings.reference import Rule, reference
from ..statistics.chance import kappa_statistic
from ..statistics.classification import f1_coefficient
from ..statistics.contrast import Contrast, paired_difference
from ..statistics.error import offset_statistic
from ..statistics.icc import icc_coefficient
from ..statistics.matrix import FloatArray, IntArray
from ..statistics.weighted import Coefficient, Statistic
from .schema import MeasureName, Reward

WORDS: Mapping[MeasureName | None, str] = {
    "icc3k": "ICC(3,k)",
    "kappa_quadratic": "quadratic kappa",
    "credit": "mean credit",
    "f1": "F1",
    None: "mean reward by the cost matrix",
}


@dataclass(frozen=True)
class Rewards:
    """The reward that an optimisation is for, over the attributes that people rated."""

    reward: Reward
    rubric: Rubric
    truth: Mapping[tuple[str, str], Value]
    """By case and attribute, people's value."""
    attributes: tuple[str, ...]

    @property
    def words(self) -> str:
        return WORDS[self.reward.measure]

    def of_question(self, case: str, attribute: str, outcome: Outcome | None) -> float:
        """What one verdict earns; NaN where people gave no value, or where it is missing and nothing is set for that."""
        truth = self.truth.get((case, attribute))
        if truth is None:
            return np.nan
        scale = self.rubric.scale_of(attribute)
        answer = outcome.value if outcome is not None and outcome.status == "reached" else None
        if self.reward.costs is not None:
            return self._cell(scale, truth, answer)
        if answer is None:
            return np.nan if self.reward.abstention is None else self.reward.abstention
        return answer_credit(scale, truth, answer)

    def of_case(self, verdict: Verdict) -> float:
        """The mean over the questions of a case that have a reward; NaN where none has."""
        earned = [
            self.of_question(verdict.case, name, verdict.outcomes.get(name)) for name in self.attributes
        ]
        known_rewards = [value for value in earned if not np.isnan(value)]
        return float(np.mean(known_rewards)) if known_rewards else np.nan

    def open_questions(self, verdict: Verdict) -> int:
        """The questions of a case that people answered and the verdict does not."""
        return sum(
            (verdict.case, name) in self.truth and verdict.outcomes[name].status != "reached"
            for name in self.attributes
        )

    @property
    def best(self) -> float:
        """The most that a question can earn."""
        if self.reward.costs is None:
            return 1.0
        scale = self.rubric.scale_of(self.reward.costs)
        return max(self._cell(scale, value, value) for value in scale.values)

    @property
    def worst(self) -> float:
        """The least that a verdict can earn: what steers a search away from a case without one. Never reported."""
        if self.reward.costs is None:
            return 0.0
        scale = self.rubric.scale_of(self.reward.costs)
        return min(self._cell(scale, truth, answer) for truth in scale.values for answer in scale.values)

    def contrast(self, first: Sequence[Verdict], second: Sequence[Verdict], cluster: IntArray) -> Contrast:
        """The measure of the first wording minus that of the second, on the same cases in the same order."""
        measure, rows = self._measure(first, second)
        return paired_difference(
            measure,
            rows[0],
            rows[1],
            cluster,
            method=f"difference in {self.words}",
            otherwise="no question has a verdict both with the old and with the new wording",
        )

    def value(self, verdicts: Sequence[Verdict]) -> float:
        """The measure of one wording."""
        measure, rows = self._measure(verdicts, verdicts)
        return float(measure(rows[0])(np.ones((1, len(rows[0]))))[0]) if len(rows[0]) else np.nan

    def _measure(
        self, first: Sequence[Verdict], second: Sequence[Verdict]
    ) -> tuple[Coefficient, tuple[FloatArray, FloatArray]]:
        """The measure, and for each wording what it is made of, a row a case."""
        if self.reward.measure in (None, "credit"):
            first_rows, second_rows = (
                np.array([self.of_case(verdict) for verdict in part]) for part in (first, second)
            )
            complete = ~np.isnan(first_rows + second_rows)
            return _mean, (
                np.where(complete, first_rows, np.nan)[:, None],
                np.where(complete, second_rows, np.nan)[:, None],
            )
        first_rows, second_rows = self._answers(first), self._answers(second)
        # A question that one of the two leaves open says nothing of either: both are judged on the same.
        complete = ~np.isnan(first_rows + second_rows)
        return self._over_attributes(), (
            np.where(complete, first_rows, np.nan),
            np.where(complete, second_rows, np.nan),
        )

    def _answers(self, verdicts: Sequence[Verdict]) -> FloatArray:
        """For each attribute two columns: the verdict's value and people's, as numbers."""
        table = np.full((len(verdicts), 2 * len(self.attributes)), np.nan)
        for row, verdict in enumerate(verdicts):
            for at, name in enumerate(self.attributes):
                outcome, truth = verdict.outcomes[name], self.truth.get((verdict.case, name))
                if outcome.status == "reached" and outcome.value is not None and truth is not None:
                    scale = self.rubric.scale_of(name)
                    table[row, 2 * at : 2 * at + 2] = _number(scale, outcome.value), _number(scale, truth)
        return table

    def _over_attributes(self) -> Coefficient:
        """The mean over attributes of each one's measure, each on the cases in which it was answered."""
        parts = [self._of_attribute(name) for name in self.attributes]

        def coefficient(rows: FloatArray) -> Statistic:
            statistics: list[tuple[Statistic, npt.NDArray[np.bool_]]] = []
            for at, part in enumerate(parts):
                pair = rows[:, 2 * at : 2 * at + 2]
                complete = np.asarray(~np.isnan(pair).any(axis=1))
                if complete.sum() >= 2:
                    statistics.append((part(pair[complete]), complete))

            def mean(weights: FloatArray) -> FloatArray:
                if not statistics:
                    return np.full(len(weights), np.nan)
                return np.asarray(
                    np.mean([statistic(weights[:, complete]) for statistic, complete in statistics], axis=0)
                )

            return mean

        return coefficient

    def _of_attribute(self, name: str) -> Coefficient:
        scale = self.rubric.scale_of(name)
        levels = np.array([_number(scale, value) for value in scale.values])
        if self.reward.measure == "icc3k":
            return icc_coefficient("icc3k")
        if self.reward.measure == "kappa_quadratic":
            pair = kappa_statistic(np.sort(levels), "quadratic")
            return lambda rows: pair(_nearest(rows[:, 0], levels), _nearest(rows[:, 1], levels))
        # Of two values the higher is the one looked for; of more, every one counts alike.
        return f1_coefficient(levels[-1:] if scale.level == "binary" else levels)

    def _cell(self, scale: Scale, truth: Value, answer: Value | None) -> float:
        """The worth by the cost matrix; a number between two levels counts as the nearest, in the middle as the lower."""
        assert scale.costs is not None
        if answer is None and self.reward.abstention is not None:
            return self.reward.abstention
        return scale.costs.reward(_level(scale, truth), None if answer is None else _level(scale, answer))


def answer_credit(scale: Scale, truth: Value, answer: Value) -> float:
    """From 0 to 1: 1 for people's value; on an ordered scale less in proportion to the distance, elsewhere nothing."""
    if not scale.ordered or scale.level == "binary":
        return float(_same(truth, answer))
    low, high = map(float, scale.ends)
    return 1 - abs(float(answer) - float(truth)) / (high - low)


def rewards(reward: Reward, rubric: Rubric, ratings: pd.DataFrame, rule: Rule | None) -> Rewards:
    """The reward beside people's reference.

    Raises:
        VenireError: The reward is for an attribute that has no costs, or needs an order that a scale does not have.
    """
    names = rubric.names if reward.costs is None else (reward.costs,)
    if reward.costs is not None and reward.costs not in rubric.names:
        raise VenireError(
            f"the rubric {rubric.name!r} has no attribute {reward.costs!r}",
            remedy=nearest(reward.costs, rubric.names),
        )
    if reward.costs is not None and rubric.scale_of(reward.costs).costs is None:
        raise VenireError(
            f"the scale of {reward.costs!r} has no costs",
            remedy="write costs: under the scale in the rubric, or choose reward: credit",
        )
    table = reference(ratings, rubric_questions(rubric, only=names), rule=rule).table
    truth: dict[tuple[str, str], Value] = {
        # People's preferences are between the row's outputs, verdicts between output A and output B.
        (str(case), str(attribute)): -value if rubric.compares and is_swapped(str(case)) else value
        for case, attribute, value in zip(table["case"], table["attribute"], table["value"], strict=True)
    }
    rated_names = tuple(name for name in names if any(attribute == name for _, attribute in truth))
    if reward.measure in ("icc3k", "kappa_quadratic"):
        for name in rated_names:
            if not rubric.scale_of(name).ordered:
                raise VenireError(
                    f"{reward.measure} needs values with an order, but those of {name!r} have none",
                    remedy="use reward: credit or f1",
                )
    if reward.measure in ("kappa_quadratic", "f1"):
        for name in rated_names:
            if not rubric.scale_of(name).values:
                raise VenireError(
                    f"{reward.measure} needs a scale with levels, but {name!r} allows any number",
                    remedy="use reward: icc3k or credit",
                )
    return Rewards(reward, rubric, truth, rated_names)


def _mean(rows: FloatArray) -> Statistic:
    """The mean of the first column without its NaNs."""
    known_rows = ~np.isnan(rows[:, 0])
    values = rows[known_rows, 0]
    statistic = offset_statistic(values, np.zeros(len(values)))
    return lambda weights: statistic(weights[:, known_rows])


def _same(value: Value, target: Value) -> bool:
    return (
        str(value) == str(target)
        if isinstance(value, str) or isinstance(target, str)
        else float(value) == float(target)
    )


def _number(scale: Scale, value: Value) -> float:
    if scale.numeric:
        return float(value)
    return float(list(map(str, scale.values)).index(str(value)))


def _level(scale: Scale, value: Value) -> Value:
    if not scale.numeric:
        return next(legal for legal in scale.values if str(legal) == str(value))
    return min(scale.values, key=lambda legal: (abs(float(legal) - float(value)), float(legal)))


def _nearest(values: FloatArray, levels: FloatArray) -> FloatArray:
    return np.asarray(levels[np.abs(values[:, None] - levels).argmin(axis=1)])
