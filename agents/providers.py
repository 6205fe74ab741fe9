"""Roads: which client answers for a model string. Built-in clients and plug-ins are found the same way."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import urlsplit

from ..personas.jury import ModelSettings
from ..rubrics.plugins import registered
from .admission_queue import Line, Places
from .model import ModelFailure, Provider, Reply, Request, TransientFailure
from .prices import Price
from .rate_limiter import Pace
from .tracing import Tracing, configured

GROUP = "venire.clients"
_DEFAULT = "litellm"


class Road(NamedTuple):
    """How to reach a kind of model."""

    connect: Callable[[ModelSettings], Provider]
    per_model: bool
    """Whether every model string needs a provider of its own; otherwise one serves an endpoint."""


def prefix_of(model: str) -> str:
    """The road that a model string takes; anything unknown is LiteLLM's."""
    prefix = model.partition("/")[0]
    return prefix if prefix in registered(GROUP) else _DEFAULT


def road_for(model: str) -> Road:
    return registered(GROUP)[prefix_of(model)].load()


class Queued:
    """A provider that is asked at its own pace; whoever cannot be served yet waits in line."""

    def __init__(
        self,
        road: Provider,
        in_flight: int,
        *,
        name: str = "",
        rpm: int | None = None,
        tpm: int | None = None,
        prices: Mapping[str, Price] | None = None,
        tracing: Tracing | None = None,
        say: Callable[[str], None] | None = None,
        places: Places | None = None,
    ) -> None:
        self.road = road
        most = min(in_flight, getattr(road, "at_once", in_flight))
        self.seats = places or Line(Pace(most, name=name, rpm=rpm, tpm=tpm, say=say))
        self.asked: dict[str, asyncio.Future[Reply | None]] = {}
        """The requests that are being answered, by their keys."""
        self._prices = prices or {}
        self._tracing = tracing

    async def complete(self, request: Request, patience: float) -> Reply:
        """The provider's answer, with its price; whoever asks has a seat. `TimeoutError` after `patience` seconds."""
        begun = time.monotonic()
        try:
            if self._tracing is None:
                reply = await self._answer(request, patience)
            else:
                reply = await self._tracing.call(request, lambda: self._answer(request, patience))
        except TransientFailure as failure:
            if failure.busy:
                self.seats.busy(time.monotonic() - begun, failure.retry_after)
            else:
                self.seats.failed(failure.summary)
            raise
        except ModelFailure:
            self.seats.answered()
            raise
        except TimeoutError:
            # Cut short by the deliberation's own limit, it says nothing about the provider.
            if patience >= request.timeout:
                self.seats.failed(f"no answer within {patience:g} s")
            raise
        self.seats.answered(reply.usage.total)
        price = self._prices.get(request.model)
        return reply if price is None else replace(reply, usd=price.usd(reply.usage))

    async def _answer(self, request: Request, patience: float) -> Reply:
        async with asyncio.timeout(patience):
            return await self.road.complete(request)


ProviderKey = tuple[str | None, ...]
"""What has limits of its own: the road, an address, the name of a key's variable and, for some, the model."""


class Providers:
    """The roads that one run uses, each opened once and each asked at its own pace."""

    def __init__(
        self,
        in_flight: int = 32,
        *,
        rpm: int | None = None,
        tpm: int | None = None,
        prices: Mapping[str, Price] | None = None,
        tracing: Tracing | None = None,
        say: Callable[[str], None] | None = None,
        places: Callable[[ProviderKey], Places] | None = None,
    ) -> None:
        self.prices = prices or {}
        self.tracing = tracing or configured()
        self._in_flight = in_flight
        self._rpm = rpm
        self._tpm = tpm
        self._say = say or _on_stderr
        self._places = places
        """Where a provider's limits are kept elsewhere, for all who ask it."""
        self._open: dict[ProviderKey, Queued] = {}
        self._known: dict[ModelSettings, Queued] = {}

    def get(self, settings: ModelSettings) -> Queued:
        if settings not in self._known:
            self._known[settings] = self._opened(settings)
        return self._known[settings]

    def at(self, key: ProviderKey) -> Queued:
        """The provider that was opened under this key."""
        return self._open[key]

    def _opened(self, settings: ModelSettings) -> Queued:
        model = settings.model or "local"
        road = road_for(model)
        key = (
            # Not the road alone: what OpenAI limits is no concern of Anthropic's, though LiteLLM leads to both.
            model.partition("/")[0],
            settings.base_url,
            settings.api_key_env,
            model if road.per_model else None,
        )
        if key not in self._open:
            opened = road.connect(settings)
            # A road with a limit of its own has its model in this process: others have theirs.
            shared = None if hasattr(opened, "at_once") else self._places
            self._open[key] = Queued(
                opened,
                self._in_flight,
                name=_name(settings.base_url) if settings.base_url else model,
                rpm=self._rpm,
                tpm=self._tpm,
                prices=self.prices,
                tracing=self.tracing,
                say=self._say,
                places=None if shared is None else shared(key),
            )
        return self._open[key]

    def let_go(self) -> None:
        """Have nobody wait any longer: the run is over, and nothing more will be sent."""
        for provider in self._open.values():
            provider.seats.let_go()

    async def close(self) -> None:
        while self._open:
            _, provider = self._open.popitem()
            await provider.road.close()
        if self.tracing is not None:
            self.tracing.close()


def _name(base_url: str) -> str:
    """The address without what may be a secret in it."""
    parts = urlsplit(base_url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"


def _on_stderr(line: str) -> None:
    print(line, file=sys.stderr)
