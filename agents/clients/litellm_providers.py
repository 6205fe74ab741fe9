"""What is known of LiteLLM's providers without importing it, which takes seconds: their keys, and where models are listed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from ...personas.jury import ModelSettings
from ...rubrics.errors import ModelUnreachable
from ...rubrics.files import nearest
from .keys import key_from, key_in, refuse_in_address
from .model_list import (
    ModelServer,
    check_address,
    find_anthropic_model,
    find_model,
    is_certificate_problem,
)

Protocol = Literal["openai", "anthropic", ""]
"""How a provider lists its models; empty where that is not free, or not known here."""


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider as LiteLLM asks it."""

    keys: tuple[str, ...] = ()
    """The variables in which LiteLLM looks for its key, one of which must be set; none where no key is needed."""
    address: str = ""
    protocol: Protocol = "openai"
    address_names: tuple[str, ...] = ()
    """The variables that give another address."""
    also: tuple[str, ...] = ()
    """Other variables without which it cannot be asked, where the seat gives no address."""
    package: str = ""
    """What LiteLLM imports to find credentials, which are then in places of the provider's own."""


def _like_openai_at(address: str, *keys: str) -> Provider:
    return Provider(keys, address)


PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider(
        ("OPENAI_API_KEY",), "https://api.openai.com/v1", "openai", ("OPENAI_BASE_URL", "OPENAI_API_BASE")
    ),
    "anthropic": Provider(
        ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        "https://api.anthropic.com",
        "anthropic",
        ("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"),
    ),
    "gemini": Provider(("GEMINI_API_KEY", "GOOGLE_API_KEY"), protocol=""),
    "azure": Provider(
        ("AZURE_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_AD_TOKEN", "AZURE_CLIENT_ID"),
        protocol="",
        also=("AZURE_API_BASE",),
    ),
    "mistral": _like_openai_at("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "groq": _like_openai_at("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "deepseek": _like_openai_at("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "together_ai": _like_openai_at(
        "https://api.together.xyz/v1", "TOGETHERAI_API_KEY", "TOGETHER_AI_API_KEY", "TOGETHER_API_KEY"
    ),
    "openrouter": _like_openai_at("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "OR_API_KEY"),
    "xai": _like_openai_at("https://api.x.ai/v1", "XAI_API_KEY"),
    "fireworks_ai": _like_openai_at(
        "https://api.fireworks.ai/inference/v1",
        *("FIREWORKS_AI_API_KEY", "FIREWORKS_API_KEY", "FIREWORKSAI_API_KEY", "FIREWORKS_AI_TOKEN"),
    ),
    "cerebras": _like_openai_at("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    "deepinfra": _like_openai_at("https://api.deepinfra.com/v1/openai", "DEEPINFRA_API_KEY"),
    "moonshot": _like_openai_at("https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    "vertex_ai": Provider(protocol="", package="google.auth"),
    "bedrock": Provider(protocol="", package="boto3"),
    "sagemaker": Provider(protocol="", package="boto3"),
    "watsonx": Provider(
        ("WATSONX_API_KEY", "WATSONX_APIKEY", "WX_API_KEY", "WATSONX_ZENAPIKEY", "WATSONX_TOKEN"), protocol=""
    ),
    "perplexity": Provider(("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"), protocol=""),
    "cohere": Provider(("COHERE_API_KEY", "CO_API_KEY"), protocol=""),
    "cohere_chat": Provider(("COHERE_API_KEY", "CO_API_KEY"), protocol=""),
    "replicate": Provider(("REPLICATE_API_KEY", "REPLICATE_API_TOKEN"), protocol=""),
    "ai21": Provider(("AI21_API_KEY",), protocol=""),
    "nvidia_nim": Provider(("NVIDIA_NIM_API_KEY",), protocol=""),
    "custom_openai": Provider(("OPENAI_API_KEY",)),
    "hosted_vllm": Provider(address_names=("HOSTED_VLLM_API_BASE",)),
    "lm_studio": Provider(address_names=("LM_STUDIO_API_BASE",)),
    "llamafile": Provider(address="http://127.0.0.1:8080/v1", address_names=("LLAMAFILE_API_BASE",)),
    "ollama": Provider(address="http://localhost:11434", address_names=("OLLAMA_API_BASE",)),
    "ollama_chat": Provider(address="http://localhost:11434", address_names=("OLLAMA_API_BASE",)),
}
"""Those whose keys can be checked here; of every other, LiteLLM says what it lacks when it is asked."""

_OLLAMA = ("ollama", "ollama_chat")


async def probe(settings: ModelSettings) -> bool:
    """Whether the model is known to be there: True, or False where that cannot be known for free.

    Raises:
        ModelUnreachable: The provider is unknown, its key is not set or refused, its address is dead, or it has no such model.
    """
    model = settings.model or ""
    refuse_in_address(settings, "query", "username")
    prefix, name = provider_of(model, given_address=settings.base_url is not None)
    provider = PROVIDERS.get(prefix)
    if provider is not None and provider.package and settings.base_url is None:
        _check_package(provider.package, model)
    key, key_name = _key(settings, provider, model)
    address, where = _address(settings, provider)
    if provider is not None and address is None and (missing := _missing(provider.also)):
        raise ModelUnreachable(
            f"the environment variable {missing} is not set, and {model!r} needs it",
            remedy=f"export {missing}=... or give the seat a base_url, and run again",
        )
    if address is None:
        return False
    protocol = "" if provider is None else provider.protocol
    headers = _headers(protocol, key, key_name)
    if prefix in _OLLAMA:
        address = f"{address.rstrip('/').removesuffix('/v1')}/v1"
    hosted = provider is not None and address == provider.address and address.startswith("https://")
    server = ModelServer(model, address, headers, key_name, where, hosted)
    try:
        if protocol == "openai":
            # LiteLLM asks Ollama at another path than the one tried here.
            return await find_model(server, name, without_list=prefix not in _OLLAMA)
        if protocol == "anthropic":
            return await find_anthropic_model(server, name)
        await check_address(server)
    except ModelUnreachable as error:
        # LiteLLM has certificates of its own to trust.
        if not is_certificate_problem(error):
            raise
    return False


def provider_of(model: str, *, given_address: bool) -> tuple[str, str]:
    """A model string's provider and what the provider calls it."""
    prefix, slash, name = model.partition("/")
    if slash and (prefix in PROVIDERS or prefix in _provider_names()):
        return prefix, name
    entry = _model_map().get(model)
    if entry is not None:
        return str(entry.get("litellm_provider")), model
    if given_address or not _provider_names():
        return "", model
    if slash:
        known = nearest(prefix, sorted(PROVIDERS))
        meant = known if known.startswith("did") else ""
        problem = f"{prefix!r} in {model!r} is not a provider that LiteLLM knows"
    else:
        meant = ""
        problem = f"the model {model!r} names no provider that LiteLLM knows"
    remedy = "write the model as PROVIDER/NAME, for example openai/gpt-4o-mini; for a server of your own, write server/NAME and set base_url"
    raise ModelUnreachable(problem, remedy=f"{meant} {remedy}".strip())


def _check_package(package: str, model: str) -> None:
    top, _, _ = package.partition(".")
    if find_spec(top) is None or find_spec(package) is None:
        raise ModelUnreachable(
            f"LiteLLM needs the package {package} for {model!r}",
            remedy=f"pip install {package.replace('.', '-')}, and run again",
        )


def _key(settings: ModelSettings, provider: Provider | None, model: str) -> tuple[str | None, str]:
    """The key that LiteLLM will send and the variable it is in; an error where it needs one that is not set."""
    if settings.api_key_env is not None:
        return key_from(settings), settings.api_key_env
    names = provider.keys if provider is not None else ()
    for name in names:
        if key := key_in(name):
            return key, name
    if names:
        raise ModelUnreachable(
            f"the environment variable {names[0]} is not set, and {model!r} needs it",
            remedy=f"export {names[0]}=... and run again; or write api_key_env: NAME at the seat in the jury file, with the name of another variable",
        )
    return None, ""


def _address(settings: ModelSettings, provider: Provider | None) -> tuple[str | None, str]:
    """Where the model is asked, and what a person corrects where that is wrong."""
    if settings.base_url is not None:
        return settings.base_url, "base_url in the jury file, or --base-url"
    for name in provider.address_names if provider is not None else ():
        if address := os.environ.get(name):
            return address, f"the environment variable {name}"
    if provider is None or not provider.address:
        return None, ""
    named = provider.address_names
    return provider.address, f"the environment variable {named[0]}" if named else "base_url in the jury file"


def direct_access(settings: ModelSettings, prefix: str) -> tuple[str, dict[str, str]]:
    """Where a provider is asked without LiteLLM, and the headers that let one in."""
    provider = PROVIDERS[prefix]
    key, key_name = _key(settings, provider, settings.model or "")
    address, _ = _address(settings, provider)
    return address or "", _headers(provider.protocol, key, key_name)


def _missing(names: tuple[str, ...]) -> str | None:
    return next((name for name in names if not os.environ.get(name)), None)


def _headers(protocol: Protocol, key: str | None, key_name: str) -> dict[str, str]:
    if protocol == "anthropic" and not key_name.endswith("_TOKEN"):
        return {"x-api-key": key or "", "anthropic-version": "2023-06-01"}
    version = {"anthropic-version": "2023-06-01"} if protocol == "anthropic" else {}
    return {"Authorization": f"Bearer {key}", **version} if key else {}


@cache
def _folder() -> Path | None:
    spec = find_spec("litellm")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


@cache
def _model_map() -> Mapping[str, Any]:
    """LiteLLM's own map of models, from the file in its package; empty where it has none."""
    folder = _folder()
    try:
        found = (
            json.loads((folder / "model_prices_and_context_window_backup.json").read_bytes())
            if folder
            else {}
        )
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


@cache
def _provider_names() -> frozenset[str]:
    """Every prefix that LiteLLM routes by, from the files in its package; empty where they are not as expected."""
    folder = _folder()
    try:
        source = (folder / "types" / "utils.py").read_text(encoding="utf-8") if folder else ""
    except OSError:
        return frozenset()
    _, _, body = source.partition("class LlmProviders(str, Enum):")
    names = set(re.findall(r'^    [A-Z0-9_]+ = "([^"]+)"', body.partition("\nclass ")[0], re.MULTILINE))
    if "openai" not in names:
        return frozenset()
    listed = {str(entry.get("litellm_provider")) for entry in _model_map().values()}
    return frozenset(names | listed | _like_openai(folder))


def _like_openai(folder: Path | None) -> set[str]:
    """The providers that newer versions of LiteLLM keep in a file of their own."""
    try:
        found = (
            json.loads((folder / "llms" / "openai_like" / "providers.json").read_bytes()) if folder else {}
        )
    except (OSError, ValueError):
        return set()
    return set(found) if isinstance(found, dict) else set()
