"""What a study would cost: every arm is dry-run up to its first answers, and checked for what would stop it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ...agents.model_client import ModelClient
from ...agents.prices import Price
from ...agents.providers import Providers
from ...orchestration.bench import Court
from ...orchestration.deliberate import models_asked, ready, refuse_unreadable
from ...orchestration.protocols import protocol
from ...orchestration.worked_examples import ScoredCases, worked_examples
from ...personas.jury import Jury
from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from ...rubrics.rubric import Rubric
from .axes import Axes
from .case_split import CaseSplit
from .cost_estimate import CostEstimate, arm_cost, combined_cost, first_step_cost, one_step, search_cost
from .dry_run import DryRun, PlannedCall
from .errors import ErrorList
from .search_space import SearchSpace
from .study import Study
from .study_arms import StudyArm


@dataclass(frozen=True, slots=True)
class PlanCost:
    """The cost of each arm alone and of all together, and the prices that this rests on."""

    arms: Mapping[str, CostEstimate]
    total: CostEstimate
    prices: Mapping[str, Price | None]
    """By model; None is unknown."""
    notes: tuple[str, ...]

    def with_task(self, task: PlanCost) -> PlanCost:
        """The cost with that of a further task, which shares no question with the others."""
        most = (
            None
            if self.total.further is None or task.total.further is None
            else self.total.further + task.total.further
        )
        return PlanCost(
            self.arms,
            CostEstimate(self.total.least + task.total.least, most),
            {**self.prices, **task.prices},
            tuple(dict.fromkeys((*self.notes, *task.notes))),
        )

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Models whose price nobody knows."""
        return tuple(sorted(model for model, price in self.prices.items() if price is None))


@dataclass(frozen=True, slots=True)
class Scope:
    """The cases, the rubric and the search space that costs are estimated for."""

    study: Study
    cases: Sequence[Case]
    split: CaseSplit | None
    rubric: Rubric
    axes: Axes | None
    """Those of a search."""
    path: Path

    @property
    def heard(self) -> Sequence[Case]:
        """The cases that every fixed arm hears: with a search, those that it selects on."""
        if self.axes is None or self.split is None:
            return self.cases
        return [case for case in self.cases if case.id in self.split.selection]


def estimate_cost(
    scope: Scope, arms: Sequence[StudyArm], prices: Mapping[str, Price], errors: ErrorList
) -> PlanCost:
    """The cost of `arms` on the cases in scope; what keeps an arm from being run is added to `errors`."""
    court = Court(providers=Providers(prices=prices, needs_keys=False))
    try:
        return _Estimator(scope, court, errors).cost(arms)
    finally:
        asyncio.run(court.close())


class _Estimator:
    """Dry-runs arms; arms that ask the same are run once."""

    def __init__(self, scope: Scope, court: Court, errors: ErrorList) -> None:
        self._scope, self._court, self._errors = scope, court, errors
        self._scored = ScoredCases.of(scope.cases)
        self._dry_run = DryRun(court.providers, scored=self._scored, seed=scope.study.seeds.run)
        self._first_steps: dict[tuple[str, int], list[Mapping[str, PlannedCall]]] = {}
        """By what is asked and of how many cases: two arms that hear as many hear the same."""
        self._prices: dict[str, Price | None] = {}
        self._missing_keys: dict[str, tuple[str, ...]] = {}

    def cost(self, arms: Sequence[StudyArm]) -> PlanCost:
        heard = self._scope.heard
        costs: dict[str, CostEstimate] = {}
        calls: dict[str, PlannedCall] = {}
        for arm in arms:
            mine = arm.hears(heard, self._scope.split)
            try:
                costs[arm.name] = self._arm_cost(arm, mine)
                for case in self._first_steps[arm.asks, len(mine)]:
                    calls.update(case)
            except VenireError as error:
                self._errors.of_arm(arm.name, error)
        distinct = {arm.asks: costs[arm.name] for arm in arms if arm.name in costs}
        total = combined_cost(list(distinct.values()), first_step_cost(calls.values(), self._prices))
        axes = self._scope.axes
        if axes is not None and axes.groups and axes.protocols:
            total = self._with_trials(total, axes)
        notes = (
            f"{model}: {' or '.join(names)} is not set, and will be needed"
            for model, names in self._missing_keys.items()
            if names
        )
        return PlanCost(costs, total, self._prices, tuple(notes))

    def _arm_cost(self, arm: StudyArm, cases: Sequence[Case]) -> CostEstimate:
        """What an arm costs alone.

        Raises:
            VenireError: Something keeps it from being run.
        """
        rubric, providers = self._scope.rubric, self._court.providers
        clients: dict[str, ModelClient] = {}
        ready(arm.jury, self._court, rubric)
        for settings in models_asked(arm.jury):
            model = settings.model or "local"
            client = providers.get(settings).client
            client.check_model(model)
            named = settings.api_key_env
            if named is None:
                self._missing_keys[model] = client.missing_keys(model)
            elif not os.environ.get(named):
                self._missing_keys[model] = (named,)
            clients[model] = client
        worked_examples(arm.jury.shots, rubric, self._scored)
        refuse_unreadable(cases, rubric, arm.jury, self._court)
        key = (arm.asks, len(cases))
        if key not in self._first_steps:
            self._first_steps[key] = self._dry_run.first_step(arm.jury, cases, rubric)
        first = self._first_steps[key]
        later = [] if one_step(arm.jury) else self._later_calls(arm.jury, cases)
        asked = [call.model for case in first for call in case.values()] + [call.model for call in later]
        for model in set(asked) - self._prices.keys():
            self._prices[model] = providers.prices.get(model) or clients[model].list_price(model)
        return arm_cost(first, arm.jury, len(rubric.names), self._prices, later)

    def _later_calls(self, jury: Jury, cases: Sequence[Case]) -> list[PlannedCall]:
        """A call to each model that a deliberation may ask: the seats' longest first ballots, and the orchestrator's, which is
        taken to be as long as any of them."""
        panel = jury.under("panel").model_copy(update={"repeats": 1})
        key = (StudyArm(panel).asks, len(cases))
        if key not in self._first_steps:
            self._first_steps[key] = self._dry_run.first_step(panel, cases, self._scope.rubric)
        calls = [call for case in self._first_steps[key] for call in case.values()]
        if not calls:
            return []
        longest = max(calls, key=lambda call: call.prompt)
        presided = protocol(jury.protocol).orchestrator
        return [*calls, *([replace(longest, model=jury.orchestrator.model or "local")] if presided else [])]

    def _with_trials(self, total: CostEstimate, axes: Axes) -> CostEstimate:
        """The total with what the trials cost at the most: each the largest jury there is, pruned never, sharing nothing."""
        scope, search = self._scope, self._scope.study.search
        assert search is not None
        space = SearchSpace(axes, search.max_seats, scope.path)
        few = scope.heard[:2]
        tested = len(scope.cases) - len(scope.heard)
        listed = sum(1 for entry in scope.study.arms if entry)
        times = (search.trials * len(scope.heard) + (search.chosen + 2 + listed) * tested) / max(1, len(few))
        costs = []
        for name in space.protocols:
            arm = self._errors.attempt(partial(space.largest, name))
            if arm is None:
                continue
            try:
                costs.append(search_cost(total, self._arm_cost(arm, few), times))
            except VenireError as error:
                self._errors.of_arm(f"of {name}", error)
        return max(
            costs, key=lambda cost: float("inf") if cost.most is None else cost.most.calls, default=total
        )
