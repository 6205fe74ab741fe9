"""Which names a request's `Host` may have: those that the server was told to serve."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]@/\s]+)(?::\d{1,5})?")


class AllowedHosts:
    """The names served: those of `names`; on loopback all of loopback's; on every address, any address in digits.

    A page that had its own name point at this server (DNS rebinding) sends that name, and is refused. An address in
    digits cannot be pointed elsewhere.
    """

    def __init__(self, host: str, names: Iterable[str] = ()) -> None:
        self._names = {_fold(name) for name in (host, *names)}
        self._any_address = _is_wildcard(host)
        if is_loopback(host) or self._any_address:
            self._names |= {"localhost", "127.0.0.1", "::1"}

    def allow(self, headers: Iterable[str]) -> bool:
        """Whether a request's `Host` headers are one, and name what is served; its port is not looked at."""
        given = list(headers)
        match = _HOST.fullmatch(given[0].strip()) if len(given) == 1 else None
        if match is None:
            return False
        name = _fold(match[1])
        return name in self._names or (self._any_address and _is_address(name))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens at `host`."""
    return ipaddress.ip_address(host).is_loopback if _is_address(host) else host == "localhost"


def _is_wildcard(host: str) -> bool:
    return _is_address(host) and ipaddress.ip_address(host).is_unspecified


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _fold(name: str) -> str:
    return name.strip("[]").lower().removesuffix(".")
