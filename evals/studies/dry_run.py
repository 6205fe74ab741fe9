"""A dry run of a deliberation up to its first answers: which calls it makes, and how long they are.

Until somebody has answered, what a protocol asks is settled. So the real protocol is run up to its first answer, over
the real prompts, with nobody at the other end. Where a protocol has one step, that is every call it makes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ...agents.clients.client_factory import prefix_of
from ...agents.model import ModelClient, ModelFailure, Reply, Request
from ...agents.providers import Providers, RateLimitedClient
from ...orchestration.bench import Court
from ...orchestration.deliberate import hear
from ...orchestration.transcript import Entry
from ...personas.jury import Jury, ModelSettings
from ...rubrics.case import Case
from ...rubrics.rubric import Rubric

BYTES_PER_TOKEN = 4
"""About what English takes."""
ANSWER_TOKENS = 120
"""Tokens that an answer is taken to have for each attribute asked about, unless the seat's max_tokens is less."""
_READ_NO_PROMPT = ("lens", "recorded")

Note = Callable[[Request], None]


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One call: to which model, and about how many tokens its prompt and its answer have."""

    model: str
    prompt: int
    completion: int


class DryRun:
    """Collects the calls that juries would make; opens the clients of `providers`, and sends nothing."""

    def __init__(self, providers: Providers, *, scored: frozenset[str], seed: int) -> None:
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

    def _note(self, request: Request) -> None:
        self._calls[request.key] = _planned_call(request)

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


class _SilentClient:
    """Notes what it is asked and gives no answer; whoever has no opinion on an attribute still has none."""

    def __init__(self, client: ModelClient, note: Note) -> None:
        self._note = note
        if hasattr(client, "answers_for"):
            self.answers_for = client.answers_for

    async def complete(self, request: Request) -> Reply:
        self._note(request)
        raise ModelFailure("unavailable", "a dry run")

    async def close(self) -> None:
        return None


def _planned_call(request: Request) -> PlannedCall:
    if prefix_of(request.model) in _READ_NO_PROMPT:
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
