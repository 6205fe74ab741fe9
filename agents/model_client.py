"""The base of every model client: how a request is answered, and what the client declares about itself."""

from __future__ import annotations

from abc import ABC, abstractmethod

from .model import Reply, Request, Subject
from .prices import Price

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

    secrets: tuple[str, ...] = ()
    """What it sends that is secret, beside the seat's own key and address: taken out of all that comes back."""

    @abstractmethod
    async def complete(self, request: Request) -> Reply:
        """The answer to one request.

        Raises:
            ModelFailure: No usable answer; a `TransientFailure` where the same request may succeed later.
        """

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
