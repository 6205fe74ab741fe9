"""What a suite found: every answer scored, the board of all systems, and what it cost. Makes no model call."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import pandas as pd

from ...orchestration.deliberate import recount
from ...orchestration.reading.export import learned_count
from ...orchestration.reading.show import judges_words, versions_of
from ...orchestration.record import Arm, Store
from ...orchestration.record.store import run_exists
from ...orchestration.transcript import Transcript
from ...orchestration.verdict import Verdict
from ...personas.jury import ModelSettings
from ...rubrics.case import Case
from ...rubrics.errors import VenireError, count_words
from ..statistics.draws import Draws
from . import ANSWERS, VERDICTS
from .board import Board, TieRule, board
from .score_table import ScenarioColumn, ScoreTable
from .scored_systems import COUNTED, ScoredScenario, ScoredSystem, graded_scores, scored_scenario
from .scorer import CaseScore, JudgedScorer, Scorer
from .suite import LoadedSuite, SuitePart, arm_name
from .suite_cost import SuitePrices, SystemCost, TokenCost, dominated_by, token_cost
from .suite_run import SystemAnswer, all_answers, group_of, heard_cases, judged_id, system_jury


@dataclass(frozen=True)
class SuiteResults:
    """The scored scenarios, the board that they make, and the costs."""

    suite: LoadedSuite
    folder: Path
    scored: tuple[ScoredScenario, ...]
    table: ScoreTable
    board: Board
    costs: Mapping[str, SystemCost]
    judged: pd.DataFrame
    """Every answer that a jury rated by itself: `case` (its id in the record), `set`, `group`, `jury` (the score), `output`, `reference`."""
    answers: Mapping[str, Mapping[str, Mapping[str, SystemAnswer]]]
    """By scenario, system and case."""
    baselines: Mapping[str, float]
    """The macro averages of the constant and the random baseline over the scenarios that have them."""
    notes: tuple[str, ...]
    judges: tuple[str, ...]
    """A sentence for each system that was asked and each jury that judged: model, version, temperature, prompts."""

    @property
    def dominated(self) -> dict[str, str]:
        """Systems that another beats in both win rate and cost, with the other."""
        rates = {standing.system: standing.win_rate for standing in self.board.standings}
        return dominated_by({name: cost.total.usd for name, cost in self.costs.items()}, rates)


def suite_results(
    suite: LoadedSuite, folder: Path, *, ties: TieRule = "half", draws: Draws | None = None
) -> SuiteResults:
    """The results of the suite from the records in `folder` and the outputs that files gave.

    Raises:
        VenireError: No system has an answer yet.
    """
    answers_store = Store.read(folder / ANSWERS) if run_exists(folder / ANSWERS) else None
    verdicts_store = Store.read(folder / VERDICTS) if run_exists(folder / VERDICTS) else None
    prices = SuitePrices(suite.prices)
    answered: dict[str, dict[str, dict[str, SystemAnswer]]] = {}
    scenarios, costs = [], dict.fromkeys(suite.systems, SystemCost())
    notes = list(suite.notes)
    judged_rows: list[dict[str, object]] = []
    try:
        for part in suite.parts:
            answers = answered[part.name] = all_answers(suite, part, answers_store)
            judgements = _Judgements(part, answers, verdicts_store)
            systems = {name: _case_scores(part, own, judgements, name) for name, own in answers.items()}
            scenarios.append(scored_scenario(part.scenario, part.cases, systems))
            for name, own in answers.items():
                costs[name] = costs[name].plus("generation", _generation_cost(suite, part, name, own, prices))
                costs[name] = costs[name].plus("jury", judgements.cost(name, prices))
            judged_rows += _judged_rows(part, answers, systems)
            if stale := judgements.stale:
                notes.append(
                    f"{part.name}: {count_words(stale, 'answer')} changed after the jury judged them; run the suite again"
                )
        judges = (
            *_models_asked(suite, answers_store, "answered"),
            *_models_asked(suite, verdicts_store, "judged"),
        )
    finally:
        for store in (answers_store, verdicts_store):
            if store is not None:
                store.release()
    if not any(scenario.systems for scenario in scenarios):
        raise VenireError(
            f"{folder}: no system has an answer yet", remedy=f"run the suite: venire suite run {suite.file}"
        )
    table = _score_table(suite, scenarios)
    return SuiteResults(
        suite, folder, tuple(scenarios), table, board(table, ties=ties, draws=draws), costs,
        pd.DataFrame(judged_rows, columns=["case", "set", "group", "jury", "output", "reference"]),
        answered, _macro_baselines(scenarios), tuple(notes), judges
    )  # fmt: skip


def _models_asked(suite: LoadedSuite, store: Store | None, verb: Literal["answered", "judged"]) -> list[str]:
    """A sentence for each system, or jury, that is in the record; one that was the same in several scenarios has one for all."""
    scenarios: dict[tuple[str, str], list[str]] = {}
    arms = {arm.name: arm for arm in store.arms()} if store else {}
    for part in suite.parts:
        juries = [part.scenario.seating.jury.name] if part.scenario.seating else []
        for name in suite.systems if verb == "answered" else juries:
            arm, versions = arms.get(arm_name(part.name, name)), dict[str, set[str]]()
            if arm is None or store is None:
                continue
            for transcript in store.transcripts(arm):
                for seat, stated in versions_of(transcript).items():
                    versions.setdefault(seat, set()).update(stated)
            scenarios.setdefault((name, judges_words(arm, versions)), []).append(part.name)
    return [
        f"{name} answered {', '.join(parts)} with {models}."
        if verb == "answered"
        else f"{name} judged {', '.join(parts)} with {models}."
        for (name, models), parts in scenarios.items()
    ]


class _Judgements:
    """The verdicts on a scenario's answers, by the answers as they are now."""

    def __init__(
        self, part: SuitePart, answers: Mapping[str, Mapping[str, SystemAnswer]], store: Store | None
    ) -> None:
        self._part, self._seating = part, part.scenario.seating
        self._heard: dict[str, tuple[Transcript, Verdict]] = {}
        self._arm: Arm | None = None
        self._due: dict[str, Case] = {}
        self.stale = 0
        """Verdicts on answers that are others now."""
        if self._seating is None:
            return
        self._due = {heard.id: heard for case in part.cases for heard in heard_cases(part, case, answers)}
        if store is None:
            return
        name = arm_name(part.name, self._seating.jury.name)
        self._arm = next((arm for arm in store.arms() if arm.name == name), None)
        if self._arm is None:
            return
        learned = learned_count(store, self._arm)
        for transcript in store.transcripts(self._arm):
            recorded, due = store.case(transcript.case), self._due.get(transcript.case)
            if due is None:
                continue
            if recorded is not None and (recorded.output, recorded.output_b) == (due.output, due.output_b):
                verdict = recount(transcript, self._arm.rubric, self._arm.jury, learned=learned)
                self._heard[transcript.case] = (transcript, verdict)
            else:
                self.stale += 1

    @property
    def verdicts(self) -> Mapping[str, Verdict]:
        """By judged id."""
        return {name: verdict for name, (_, verdict) in self._heard.items()}

    def score(self, case: str, system: str) -> CaseScore:
        """The jury's score of an answer; what became of it where there is none."""
        assert isinstance(self._part.scenario.scorer, JudgedScorer) and self._seating is not None
        if case not in self._part.judged:
            return CaseScore(
                "unjudged", why="not judged: the case is not in the sample of cases that the jury judges"
            )
        if system == self._seating.against:
            return CaseScore("scored", sum(self._part.scenario.ends) / 2)
        name = judged_id(self._part, case, system)
        if name not in self._due:
            return CaseScore("unparsed", why="no answer") if self._seating.against is None else CaseScore("unjudged", why="no pair of answers")  # fmt: skip
        hearing = self._heard.get(name)
        if hearing is None or self._arm is None:
            return CaseScore("unjudged", why="not judged yet")
        seated = replace(self._seating, jury=self._arm.jury, rubric=self._arm.rubric)
        return self._part.scenario.scorer.score(hearing[1], seated, self._part.scenario.ends)

    def cost(self, system: str, prices: SuitePrices) -> TokenCost:
        """What the jury cost on one system's answers."""
        total = TokenCost()
        if self._arm is None:
            return total
        seats = {seat.name: seat for seat in self._arm.jury.seats}
        names = [judged_id(self._part, case.id, system) for case in self._part.cases]
        for transcript, _ in [self._heard[name] for name in names if name in self._heard]:
            for entry in transcript.entries:
                spent = entry.spent
                if not spent.calls:
                    continue
                settings: ModelSettings = seats.get(
                    entry.speaker.partition("#")[0], self._arm.jury.orchestrator
                )
                price = prices.of(settings)
                upper = token_cost(
                    spent.prompt, 0, price, most=settings.max_tokens, calls=len(spent.calls)
                ).upper_usd
                free = price is not None and not price.prompt and not price.completion
                total += TokenCost(
                    len(spent.calls), spent.prompt, spent.completion, spent.usd, 0.0 if free else upper
                )
        return total


def _case_scores(
    part: SuitePart, answers: Mapping[str, SystemAnswer], judgements: _Judgements, system: str
) -> dict[str, CaseScore]:
    scenario = part.scenario
    failed = {case: CaseScore("failed", why=a.failed) for case, a in answers.items() if a.unreached}
    reached = {case: answer for case, answer in answers.items() if case not in failed}
    if isinstance(scenario.scorer, Scorer):
        graded = graded_scores(scenario, part.cases, {case: answer.text for case, answer in reached.items()})
        return {**graded, **failed}
    return {**{case: judgements.score(case, system) for case in reached}, **failed}


def _judged_rows(
    part: SuitePart,
    answers: Mapping[str, Mapping[str, SystemAnswer]],
    scores: Mapping[str, Mapping[str, CaseScore]],
) -> list[dict[str, object]]:
    if part.scenario.seating is None or part.scenario.seating.against is not None:
        return []
    targets = {case.id: case.target for case in part.cases}
    groups = {case.id: group_of(part, case) for case in part.cases}
    return [
        {
            "case": judged_id(part, case, system),
            "set": part.name,
            "group": f"{part.name}/{groups[case]}",
            "jury": math.nan if score.value is None else score.value,
            "output": answers[system][case].text,
            "reference": None if targets[case] is None else str(targets[case]),
        }
        for system, case_scores in scores.items()
        for case, score in case_scores.items()
        if score.status in ("scored", "hung")
    ]


def _generation_cost(
    suite: LoadedSuite, part: SuitePart, system: str, answers: Mapping[str, SystemAnswer], prices: SuitePrices
) -> TokenCost:
    max_tokens = part.scenario.answer.max_tokens
    model = next((candidate for candidate in suite.asked if candidate.title == system), None)
    if model is not None:
        (seat,) = system_jury(model, part).seats
        price, max_tokens = prices.of(seat), seat.max_tokens
    else:
        price = suite.prices.get(system)
    total = TokenCost()
    for answer in answers.values():
        if model is not None and not answer.calls:
            continue
        cost = token_cost(answer.prompt_tokens, answer.completion_tokens, price, most=max_tokens)
        if model is not None:
            cost = TokenCost(1, cost.prompt, cost.completion, answer.usd, cost.upper_usd)
        total += cost
    return total


def _score_table(suite: LoadedSuite, scenarios: list[ScoredScenario]) -> ScoreTable:
    systems = [
        name
        for name in suite.systems
        if any(system.system == name for scored in scenarios for system in scored.systems)
    ]
    means = pd.DataFrame(index=pd.Index(systems, name="system"))
    columns, cases = {}, {}
    for scored in scenarios:
        scenario = scored.scenario
        low, high = scenario.ends
        columns[scenario.name] = ScenarioColumn(
            scenario.name, suite.taxonomy.category_name(scenario.task), "higher", low, high
        )
        by_system = {system.system: system for system in scored.systems}
        means[scenario.name] = [
            by_system[name].score.value if name in by_system else math.nan for name in systems
        ]
        values_by_system = {name: _case_values(by_system[name], low) for name in systems if name in by_system}
        if all(score.weight == 1.0 for system in scored.systems for score in system.cases.values()):
            cases[scenario.name] = pd.DataFrame(values_by_system).reindex(columns=systems)
    return ScoreTable(means.astype(float), columns, cases)


def _case_values(system: ScoredSystem, low: float) -> pd.Series[float]:
    """Scores by case of those that count in the mean."""
    values = {case: score.points(low) for case, score in system.cases.items() if score.status in COUNTED}
    return pd.Series(values, dtype=float)


def _macro_baselines(scenarios: list[ScoredScenario]) -> dict[str, float]:
    baselines = {}
    for name in ("constant", "random"):
        shares = [
            (s.baselines[name] - s.scenario.ends[0]) / (s.scenario.ends[1] - s.scenario.ends[0])
            for s in scenarios
            if not math.isnan(s.baselines[name])
        ]
        baselines[name] = sum(shares) / len(shares) if shares else math.nan
    return baselines
