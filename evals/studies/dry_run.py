"""A dry run of a deliberation up to its first answers: which calls it makes, and how long they are.

Until somebody has answered, what a protocol asks is settled. So the real protocol is run up to its first answer, over
the real prompts, with nobody at the other end. Where a protocol has one step, that is every call it makes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ...agents.model import ModelFailure, Reply, Request, Subject
from ...agents.model_client import ModelClient
from ...agents.providers import Providers, RateLimitedClient
from ...orchestration.bench import Court
from ...orchestration.deliberate import hear
from ...orchestration.transcript import Entry
from ...orchestration.worked_examples import ScoredCases
from ...personas.jury import Jury, ModelSettings
from ...rubrics.case import Case
from ...rubrics.rubric import Rubric

BYTES_PER_TOKEN = 4
"""About what English takes."""
ANSWER_TOKENS = 120
"""Tokens that an answer is taken to have for each attribute asked about, unless the seat's max_tokens is less."""


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One call: to which model, and about how many tokens its prompt and its answer have."""

    model: str
    prompt: int
    completion: int


Note = Callable[[str, PlannedCall], None]
"""Takes a call by its key in the record."""


class DryRun:
    """Collects the calls that juries would make; opens the clients of `providers`, and sends nothing."""

    def __init__(self, providers: Providers, *, scored: ScoredCases, seed: int) -> None:
        silent = _SilentProviders(providers, self._note)
        self._court = Court(providers=silent, scored=scored, seed=seed, listener=self._over)
        self._calls: dict[str, PlannedCall] = {}

    def first_step(
        self, jury: Jury, cases: Iterable[Case], rubric: Rubric
    ) -> list[Mapping[str, PlannedCall]]:
        """For each case, the calls that are made before anything is answered, by their keys in the record."""
        return asyncio.run(self._first_step(jury, list(cases), rubric))

    async def _first_step(
        self, jury: Jury, cases: Sequence[Case], rubric: Rubric
    ) -> list[Mapping[str, PlannedCall]]:
        calls: list[Mapping[str, PlannedCall]] = []
        for case in cases:
            self._calls = {}
            with suppress(_StepOver):
                await hear(case, rubric, jury, self._court)
            calls.append(self._calls)
        return calls

    def _note(self, key: str, call: PlannedCall) -> None:
        self._calls[key] = call

    @staticmethod
    def _over(case: str, entry: Entry) -> None:
        raise _StepOver


class _StepOver(Exception):
    """The first step is recorded: what comes after depends on answers that nobody gave."""


class _SilentProviders(Providers):
    """The clients of a run, none of which sends anything."""

    def __init__(self, providers: Providers, note: Note) -> None:
        super().__init__(prices=providers.prices)
        self._real = providers
        self._note = note
        self._clients: dict[ModelSettings, RateLimitedClient] = {}

    def get(self, settings: ModelSettings) -> RateLimitedClient:
        if settings not in self._clients:
            self._clients[settings] = RateLimitedClient(
                _SilentClient(self._real.get(settings).client, self._note), 1000
            )
        return self._clients[settings]


class _SilentClient(ModelClient):
    """Notes what it is asked and gives no answer; whoever has no opinion on an attribute still has none."""

    def __init__(self, client: ModelClient, note: Note) -> None:
        self._client = client
        self._note = note
        self.context_window = client.context_window
        self.votes_only = client.votes_only
        self.reports_cost = client.reports_cost

    def answers_for(self, subject: Subject) -> tuple[str, ...]:
        return self._client.answers_for(subject)

    async def complete(self, request: Request) -> Reply:
        self._note(request.key, _planned_call(request, reads_prompt=self.context_window is not None))
        raise ModelFailure("unavailable", "a dry run")


def _planned_call(request: Request, *, reads_prompt: bool) -> PlannedCall:
    if not reads_prompt:
        return PlannedCall(request.model, 0, 0)
    written = sum(len(message.content.encode()) for message in request.messages)
    schema = len(request.schema.text) if request.schema is not None else 0
    attributes = len(request.schema["properties"]) if request.schema is not None else 1
    answer = ANSWER_TOKENS * attributes
    most = request.settings.get("max_tokens")
    return PlannedCall(
        request.model,
        -(-(written + schema) // BYTES_PER_TOKEN),
        answer if most is None else min(answer, most),
    )
