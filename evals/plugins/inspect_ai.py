"""Inspect AI: the scorer `venire/jury`, and jurors that are models of Inspect's (`inspect/NAME`)."""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Literal

from ...agents.clients.litellm import strict
from ...agents.model import ModelFailure, Reply, Request, Usage
from ...agents.model_client import ClientFactory, ModelClient
from ...personas.jury import ModelSettings
from . import host
from .judgement import numbers_of
from .samples import BLANK
from .sitting import case_from_sample, convene, field_of

with host("inspect_ai", extra="inspect"):
    from inspect_ai.model import (
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageUser,
        GenerateConfig,
        ModelOutput,
        ResponseSchema,
        get_model,
    )
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import TaskState

INSPECTS_LOOP: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("inspects_loop", default=None)
"""The event loop of the evaluation that a hearing belongs to; none outside of one."""

_ROLES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
_FINISH: dict[str, Literal["refusal", "length"]] = {
    "content_filter": "refusal",
    "max_tokens": "length",
    "model_length": "length",
}


@scorer(metrics={"*": [mean(), stderr()]})  # type: ignore[untyped-decorator]
def jury(
    rubric: Any, jury: Any, *, source: str | None = None, against: str | None = None, **options: Any
) -> Scorer:
    """Have `jury` judge the output under `rubric`: a score for each attribute, unscored where none was reached.

    `source` names the field of a sample's metadata that holds what the output was made from, `against` the one with another output, to
    be compared with this one: above 0 this one is preferred. `options` are those of a sitting: `model`, `base_url`, `record`, `max_usd` ... Every epoch is a hearing of its own. Several juries may be scorers of
    one task, and keep one record.
    """
    sitting = convene(rubric, jury, **options)

    async def score(state: TaskState, target: Target) -> Score:
        answer = state.output.completion
        if not answer.strip():
            return Score.unscored(answer=answer, explanation=BLANK)
        case = case_from_sample(
            f"{state.model}/{state.sample_id}",
            answer,
            against=field_of(state.metadata, against),
            question=state.input_text,
            source=field_of(state.metadata, source),
            reference=target.text,
            system=str(state.model),
        )
        INSPECTS_LOOP.set(asyncio.get_running_loop())
        judgement = await sitting.hear(case, again=state.epoch - 1)
        return Score(
            value={
                name: math.nan if number is None else number for name, number in numbers_of(judgement).items()
            },
            answer=answer,
            explanation=f"{judgement.headline}\n\n{_as_it_stands(judgement.text)}",
            metadata={"deliberation": _Uncopied(judgement.document), "usd": judgement.usd},
        )

    return score


class _Uncopied(dict[str, Any]):
    """A document that is its own copy: Inspect copies every score, metadata and all, for each of its metrics."""

    def __deepcopy__(self, memo: object) -> _Uncopied:
        return self


def _as_it_stands(text: str) -> str:
    """A block of Markdown that shows `text`, fenced so that no word of a juror's can end it."""
    fence = "`" * max([3, *(len(found) + 1 for found in re.findall("`+", text))])
    return f"{fence}\n{text}\n{fence}"


class InspectClient(ModelClient):
    """A model of Inspect's, under its limits and in its log."""

    def __init__(self, settings: ModelSettings) -> None:
        self._name = (settings.model or "").partition("/")[2]
        self._base_url = settings.base_url

    async def complete(self, request: Request) -> Reply:
        home, here = INSPECTS_LOOP.get(), asyncio.get_running_loop()
        started = time.perf_counter()
        try:
            if home is None or home is here:
                output = await self._generate(request)
            else:
                # Its connections and limits belong to the loop that the evaluation runs in.
                sent = asyncio.run_coroutine_threadsafe(self._generate(request), home)
                output = await asyncio.wrap_future(sent)
        except Exception as error:
            # Inspect has retried what may be; whatever it raises then, this juror gave no answer.
            raise ModelFailure("unavailable", f"{type(error).__name__}: {error}"[:300]) from None
        return _reply(output, time.perf_counter() - started)

    async def _generate(self, request: Request) -> ModelOutput:
        settings = {name: value for name, value in request.settings.items() if name != "base_url"}
        if "seed" in settings:
            settings["seed"] += request.repeat
        if request.schema is not None:
            settings["response_schema"] = _response_schema(request.schema.text)
        messages = [_ROLES[message.role](content=message.content) for message in request.messages]
        model = get_model(self._name, base_url=self._base_url)
        return await model.generate(messages, config=GenerateConfig(**settings))


class _SharedSchema(ResponseSchema):  # type: ignore[misc]
    """A response schema that is its own copy: Inspect copies a request's settings several times, and nobody changes this one."""

    def __deepcopy__(self, memo: object = None) -> _SharedSchema:
        return self


@lru_cache(maxsize=64)
def _response_schema(schema: str) -> ResponseSchema:
    """The form of an answer as Inspect takes it, made once: every case of a jury asks for the same few."""
    return _SharedSchema(name="answer", json_schema=strict(json.loads(schema)), strict=True)


def _reply(output: ModelOutput, seconds: float) -> Reply:
    used = output.usage
    cached = (used.input_tokens_cache_read or 0) if used else 0
    written = (used.input_tokens_cache_write or 0) if used else 0
    return Reply(
        text=output.completion,
        usage=Usage(used.input_tokens + cached + written, used.output_tokens, cached) if used else Usage(),
        usd=used.total_cost if used else None,
        seconds=seconds,
        finish=_FINISH.get(output.stop_reason, "stop") if output.choices else "stop",
    )


client_factory = ClientFactory(connect=InspectClient, per_model=True)
