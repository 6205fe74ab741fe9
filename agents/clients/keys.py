"""API keys: read from the variable that a seat names, and kept out of what a provider is quoted as saying."""

from __future__ import annotations

import os

from ...personas.jury import ModelSettings
from ...rubrics.errors import VenireError

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


def redact_keys(text: str, key: str | None) -> str:
    """The text without any key: neither `key` nor one that a library may have found in the environment."""
    named = (value for name, value in os.environ.items() if name.endswith(("_KEY", "_TOKEN", "_SECRET")))
    for secret in (key, *named):
        if secret and len(secret) >= _SHORTEST:
            text = text.replace(secret, "[key]")
    return text
