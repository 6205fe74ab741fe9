"""The plan of an optimisation: everything read and checked, the cases in three parts, what it takes, before anything is paid."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import ceil
from pathlib import Path
from typing import Any

import pandas as pd

from ...agents.cost import Cost, Price, load_prices
from ...agents.model import Usage
from ...agents.providers import Providers
from ...orchestration.deliberate import models_asked
from ...orchestration.record.manifest import fingerprint
from ...orchestration.worked_examples import ScoredCases
from ...personas.jury import ModelSettings, load_jury
from ...rubrics.case import Case, load_cases
from ...rubrics.errors import MissingExtra, VenireError, count_words
from ...rubrics.yaml_files import load_yaml
from ..ratings.folds import clusters
from ..ratings.people import check_ratings, last_round, load_ratings
from ..ratings.question import rubric_questions
from ..statistics.contrast import LEAST_CLUSTERS
from ..studies.dry_run import DryRun
from ..studies.plan_cost import CostEstimate, arm_cost
from ..studies.study import named_rubric
from .reflection import Remarks
from .rewards import Rewards, rewards
from .schema import OptimisationFile, ThreeWaySplit
from .search import OtherJudge, shot_alternatives, written_alternatives
from .wording import Guard, Judge, Target, targets

REFLECTION_TOKENS = (6000, 600)
"""What one reflection is taken to read and write, before any was made."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The cases in three: to learn from, to choose on, and to score on once at the end."""

    train: tuple[Case, ...]
    validation: tuple[Case, ...]
    test: tuple[Case, ...]
    cluster: Mapping[str, int]


@dataclass(frozen=True)
class OptimisationPlan:
    """An optimisation that can be run: nothing in it is wrong."""

    file: OptimisationFile
    judge: Judge
    places: Mapping[str, Target]
    parts: Parts
    rewards: Rewards
    remarks: Remarks
    guard: Guard
    alternatives: tuple[OtherJudge, ...]
    prices: Mapping[str, Price]
    hearing: CostEstimate
    """What one case takes on average, at the least and at the most."""
    identity: str
    """A hash of everything that decides what is found."""
    notes: tuple[str, ...]

    @property
    def scored(self) -> ScoredCases:
        """The cases that may not be worked examples: all, or where examples are chosen from the training cases, the others."""
        parts = self.parts
        if self.file.shots is not None:
            return ScoredCases.of([*parts.validation, *parts.test])
        return ScoredCases.of([*parts.train, *parts.validation, *parts.test])

    @property
    def first_hearings(self) -> int:
        """Hearings before there is anything to return: the first words on the validation cases, and one proposal."""
        validation, batch = len(self.parts.validation), min(self.file.minibatch, len(self.parts.train))
        if self.alternatives:
            return validation * (1 + len(self.alternatives))
        return 2 * validation + 2 * batch

    @property
    def proposal_hearings(self) -> int:
        """Hearings that one more proposal may take."""
        return 2 * min(self.file.minibatch, len(self.parts.train)) + len(self.parts.validation)

    @property
    def test_hearings(self) -> int:
        return 2 * len(self.parts.test)

    @property
    def least(self) -> Cost:
        """What it takes at the least to try one proposal, or every alternative, and to score the result."""
        hearings = self.first_hearings + self.test_hearings
        reflection = Cost() if self.alternatives else _reflection_cost(self.file.reflection, self.prices)
        return _times(self.hearing.least, hearings) + reflection

    def json(self) -> dict[str, Any]:
        least = self.least
        return {
            "optimise": list(self.places) or [alternative.label for alternative in self.alternatives],
            "reward": self.rewards.words,
            "train": len(self.parts.train),
            "validation": len(self.parts.validation),
            "test": len(self.parts.test),
            "groups": len(set(self.parts.cluster.values())),
            "calls_a_case": self.hearing.least.calls,
            "least": {"calls": least.calls, "tokens": least.tokens, "usd": least.usd},
            "budget": self.file.budget.model_dump(),
            "notes": list(self.notes),
        }


def plan_optimisation(path: Path) -> OptimisationPlan:
    """The plan of the optimisation in a file.

    Raises:
        VenireError: What is wrong with it, or that the budget does not reach for one proposal.
    """
    file, folder = load_yaml(path, OptimisationFile), path.parent
    if file.reflection is not None and find_spec("gepa") is None:
        raise MissingExtra(
            "optimising with a reflecting model needs GEPA", remedy="pip install 'venire[optimise]'"
        )
    judge = _judge(file, folder)
    cases = tuple(load_cases(folder / file.cases))
    all_ratings = last_round(load_ratings(folder / file.ratings))
    ratings, check = check_ratings(
        all_ratings, rubric_questions(judge.rubric), cases=[case.id for case in cases]
    )
    notes = list(check.notes)
    earned = rewards(file.reward, judge.rubric, ratings, file.reference)
    rateable = [case for case in cases if any((case.id, name) in earned.truth for name in earned.attributes)]
    parts = three_parts(rateable, file.split, seed=file.seed)
    notes += _few_clusters(parts)
    places = targets([*file.optimise, *file.candidates], judge)
    guard = Guard.of(
        cases,
        judge.rubric,
        max_words=file.max_words,
        given=[target.text(judge) for target in places.values()],
    )
    notes += [
        f"{case}: the text of the case gives instructions, so it is not shown to the model that writes new wordings ({passages[0].partition(': ')[2][:80]!r})"
        for case, passages in guard.flagged.items()
    ]
    alternatives = written_alternatives(file, folder, judge, places, guard)
    if file.shots is not None:
        pool = [
            case
            for case in parts.train
            if all((case.id, name) in earned.truth for name in judge.rubric.names)
        ]
        alternatives += shot_alternatives(file, folder, judge, pool, seed=file.seed)
    if alternatives and not file.shots:
        # Nothing is learned from cases here: all that are not kept for the test are there to choose on.
        parts = Parts((), (*parts.train, *parts.validation), parts.test, parts.cluster)
    prices = load_prices(folder / file.prices) if file.prices else {}
    plan = OptimisationPlan(
        file=file, judge=judge, places=places, parts=parts, rewards=earned, remarks=_remarks(all_ratings), guard=guard,
        alternatives=tuple(alternatives), prices=prices, hearing=_hearing_cost(judge, parts, file, prices),
        identity=_identity(file, judge, cases, ratings), notes=tuple(notes),
    )  # fmt: skip
    _refuse_small_budget(plan)
    return plan


def three_parts(cases: Sequence[Case], split: ThreeWaySplit, *, seed: int) -> Parts:
    """The cases in three parts drawn by seed, no group in two of them.

    Raises:
        VenireError: A part would be empty.
    """
    groups = {case.id: case.group for case in cases if case.group is not None}
    ids = pd.Series([case.id for case in cases], dtype=object)
    cluster_by_case = dict(zip(ids, clusters(ids, groups), strict=True))
    numbers = {name: number for number, name in enumerate(dict.fromkeys(cluster_by_case.values()))}
    members: dict[str, list[Case]] = {}
    for case in cases:
        members.setdefault(cluster_by_case[case.id], []).append(case)
    order = sorted(members)
    random.Random(seed).shuffle(order)
    sizes = {
        name: size if size >= 1 else size * len(cases)
        for name, size in (("test", split.test), ("val", split.val))
    }
    part_cases: dict[str, list[Case]] = {"test": [], "val": [], "train": []}
    for group in order:
        # A group goes where that brings the part nearer to the size that was asked for.
        part = next(
            (
                name
                for name, size in sizes.items()
                if abs(len(part_cases[name]) + len(members[group]) - size) < abs(len(part_cases[name]) - size)
            ),
            "train",
        )
        part_cases[part] += members[group]
    for name, members_of_part in part_cases.items():
        if not members_of_part:
            raise VenireError(
                f"the split leaves no case for {'training' if name == 'train' else name}",
                remedy=f"keep fewer of the {len(cases)} rated cases (in {len(members)} groups) for val and test",
            )
    return Parts(
        tuple(part_cases["train"]),
        tuple(part_cases["val"]),
        tuple(part_cases["test"]),
        {case: numbers[name] for case, name in cluster_by_case.items()},
    )


def _judge(file: OptimisationFile, folder: Path) -> Judge:
    jury = load_jury(folder / file.jury if file.jury.endswith((".yaml", ".yml")) else file.jury)
    jury = jury.fill(model=file.model, base_url=file.base_url)
    models_asked(jury)
    return Judge(jury, named_rubric(file.rubric, folder))


def _remarks(ratings: pd.DataFrame) -> Remarks:
    """What people wrote beside their values."""
    if "rationale" not in ratings:
        return {}
    remarks: dict[tuple[str, str], tuple[str, ...]] = {}
    for row in ratings[ratings["rationale"].notna()].itertuples():
        key = (str(row.case), str(row.attribute))
        remarks[key] = (*remarks.get(key, ()), str(row.rationale))
    return remarks


def _few_clusters(parts: Parts) -> list[str]:
    number = len({parts.cluster[case.id] for case in parts.test})
    if number >= LEAST_CLUSTERS:
        return []
    return [
        f"The {number} cases or groups of the test part are too few to distinguish a gain from chance: below {LEAST_CLUSTERS}, no interval is given."
    ]


def _hearing_cost(
    judge: Judge, parts: Parts, file: OptimisationFile, prices: Mapping[str, Price]
) -> CostEstimate:
    """What one case takes on average under the first words; with examples to choose among, no less."""
    providers = Providers(prices=prices, needs_keys=False)
    cases = [*parts.validation, *parts.test]
    dry = DryRun(providers, scored=ScoredCases.of([*parts.train, *cases]), seed=file.seed)
    first_calls = dry.first_step(judge.jury, cases, judge.rubric)
    models = {call.model for case in first_calls for call in case.values()}
    price_by_model = {model: _price(model, judge, providers) for model in models}
    total = arm_cost(first_calls, judge.jury, len(judge.rubric.names), price_by_model)
    share = 1 / len(cases)
    return CostEstimate(
        _times(total.least, share), None if total.further is None else _times(total.further, share)
    )


def _price(model: str, judge: Judge, providers: Providers) -> Price | None:
    for settings in (*judge.jury.seats, judge.jury.orchestrator):
        if (settings.model or "local") == model:
            return providers.get(settings).price(model)
    return None


def _reflection_cost(settings: ModelSettings | None, prices: Mapping[str, Price]) -> Cost:
    assert settings is not None
    usage = Usage(*REFLECTION_TOKENS)
    price = prices.get(settings.model or "local")
    return Cost(1, usage, int(price is not None), 0.0 if price is None else price.usd(usage) or 0.0)


def _times(cost: Cost, number: float) -> Cost:
    calls = ceil(round(cost.calls * number, 6))
    usage = Usage(ceil(cost.usage.prompt * number), ceil(cost.usage.completion * number))
    return Cost(calls, usage, calls if cost.priced == cost.calls else 0, cost.known_usd * number)


def _refuse_small_budget(plan: OptimisationPlan) -> None:
    """Raises where the budget does not reach for the first words, one proposal and the test."""
    least, budget = plan.least, plan.file.budget
    number = len(plan.alternatives)
    purpose = count_words(number, "alternative") if number else "one proposal"
    for key, amount in (("max_calls", least.calls), ("max_tokens", least.tokens), ("max_usd", least.usd)):
        limit = getattr(budget, key)
        if limit is not None and amount is not None and amount > limit:
            raise VenireError(
                f"{key}: {limit:g} is not enough for {purpose}: at least {amount:g} is needed",
                remedy=f"raise {key}, or keep fewer cases for val and test",
            )


def _identity(file: OptimisationFile, judge: Judge, cases: Sequence[Case], ratings: pd.DataFrame) -> str:
    return fingerprint(
        {
            "file": file.model_dump(mode="json", exclude={"budget"}),
            "budget": file.budget.model_dump(mode="json"),
            "jury": judge.jury.model_dump(mode="json"),
            "rubric": judge.rubric.model_dump(mode="json"),
            "cases": [case.model_dump(mode="json") for case in cases],
            "ratings": ratings.astype(str).to_dict("list"),
        }
    )
