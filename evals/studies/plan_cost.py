"""What a study would cost, at the least and at the most: every arm is dry-run up to its first answers, and held against the budget."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ...agents.cost import Cost, CostUnit, Price
from ...agents.model import Usage
from ...agents.model_client import ModelClient
from ...agents.providers import Providers
from ...orchestration.bench import Court
from ...orchestration.deliberate import models_asked, ready, refuse_unreadable
from ...orchestration.protocols import protocol
from ...orchestration.worked_examples import ScoredCases, worked_examples
from ...personas.jury import Jury
from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from ...rubrics.rubric import Rubric
from .arms import CaseSplit, StudyArm
from .dry_run import DryRun, PlannedCall
from .grid import Axes, SearchSpace
from .study import ErrorList, Study

_CHALLENGED = ("orchestrated", "moderated", "escalate")
"""The protocols in which an instant agreement at the end of a scale is challenged."""


_PRESIDED: Mapping[str, Callable[[int], int]] = {
    **dict.fromkeys(("orchestrated", "moderated", "escalate"), lambda rounds: rounds),
    "debate": lambda rounds: 1,
    "delphi": lambda rounds: 0,
}
"""By protocol, the calls in so many rounds that are no juror's turn."""


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """The least and the most that arms cost. Tokens and dollars are estimates."""

    least: Cost
    further: Cost | None
    """What may come on top of the least; None where nothing bounds it."""

    @property
    def most(self) -> Cost | None:
        return None if self.further is None else self.least + self.further

    @property
    def exact(self) -> bool:
        """Whether the number of calls is known."""
        return self.further is not None and not self.further.calls


def first_step_cost(asked: Iterable[PlannedCall], prices: Mapping[str, Price | None]) -> Cost:
    """The cost of calls that are sure to be made."""
    return sum((_call_cost(each, prices[each.model]) for each in asked), Cost())


def arm_cost(
    first: Sequence[Mapping[str, PlannedCall]],
    jury: Jury,
    attributes: int,
    prices: Mapping[str, Price | None],
    later: Sequence[PlannedCall] = (),
) -> CostEstimate:
    """The cost of an arm alone: its first step in every case, and at the most all that its protocol allows.

    `later` has a call to each model that may be asked after the first step. Each further call is taken to be as long as
    the longest of all, with everybody's answers in it, and to go to the dearest model.
    """
    asked = [each for case in first for each in case.values()]
    sure = first_step_cost(asked, prices)
    most = most_calls(jury, attributes)
    if most is None:
        return CostEstimate(sure, Cost() if one_step(jury) else None)
    further = sum(max(0, most - len(case)) for case in first if case)
    if not further or not asked:
        return CostEstimate(sure, Cost())
    every = [*asked, *later]
    answer = max(call.completion for call in every)
    # A framework's question holds all that was said before, not each juror's last word.
    heard = most if protocol(jury.protocol).framework else len(jury.seats)
    usage = Usage(max(call.prompt for call in every) + answer * heard, answer)
    each = [_usage_cost(usage, prices[model]) for model in {call.model for call in every}]
    known = all(cost.priced for cost in each)
    return CostEstimate(
        sure,
        Cost(
            calls=further,
            usage=Usage(usage.prompt * further, usage.completion * further),
            priced=further if known else 0,
            known_usd=max(cost.known_usd for cost in each) * further if known else 0.0,
        ),
    )


def combined_cost(arms: Sequence[CostEstimate], shared: Cost) -> CostEstimate:
    """The cost of arms that share every question of their first steps; `shared` is of those questions, each once."""
    further = Cost()
    for each in arms:
        if each.further is None:
            return CostEstimate(shared, None)
        further += each.further
    return CostEstimate(shared, further)


def search_cost(fixed: CostEstimate, largest: CostEstimate, times: float) -> CostEstimate:
    """The cost of fixed arms, and at the most of the largest jury `times` over besides."""
    if fixed.further is None or largest.most is None:
        return CostEstimate(fixed.least, None)
    return CostEstimate(fixed.least, fixed.further + _multiple(largest.most, times))


def one_step(jury: Jury) -> bool:
    """Whether the number of calls is settled before anything is answered."""
    most = protocol(jury.protocol).most
    return most is not None and most(len(jury.seats), 1)[1] == 1 and most(len(jury.seats), 9)[1] == 1


def most_calls(jury: Jury, attributes: int) -> int | None:
    """The most calls on one case, if every answer can be used at once; None where the protocol or a limit does not say.

    Jurors have `max_turns` turns at the most; with them end the rounds, and what an orchestrator is asked in each.
    """
    way = protocol(jury.protocol)
    if way.most is None or one_step(jury):
        return None
    turns = jury.limits.max_turns
    # Every round takes a turn at the least, and the first one of each seat.
    rounds = jury.limits.max_rounds or turns
    if rounds is None:
        return None
    if turns is not None and jury.protocol in _PRESIDED:
        rounds = min(rounds, 1 + max(0, turns - len(jury.seats)))
    calls, _ = way.most(len(jury.seats), rounds)
    if way.framework:
        if jury.limits.max_replans is None:
            return None
        if turns is not None:
            # A ledger before each turn, the facts, the plan, a last ledger and the final answer.
            calls = min(calls, 2 * turns + 6)
        # One new plan is in the protocol's own figure; each takes the facts, the plan and the ledger that asked for it.
        calls += 3 * max(0, jury.limits.max_replans - 1)
    if jury.protocol == "escalate":
        calls += jury.escalation.repeats - 2
    if jury.challenge and jury.protocol in _CHALLENGED:
        calls += min(len(jury.seats), attributes)
    presided = _PRESIDED.get(jury.protocol)
    return calls if turns is None or presided is None else min(calls, turns + presided(rounds))


def _multiple(cost: Cost, times: float) -> Cost:
    calls, usage = round(cost.calls * times), cost.usage
    return Cost(
        calls,
        Usage(round(usage.prompt * times), round(usage.completion * times)),
        priced=0 if cost.usd is None else calls,
        known_usd=(cost.usd or 0.0) * times,
    )


def _call_cost(asked: PlannedCall, price: Price | None) -> Cost:
    return _usage_cost(Usage(asked.prompt, asked.completion), price)


def _usage_cost(usage: Usage, price: Price | None) -> Cost:
    return Cost(1, usage, int(price is not None), 0.0 if price is None else price.usd(usage) or 0.0)


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
            f"{model}: the environment variable {' or '.join(names)} is not set, and the run will need it"
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


def over_budget(study: Study, cost: PlanCost) -> list[VenireError]:
    """An error for each part of the budget that even the least of the plan goes beyond."""
    budget, least = study.budget, cost.total.least
    errors = []
    if budget.max_usd is not None and cost.unpriced:
        errors.append(
            VenireError(
                f"max_usd cannot be applied: the price of {', '.join(cost.unpriced)} is not known",
                remedy="give the price in the file named under prices, or limit calls or tokens instead",
            )
        )
    for key, amount, words in (
        ("max_calls", least.calls, f"{least.calls} calls"),
        ("max_tokens", least.tokens, f"about {least.tokens} tokens"),
        ("max_usd", least.usd, f"about ${least.usd or 0:.2f}"),
    ):
        limit = getattr(budget, key)
        if limit is not None and amount is not None and amount > limit:
            errors.append(
                VenireError(
                    f"{key} is {limit:g}, but the plan needs at least {words}",
                    remedy=f"raise {key}, or plan fewer arms or cases",
                )
            )
    return errors


def near_budget(study: Study, total: CostEstimate) -> list[str]:
    """A note for each part of the budget that the most of the plan goes beyond."""
    most = total.most
    amounts = {
        "max_calls": None if most is None else most.calls,
        "max_tokens": None if most is None else most.tokens,
        "max_usd": None if most is None else most.usd,
    }
    return [
        f"the limit {key} may end the study early; you can then resume it with a larger limit"
        for key, amount in amounts.items()
        if (limit := getattr(study.budget, key)) is not None and (amount is None or amount > limit)
    ]


def cost_unit(study: Study, cost: PlanCost) -> CostUnit:
    """What cost is counted in: dollars where every price is known and one is paid, else tokens, else calls."""
    if study.cost is not None:
        return study.cost
    paid = [price for price in cost.prices.values() if price is None or price.prompt or price.completion]
    if paid and None not in paid:
        return "usd"
    return "tokens" if cost.total.least.tokens else "calls"
