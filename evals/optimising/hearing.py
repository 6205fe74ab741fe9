"""Hearing cases under one wording or another: every call on one record, within one budget, and counted once."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from ...agents.budget import Budget, Meter, unknown_price
from ...agents.cost import Cost
from ...agents.gateway import Calls, ModelGateway
from ...agents.model import Reply, Request
from ...agents.providers import Preflight, Providers
from ...orchestration.bench import Court
from ...orchestration.deliberate import hear, models_asked, ready, recount, refuse_unreached
from ...orchestration.record import Store
from ...orchestration.record.manifest import arm_fingerprint, arm_manifest, case_fingerprint, fingerprint
from ...orchestration.verdict import Verdict
from ...orchestration.worked_examples import ScoredCases
from ...personas.jury import ModelSettings
from ...personas.options import Limits
from ...rubrics.case import Case
from ...rubrics.errors import ModelUnreachable
from .wording import Judge

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
        self._heard: dict[tuple[str, str], Verdict] = {}
        self._names: dict[str, str] = {}
        """By the words of a judge, the name of its arm."""
        self._places = asyncio.Semaphore(AT_ONCE)

    async def verdicts(self, judge: Judge, cases: Sequence[Case]) -> list[Verdict]:
        """The verdicts on `cases`, in their order. Raises `BudgetSpent` where the budget ends it."""
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
            *(self._verdict(judge, case, arm, number) for case in cases), return_exceptions=True
        )
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return [result for result in results if isinstance(result, Verdict)]

    def _under_own_name(self, judge: Judge) -> Judge:
        """The judge under an arm's name of its own, the first that is heard under the jury's."""
        words = fingerprint(
            {"jury": judge.jury.model_dump(mode="json"), "rubric": judge.rubric.model_dump(mode="json")}
        )
        name = self._names.setdefault(
            words, f"{judge.jury.name}-{words[:8]}" if self._names else judge.jury.name
        )
        return Judge(judge.jury.model_copy(update={"name": name}), judge.rubric)

    async def _verdict(self, judge: Judge, case: Case, arm: str, number: int) -> Verdict:
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
        verdict = self._heard[arm, case.id] = recount(transcript, judge.rubric, judge.jury)
        self.hearings += 1
        self.heard_cost += transcript.cost
        return verdict

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
