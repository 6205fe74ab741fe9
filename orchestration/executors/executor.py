"""An executor: where the runner's cases are heard. `LocalExecutor` is this process."""

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
    """Hears cases, with every reply committed to the run's record before it is used."""

    def attach(self, calls: Calls, *, redacted: bool) -> None:
        """Use this record; called once, before the first case."""
        ...

    async def hear(self, case: Case, jury: Jury) -> Transcript:
        """The transcript of the jury on the case; raises `BudgetSpent` where it may not go on."""
        ...

    def release_waiters(self) -> None:
        """The run is to stop: fail every call that waits for a slot."""
        ...

    async def close(self) -> None: ...


class LocalExecutor:
    """The default: this process, all cases on one event loop."""

    def __init__(self, rubric: Rubric, court: Court) -> None:
        self._rubric = rubric
        self._court = court

    def attach(self, calls: Calls, *, redacted: bool) -> None:
        self._court.calls = calls

    async def hear(self, case: Case, jury: Jury) -> Transcript:
        return await hear(case, self._rubric, jury, self._court)

    def release_waiters(self) -> None:
        self._court.providers.admit_all()

    async def close(self) -> None:
        await self._court.close()
