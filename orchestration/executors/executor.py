"""Executors: where a run's cases are heard, in this process unless another is named. A plug-in registers one under `venire.executors`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ...agents.cost import Price
from ...agents.gateway import Calls
from ...personas.jury import Jury
from ...rubrics.case import Case
from ...rubrics.plugins import plugged_in
from ...rubrics.rubric import Rubric
from ..bench import Court
from ..deliberate import hear
from ..transcript import Transcript

GROUP = "venire.executors"


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


class ExecutorFactory(Protocol):
    """What an entry point of `venire.executors` loads to."""

    async def __call__(self, job: ExecutorJob) -> Executor:
        """An executor that is ready to hear cases."""
        ...


@dataclass(frozen=True, slots=True)
class Cluster:
    """Which cluster, and how many workers on it."""

    address: str | None = None
    """Address of an existing cluster; default RAY_ADDRESS, else one is started on this machine."""
    workers: int | None = None
    """Worker count (default: CPUs of the cluster)."""


@dataclass(frozen=True, slots=True)
class ExecutorJob:
    """What an executor needs to hear the cases of one run session."""

    rubric: Rubric
    juries: Sequence[Jury]
    court: Court
    """Providers, budget and listener, on the side of the run."""
    at_once: int
    """Deliberations at a time."""
    in_flight: int
    """Calls at a time, for each provider."""
    seed: int
    prices: Mapping[str, Price]
    traced: bool
    """Whether spans are written to a file."""
    say: Callable[[str], None]
    """Shows a line to the user."""
    cluster: Cluster = field(default_factory=Cluster)


def executor_factory(name: str) -> ExecutorFactory:
    """What starts the executor registered under `name`; an error that names the nearest one when there is none."""
    found: ExecutorFactory = plugged_in(GROUP, name, "executor")
    return found


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
