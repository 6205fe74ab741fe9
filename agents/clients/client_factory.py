"""Client factories: which client answers for a model string. Built-in clients and plug-ins are found the same way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from ...personas.jury import ModelSettings
from ...rubrics.plugins import registered_plugins
from ..model_client import ModelClient

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
