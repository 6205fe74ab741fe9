"""Roads: which client answers for a model string. Built-in clients and plug-ins are found the same way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import NamedTuple

from ...personas.jury import ModelSettings
from ..model import Provider, Reply

GROUP = "venire.clients"
_DEFAULT = "litellm"


class Road(NamedTuple):
    """How to reach a kind of model."""

    connect: Callable[[ModelSettings], Provider]
    per_model: bool
    """Whether every model string needs a provider of its own; otherwise one serves an endpoint."""


@cache
def _points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def prefix_of(model: str) -> str:
    """The road that a model string takes; anything unknown is LiteLLM's."""
    prefix = model.partition("/")[0]
    return prefix if prefix in _points() else _DEFAULT


def road_for(model: str) -> Road:
    return _points()[prefix_of(model)].load()


class Queued:
    """A provider that takes only so many requests at a time; the others wait in order."""

    def __init__(self, road: Provider, in_flight: int) -> None:
        self.road = road
        self.seats = asyncio.Semaphore(min(in_flight, getattr(road, "at_once", in_flight)))
        self.asked: dict[str, asyncio.Future[Reply | None]] = {}
        """The requests that are being answered, by their keys."""


class Providers:
    """The roads that one run uses, each opened once."""

    def __init__(self, in_flight: int) -> None:
        self._in_flight = in_flight
        self._open: dict[tuple[str | None, ...], Queued] = {}
        self._known: dict[ModelSettings, Queued] = {}

    def get(self, settings: ModelSettings) -> Queued:
        if settings not in self._known:
            self._known[settings] = self._opened(settings)
        return self._known[settings]

    def _opened(self, settings: ModelSettings) -> Queued:
        model = settings.model or "local"
        road = road_for(model)
        key = (prefix_of(model), settings.base_url, settings.api_key_env, model if road.per_model else None)
        if key not in self._open:
            self._open[key] = Queued(road.connect(settings), self._in_flight)
        return self._open[key]

    async def close(self) -> None:
        while self._open:
            _, provider = self._open.popitem()
            await provider.road.close()
