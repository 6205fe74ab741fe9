"""`autogen/MODULE:FUNCTION`: any AutoGen agent or team as a juror, made anew for every question.

`autogen/FILE` is an AutoGen model client instead: see `autogen_model`.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from ...personas.jury import ModelSettings
from ...rubrics.errors import MissingExtra, VenireError
from ..model import ModelFailure, Reply, Request, Usage
from ..model_client import ModelClient
from ..usage import reported_usage
from . import autogen_model
from .client_factory import ClientFactory


def connect(settings: ModelSettings) -> ModelClient:
    where = (settings.model or "").partition("/")[2]
    if where.endswith(autogen_model.SUFFIXES):
        return autogen_model.connect(Path(where), settings)
    module, _, name = where.partition(":")
    if not module or not name:
        raise VenireError(
            f"the model {settings.model!r} names no agent",
            remedy="write it as autogen/MODULE:FUNCTION, or autogen/FILE.yaml for a model client",
        )
    make = getattr(_module(module), name, None)
    if not callable(make):
        found = "is not a function" if make is not None else "is not there"
        raise VenireError(
            f"{where}: {name!r} {found}",
            remedy="name a function without arguments that returns a new agent each time: agents remember, "
            "and one case must not reach the next",
        )
    return AgentClient(where, make)


def _module(name: str) -> Any:
    try:
        import autogen_agentchat  # noqa: F401  # the agent needs it, whatever else its module imports
    except ModuleNotFoundError:
        raise MissingExtra("autogen/ models need AutoGen", remedy="pip install 'venire[autogen]'") from None
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise VenireError(
            f"no module named {error.name!r}", remedy="install it, or put its folder on PYTHONPATH"
        ) from None


class AgentClient(ModelClient):
    """What `make` returns, asked once and let go. Its model, prompts and tools are its own."""

    reports_cost = False

    def __init__(self, where: str, make: Callable[[], Any]) -> None:
        self._where = where
        self._make = make

    async def complete(self, request: Request) -> Reply:
        from autogen_agentchat.messages import TextMessage

        from .autogen import silence_logs

        task = [TextMessage(content=m.content, source=m.role) for m in request.messages]
        started = time.perf_counter()
        with silence_logs():
            try:
                result = await self._run_agent(task)
            except Exception as error:
                # An agent is somebody else's program: whatever it raises, this juror gave no answer.
                told = f"{self._where}: {type(error).__name__}: {error}"
                raise ModelFailure("unavailable", told[:300]) from None
        if not result.messages:
            raise ModelFailure("unparsable", f"{self._where} said nothing")
        return Reply(
            text=result.messages[-1].to_text(),
            usage=_usage(result.messages),
            usd=None,
            seconds=time.perf_counter() - started,
        )

    async def _run_agent(self, task: list[Any]) -> Any:
        agent = self._make()
        if inspect.isawaitable(agent):
            agent = await agent
        try:
            return await agent.run(task=task, output_task_messages=False)
        finally:
            if close := getattr(agent, "close", None):
                await close()


def _usage(messages: list[Any]) -> Usage:
    used = Usage()
    for message in messages:
        if spent := message.models_usage:
            used += reported_usage(spent.prompt_tokens, spent.completion_tokens)
    return used


client_factory = ClientFactory(connect=connect, per_model=True)
