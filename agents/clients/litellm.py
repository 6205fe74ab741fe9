"""Every other model string: whatever LiteLLM knows, by LiteLLM's own name for it."""

from __future__ import annotations

import asyncio
import os
import re
import threading
import time
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

from ...personas.jury import ModelSettings
from ...rubrics.errors import MissingExtra, VenireError
from ..cost import MILLION, Price
from ..model import (
    AccessRefused,
    FormatRefused,
    ModelFailure,
    Reply,
    Request,
    TransientFailure,
    stated_version,
)
from ..model_client import ClientFactory, ModelClient
from ..tokens import reported_usage
from .httpx_replies import cap_transport, capped_reply
from .keys import environment_secrets, key_from, redact_secrets, refuse_in_address, sent_secrets
from .litellm_providers import probe
from .server import BUSY, NO_ACCESS, retry_after, says_busy, says_filtered
from .silence import silence_loggers, silence_warnings

_Format = Literal["json_schema", "json_object", "text"]
_WEAKER: dict[_Format, _Format] = {"json_schema": "json_object", "json_object": "text"}
_NOT_STRICT = {
    *("minLength", "maxLength", "pattern", "format", "default", "title"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minItems", "maxItems", "uniqueItems"),
}
_OLLAMA = frozenset({"ollama", "ollama_chat"})
_OPENAI_LIKE = frozenset(
    {"openai", "hosted_vllm", "lm_studio", "llamafile", "custom_openai", "openai_like", "vllm"}
)
_MISSING_PACKAGE = re.compile(r"(?:litellm\.\w+: )+No module named '([\w.]{1,60})'")
_NO_CREDENTIALS = re.compile(
    r"(?:litellm\.\w+: )+(?:[\w ]+ - )?(?:Unable to locate credentials|If the Databricks base URL and API key are not set)"
)
"""How LiteLLM begins where it did not find a provider's credentials: it gives that the status of a wrong request."""
_LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")
_CLOSING = 2.0
"""Seconds for connections to be closed in."""
_UNPROBED = "entered_by_venire"
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def connect(settings: ModelSettings) -> LiteLLMClient:
    if find_spec("litellm") is None:
        raise MissingExtra(f"the model {settings.model!r} needs LiteLLM", remedy="pip install litellm")
    refuse_in_address(settings, "query", "username")
    # Importing it takes seconds: they pass here, before any clock is started.
    _litellm()
    return LiteLLMClient(settings.base_url, key_from(settings))


class LiteLLMClient(ModelClient):
    """LiteLLM with one address and one key, or with those it finds for itself."""

    reports_cost = False

    _open = 0
    """How many there are in this process: LiteLLM's connections belong to all of them."""

    def __init__(self, base_url: str | None, key: str | None) -> None:
        self._endpoint = {"api_base": base_url, "api_key": key}
        self._key = key
        self.secrets = (*sent_secrets(base_url, key), *environment_secrets())
        self._formats: dict[str, _Format] = {}
        self._unpriced: set[tuple[str, str | None]] = set()
        self._closed = False
        LiteLLMClient._open += 1

    async def complete(self, request: Request) -> Reply:
        # Some of LiteLLM's providers ask for a token or a capability by a request that blocks: not this loop.
        with silence_loggers(*_LOGGERS):
            answered = asyncio.run_coroutine_threadsafe(self._complete(request), _own_loop())
            return await asyncio.wrap_future(answered)

    async def _complete(self, request: Request) -> Reply:
        litellm = _litellm()
        if request.model not in self._formats:
            _keep_from_probing(litellm, request.model)
            self._formats[request.model] = _first_format(litellm, request.model)
        form = self._formats[request.model]
        started = time.perf_counter()
        with capped_reply(request):
            try:
                answer = await litellm.acompletion(**_body(request, form), **self._endpoint)
                return _reply(
                    answer, time.perf_counter() - started, self._price(litellm, request.model, answer)
                )
            except ModelFailure:
                raise
            except Exception as error:
                # LiteLLM is somebody else's program: whatever it raises, there is no answer.
                if request.schema is not None and form in _WEAKER and _about_format(error):
                    # What LiteLLM says of a model need not hold for the server behind it: ask for less from now on.
                    if self._formats[request.model] == form:
                        self._formats[request.model] = _WEAKER[form]
                    raise FormatRefused(f"{form} is not accepted") from None
                raise self._failure(litellm, error) from None

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        LiteLLMClient._open -= 1
        if LiteLLMClient._open == 0:
            closing = asyncio.run_coroutine_threadsafe(_close_connections(), _own_loop())
            # A loop that is blocked is not waited for.
            await asyncio.wait([asyncio.wrap_future(closing)], timeout=_CLOSING)

    def check_model(self, model: str) -> None:
        if self._endpoint["api_base"] is not None:
            return
        litellm = _litellm()
        try:
            litellm.get_llm_provider(model)
        except litellm.exceptions.BadRequestError:
            raise VenireError(
                f"the model {model!r} names no provider that LiteLLM knows",
                remedy="write it as PROVIDER/NAME, for example openai/gpt-4o-mini; or server/NAME with base_url",
            ) from None

    def missing_keys(self, model: str) -> tuple[str, ...]:
        if self._endpoint["api_base"] is not None or self._key is not None:
            return ()
        return tuple(_litellm().validate_environment(model).get("missing_keys", ()))

    def list_price(self, model: str) -> Price | None:
        """LiteLLM's own entry. Unknown and free look alike there, so zero is unknown."""
        entry = _map_entry(_litellm(), model)
        prompt, completion = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
        if not prompt or not completion:
            return None
        cached = entry.get("cache_read_input_token_cost")
        return Price(
            prompt=prompt * MILLION,
            completion=completion * MILLION,
            cached=None if cached is None else cached * MILLION,
        )

    def _price(self, litellm: Any, model: str, answer: Any) -> float | None:
        """What LiteLLM's price map makes of the tokens. Nothing and free look alike there, so zero is not known."""
        asked = (model, getattr(answer, "model", None))
        if asked in self._unpriced or not _map_entry(litellm, model):
            return None
        try:
            return float(litellm.completion_cost(completion_response=answer, model=model)) or None
        except Exception:
            # For a model it has no price for, LiteLLM raises whatever its version raises, a bare Exception included;
            # and takes as long about it as over the call.
            self._unpriced.add(asked)
            return None

    def _failure(self, litellm: Any, error: Any) -> ModelFailure:
        # Of a reply that it cannot read, LiteLLM tells where in its code that was found.
        said = " ".join(str(error).partition("Traceback")[0].split())
        detail = redact_secrets(said, self.secrets)[:300]
        status = getattr(error, "status_code", None)
        status = status if isinstance(status, int) else 0
        if isinstance(error, litellm.exceptions.Timeout):
            return TransientFailure(detail, reason="timeout")
        if package := _MISSING_PACKAGE.match(said):
            return AccessRefused(f"LiteLLM needs the package {package[1]} to reach this model")
        if _NO_CREDENTIALS.match(said):
            return AccessRefused(f"no credentials were given: {detail}")
        if isinstance(error, litellm.exceptions.ContentPolicyViolationError) or _filtered(error):
            return ModelFailure("refused", detail)
        if status in BUSY or status >= 500 or isinstance(error, litellm.exceptions.APIConnectionError):
            wait = _asked_to_wait(error)
            return TransientFailure(detail, retry_after=wait, busy=says_busy(status, wait))
        return AccessRefused(detail) if status in NO_ACCESS else ModelFailure("unavailable", detail)


@cache
def _own_loop() -> asyncio.AbstractEventLoop:
    """The event loop of LiteLLM's calls, in a thread of its own that lasts as long as the process."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="litellm", daemon=True).start()
    return loop


async def _close_connections() -> None:
    litellm = _litellm()
    await litellm.close_litellm_async_clients()
    litellm.in_memory_llm_clients_cache.flush_cache()


@cache
def _litellm() -> Any:
    """LiteLLM, told to use its own price map, to read no .env file, and to keep quiet."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    litellm: Any = import_module("litellm")
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    # Imported by the first call otherwise, which would be charged for it.
    import_module("openai.resources")
    cap_transport()
    cap_transport(import_module("litellm.llms.custom_httpx.aiohttp_transport").LiteLLMAiohttpTransport)
    silence_warnings()
    return litellm


def strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without the keywords that strict structured output rejects, and with the types that it requires."""
    found: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties":
            found[key] = {name: strict(part) for name, part in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, Mapping):
            found[key] = strict(value)
        elif key in ("anyOf", "oneOf", "allOf"):
            found[key] = [strict(choice) for choice in value]
        elif key not in _NOT_STRICT:
            found[key] = value
    choices = found.get("enum", [found["const"]] if "const" in found else [])
    if choices and "type" not in found:
        types = list(dict.fromkeys(_TYPES[type(choice)] for choice in choices))
        found["type"] = types[0] if len(types) == 1 else types
    return found


def _first_format(litellm: Any, model: str) -> _Format:
    """The strictest form that LiteLLM does not rule out; where the server knows less, the request falls back."""
    provider = model.partition("/")[0]
    if not _map_entry(litellm, model) and (provider in _OPENAI_LIKE or provider in _OLLAMA):
        # A server of the user's own: nobody but it knows what it can do.
        return "json_schema"
    if litellm.supports_response_schema(model):
        return "json_schema"
    return (
        "json_object" if "response_format" in (litellm.get_supported_openai_params(model) or ()) else "text"
    )


def _map_entry(litellm: Any, model: str) -> Mapping[str, Any]:
    """A model's entry in LiteLLM's own map; empty where it has none. LiteLLM's look-up would ask an Ollama server."""
    provider, _, name = model.partition("/")
    entry = litellm.model_cost.get(model)
    if entry is None and str(
        (found := litellm.model_cost.get(name) or {}).get("litellm_provider")
    ).startswith(provider):
        entry = found
    return {} if entry is None or _UNPROBED in entry else entry


def _keep_from_probing(litellm: Any, model: str) -> None:
    """Enter an Ollama model in LiteLLM's map: for one that it does not know, it asks a server, and blocks the loop."""
    if model.partition("/")[0] in _OLLAMA and model not in litellm.model_cost:
        nothing = {"input_cost_per_token": 0.0, "output_cost_per_token": 0.0}
        litellm.model_cost[model] = {
            "litellm_provider": model.partition("/")[0],
            "mode": "chat",
            _UNPROBED: True,
            **nothing,
        }


def _body(request: Request, form: _Format) -> dict[str, Any]:
    settings = {key: value for key, value in request.settings.items() if key != "base_url"}
    if "seed" in settings:
        settings["seed"] += request.repeat
    body: dict[str, Any] = {
        "model": request.model,
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        "timeout": request.timeout,
        "drop_params": True,
        "num_retries": 0,
        "max_retries": 0,
        **settings,
    }
    if request.schema is not None and form == "json_schema":
        wanted = {"name": "answer", "strict": True, "schema": strict(request.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": wanted}
    elif request.schema is not None and form == "json_object":
        body["response_format"] = {"type": "json_object"}
    return body


def _about_format(error: Any) -> bool:
    said = str(error).lower()
    return getattr(error, "status_code", None) in (400, 422) and any(
        word in said for word in ("response_format", "response format", "json_schema", "schema", "grammar")
    )


def _filtered(error: Any) -> bool:
    said = f"{error} {getattr(error, 'code', '')} {getattr(error, 'body', '')}"
    return says_filtered(getattr(error, "status_code", 0), said)


def _asked_to_wait(error: Any) -> float | None:
    response = getattr(error, "response", None)
    for headers in (getattr(error, "litellm_response_headers", None), getattr(response, "headers", None)):
        if given := (headers or {}).get("retry-after"):
            return retry_after(given)
    return None


def _reply(answer: Any, seconds: float, usd: float | None) -> Reply:
    if not answer.choices:
        raise TransientFailure("the answer has no choices")
    choice = answer.choices[0]
    fields = getattr(choice.message, "provider_specific_fields", None) or {}
    refusal = getattr(choice.message, "refusal", None) or fields.get("refusal")
    refused = bool(refusal) or choice.finish_reason == "content_filter"
    usage = getattr(answer, "usage", None)
    details = getattr(usage, "prompt_tokens_details", None)
    return Reply(
        text=str(refusal or choice.message.content or ""),
        usage=reported_usage(
            getattr(usage, "prompt_tokens", None),
            getattr(usage, "completion_tokens", None),
            getattr(details, "cached_tokens", None),
        ),
        usd=usd,
        seconds=seconds,
        finish="refusal" if refused else "length" if choice.finish_reason == "length" else "stop",
        version=stated_version(getattr(answer, "model", None), getattr(answer, "system_fingerprint", None)),
    )


client_factory = ClientFactory(connect=connect, per_model=False, probe=probe)
