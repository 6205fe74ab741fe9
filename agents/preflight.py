"""Pre-flight: every model of a jury is asked whether it can be reached, before the first case is paid for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from ..personas.jury import ModelSettings
from ..rubrics.errors import ModelUnreachable, VenireError
from .clients.client_factory import factory_for

_Way = tuple[str, str | None, str | None]
"""Model string, address, and the name of the key's variable: what decides whether a model can be reached."""


class Preflight:
    """Asks models, each once, and remembers which have been found to be there."""

    def __init__(self) -> None:
        self._found: dict[_Way, bool] = {}

    async def check(self, models: Iterable[ModelSettings]) -> None:
        """Ask those that have not been asked yet.

        Raises:
            ModelUnreachable: Some cannot be reached; it names the first, and how many more there are.
        """
        fresh = {_way(settings): settings for settings in models if _way(settings) not in self._found}
        answers = await asyncio.gather(*map(_probe, fresh.values()), return_exceptions=True)
        errors: list[VenireError] = []
        for way, answer in zip(fresh, answers, strict=True):
            if isinstance(answer, VenireError):
                errors.append(answer)
            elif isinstance(answer, BaseException):
                raise answer
            else:
                self._found[way] = answer
        if errors:
            # A missing key is often every seat's: each problem is told once.
            problems = list(dict.fromkeys(error.problem for error in errors))
            more = f" (and {len(problems) - 1} more like it)" if len(problems) > 1 else ""
            raise ModelUnreachable(f"{problems[0]}{more}", remedy=errors[0].remedy)

    def is_sure_of(self, models: Iterable[ModelSettings]) -> bool:
        """Whether every one of these has been found to be there; those that cannot be asked for free are not."""
        return all(self._found.get(_way(settings), False) for settings in models)


def _way(settings: ModelSettings) -> _Way:
    return settings.model or "local", settings.base_url, settings.api_key_env


async def _probe(settings: ModelSettings) -> bool:
    probe = factory_for(settings.model or "local").probe
    # What has no way to be asked runs in this process, or is a plug-in's own: connecting it is the check.
    return True if probe is None else await probe(settings)
