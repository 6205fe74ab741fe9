"""`--executor local`, the default: this process, all cases on one event loop."""

from __future__ import annotations

from ...agents.gateway import Calls
from ...personas.jury import Jury
from ...rubrics.case import Case
from ...rubrics.rubric import Rubric
from ..bench import Court
from ..deliberate import hear
from ..transcript import Transcript
from .executor import ExecutorJob


class LocalExecutor:
    """Hears cases in this process."""

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


async def start_local(job: ExecutorJob) -> LocalExecutor:
    return LocalExecutor(job.rubric, job.court)
