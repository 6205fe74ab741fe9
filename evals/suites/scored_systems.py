"""Recorded outputs scored: what each system's answers are worth, with baselines beside them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...rubrics.errors import InvalidFile, VenireError
from ...rubrics.files import near_column, read_rows
from ..statistics.estimate import Estimate, undefined
from ..statistics.proportion import wilson
from .scenario import Scenario, ScenarioCase
from .scorer import CaseScore, GradedAnswer
from .scorers.choice import choices

METHOD = (
    "mean over cases, an unparsed answer earning nothing; Wilson interval at the effective number of cases"
)
CANDIDATES = 5
"""Answers tried as a constant where a scenario has no choices: the most frequent targets."""


@dataclass(frozen=True)
class Outputs:
    """What systems answered, by system and case."""

    by_system: Mapping[str, Mapping[str, str]]
    unknown: tuple[str, ...]
    """Cases that the scenario does not have."""
    other: int
    """Rows of other scenarios."""


@dataclass(frozen=True)
class ScoredSystem:
    """One system, or a baseline, on one scenario."""

    system: str
    score: Estimate
    """Of all cases that say what is right and that it was asked."""
    parsed: float
    """Among the answers that could be read; NaN where there is none."""
    cases: Mapping[str, CaseScore]
    missing: int
    """Cases without an output."""

    def count(self, status: str) -> int:
        """How many of its answers have this status."""
        return sum(each.status == status for each in self.cases.values())


@dataclass(frozen=True)
class ScoredScenario:
    """Every system on a scenario, best first, and what an answer without reading would get."""

    scenario: Scenario
    systems: tuple[ScoredSystem, ...]
    baselines: Mapping[str, float]
    """`constant`: the best single answer to every case; `random`: a random one of the same answers, on average."""
    constant: str
    """That single answer."""
    cases: int
    outputs: Outputs


def load_outputs(path: str | Path, scenario: Scenario, cases: Sequence[ScenarioCase]) -> Outputs:
    """The outputs in a JSONL or CSV file with the columns `case`, `system`, `output` and, optionally, `scenario`.

    Raises:
        InvalidFile: Something is wrong with a row, or no row belongs to the scenario, or half of them match no case.
    """
    file = Path(path)
    known = {case.id for case in cases}
    by_system: dict[str, dict[str, str]] = {}
    unknown: list[str] = []
    other = 0
    for line, row in read_rows(file, required=("case", "system", "output")):
        for column in ("case", "system", "output"):
            if row.get(column) is None:
                raise InvalidFile(
                    f"{file}:{line}: no {column!r}",
                    remedy=f"{near_column(column, row)}give case, system and output in every row",
                )
        if row.get("scenario") not in (None, "", scenario.name):
            other += 1
            continue
        case, system = str(row["case"]).strip(), str(row["system"]).strip()
        if case not in known:
            unknown.append(case)
            continue
        outputs = by_system.setdefault(system, {})
        if case in outputs:
            raise InvalidFile(
                f"{file}:{line}: {system!r} has two outputs for case {case!r}", remedy="keep one of them"
            )
        outputs[case] = str(row["output"])
    matched = sum(map(len, by_system.values()))
    if not matched or len(unknown) > matched:
        which = (
            f"{len(unknown)} match no case of it, {unknown[0]!r} first"
            if unknown
            else f"{other} are of other scenarios"
        )
        raise InvalidFile(
            f"{file}: {matched} outputs for the scenario {scenario.name!r}: {which}",
            remedy="the column case holds the ids of the scenario's cases, the column scenario its name",
        )
    return Outputs(by_system, tuple(dict.fromkeys(unknown)), other)


def score_outputs(scenario: Scenario, cases: Sequence[ScenarioCase], outputs: Outputs) -> ScoredScenario:
    """Every system's answers, scored by the scenario's scorer, and the baselines scored by the same."""
    if all(case.target is None for case in cases):
        raise VenireError(
            f"{scenario.cases}: no case says what is right",
            remedy="add a column target, or name one in the scenario: target: COLUMN",
        )
    systems = [
        _scored_system(scenario, cases, system, answers) for system, answers in outputs.by_system.items()
    ]
    systems.sort(
        key=lambda each: -math.inf if math.isnan(each.score.value) else each.score.value, reverse=True
    )
    tried = {
        answer: _scored_system(scenario, cases, answer, {case.id: answer for case in cases}).score.value
        for answer in _candidates(scenario, cases)
    }
    rated = {answer: value for answer, value in tried.items() if not math.isnan(value)}
    best = max(rated, key=lambda answer: rated[answer], default="")
    baselines = {
        "constant": rated.get(best, math.nan),
        "random": float(np.mean(list(rated.values()))) if rated else math.nan,
    }
    return ScoredScenario(scenario, tuple(systems), baselines, best, len(cases), outputs)


def _candidates(scenario: Scenario, cases: Sequence[ScenarioCase]) -> list[str]:
    """The choices of a scenario that has some; else its most frequent targets, as they would be answered."""
    if scenario.scorer.name == "choice":
        return list(
            dict.fromkeys(label for case in cases for label in choices(scenario.answer, case.columns))
        )
    targets = Counter(_as_answer(case.target) for case in cases if case.target is not None)
    return [answer for answer, _ in targets.most_common(CANDIDATES)]


def _as_answer(target: Any) -> str:
    """A target as a system would write it: a list's items, a range's middle."""
    if isinstance(target, Mapping) and {"low", "high"} <= set(target):
        return str((float(target["low"]) + float(target["high"])) / 2)
    if isinstance(target, list | tuple):
        if len(target) == 2 and all(isinstance(end, int | float) for end in target):
            return str((target[0] + target[1]) / 2)
        return ", ".join(map(str, target)) or "none"
    return str(target)


def _scored_system(
    scenario: Scenario, cases: Sequence[ScenarioCase], system: str, outputs: Mapping[str, str]
) -> ScoredSystem:
    answers = [
        GradedAnswer(case.id, outputs[case.id], case.target, case.columns)
        for case in cases
        if case.id in outputs
    ]
    found = scenario.scorer.score(answers, scenario.answer, scenario.scorer_options)
    scores = {answer.case: score for answer, score in zip(answers, found, strict=True)}
    for case, score in scores.items():
        if score.status == "scored" and (score.value is None or not math.isfinite(score.value)):
            raise VenireError(
                f"the scorer {scenario.scorer.name} calls case {case} scored and gives it {score.value}",
                remedy="a scorer that has no value for a case gives it the status undefined",
            )
    read = [each for each in scores.values() if each.status == "scored"]
    weight = sum(each.weight for each in read)
    parsed = sum(each.weight * each.earned for each in read) / weight if weight else math.nan
    return ScoredSystem(system, mean_score(list(scores.values())), parsed, scores, len(cases) - len(answers))


def mean_score(scores: Sequence[CaseScore]) -> Estimate:
    """The weighted mean of the scores, an unparsed answer earning nothing; undefined ones are left out."""
    counted = [each for each in scores if each.status != "undefined" and each.weight > 0]
    if not counted:
        return undefined("no case says what is right", method=METHOD)
    values = np.array([each.earned for each in counted])
    weights = np.array([each.weight for each in counted])
    n, mean = len(counted), float(values @ weights / weights.sum())
    if n < 2:
        return Estimate(mean, math.nan, math.nan, n, METHOD, note="no interval: one case")
    error = math.sqrt(n / (n - 1) * float((weights**2 * (values - mean) ** 2).sum())) / float(weights.sum())
    size = mean * (1 - mean) / error**2 if error > 1e-12 and 0 < mean < 1 else n
    low, high = wilson(min(max(mean, 0.0), 1.0), size, 0.95)
    return Estimate(mean, low, high, n, METHOD)
