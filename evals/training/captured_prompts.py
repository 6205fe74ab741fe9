"""The exact prompts that seats are sent: asked of the jurors and the orchestrator themselves, and stopped before they are sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NamedTuple, cast

from pydantic import BaseModel

from ...agents.clients.local import CONTEXT
from ...agents.context import window
from ...agents.gateway import ModelGateway, Prompt
from ...agents.juror import Juror
from ...agents.model import Message, Subject
from ...agents.orchestrator import Orchestrator
from ...personas.jury import ModelSettings, Seat
from ...personas.persona import Persona


class CapturedPrompt(NamedTuple):
    """The messages of one call, and the shape that its answer must have."""

    messages: tuple[Message, ...]
    shape: type[BaseModel]


class PromptTooLong(ValueError):
    """The seat would not have asked: its model cannot read the case."""


class _Captured(Exception):
    def __init__(self, prompt: CapturedPrompt) -> None:
        super().__init__("captured")
        self.prompt = prompt


class _CapturingGateway:
    """Stands where a model would be asked, and hands back the question instead."""

    def __init__(self, settings: ModelSettings) -> None:
        self.window = window(settings, CONTEXT)

    def answers_for(self, subject: Subject) -> tuple[str, ...]:
        return subject.asked

    async def fill(self, prompt: Prompt, shape: type[BaseModel], **options: Any) -> Any:
        raise _Captured(CapturedPrompt(prompt.messages, shape))


def juror_prompt(
    name: str,
    persona: Persona | None,
    ask: Callable[[Juror], Awaitable[Any]],
    settings: ModelSettings | None = None,
) -> CapturedPrompt:
    """What the seat `name` would be sent when `ask` calls one of its methods (`cast`, `revise`, `challenge` ...)."""
    return _captured_from(ask(Juror(name, persona, _gateway(settings))))


def orchestrator_prompt(
    seats: tuple[Seat, ...],
    ask: Callable[[Orchestrator], Awaitable[Any]],
    settings: ModelSettings | None = None,
) -> CapturedPrompt:
    """What the orchestrator of `seats` would be sent when `ask` calls one of its methods (`name_disputes`, `decide` ...)."""
    return _captured_from(ask(Orchestrator(_gateway(settings), seats)))


def _gateway(settings: ModelSettings | None) -> ModelGateway:
    return cast(ModelGateway, _CapturingGateway(settings or ModelSettings()))


def _captured_from(asking: Awaitable[Any]) -> CapturedPrompt:
    """Run the call up to its prompt. Nothing on that way waits, so no event loop is needed."""
    try:
        cast(Coroutine[Any, Any, Any], asking).send(None)
    except _Captured as captured:
        return captured.prompt
    except StopIteration:
        raise PromptTooLong("the prompt does not fit into the model's context") from None
    raise AssertionError("a call that waits before it asks")
