"""LiteLLM never keeps the event loop waiting, although addresses that it may look at do not answer."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from venire.agents.clients.litellm import connect
from venire.agents.model import Message, ModelFailure, Request, Sampling
from venire.personas.jury import ModelSettings
from venire.rubrics.ballot import Schema

pytestmark = [
    pytest.mark.skipif(find_spec("litellm") is None, reason="needs LiteLLM"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

FAMILIES = [
    "anthropic",
    "gemini",
    "mistral",
    "groq",
    "azure",
    "huggingface",
    "databricks",
    "ollama",
    "ollama_chat",
    "hosted_vllm",
    "lm_studio",
    "openai",
    "llamafile",
    "litellm_proxy",
    "xinference",
]
VARIABLES = [
    "OLLAMA_API_BASE",
    "HOSTED_VLLM_API_BASE",
    "LM_STUDIO_API_BASE",
    "OPENAI_API_BASE",
    "LLAMAFILE_API_BASE",
]
SCHEMA = {"type": "object", "properties": {"score": {"enum": [1, 2]}}, "required": ["score"]}


@pytest.fixture
def silent() -> Iterator[str]:
    """An address that takes connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("stated", [True, False], ids=["base_url", "variables"])
def test_the_loop_goes_on_while_an_address_is_silent(
    monkeypatch: pytest.MonkeyPatch, silent: str, family: str, stated: bool
) -> None:
    for name in (*VARIABLES, "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, silent)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("SOME_KEY", "sk-canary-1234567890")
    model = f"{family}/no-such-model"
    client = connect(ModelSettings(model=model, base_url=silent if stated else None, api_key_env="SOME_KEY"))
    request = Request(
        model, (Message("user", "One JSON object."),), Schema(SCHEMA), Sampling(), repeat=0, timeout=1
    )
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.01)
            longest = max(longest, time.perf_counter() - before)

    async def main() -> None:
        watching = asyncio.create_task(watch())
        try:
            async with asyncio.timeout(1.5):
                await client.complete(request)
        except (ModelFailure, TimeoutError):
            pass
        finally:
            watching.cancel()
            await client.close()

    assert client.list_price(model) is None
    asyncio.run(main())
    # What LiteLLM imports on its first call takes its time; a silent address would take minutes.
    assert longest < 5
