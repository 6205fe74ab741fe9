"""Juries whose seats are models of a local server."""

from __future__ import annotations

from venire import Jury, Limits


def jury_at(url: str, *names: str, limits: Limits | None = None, **fields: object) -> Jury:
    """A jury whose seats are models of a local server, the orchestrator's `boss`."""
    return Jury.model_validate(
        {
            "name": "bench",
            "seats": [
                {"name": name, "model": f"server/{name}", "base_url": url, "timeout": 5} for name in names
            ],
            "orchestrator": {"model": "server/boss", "base_url": url, "timeout": 5},
            **({"limits": limits.model_dump()} if limits else {}),
            **fields,
        }
    )
