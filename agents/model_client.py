"""The base of every model client, what it declares about itself, and which client answers for a model string."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from ..personas.jury import ModelSettings
from ..rubrics.plugins import registered_plugins
from .cost import Price
from .model import Reply, Request, Subject

DEFAULT_CONTEXT = 128_000
"""Tokens of context of a client that states none: what the hosted models in common use read, and more."""


class ModelClient(ABC):
    """Sends requests to one kind of model. Only `complete` must be written; the rest declares capabilities.

    A client is registered by an entry point under `venire.clients`, whose name is the prefix of the model strings it
    answers for. The entry point names a `ClientFactory`, or simply a function or class that takes a seat's
    `ModelSettings` and gives the client.

    Never retries, waits for a slot or counts costs: the gateway does, for every client alike.
    """

    context_window: int | None = DEFAULT_CONTEXT
    """Tokens of prompt and answer together, where the seat states no `context`; None where no prompt is read."""
    max_concurrency: int | None = None
    """Requests it can serve at a time; None for as many as the run allows."""
    in_process: bool = False
    """Whether the model runs in this process: its slots are then each worker's own, instead of shared by all."""
    votes_only: bool = False
    """Whether it can fill in a ballot and nothing else, so that it cannot be the orchestrator."""
    reports_cost: bool = True
    """Whether its replies say what they cost; otherwise a limit in dollars needs `list_price`, or the user's."""

    batched: bool = False
    """Whether requests go out in batches: without slots and timeouts, at half the price."""

    secrets: tuple[str, ...] = ()
    """What it sends that is secret, beside the seat's own key and address: taken out of all that comes back."""

    @abstractmethod
    async def complete(self, request: Request) -> Reply:
        """The answer to one request.

        Raises:
            ModelFailure: No usable answer; a `TransientFailure` where the same request may succeed later.
        """

    def stop_waiting(self) -> None:
        """The run is to stop: tell whoever waits for an answer that may take hours."""
        return

    async def close(self) -> None:
        """Close what it holds open. Called once, when the run is over."""
        return

    def answers_for(self, subject: Subject) -> tuple[str, ...]:
        """Those of the attributes asked about that it has an opinion on: all, for a language model."""
        return subject.asked

    def list_price(self, model: str) -> Price | None:
        """What a model string's tokens cost before anything is asked; None where that is not known."""
        return None

    def check_model(self, model: str) -> None:
        """Raise a `VenireError` for a model string that cannot lead anywhere. Nothing is sent."""
        return

    def missing_keys(self, model: str) -> tuple[str, ...]:
        """Environment variables that a call will need and that are not set."""
        return ()


GROUP = "venire.clients"
_DEFAULT = "litellm"


class ClientFactory(NamedTuple):
    """Makes the clients of one kind of model: what an entry point under `venire.clients` names."""

    connect: Callable[[ModelSettings], ModelClient]
    """A client for a seat's settings; a `VenireError` where they cannot be used. Nothing is sent yet."""
    per_model: bool = True
    """Whether every model string needs a client of its own; otherwise one serves an endpoint."""
    probe: Callable[[ModelSettings], Awaitable[bool]] | None = None
    """Asks, before the first case and for free, whether the model is there: True, False where that cannot be known,
    `ModelUnreachable` where it is not. None where connecting is all there is to check."""


def prefix_of(model: str) -> str:
    """The name under which the client of a model string is registered; anything unknown is LiteLLM's."""
    prefix = model.partition("/")[0]
    return prefix if prefix in registered_plugins(GROUP) else _DEFAULT


def factory_for(model: str) -> ClientFactory:
    """The factory of a model string's client; an entry point that names only a `connect` has a client per model."""
    loaded = registered_plugins(GROUP)[prefix_of(model)].load()
    return loaded if isinstance(loaded, ClientFactory) else ClientFactory(connect=loaded)
