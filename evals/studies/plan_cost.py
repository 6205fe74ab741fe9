"""What a study would take, found by rehearsing every arm; and whether the budget bears it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ...agents.clients.litellm_catalog import missing_keys, price_of, refuse_unknown
from ...agents.prices import Price
from ...agents.providers import Providers
from ...orchestration.bench import Court
from ...orchestration.deliberate import ready, refuse_unreadable
from ...orchestration.protocols import protocol
from ...orchestration.protocols.examples import worked_examples
from ...personas.jury import Jury, ModelSettings
from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from ...rubrics.rubric import Rubric
from .axes import Axes
from .case_split import Parts
from .cost_estimate import Toll, arm_toll, at_most, first_toll, together
from .dry_run import Asked, Rehearsal
from .errors import Made, Wrongs
from .schema import Unit
from .search_space import Space
from .study import Study
from .study_arms import StudyArm


@dataclass(frozen=True, slots=True)
class Estimate:
    tolls: Mapping[str, Toll]
    total: Toll
    unpriced: tuple[str, ...]
    priced: Mapping[str, Price | None]
    notes: tuple[str, ...]


def in_court(prices: Mapping[str, Price], use: Callable[[Court], Made]) -> Made:
    """What `use` makes of a court whose roads are opened, and closed again."""
    court = Court(providers=Providers(prices=prices))
    try:
        return use(court)
    finally:
        asyncio.run(court.close())


@dataclass(frozen=True, slots=True)
class Scope:
    """What arms are to hear."""

    study: Study
    cases: Sequence[Case]
    parts: Parts | None
    rubric: Rubric
    axes: Axes | None
    """Those of a search."""
    path: Path

    @property
    def heard(self) -> Sequence[Case]:
        """The cases that every fixed arm hears: with a search, those that it selects on."""
        if self.axes is None or self.parts is None:
            return self.cases
        return [case for case in self.cases if case.id in self.parts.selection]


def estimate(scope: Scope, arms: Sequence[StudyArm], court: Court, wrongs: Wrongs) -> Estimate:
    scored, rubric = frozenset(case.id for case in scope.cases), scope.rubric
    rehearsal = Rehearsal(court.providers, scored=scored, seed=scope.study.seeds.run)
    heard: dict[tuple[str, int], list[Mapping[str, Asked]]] = {}
    prices: dict[str, Price | None] = {}
    tolls: dict[str, Toll] = {}
    every: dict[str, Asked] = {}

    keys: dict[str, tuple[str, ...]] = {}

    def rehearsed(arm: StudyArm, cases: Sequence[Case]) -> Toll:
        ready(arm.jury, court)
        for settings in asked_by(arm.jury):
            refuse_unknown(settings)
            keys[settings.model or "local"] = missing_keys(settings)
        worked_examples(arm.jury.shots, rubric, scored)
        refuse_unreadable(cases, rubric, arm.jury, court)
        key = (arm.asks, len(cases))
        if key not in heard:
            heard[key] = rehearsal.first_step(arm.jury, cases, rubric)
        first = heard[key]
        for model in {each.model for case in first for each in case.values()} - prices.keys():
            prices[model] = price_of(model, court.providers.prices)
        return arm_toll(first, arm.jury, len(rubric.names), prices)

    for arm in arms:
        try:
            tolls[arm.name] = rehearsed(arm, scope.heard)
            for case in heard[arm.asks, len(scope.heard)]:
                every.update(case)
        except VenireError as error:
            wrongs.of_arm(arm.name, error)
    distinct = {arm.asks: tolls[arm.name] for arm in arms if arm.name in tolls}
    total = together(list(distinct.values()), first_toll(every.values(), prices))
    if scope.axes is not None and scope.axes.groups and scope.axes.protocols:
        total = _searched(scope, total, rehearsed, wrongs)
    return Estimate(
        tolls=tolls,
        total=total,
        unpriced=tuple(sorted(model for model, price in prices.items() if price is None)),
        priced=prices,
        notes=tuple(
            f"{model}: {' or '.join(names)} is not set, and will be needed"
            for model, names in keys.items()
            if names
        ),
    )


def asked_by(jury: Jury) -> list[ModelSettings]:
    """Every seat that a jury asks, its orchestrator's where one presides."""
    presided = protocol(jury.protocol).orchestrator
    return [*jury.seats, *([jury.orchestrator] if presided else [])]


def _searched(
    scope: Scope, total: Toll, rehearsed: Callable[[StudyArm, Sequence[Case]], Toll], wrongs: Wrongs
) -> Toll:
    """With what the trials take at the most: each the largest jury there is, pruned never, sharing nothing."""
    how, axes = scope.study.search, scope.axes
    assert how is not None and axes is not None
    space = Space(axes, how.max_seats, scope.path)
    few = scope.heard[:2]
    tested = len(scope.cases) - len(scope.heard)
    written = sum(1 for entry in scope.study.arms if entry)
    times = (how.trials * len(scope.heard) + (how.chosen + 2 + written) * tested) / max(1, len(few))
    found = []
    for way in space.protocols:
        arm = wrongs.tried(partial(space.largest, way))
        try:
            found += [at_most(total, rehearsed(arm, few), times)] if arm is not None else []
        except VenireError as error:
            wrongs.of_arm(f"of {way}", error)
    return max(found, key=lambda toll: toll.most_calls or float("inf"), default=total)


def over_budget(study: Study, estimate: Estimate) -> list[VenireError]:
    """An error for each part of the budget that even the least of the plan goes beyond."""
    budget, total = study.budget, estimate.total
    wrongs = []
    if budget.max_usd is not None and estimate.unpriced:
        wrongs.append(
            VenireError(
                f"max_usd cannot be kept: the price of {', '.join(estimate.unpriced)} is not known",
                remedy="give it in a file under prices, or limit calls or tokens instead",
            )
        )
    for key, least, told in (
        ("max_calls", total.calls, f"{total.calls} calls"),
        ("max_tokens", total.tokens, f"about {total.tokens} tokens"),
        ("max_usd", total.usd, f"about ${total.usd or 0:.2f}"),
    ):
        most = getattr(budget, key)
        if most is not None and least is not None and least > most:
            wrongs.append(
                VenireError(
                    f"{key} is {most:g}, and the plan takes {told} at the least",
                    remedy="raise it, or plan fewer arms or cases",
                )
            )
    return wrongs


def close_to_budget(study: Study, total: Toll) -> list[str]:
    budget = study.budget
    pairs = (("max_calls", total.most_calls), ("max_tokens", total.most_tokens), ("max_usd", total.most_usd))
    return [
        f"{key} may end the study before it is done: it can be continued with more"
        for key, most in pairs
        if (limit := getattr(budget, key)) is not None and (most is None or most > limit)
    ]


def unit_of(study: Study, estimate: Estimate) -> Unit:
    """What cost is counted in: dollars where every price is known and one is paid, else tokens, else calls."""
    if study.cost is not None:
        return study.cost
    paid = [price for price in estimate.priced.values() if price is None or price.prompt or price.completion]
    if paid and None not in paid:
        return "usd"
    return "tokens" if estimate.total.tokens else "calls"
