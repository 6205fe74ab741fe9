"""An executor: who hears the cases that the runner hands out. `Local` is this very process."""

from __future__ import annotations

from typing import Protocol

from ...agents.gateway import Calls
from ...personas.jury import Jury
from ...rubrics.case import Case
from ...rubrics.rubric import Rubric
from ..bench import Court
from ..deliberate import hear
from ..transcript import Transcript


class Executor(Protocol):
    """Hears cases, wherever that may be, with every answer committed to the one record before it is used."""

    def keep(self, calls: Calls, *, redacted: bool) -> None:
        """Told of the record before the first case."""
        ...

    async def hear(self, case: Case, jury: Jury) -> Transcript: ...

    def let_go(self) -> None:
        """The run is over: have nobody wait for what will not be sent."""
        ...

    async def close(self) -> None: ...


class Local:
    """The default: all at once on one event loop."""

    def __init__(self, rubric: Rubric, court: Court) -> None:
        self._rubric = rubric
        self._court = court

    def keep(self, calls: Calls, *, redacted: bool) -> None:
        self._court.calls = calls

    async def hear(self, case: Case, jury: Jury) -> Transcript:
        return await hear(case, self._rubric, jury, self._court)

    def let_go(self) -> None:
        self._court.providers.let_go()

    async def close(self) -> None:
        await self._court.close()
