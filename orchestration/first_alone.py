"""One case alone before all others, for models that cannot be asked for free whether they are there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from ..agents.budget import Budget

Result = TypeVar("Result")


class FirstAlone:
    """Lets hearings of one jury through: the first alone, unless its models are known to be there, then any number at once.

    While one is alone, access refused to a model is a `ModelUnreachable` error, and the next hearing is alone again.
    """

    def __init__(self, budget: Budget, *, sure: bool) -> None:
        self._budget = budget
        self._sure = sure
        self._alone = asyncio.Lock()

    async def run(
        self, hear: Callable[[], Awaitable[Result]], proves: Callable[[Result], bool] = lambda _: True
    ) -> Result:
        """What `hear` returns; `proves` says whether models were asked for it, or it was on record."""
        if not self._sure:
            async with self._alone:
                # Whoever waited here finds that another case has shown the models to be there.
                if not self._sure:
                    return await self._on_trial(hear, proves)
        return await hear()

    async def _on_trial(
        self, hear: Callable[[], Awaitable[Result]], proves: Callable[[Result], bool]
    ) -> Result:
        self._budget.on_trial = True
        try:
            result = await hear()
        finally:
            self._budget.on_trial = False
        self._sure = proves(result)
        return result
