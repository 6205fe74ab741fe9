"""Answers scored: what each system's are worth, with baselines beside them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...rubrics.errors import InvalidFile, VenireError
from ...rubrics.files import near_column
from ...rubrics.rows import read_rows
from ..statistics.estimate import Estimate, undefined
from ..statistics.proportion import wilson
from .scenario import Scenario, ScenarioCase
from .scorer import CaseScore, GradedAnswer, JudgedScorer, Scorer
from .scorers.choice import choices

METHOD = "mean over cases, where an unparsed answer earns nothing; Wilson interval at the effective number of cases"
COUNTED = ("scored", "unparsed")
"""The statuses that count in a mean."""
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
        return sum(score.status == status for score in self.cases.values())


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
    outputs: Outputs | None = None
    """Where they were read from one file."""

    def count(self, status: str) -> int:
        """How many answers of all systems have this status."""
        return sum(system.count(status) for system in self.systems)


def load_outputs(path: str | Path, scenario: Scenario, cases: Sequence[ScenarioCase]) -> Outputs:
    """The outputs in a JSONL or CSV file with the columns `case`, `system`, `output` and, optionally, `scenario`.

    Raises:
        InvalidFile: Something is wrong with a row, or no row belongs to the scenario, or half of them match no case.
    """
    file = Path(path)
    case_ids = {case.id for case in cases}
    by_system: dict[str, dict[str, str]] = {}
    unknown: list[str] = []
    elsewhere = 0
    for line, row in read_rows(file, required=("case", "system", "output")):
        for column in ("case", "system", "output"):
            if row.get(column) is None:
                raise InvalidFile(
                    f"{file}:{line}: the value is missing in the column {column!r}",
                    remedy=f"{near_column(column, row)}give every row a case, a system and an output",
                )
        if row.get("scenario") not in (None, "", scenario.name):
            elsewhere += 1
            continue
        case, system = str(row["case"]).strip(), str(row["system"]).strip()
        if case not in case_ids:
            unknown.append(case)
            continue
        outputs = by_system.setdefault(system, {})
        if case in outputs:
            raise InvalidFile(
                f"{file}:{line}: {system!r} has two outputs for case {case!r}",
                remedy="keep one of the two rows",
            )
        outputs[case] = str(row["output"])
    match_count = sum(map(len, by_system.values()))
    if not match_count or len(unknown) > match_count:
        mismatch = (
            f"{len(unknown)} outputs match none of its cases, such as {unknown[0]!r}"
            if unknown
            else f"{elsewhere} outputs belong to other scenarios"
        )
        raise InvalidFile(
            f"{file}: {match_count} outputs for the scenario {scenario.name!r}: {mismatch}",
            remedy="write the ids of the scenario's cases in the column case, and the scenario's name in the column scenario",
        )
    return Outputs(by_system, tuple(dict.fromkeys(unknown)), elsewhere)


def score_outputs(scenario: Scenario, cases: Sequence[ScenarioCase], outputs: Outputs) -> ScoredScenario:
    """Every system's outputs, scored by the scenario's scorer, and the baselines scored by the same.

    Raises:
        VenireError: No case says what is right, or a jury scores the scenario.
    """
    if isinstance(scenario.scorer, JudgedScorer):
        raise VenireError(
            f"{scenario.name} is scored by a jury, which this command does not run",
            remedy="add the scenario to a suite file, with these outputs under systems, and run: venire suite run SUITE.yaml",
        )
    if all(case.target is None for case in cases):
        raise VenireError(
            f"{scenario.cases}: no case has a target (the right answer)",
            remedy="add a column target, or name another column in the scenario: target: COLUMN",
        )
    systems = {system: graded_scores(scenario, cases, texts) for system, texts in outputs.by_system.items()}
    return scored_scenario(scenario, cases, systems, outputs)


def scored_scenario(
    scenario: Scenario,
    cases: Sequence[ScenarioCase],
    systems: Mapping[str, Mapping[str, CaseScore]],
    outputs: Outputs | None = None,
) -> ScoredScenario:
    """The systems by their case scores, best first, with the baselines; a jury's scenario has none, as nobody judged them."""
    scored_systems = [_scored_system(scenario, cases, system, scores) for system, scores in systems.items()]
    scored_systems.sort(
        key=lambda system: -math.inf if math.isnan(system.score.value) else system.score.value, reverse=True
    )
    baselines, constant = _baselines(scenario, cases)
    return ScoredScenario(scenario, tuple(scored_systems), baselines, constant, len(cases), outputs)


def graded_scores(
    scenario: Scenario, cases: Sequence[ScenarioCase], outputs: Mapping[str, str]
) -> dict[str, CaseScore]:
    """One system's outputs by case, scored by the scenario's program."""
    assert isinstance(scenario.scorer, Scorer)
    answers = [
        GradedAnswer(case.id, outputs[case.id], case.target, case.columns)
        for case in cases
        if case.id in outputs
    ]
    case_scores = scenario.scorer.score(answers, scenario.answer, scenario.scorer_options)
    scores = {answer.case: score for answer, score in zip(answers, case_scores, strict=True)}
    _check_scored(scenario, scores)
    return scores


def _baselines(scenario: Scenario, cases: Sequence[ScenarioCase]) -> tuple[dict[str, float], str]:
    """What the best single answer to every case and a random one earn, and that answer."""
    if isinstance(scenario.scorer, JudgedScorer):
        return {"constant": math.nan, "random": math.nan}, ""
    earnings = {}
    for answer in _candidates(scenario, cases):
        scores = graded_scores(scenario, cases, {case.id: answer for case in cases})
        value = mean_score(list(scores.values()), scenario.ends).value
        if not math.isnan(value):
            earnings[answer] = value
    constant = max(earnings, key=lambda answer: earnings[answer], default="")
    mean = float(np.mean(list(earnings.values()))) if earnings else math.nan
    return {"constant": earnings.get(constant, math.nan), "random": mean}, constant


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
    scenario: Scenario, cases: Sequence[ScenarioCase], system: str, scores: Mapping[str, CaseScore]
) -> ScoredSystem:
    read = [score for score in scores.values() if score.status == "scored"]
    weight = sum(score.weight for score in read)
    parsed_mean = sum(score.weight * score.points() for score in read) / weight if weight else math.nan
    mean = mean_score(list(scores.values()), scenario.ends)
    if scenario.seating is not None and system == scenario.seating.against:
        note = (
            "this is the baseline that the other systems are compared with, so it scores half by definition"
        )
        mean = replace(mean, low=math.nan, high=math.nan, note=note)
    return ScoredSystem(system, mean, parsed_mean, scores, len(cases) - len(scores))


def _check_scored(scenario: Scenario, scores: Mapping[str, CaseScore]) -> None:
    """Raise where a scorer calls a case scored and has no number for it."""
    for case, score in scores.items():
        if score.status == "scored" and (score.value is None or not math.isfinite(score.value)):
            raise VenireError(
                f"the scorer {scenario.scorer.name} gives case {case} the status scored and the value {score.value}",
                remedy="change the scorer: a case without a value must get the status undefined",
            )


def mean_score(scores: Sequence[CaseScore], ends: tuple[float, float] = (0.0, 1.0)) -> Estimate:
    """The weighted mean of the scores on a scale with these ends, an unparsed answer earning the lowest.

    Only scored and unparsed answers count: a failure, a hung jury or a case without a target is not a number.
    """
    counted_scores = [score for score in scores if score.status in COUNTED and score.weight > 0]
    low_end, high_end = ends
    if not counted_scores:
        return undefined(_why_undefined(scores), method=METHOD)
    values = np.array([(score.points(low_end) - low_end) / (high_end - low_end) for score in counted_scores])
    weights = np.array([score.weight for score in counted_scores])
    n, mean = len(counted_scores), float(values @ weights / weights.sum())
    if n < 2:
        return Estimate(
            _on_scale(mean, ends), math.nan, math.nan, n, METHOD, note="no interval: only one case"
        )
    error = math.sqrt(n / (n - 1) * float((weights**2 * (values - mean) ** 2).sum())) / float(weights.sum())
    size = mean * (1 - mean) / error**2 if error > 1e-12 and 0 < mean < 1 else n
    low, high = wilson(min(max(mean, 0.0), 1.0), size, 0.95)
    return Estimate(_on_scale(mean, ends), _on_scale(low, ends), _on_scale(high, ends), n, METHOD)


def _on_scale(share: float, ends: tuple[float, float]) -> float:
    return ends[0] + (ends[1] - ends[0]) * share


def _why_undefined(scores: Sequence[CaseScore]) -> str:
    statuses = Counter(score.status for score in scores)
    if not statuses:
        return "no answer"
    commonest = statuses.most_common(1)[0][0]
    return {
        "failed": "no answer was received",
        "hung": "the jury is hung on every case",
        "unjudged": "no answer was judged",
    }.get(commonest, "no case has a target (the right answer)")
