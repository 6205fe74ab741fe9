"""API keys: read from the variable that a seat names, and kept out of what a provider is quoted as saying."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterable
from typing import Literal
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from ...personas.jury import ModelSettings
from ...rubrics.errors import VenireError

_SECRET_NAMES = ("password", "key", "token", "secret", "signature", "credential", "authorization")
_SHORTEST = 6
"""Characters of a secret at the least: shorter ones are words."""
_VARIABLES = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
_SHORTEST_VALUE = 12
"""Characters of a variable's value that is taken for a key: whether it is sent to anyone is not known."""


def key_from(settings: ModelSettings) -> str | None:
    """The key in the variable the seat names; a variable that is not set is an error, never an empty key."""
    name = settings.api_key_env
    if name is None:
        return None
    key = key_in(name)
    if key is None:
        raise VenireError(
            f"the environment variable {name} is not set", remedy=f"export {name}=... and run again"
        )
    return key


def key_in(name: str) -> str | None:
    """The key in a variable; None where it is not set, or blank. What cannot be sent in a header is an error."""
    key = os.environ.get(name, "")
    if not key.strip():
        return None
    if not (key.isascii() and key.isprintable()):
        raise VenireError(
            f"the key in {name} holds a line break or another character that no key has",
            remedy=f"export {name}=... as the provider shows it, in one line and without curly quotes",
        )
    return key


def address_without_secrets(base_url: str) -> str:
    """An address as it may be shown: without credentials and query."""
    parts = urlsplit(base_url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{host}{port}{parts.path}"


def names_secret(parameter: str) -> bool:
    """Whether a parameter or setting is named as one that holds a secret."""
    return any(word in parameter.lower() for word in _SECRET_NAMES)


def sent_secrets(base_url: str | None, key: str | None) -> tuple[str, ...]:
    """Everything secret that a request carries: the key, and what the address holds before the host and in its query.

    Each in the forms in which a server may repeat it: as it is, percent-encoded, and as basic credentials.
    """
    parts = urlsplit(base_url or "")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    # Whoever names a user alone to a model's server names a token.
    told = [
        key or "",
        password or user,
        *(value for name, value in parse_qsl(parts.query) if names_secret(name)),
    ]
    if user:
        pair = f"{user}:{password}"
        told += [pair, b64encode(pair.encode()).decode()]
    return secret_forms(told)


def environment_secrets() -> tuple[str, ...]:
    """The keys in the environment, any of which a library may find and send for itself."""
    return secret_forms(
        value
        for name, value in os.environ.items()
        if name.upper().endswith(_VARIABLES) and len(value) >= _SHORTEST_VALUE
    )


def secret_forms(secrets: Iterable[str]) -> tuple[str, ...]:
    """Secrets as they are and percent-encoded, the longest first; those too short to be told from words left out."""
    forms = {form for secret in secrets for form in (secret, quote(secret, safe=""), quote_plus(secret))}
    return tuple(sorted((form for form in forms if len(form) >= _SHORTEST), key=len, reverse=True))


def redact_secrets(text: str, secrets: Iterable[str]) -> str:
    """The text with `[key]` for each of the secrets."""
    for secret in secrets:
        if secret in text:
            text = text.replace(secret, "[key]")
    return text


def refuse_in_address(settings: ModelSettings, *parts: Literal["query", "username"]) -> None:
    """An error for an address with one of these parts, which the library behind a client does not send as it should."""
    address = urlsplit(settings.base_url or "")
    for part in parts:
        if getattr(address, part):
            raise VenireError(
                f"the model {settings.model!r} cannot be used with an address that has a {part}",
                remedy="write the model as server/NAME, or remove this from the address and name the variable that holds the key: api_key_env: NAME",
            )
