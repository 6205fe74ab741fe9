"""The first step of a deliberation without a model: which questions it asks, and how long they are.

Until somebody has answered, what a protocol asks is settled. So the real protocol is run up to its first answer, over
the real prompts, with nobody at the other end. Where a protocol has one step, that is every call it makes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ...agents.model import ModelFailure, Provider, Reply, Request
from ...agents.providers import Providers, Queued, prefix_of
from ...orchestration.bench import Court
from ...orchestration.deliberate import hear
from ...orchestration.transcript import Entry
from ...personas.jury import Jury, ModelSettings
from ...rubrics.case import Case
from ...rubrics.rubric import Rubric

BYTES = 4
"""Of a prompt to a token: about what English takes."""
ANSWER = 120
"""Tokens that an answer is taken to have for each attribute asked about, unless the seat's max_tokens is less."""
_READ_NO_PROMPT = ("lens", "recorded")

Note = Callable[[Request], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """One question: to which model, and about how many tokens it and its answer have."""

    model: str
    prompt: int
    completion: int


class Rehearsal:
    """Hears what juries would ask; opens the roads of `providers`, and sends nothing along them."""

    def __init__(self, providers: Providers, *, scored: frozenset[str], seed: int) -> None:
        self._stage = _Stage(providers, self._note)
        self._court = Court(providers=self._stage, scored=scored, seed=seed, listener=self._over)
        self._asked: dict[str, Asked] = {}

    def first_step(self, jury: Jury, cases: Iterable[Case], rubric: Rubric) -> list[Mapping[str, Asked]]:
        """For each case, the questions that are asked before anything is answered, by their keys in the record."""
        return asyncio.run(self._rehearsed(jury, list(cases), rubric))

    async def _rehearsed(
        self, jury: Jury, cases: Sequence[Case], rubric: Rubric
    ) -> list[Mapping[str, Asked]]:
        found: list[Mapping[str, Asked]] = []
        for case in cases:
            self._asked = {}
            with suppress(_StepOver):
                await hear(case, rubric, jury, self._court)
            found.append(self._asked)
        return found

    def _note(self, request: Request) -> None:
        self._asked[request.key] = _measured(request)

    @staticmethod
    def _over(case: str, entry: Entry) -> None:
        raise _StepOver


class _StepOver(Exception):
    """The first step is recorded: what comes after depends on answers that nobody gave."""


class _Stage(Providers):
    """The roads of a run, with nobody at the other end."""

    def __init__(self, providers: Providers, note: Note) -> None:
        super().__init__(prices=providers.prices)
        self._real = providers
        self._note = note
        self._silent: dict[ModelSettings, Queued] = {}

    def get(self, settings: ModelSettings) -> Queued:
        if settings not in self._silent:
            self._silent[settings] = Queued(_Silent(self._real.get(settings).road, self._note), 1000)
        return self._silent[settings]


class _Silent:
    """Notes what it is asked and gives no answer; whoever has no opinion on an attribute still has none."""

    def __init__(self, road: Provider, note: Note) -> None:
        self._note = note
        if hasattr(road, "answers_for"):
            self.answers_for = road.answers_for

    async def complete(self, request: Request) -> Reply:
        self._note(request)
        raise ModelFailure("unavailable", "a rehearsal")

    async def close(self) -> None:
        return None


def _measured(request: Request) -> Asked:
    if prefix_of(request.model) in _READ_NO_PROMPT:
        return Asked(request.model, 0, 0)
    written = sum(len(message.content.encode()) for message in request.messages)
    schema = len(request.schema.text) if request.schema is not None else 0
    attributes = len(request.schema["properties"]) if request.schema is not None else 1
    answer = ANSWER * attributes
    most = request.settings.get("max_tokens")
    return Asked(
        request.model, -(-(written + schema) // BYTES), answer if most is None else min(answer, most)
    )
