"""A search for better words: what it works with and leaves behind, the choice of the best, and trying alternatives that need no model to write them.

Alternatives are words that somebody wrote, or worked examples drawn from the training cases. Cases are heard under one wording or another
with every call on one record, within one budget, and counted once.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from ...agents.budget import Budget, Meter, unknown_price
from ...agents.cost import Cost
from ...agents.gateway import Calls, ModelGateway
from ...agents.model import Reply, Request
from ...agents.providers import Preflight, Providers
from ...orchestration.bench import Court
from ...orchestration.deliberate import hear, learned_from, models_asked, ready, recount, refuse_unreached
from ...orchestration.record import Store
from ...orchestration.record.manifest import arm_fingerprint, arm_manifest, case_fingerprint, fingerprint
from ...orchestration.transcript import Transcript
from ...orchestration.verdict import Verdict
from ...orchestration.worked_examples import ScoredCases
from ...personas.jury import ModelSettings
from ...personas.options import Limits, Shots
from ...personas.persona import load_persona
from ...rubrics.case import Case
from ...rubrics.errors import ModelUnreachable, VenireError
from ..statistics.classical_tests import flip_p
from ..statistics.draws import Draws
from ..statistics.matrix import FloatArray
from .rewards import Rewards
from .schema import OptimisationFile
from .wording import Guard, Judge, Target

_SEED_STRIDE = 1_000_003
"""Derives an independent seed for each draw."""
LEVEL = 0.025
"""The chance at which words that are no better are returned, over all that were held against the first ones."""
ENTRY = 0.1
"""The one-sided p on a minibatch below which new words go on to the validation cases."""


@dataclass
class WordingTrial:
    """One wording that was tried, and what became of it."""

    number: int
    label: str
    """What was changed: a target's name, or the name of a candidate."""
    parent: int | None
    state: Literal["first", "refused", "rejected", "accepted"]
    """`refused` by the guard or for want of an answer, and never used; `rejected`: no gain beyond chance; `accepted` for validation."""
    why: str = ""
    text: str = ""
    """The new text; empty where it was refused, for it may hold words of a case."""
    minibatch: Mapping[str, float | None] = field(default_factory=dict)
    """How many cases, the mean reward before and after, and the p of no gain."""
    validation: float | None = None
    """The mean reward on the validation cases, where it was scored on them."""
    calls: int = 0
    """The calls that the search had used by then."""

    def json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Scene:
    """The judge, who hears it, what its verdicts earn, and the cases a search may read: never the test cases."""

    judge: Judge
    room: Courtroom
    rewards: Rewards
    train: Sequence[Case]
    validation: Sequence[Case]
    cluster: Mapping[str, int]
    """By case, the number of its group."""
    draws: Draws
    may_go_on: Callable[[], bool]
    """Whether the budget has room for one more proposal, its validation, and the test."""
    tell: Callable[[str], None]

    def gain_p(self, first: Sequence[Verdict], second: Sequence[Verdict]) -> float:
        """The one-sided p of the second wording's reward being no higher than the first's, whole groups flipped."""
        gains = self.reward_array(second) - self.reward_array(first)
        known = ~np.isnan(gains)
        groups = np.array([self.cluster[verdict.case] for verdict in first])[known]
        _, at = np.unique(groups, return_inverse=True)
        return flip_p(np.bincount(at, gains[known]).astype(float), self.draws) if known.any() else 1.0

    def reward_array(self, verdicts: Sequence[Verdict]) -> FloatArray:
        return np.array([self.rewards.of_case(verdict) for verdict in verdicts], dtype=float)

    def mean_reward(self, verdicts: Sequence[Verdict]) -> float | None:
        """The mean over the cases that have a reward; None where none has."""
        rewards = self.reward_array(verdicts)
        known_rewards = rewards[~np.isnan(rewards)]
        return float(known_rewards.mean()) if len(known_rewards) else None

    def leaves_more_open(self, first: Sequence[Verdict], second: Sequence[Verdict]) -> int:
        """How many more questions go unanswered under the second wording, where nothing is set for those."""
        if self.rewards.reward.costs is not None or self.rewards.reward.abstention is not None:
            return 0
        open_first, open_second = (sum(map(self.rewards.open_questions, part)) for part in (first, second))
        return max(0, open_second - open_first)


@dataclass(frozen=True)
class Validated:
    """A judge that was heard on the validation cases."""

    trial: WordingTrial
    judge: Judge
    verdicts: Sequence[Verdict]


@dataclass
class SearchResult:
    """Every trial, and those that reached the validation cases, the first words first."""

    trials: list[WordingTrial] = field(default_factory=list)
    validated: list[Validated] = field(default_factory=list)


class Best(NamedTuple):
    """The wording to hold against the first on the test cases, and whether the validation cases speak for it."""

    validated: Validated
    shown: bool
    why: str


def best_of(scene: Scene, result: SearchResult) -> Best:
    """The best of the other wordings on the validation cases, the first where no other came so far.

    It is shown to be better only where its gain there is more than chance among all that were held against the first.
    """
    baseline, *alternatives = result.validated
    if not alternatives:
        return Best(baseline, False, "no other wording was good enough to be tried on the validation cases")
    best = max(alternatives, key=lambda validated: _or_least(scene.mean_reward(validated.verdicts)))
    if extra_open := scene.leaves_more_open(baseline.verdicts, best.verdicts):
        return Best(
            best,
            False,
            f"with the new wording, {extra_open} more questions on the validation cases have no verdict",
        )
    p = min(1.0, scene.gain_p(baseline.verdicts, best.verdicts) * len(alternatives))
    p_words = f"p {p:.2g}, corrected for {len(alternatives)} comparisons"
    if p < LEVEL:
        return Best(best, True, f"this wording has the best mean reward on the validation cases ({p_words})")
    return Best(best, False, f"the gain on the validation cases is not statistically significant ({p_words})")


def _or_least(reward: float | None) -> float:
    return -np.inf if reward is None else reward


def validation_front(scene: Scene, result: SearchResult) -> list[int]:
    """The numbers of the trials that no other is as good as on every validation case and better on one."""
    rows = np.array([scene.reward_array(validated.verdicts) for validated in result.validated])
    rows = np.where(np.isnan(rows), -np.inf, rows)
    beaten = [
        any((rival >= row).all() and (rival > row).any() for at, rival in enumerate(rows) if at != place)
        for place, row in enumerate(rows)
    ]
    return [
        validated.trial.number for validated, lost in zip(result.validated, beaten, strict=True) if not lost
    ]


class OtherJudge(NamedTuple):
    """Another judge to try, and what is other about it."""

    label: str
    judge: Judge
    text: str


def written_alternatives(
    file: OptimisationFile, beside: Path, judge: Judge, places: Mapping[str, Target], guard: Guard
) -> list[OtherJudge]:
    """The judge with each of the file's candidates in its place.

    Raises:
        VenireError: A candidate is no text that may stand there.
    """
    alternatives: list[OtherJudge] = []
    for name, texts in file.candidates.items():
        for number, candidate in enumerate(texts, 1):
            text = _text(candidate, name, beside)
            if problem := guard.refusal(text, places[name].text(judge)):
                raise VenireError(
                    f"candidate {number} of {name!r} cannot be used: {problem}",
                    remedy="rewrite this candidate, or leave it out",
                )
            alternatives.append(OtherJudge(f"{name} {number}", places[name].put(judge, text), text))
    return alternatives


def shot_alternatives(
    file: OptimisationFile, beside: Path, judge: Judge, pool: Sequence[Case], *, seed: int
) -> list[OtherJudge]:
    """The judge with worked examples before its first ballot: so many draws of each size from the labelled training cases."""
    alternatives = []
    for ids in _drawn_examples(file, pool, seed):
        shots = Shots(ids=ids, n=len(ids), cases=beside / file.cases, ratings=beside / file.ratings)
        jury = judge.jury.model_copy(update={"shots": shots})
        names = ", ".join(ids)
        alternatives.append(OtherJudge(f"examples {names}", Judge(jury, judge.rubric), names))
    return alternatives


def _drawn_examples(file: OptimisationFile, pool: Sequence[Case], seed: int) -> Iterator[tuple[str, ...]]:
    assert file.shots is not None
    samples: set[frozenset[str]] = set()
    for size in file.shots.k:
        if size > len(pool):
            raise VenireError(
                f"{size} examples were requested, but only {len(pool)} training cases have a rating of every attribute",
                remedy="label more cases, keep fewer for validation and test, or ask for fewer examples",
            )
        for draw in range(file.shots.draws):
            rng = random.Random(seed * _SEED_STRIDE + size * 1000 + draw)
            ids = tuple(case.id for case in rng.sample(list(pool), size))
            if frozenset(ids) not in samples:
                samples.add(frozenset(ids))
                yield ids


async def try_alternatives(scene: Scene, alternatives: Sequence[OtherJudge]) -> SearchResult:
    """The first judge and every alternative, each heard on all validation cases."""
    result = SearchResult()
    baseline = OtherJudge("the first words", scene.judge, "")
    for number, (label, judge, text) in enumerate([baseline, *alternatives]):
        verdicts = await scene.room.verdicts(judge, scene.validation)
        trial = WordingTrial(
            number,
            label,
            None if number == 0 else 0,
            "first" if number == 0 else "accepted",
            text=text,
            validation=scene.mean_reward(verdicts),
            calls=scene.room.calls.used.calls,
        )
        result.trials.append(trial)
        result.validated.append(Validated(trial, judge, verdicts))
        reward = "undefined" if trial.validation is None else f"{trial.validation:.3f}"
        scene.tell(f"{number}. {label}: validation {reward} ({trial.calls} calls)")
    return result


def _text(candidate: str, name: str, folder: Path) -> str:
    """The candidate's words; for a persona, those of a file that it names."""
    if name.startswith("persona:") and candidate.endswith((".yaml", ".yml")):
        return load_persona(folder / candidate).voice
    return candidate


AT_ONCE = 64
"""Deliberations at a time."""


@dataclass(slots=True)
class CountedCalls:
    """The record of calls, which counts each call that is used once, whether it is paid for now or was before.

    So a search that stops by what it has used stops at the same place when it is killed and run again.
    """

    calls: Calls
    used: Cost = field(default_factory=Cost)
    _keys: set[str] = field(default_factory=set)

    async def get(self, key: str) -> Reply | None:
        reply = await self.calls.get(key)
        if reply is not None:
            self._count(key, reply)
        return reply

    async def put(self, key: str, request: Request, reply: Reply) -> None:
        await self.calls.put(key, request, reply)
        self._count(key, reply)

    def forgo(self, key: str) -> None:
        self.calls.forgo(key)

    def _count(self, key: str, reply: Reply) -> None:
        if key not in self._keys:
            self._keys.add(key)
            self.used += Cost.of(reply)


class Courtroom:
    """Hears cases under any wording, and asks the reflecting model, on the record of one optimisation."""

    def __init__(
        self, store: Store, budget: Budget, providers: Providers, *, seed: int, scored: ScoredCases
    ) -> None:
        self.calls = CountedCalls(store)
        self.court = Court(calls=self.calls, budget=budget, seed=seed, scored=scored, providers=providers)
        self.hearings = 0
        """Cases heard under some wording, each once."""
        self.heard_cost = Cost()
        """What those took."""
        self._store = store
        self._seed = seed
        self._positions = count()
        self._heard: dict[tuple[str, str], Transcript] = {}
        self._names: dict[str, str] = {}
        """By the words of a judge, the name of its arm."""
        self._places = asyncio.Semaphore(AT_ONCE)

    async def verdicts(self, judge: Judge, cases: Sequence[Case]) -> list[Verdict]:
        """The verdicts on `cases`, in their order, counted together: a rule that learns learns from these cases, as it would from a run of them.

        Raises:
            BudgetSpent: The budget ends it.
        """
        judge = self._under_own_name(judge)
        manifest = arm_manifest(
            judge.rubric,
            judge.jury,
            seed=self._seed,
            scored=self.court.scored,
            prices=self.court.providers.prices,
        )
        arm = arm_fingerprint(manifest)
        number = await self._store.add_arm(judge.jury.name, arm, manifest)
        results = await asyncio.gather(
            *(self._hear(judge, case, arm, number) for case in cases), return_exceptions=True
        )
        for result in results:
            if isinstance(result, BaseException):
                raise result
        transcripts = [result for result in results if isinstance(result, Transcript)]
        learned = learned_from(transcripts, judge.rubric, judge.jury)
        return [recount(heard, judge.rubric, judge.jury, learned=learned) for heard in transcripts]

    def _under_own_name(self, judge: Judge) -> Judge:
        """The judge under an arm's name of its own, the first that is heard under the jury's."""
        words = fingerprint(
            {"jury": judge.jury.model_dump(mode="json"), "rubric": judge.rubric.model_dump(mode="json")}
        )
        name = self._names.setdefault(
            words, f"{judge.jury.name}-{words[:8]}" if self._names else judge.jury.name
        )
        return Judge(judge.jury.model_copy(update={"name": name}), judge.rubric)

    async def _hear(self, judge: Judge, case: Case, arm: str, number: int) -> Transcript:
        if (arm, case.id) in self._heard:
            return self._heard[arm, case.id]
        async with self._places:
            transcript = await hear(case, judge.rubric, judge.jury, self.court)
        # Nothing is to be learned from a model that could not be reached.
        refuse_unreached(transcript)
        mark = case_fingerprint(case)
        earlier = await self._store.last_hearing(number, case.id)
        if earlier is None or earlier.fingerprint != mark:
            follows = earlier.number if earlier else 0
            await self._store.add(
                number, case, mark, transcript, position=next(self._positions), follows=follows
            )
        self._heard[arm, case.id] = transcript
        self.hearings += 1
        self.heard_cost += transcript.cost
        return transcript

    def gateway(self, settings: ModelSettings) -> ModelGateway:
        """Access to a model that is no juror, on the same record and budget."""
        return ModelGateway(
            self.court.providers.get(settings),
            settings,
            calls=self.calls,
            meter=Meter(Limits(), self.court.budget),
            rng=random.Random(self._seed),
        )


async def check_judge_models(
    judge: Judge, reflection: ModelSettings | None, court: Court, *, begun: bool
) -> None:
    """Ask every model whether it can be reached, and refuse a jury that cannot answer the rubric.

    Raises:
        ModelUnreachable: One cannot be. Where calls are recorded (`begun`), this waits until one more is needed.
        VenireError: The budget is in dollars, and nobody knows the price of a model.
    """
    if reflection is not None and court.budget.max_usd is not None:
        provider, model = court.providers.get(reflection), reflection.model or "local"
        if not provider.client.reports_cost and provider.price(model) is None:
            raise unknown_price(model)
    try:
        await Preflight().check([*models_asked(judge.jury), *([reflection] if reflection else [])])
    except ModelUnreachable as error:
        if not begun:
            raise
        court.budget.unreachable = error
    await asyncio.to_thread(ready, judge.jury, court, judge.rubric)
