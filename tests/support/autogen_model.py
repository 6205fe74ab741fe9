"""A scripted model client of AutoGen's own kind."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from autogen_core.models import ChatCompletionClient, CreateResult, ModelInfo, RequestUsage

Script = Callable[[str, int], str]
"""What a model says, by the kind of question and how many of that kind came before."""


class ScriptedModel(ChatCompletionClient):
    """A scripted model behind AutoGen's own door, with nothing of ours between."""

    component_type = "model"

    def __init__(self, script: Script) -> None:
        self._script = script
        self.asked: Counter[str] = Counter()
        self.prompts: list[str] = []

    async def create(self, messages: Sequence[Any], *, json_output: Any = None, **_: Any) -> CreateResult:
        last = str(messages[-1].content)
        kind = "ledger" if json_output else "final" if "We have completed the task" in last else "plan"
        self.asked[kind] += 1
        self.prompts.append("\n".join(str(message.content) for message in messages))
        text = self._script(kind, self.asked[kind] - 1)
        return CreateResult(finish_reason="stop", content=text, usage=RequestUsage(7, 7), cached=False)

    async def create_stream(self, *_: Any, **__: Any) -> AsyncGenerator[str | CreateResult, None]:
        raise NotImplementedError
        yield ""

    async def close(self) -> None: ...

    def actual_usage(self) -> RequestUsage:
        return RequestUsage(0, 0)

    def total_usage(self) -> RequestUsage:
        return RequestUsage(0, 0)

    def count_tokens(self, *_: Any, **__: Any) -> int:
        return 0

    def remaining_tokens(self, *_: Any, **__: Any) -> int:
        return 10**6

    @property
    def capabilities(self) -> Any:
        return self.model_info

    @property
    def model_info(self) -> ModelInfo:
        return ModelInfo(
            vision=False, function_calling=False, json_output=True, family="unknown", structured_output=True
        )


def ledger_script(nth: Callable[[int], Any]) -> Script:
    """A script with these ledgers, and words elsewhere."""

    def say(kind: str, number: int) -> str:
        given = nth(number) if kind == "ledger" else "Words."
        return given if isinstance(given, str) else json.dumps(given)

    return say
