"""`server/NAME`: the fast client of any OpenAI-compatible server (vLLM, Ollama, llama.cpp, hosted)."""

from __future__ import annotations

import json
import math
import ssl
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit, urlunsplit

from pydantic_core import from_json

from ...personas.jury import ModelSettings
from ...rubrics.errors import VenireError
from ..model import (
    AccessRefused,
    ModelFailure,
    Reply,
    Request,
    TransientFailure,
    Usage,
    json_text,
    reply_too_long,
    stated_version,
)
from ..model_client import ClientFactory, ModelClient
from ..tokens import reported_usage
from .endpoint import AnswerCut, AnswerTooLong, Endpoint, ProxyFailure
from .keys import key_from, redact_secrets, sent_secrets
from .model_list import ModelServer, find_model, proxy_remedy, untrusted_remedy

BUSY = frozenset({408, 409, 425, 429})
"""Statuses below 500 after which the same request may succeed later."""
NO_ACCESS = frozenset({401, 402, 403, 404})
"""Statuses that no other request to the same model would change."""
_FILTERED = ("content_filter", "content_policy", "flagged")
_QUOTED = 100_000
"""Bytes of an answer that is no completion in which something to quote is looked for."""
_DIGITS = 40
"""Digits of an integer in a reply from which on it is not a number of anything."""
Failure = TypeVar("Failure", bound=ModelFailure)
_Format = Literal["json_schema", "json_object", "text"]
_WEAKER: dict[_Format, _Format] = {"json_schema": "json_object", "json_object": "text"}


def connect(settings: ModelSettings) -> ServerClient:
    if not settings.base_url:
        raise VenireError(
            f"the model {settings.model!r} needs an address",
            remedy="set base_url in the jury file, or pass --base-url",
        )
    try:
        return ServerClient(settings.base_url, key_from(settings))
    except ValueError:
        # What is wrong with them is not repeated: an address may hold a password, and the other is a key.
        raise VenireError(
            f"the model {settings.model!r} cannot be asked: its address or its key has characters that cannot be sent",
            remedy="write base_url as http://HOST:PORT/v1 or https://HOST/v1, and keys without line breaks",
        ) from None


class ServerClient(ModelClient):
    """One endpoint, over connections that are kept alive."""

    reports_cost = False

    def __init__(self, base_url: str, key: str | None) -> None:
        authorization = {"Authorization": f"Bearer {key}"} if key else {}
        parts = urlsplit(base_url)
        url = urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/chat/completions", fragment=""))
        self._endpoint = Endpoint(url, authorization)
        self.secrets = self._endpoint.proxy_secrets
        self._secrets = (*sent_secrets(base_url, key), *self.secrets)
        self._format: _Format = "json_schema"

    async def complete(self, request: Request) -> Reply:
        while True:
            sent = self._format
            started = time.perf_counter()
            try:
                status, headers, raw = await self._endpoint.post(chat_body(request, sent), request.max_reply)
            except AnswerTooLong:
                raise reply_too_long(request) from None
            except AnswerCut as cut:
                raise unread(_connection_failure(cut), cut.received, time.perf_counter() - started) from None
            except OSError as error:
                raise _connection_failure(error) from None
            if status in (400, 422) and request.schema is not None and sent in _WEAKER and _about_format(raw):
                # Not every server knows response_format: ask for less, for the rest of the run.
                self._format = _WEAKER[sent]
                continue
            if status != 200:
                location = redact_secrets(headers.get("Location", ""), self._secrets)
                raise status_failure(status, location, headers.get("Retry-After"), self._readable(raw))
            seconds = time.perf_counter() - started
            reply = chat_reply(raw, seconds)
            if reply is None:
                start = " ".join(self._readable(raw).split())[:200]
                raise unread(TransientFailure(f"not a chat completion: {start!r}"), raw, seconds)
            return reply

    async def close(self) -> None:
        await self._endpoint.close()

    def _readable(self, raw: bytes) -> str:
        """The start of an answer to quote from; secrets go before anything is cut, or half of one would stay."""
        return redact_secrets(raw[:_QUOTED].decode("utf-8", "replace"), self._secrets)


def chat_body(request: Request, form: _Format = "json_schema") -> bytes:
    """The request as a chat completion is asked for."""
    # The brief and the schema are the longest parts and come again: their JSON is spliced in, not made again.
    messages = ", ".join(f'{{"role": "{m.role}", "content": {m.json_content}}}' for m in request.messages)
    model = json_text(request.model.partition("/")[2])
    wanted = ""
    if request.schema is not None and form != "text":
        named = f', "json_schema": {{"name": "answer", "strict": true, "schema": {request.schema.text}}}'
        wanted = f', "response_format": {{"type": "{form}"{named if form == "json_schema" else ""}}}'
    settings = _settings_json(request.settings.text, request.repeat)
    return f'{{"model": {model}, "messages": [{messages}]{settings}{wanted}}}'.encode()


@lru_cache(maxsize=256)
def _settings_json(sampling: str, repeat: int) -> str:
    """The sampling settings as JSON members of a request's body."""
    settings = json.loads(sampling)
    settings.pop("base_url", None)
    if "seed" in settings:
        # With one seed for all, every repeat would be the same answer.
        settings["seed"] += repeat
    return f", {json.dumps(settings)[1:-1]}" if settings else ""


def _connection_failure(error: OSError) -> ModelFailure:
    """No answer came: what the user has to put right before any can, or what the next attempt may not meet."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return AccessRefused(
            f"the server's certificate is not trusted: {error.verify_message}", untrusted_remedy()
        )
    if isinstance(error, ProxyFailure) and error.wants_credentials:
        return AccessRefused(str(error), proxy_remedy())
    return TransientFailure(f"{type(error).__name__}: {error}"[:300])


def _about_format(raw: bytes) -> bool:
    lowered = raw.lower()
    return any(word in lowered for word in (b"response_format", b"json_schema", b"schema", b"grammar"))


def status_failure(status: int, location: str, wanted_wait: str | None, text: str) -> ModelFailure:
    """What an answer with another status than 200 means."""
    detail = f"HTTP {status}: {' '.join(text.split())[:300]}"
    if 300 <= status < 400 and location:
        detail = f"HTTP {status}: the server redirects requests to {location.partition('?')[0][:300]}"
    if status in BUSY or status >= 500:
        wait = retry_after(wanted_wait)
        return TransientFailure(detail, retry_after=wait, busy=says_busy(status, wait))
    if says_filtered(status, text):
        return ModelFailure("refused", detail)
    return AccessRefused(detail) if status in NO_ACCESS else ModelFailure("unavailable", detail)


def says_filtered(status: int, text: str) -> bool:
    """Whether a request was refused for what it says, not for who sends it: some providers moderate with status 403."""
    return status in (400, 403, 422) and any(word in text.lower() for word in _FILTERED)


def says_busy(status: int, wait: float | None) -> bool:
    """Whether the provider is rate-limited rather than down: status 429, or 503 with a time to retry."""
    return status == 429 or (status == 503 and wait is not None)


def retry_after(header: str | None) -> float | None:
    """Seconds to wait, from either form of the header; None when it says nothing usable."""
    if not header:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    except Exception:
        # A date of a year or an offset that no calendar has is as good as none, whatever Python says of it.
        return None


def reply_json(raw: bytes) -> Any:
    """A reply's JSON; integers of too many digits are NaN, as a count of tokens may well be absurd beside a good ballot."""
    try:
        return from_json(raw)
    except ValueError:
        # Half of a surrogate pair is no text to pydantic, and a model may well be cut off in the middle of one.
        return json.loads(raw, parse_int=lambda digits: int(digits) if len(digits) < _DIGITS else math.nan)


def unread(failure: Failure, raw: bytes, seconds: float) -> Failure:
    """The failure with what came in the place of an answer, to be charged: its words and the usage that it states."""
    try:
        answer = reply_json(raw)
        usage = _usage(answer.get("usage"))
    except Exception:
        # Whatever it is, it came: it is charged by its length.
        answer, usage = None, Usage()
    failure.received = Reply(_words(answer) or raw.decode("utf-8", "replace"), usage, seconds=seconds)
    return failure


def _words(answer: Any) -> str:
    """The words of a message whose content has parts; empty where there are none, and all of the reply counts."""
    try:
        content = answer["choices"][0]["message"]["content"]
        return content if isinstance(content, str) else "".join(part["text"] for part in content)
    except Exception:
        return ""


def chat_reply(raw: bytes, seconds: float) -> Reply | None:
    """The answer in the protocol's form; None where it is something else."""
    try:
        answer = reply_json(raw)
        if answer.get("error"):
            raise ValueError("an error beside an answer")
        choice = answer["choices"][0]
        message = choice["message"]
        usage = answer.get("usage")
        text, refusal = message.get("content") or "", message.get("refusal")
        if not isinstance(text, str):
            raise TypeError("content is not text")
        finish = choice.get("finish_reason")
    except Exception:
        # Whatever is odd about it, it is no answer.
        return None
    refused = bool(refusal) or finish == "content_filter"
    return Reply(
        text=str(refusal or text),
        usage=_usage(usage),
        usd=None,
        seconds=seconds,
        finish="refusal" if refused else "length" if finish == "length" else "stop",
        version=stated_version(answer.get("model"), answer.get("system_fingerprint")),
    )


def _usage(told: Any) -> Usage:
    """The tokens, as far as the server tells them in the protocol's form."""
    usage = told if isinstance(told, dict) else {}
    details = usage.get("prompt_tokens_details")
    return reported_usage(
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
        details.get("cached_tokens") if isinstance(details, dict) else None,
    )


async def probe(settings: ModelSettings) -> bool:
    """Whether the server is known to have the model: True, or False where it does not say.

    Raises:
        VenireError: There is no key or address to ask with, or the server cannot be reached with them, or has no such model.
    """
    # What cannot be connected at all is refused in the same words as everywhere.
    await connect(settings).close()
    key = key_from(settings)
    server = ModelServer(
        model=settings.model or "",
        url=settings.base_url or "",
        headers={"Authorization": f"Bearer {key}"} if key else {},
        key_name=settings.api_key_env or "",
    )
    return await find_model(server, server.model.partition("/")[2])


client_factory = ClientFactory(connect=connect, per_model=False, probe=probe)
