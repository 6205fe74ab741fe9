"""API keys: read from the variable that a seat names, and kept out of what a provider is quoted as saying."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterable
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from ...personas.jury import ModelSettings
from ...rubrics.errors import VenireError

_SECRET_NAMES = ("password", "key", "token", "secret", "signature", "credential")
_SHORTEST = 6
"""Characters of a value in the environment that is taken for a secret: shorter ones are words."""


def key_from(settings: ModelSettings) -> str | None:
    """The key in the variable the seat names; a variable that is not set is an error, never an empty key."""
    if settings.api_key_env is None:
        return None
    key = os.environ.get(settings.api_key_env)
    if not key:
        raise VenireError(
            f"the variable {settings.api_key_env} is not set",
            remedy=f"export {settings.api_key_env}=... and run again",
        )
    return key


def names_secret(parameter: str) -> bool:
    """Whether a parameter of a URL's query is named as one that holds a secret."""
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
    forms = {form for secret in told for form in (secret, quote(secret, safe=""), quote_plus(secret))}
    return tuple(sorted((form for form in forms if len(form) >= _SHORTEST), key=len, reverse=True))


def redact_secrets(text: str, secrets: Iterable[str]) -> str:
    """The text with `[key]` for each of the secrets."""
    for secret in secrets:
        if secret in text:
            text = text.replace(secret, "[key]")
    return text


def redact_keys(text: str, key: str | None) -> str:
    """The text without any key: neither `key` nor one that a library may have found in the environment."""
    named = (value for name, value in os.environ.items() if name.endswith(("_KEY", "_TOKEN", "_SECRET")))
    return redact_secrets(text, (secret for secret in (key, *named) if secret and len(secret) >= _SHORTEST))
