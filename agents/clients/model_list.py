"""The free question to a server that speaks OpenAI's or Anthropic's protocol: is this model there, with this key?

Most servers list their models at `/models`. A list that has the name settles it. Where the list says no, or is refused,
one token is asked for to be sure: some servers answer to any name, and some keys may not read the list. A "no" costs
nothing. A server that has no list, or takes its time, proves nothing either way.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

from pydantic_core import from_json

from ...rubrics.errors import ModelUnreachable, files_remedy
from ...rubrics.files import nearest
from .endpoint import Answer, AnswerTooLong, Endpoint, ProxyFailure
from .keys import address_without_secrets, redact_secrets, sent_secrets

CONNECT_SECONDS = 5.0
"""How long an address may take to accept a connection, on a machine that does other things at the same time."""
_STARTING = 1.5
"""Seconds for which a connection that is refused is tried again: a server may be starting."""
ANSWER_SECONDS = 1.5
"""How long the answer to one free question may take; a slower server is not asked further."""
_RETRY = 0.25
"""Seconds between two attempts at a server that may be starting."""
_LONGEST = 8_000_000
"""Bytes of a list of models; the longest hosted ones have a few hundred thousand."""
_NAMED = 5
"""Models of a server that an error names."""
_LONGEST_NAME = 100
"""Characters of a model's name that an error repeats."""
_NO_SUCH_MODEL = re.compile(
    r"(model|deployment)\W.{0,80}(not (exist|found|supported|available)|unknown|invalid)"
    r"|(no such|unknown|invalid) model|model_not_found",
    re.IGNORECASE | re.DOTALL,
)


_NO_LIST = (404, 405, 501)
"""The answers of a server that has no list of models."""


class Undecided(Exception):
    """The server says neither yes nor no."""


@dataclass(frozen=True, slots=True)
class ModelServer:
    """An address, the key that it is sent, and what a person calls them."""

    model: str
    """The model string that names it, for errors."""
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    key_name: str = ""
    """The environment variable that the key came from; empty where none was sent."""
    where: str = "base_url in the jury file, or --base-url"
    """Where a person corrects the address."""
    hosted: bool = False
    """Whether it is a provider's own address, which nobody here starts."""

    @property
    def shown(self) -> str:
        return address_without_secrets(self.url)

    @property
    def secrets(self) -> tuple[str, ...]:
        keys = (value.removeprefix("Bearer ") for value in self.headers.values())
        return tuple(secret for key in keys for secret in sent_secrets(self.url, key))

    def endpoint(self, path: str) -> Endpoint:
        parts = urlsplit(self.url)
        url = urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}{path}", fragment=""))
        try:
            return Endpoint(url, self.headers)
        except ValueError:
            raise ModelUnreachable(
                f"the address of the model {self.model!r} is not valid",
                remedy=f"write it as http://HOST:PORT/v1 or https://HOST/v1 ({self.where})",
            ) from None


async def find_model(server: ModelServer, name: str, *, without_list: bool = False) -> bool:
    """Whether `name` is known to be there: True, or False where the server does not say.

    Args:
        without_list: Whether a server that lists no models is sent a question without a message, which costs nothing and
            is refused for its key or model first; for clients that take seconds to be asked with.

    Raises:
        ModelUnreachable: Nothing answers at the address, or it refuses the key, or has no such model.
    """
    await check_address(server)
    try:
        answer = await _get(server, "/models")
        if answer.status == 200:
            await _check_kind(server, name, answer)
            models = _model_ids(answer.body)
            return _is_among(name, models) or await _answers_as(server, name, models)
        if answer.status in (401, 403):
            return await _answers_as(server, name, ())
        if answer.status == 404:
            await _check_path(server, name)
        if without_list and answer.status in _NO_LIST:
            await _check_refusal(server, name)
    except Undecided:
        pass
    return False


async def find_anthropic_model(server: ModelServer, name: str) -> bool:
    """`find_model` for Anthropic's protocol, in which each model has an address of its own."""
    await check_address(server)
    try:
        answer = await _get(server, f"/v1/models/{name}")
    except Undecided:
        return False
    if answer.status in (401, 403):
        raise _refused_key(server, answer.status)
    if answer.status == 404 and b"not_found_error" in answer.body:
        raise _unknown_model(server, name, ())
    return answer.status == 200


async def check_address(server: ModelServer) -> None:
    """An error where nothing accepts connections at the server's address, or at the proxy on the way to it."""
    endpoint = server.endpoint("")
    until = time.monotonic() + _STARTING
    try:
        while True:
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    await _resolve(endpoint.next_host)
                    await endpoint.connect()
                return
            except ConnectionRefusedError:
                # A server that was started a moment ago may open its port a moment later.
                if time.monotonic() > until:
                    raise
                await asyncio.sleep(_RETRY)
    except OSError as error:
        cause = endpoint.plain_error(error)
        raise _dead_address(server, cause) from cause


async def _resolve(host: str) -> None:
    """Look the host up in a thread that nobody waits for: a silent name server would hold the process up at its end."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def settle(error: OSError | None) -> None:
        if not done.done():
            done.set_result(None) if error is None else done.set_exception(error)

    def look_up() -> None:
        error: OSError | None = None
        try:
            socket.getaddrinfo(host, None)
        except OSError as failed:
            error = failed
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, error)

    threading.Thread(target=look_up, name="venire-look-up-host", daemon=True).start()
    await done


async def _get(server: ModelServer, path: str) -> Answer:
    """What a path of the server shows; a server that is still starting (503) is asked again for a moment."""
    until = time.monotonic() + ANSWER_SECONDS
    while True:
        answer = await _answer(server, path)
        if answer.status != 503 or time.monotonic() > until:
            return answer
        await asyncio.sleep(_RETRY)


async def _ask_one_token(server: ModelServer, name: str) -> Answer:
    return await _ask(server, name, [{"role": "user", "content": "Say yes."}])


async def _ask(server: ModelServer, name: str, messages: list[dict[str, str]]) -> Answer:
    body = {"model": name, "max_tokens": 1, "messages": messages}
    return await _answer(server, "/chat/completions", json.dumps(body).encode())


async def _answer(server: ModelServer, path: str, body: bytes | None = None) -> Answer:
    endpoint = server.endpoint(path)
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            return await (endpoint.get(_LONGEST) if body is None else endpoint.post(body, _LONGEST))
    except (ProxyFailure, ssl.SSLCertVerificationError) as error:
        raise _dead_address(server, error) from error
    except (OSError, AnswerTooLong):
        raise Undecided from None
    finally:
        await endpoint.close()


async def _check_refusal(server: ModelServer, name: str) -> None:
    """An error where the server refuses the key or the model even of a question that says nothing."""
    answer = await _ask(server, name, [])
    said = answer.body[:10_000].decode("utf-8", "replace")
    if answer.status in (401, 403):
        raise _refused_key(server, answer.status)
    if answer.status in (400, 404, 422) and _NO_SUCH_MODEL.search(said):
        raise _unknown_model(server, name, ())
    if answer.status in _NO_LIST:
        raise ModelUnreachable(
            f"the model {server.model!r} cannot be used at {server.shown} (HTTP {answer.status})",
            remedy=f"correct the model's name or its address ({server.where})",
        )


async def _check_kind(server: ModelServer, name: str, answer: Answer) -> None:
    """An error where the server shows a web page in place of its list, and answers to a question in no other way."""
    if _is_web_page(answer) and _is_web_page(await _ask(server, name, [])):
        raise ModelUnreachable(
            f"the address {server.shown} returns a web page, so it is not the server of the model {server.model!r}",
            remedy=f"correct the address; if the page asks you to log in, log in first ({server.where})",
        )


def _is_web_page(answer: Answer) -> bool:
    return answer.headers.get("Content-Type", "").lower().startswith("text/html")


async def _answers_as(server: ModelServer, name: str, models: tuple[str, ...]) -> bool:
    """Whether the server answers for a model that its list did not show; an error where it says no again."""
    answer = await _ask_one_token(server, name)
    if answer.status in (401, 403):
        raise _refused_key(server, answer.status)
    said = answer.body[:10_000].decode("utf-8", "replace")
    if answer.status == 404 or (answer.status in (400, 422) and _NO_SUCH_MODEL.search(said)):
        raise _unknown_model(server, name, models)
    return answer.status == 200


async def _check_path(server: ModelServer, name: str) -> None:
    """An error where models are listed under /v1 of the address, and the address itself answers to nobody."""
    path = urlsplit(server.url).path.rstrip("/")
    if path.endswith("/chat/completions"):
        better, shown = "", server.shown.rstrip("/").removesuffix("/chat/completions")
    elif path.endswith("/v1"):
        return
    else:
        better, shown = "/v1/models", f"{server.shown.rstrip('/')}/v1"
    if better and (await _get(server, better)).status not in (200, 401, 403):
        return
    if (await _ask_one_token(server, name)).status in (404, 405):
        raise ModelUnreachable(
            f"{server.shown} is not the server of the model {server.model!r}: it has no /chat/completions",
            remedy=f"use the address {shown} ({server.where})",
        )


def _model_ids(body: bytes) -> tuple[str, ...]:
    """The names in a list of models.

    Raises:
        Undecided: It is no such list, or an empty one, or one with patterns in it.
    """
    try:
        found = from_json(body)
        listed = found["data"] if isinstance(found, dict) else found
        ids = tuple(str(entry["id"]) for entry in listed)
    except (ValueError, KeyError, TypeError):
        raise Undecided from None
    if not ids or any("*" in each for each in ids):
        raise Undecided
    return ids


def _is_among(name: str, models: tuple[str, ...]) -> bool:
    """Whether a list has the name, as servers write it: with an owner before it, or with the tag `latest`."""
    known = {
        form.lower().removesuffix(":latest") for each in models for form in (each, each.rpartition("/")[2])
    }
    return name.lower().removesuffix(":latest") in known


def _dead_address(server: ModelServer, error: OSError) -> ModelUnreachable:
    remedy = f"start the server, or correct its address ({server.where})"
    if server.hosted:
        remedy = f"check the network connection, or correct the address ({server.where})"
    remedy = files_remedy(remedy, error)
    why = str(error) or type(error).__name__
    if isinstance(error, ssl.SSLCertVerificationError):
        why, remedy = (
            f"the server's certificate is not trusted ({error.verify_message})",
            f"{untrusted_remedy()}, and run again",
        )
    elif isinstance(error, ProxyFailure):
        remedy = f"{proxy_remedy()}, and run again"
    elif isinstance(error, TimeoutError):
        why = f"no connection within {CONNECT_SECONDS:g} s"
    elif isinstance(error, socket.gaierror):
        why = "the host name of this address cannot be resolved"
    elif isinstance(error, ConnectionRefusedError):
        why = "connection refused"
    return ModelUnreachable(
        f"{server.shown}, the address of the model {server.model!r}, cannot be reached: {why}", remedy=remedy
    )


def untrusted_remedy() -> str:
    """What to do about a server, or a proxy that reads along, whose certificate nobody here vouches for."""
    return "set the environment variable SSL_CERT_FILE to the file of certificates (PEM) that your organisation trusts"


def proxy_remedy() -> str:
    """What to do about a proxy that does not let requests pass."""
    return "correct the environment variable HTTPS_PROXY or HTTP_PROXY (http://USER:PASSWORD@HOST:PORT), or name the host in NO_PROXY"


def _refused_key(server: ModelServer, status: int) -> ModelUnreachable:
    if server.key_name:
        return ModelUnreachable(
            f"{server.shown} refuses the key in {server.key_name} for {server.model!r} (HTTP {status})",
            remedy=f"export {server.key_name}=... with a key that is valid there, and run again",
        )
    return ModelUnreachable(
        f"{server.shown} requires a key for {server.model!r} (HTTP {status})",
        remedy="at the seat in the jury file, write api_key_env: NAME, with the name of the environment variable that holds the key",
    )


def _unknown_model(server: ModelServer, name: str, models: tuple[str, ...]) -> ModelUnreachable:
    # A list may hold anything, what it was asked with included.
    models = tuple(redact_secrets(each, server.secrets)[:_LONGEST_NAME] for each in models)
    if len(models) > _NAMED:
        remedy = nearest(name, models)
    else:
        remedy = (
            f"choose one of {', '.join(models)}" if models else "correct the model's name in the jury file"
        )
    return ModelUnreachable(f"{server.shown} has no model {name!r}", remedy=remedy)


def is_certificate_problem(error: ModelUnreachable) -> bool:
    """Whether an address was found dead only because its certificate is not trusted."""
    return isinstance(error.__cause__, ssl.SSLCertVerificationError)
