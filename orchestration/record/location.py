"""Where a run lies: a directory, or a PostgreSQL address; and the address with its password masked."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit

from ...agents.clients.keys import names_secret

Location = Path | str
"""A directory, or an address that begins with `postgresql://`."""

_SCHEMES = ("postgresql", "postgres")
_HIDDEN = "***"


def is_address(location: Location) -> bool:
    """Whether this names a database rather than a directory."""
    return (
        isinstance(location, str) and location.partition("://")[0].lower() in _SCHEMES and "://" in location
    )


def without_password(address: str) -> str:
    """The address as it may be shown and stored: a password in it, or a key in its query, is masked."""
    parts = _url_parts(address)
    if parts is None:
        return _HIDDEN
    before, at, host = parts.netloc.rpartition("@")
    user, colon, _ = before.partition(":")
    if user and parts.scheme.lower() not in _SCHEMES:
        # Whoever names a user alone to a model's server names a token.
        user, colon = _HIDDEN, ""
    query = parse_qsl(parts.query, keep_blank_values=True)
    shown = [(name, _HIDDEN if names_secret(name) else value) for name, value in query]
    return urlunsplit(
        parts._replace(
            netloc=f"{user}{colon and ':' + _HIDDEN}{at}{host}",
            query=urlencode(shown, safe="/*") if shown != query else parts.query,
        )
    )


def _url_parts(address: str) -> SplitResult | None:
    try:
        return urlsplit(address)
    except ValueError:
        return None
