"""Juries whose seats are models of a local server."""

from __future__ import annotations

from collections.abc import Iterable

from venire import Jury, Limits
from venire.agents.providers import Preflight
from venire.personas.jury import ModelSettings


def jury_at(url: str, *names: str, limits: Limits | None = None, **fields: object) -> Jury:
    """A jury whose seats are models of a local server, the orchestrator's `boss`."""
    return Jury.model_validate(
        {
            "name": "bench",
            "seats": [{"name": name, "model": f"server/{name}", "base_url": url} for name in names],
            "orchestrator": {"model": "server/boss", "base_url": url},
            **({"limits": limits.model_dump()} if limits else {}),
            **fields,
        }
    )


class AskNobody(Preflight):
    """A pre-flight that takes every model for reachable: for tests of what happens when one is not."""

    async def check(self, models: Iterable[ModelSettings]) -> None:
        return None

    def is_sure_of(self, models: Iterable[ModelSettings]) -> bool:
        return True
