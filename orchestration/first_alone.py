"""One case alone before all others, for models that cannot be asked for free whether they are there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

Result = TypeVar("Result")


class FirstAlone:
    """Lets hearings of one jury through: the first alone, unless its models are known to be there, then any number at once.

    Access refused to a model that has not answered yet is a `ModelUnreachable` error; the next hearing is alone again then.
    """

    def __init__(self, *, sure: bool) -> None:
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
                    result = await hear()
                    self._sure = proves(result)
                    return result
        return await hear()
