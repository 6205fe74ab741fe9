"""`--executor ray`: workers on a Ray cluster hear the cases; those of a lost worker continue on another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from ...agents.budget import BudgetSpent
from ...agents.gateway import Calls
from ...personas.jury import Jury
from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from ..bench import Court
from ..record.redacted_errors import RedactedError
from ..transcript import Transcript
from .coordinator import Coordinator
from .executor import Cluster, ExecutorJob
from .messages import Crash, OutOfBudget, UserError
from .ray_cluster import ray_connection
from .ray_worker import RemoteWorker, WorkerLost
from .worker import WorkerConfig

GATHERING = 20.0
"""Seconds to wait for more workers after the first, so that each gets its share of the cases."""
PATIENCE = 30.0
"""Seconds after which it is reported that the cluster has no free CPU."""
LOSSES = 3
"""Lost workers after which a case is given up."""
STARTS = 10
"""Times in a row that a worker may be lost before it is ready."""


class RayExecutor:
    """Distributes cases to workers on a Ray cluster, and serves them the record and the limits."""

    def __init__(
        self,
        ray: Any,
        court: Court,
        config: WorkerConfig,
        *,
        at_once: int,
        say: Callable[[str], None],
        close: ExitStack,
    ) -> None:
        self._ray = ray
        self._config = config
        self._at_once = at_once
        self._say = say
        self._close = close
        self._coordinator = Coordinator(court)
        self._workers: set[RemoteWorker] = set()
        self._changed = asyncio.Event()
        self._error: BaseException | None = None
        self._supervisors: list[asyncio.Task[None]] = []

    @classmethod
    async def connect(
        cls, cluster: Cluster, court: Court, config: WorkerConfig, *, at_once: int, say: Callable[[str], None]
    ) -> Self:
        """Connect to the cluster, start workers as far as it has CPUs for them, and check them."""
        with ExitStack() as stack:
            ray = stack.enter_context(ray_connection(cluster))
            executor = cls(ray, court, config, at_once=at_once, say=say, close=stack.pop_all())
        try:
            await executor._gather(cluster.workers)
        except BaseException:
            await executor.close()
            raise
        return executor

    def attach(self, calls: Calls, *, redacted: bool) -> None:
        self._coordinator.attach(calls, redacted=redacted)

    async def hear(self, case: Case, jury: Jury) -> Transcript:
        """Have the least busy worker hear the case; if it is lost, another continues from the record."""
        arm = self._config.juries.index(jury)
        salt = self._coordinator.court.trace_salt
        for _ in range(LOSSES):
            worker = await self._least_busy()
            try:
                found = await worker.hear(case, arm, self._coordinator.redacted, salt)
            except WorkerLost:
                self._lose(worker)
                continue
            if self._coordinator.error is not None:
                raise self._coordinator.error
            return _transcript_or_error(found, redacted=self._coordinator.redacted)
        raise VenireError(
            f"case {case.id!r}: {LOSSES} workers were lost while they heard it",
            remedy="see Ray's logs on the nodes (one that runs out of memory ends its workers), and run it again",
        )

    def release_waiters(self) -> None:
        self._coordinator.court.providers.admit_all()
        self._coordinator.broadcast_if_spent()

    async def close(self) -> None:
        for supervisor in self._supervisors:
            supervisor.cancel()
        await asyncio.gather(*self._supervisors, return_exceptions=True)
        self._close.close()
        await self._coordinator.court.close()

    async def _gather(self, workers: int | None) -> None:
        """Start the workers; return once one is ready and the others had `GATHERING` seconds to follow."""
        cpus = int(self._ray.cluster_resources().get("CPU", 1))
        # A worker beyond the cases that are heard at a time would have nothing to do.
        wanted = max(1, min(workers or cpus, self._at_once))
        self._supervisors = [asyncio.create_task(self._supervise(number)) for number in range(wanted)]
        for supervisor in self._supervisors:
            supervisor.add_done_callback(self._on_supervisor_done)
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await self._least_busy()
        if not self._workers:
            self._say("waiting until the Ray cluster has a CPU free for a worker")
        await self._least_busy()
        with suppress(TimeoutError):
            async with asyncio.timeout(GATHERING):
                while len(self._workers) < min(wanted, cpus) and self._error is None:
                    await self._change()
        await self._least_busy()

    async def _supervise(self, number: int) -> None:
        """Keep worker `number` running: when it is lost, start another."""
        failures, config = 0, self._config
        while True:
            worker = RemoteWorker(self._ray, self._coordinator, at_once=self._at_once)
            failures += 1
            try:
                await worker.begin(config, number)
                # Whoever takes its place later comes into a run whose models were found to be there.
                failures, config = 0, replace(config, asks_models=False)
                self._workers.add(worker)
                self._changed.set()
                await worker.serve()
            except WorkerLost as lost:
                if failures == STARTS or lost.unfit is not None:
                    raise _unfit(lost.unfit or "it is lost every time") from None
                self._lose(worker)
            finally:
                worker.end()
            await asyncio.sleep(failures)

    async def _least_busy(self) -> RemoteWorker:
        """The worker with the fewest cases, as soon as there is one."""
        while not self._workers and self._error is None:
            await self._change()
        if self._error is not None:
            raise self._error
        return min(self._workers, key=lambda worker: worker.cases)

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    def _lose(self, worker: RemoteWorker) -> None:
        if worker in self._workers:
            self._workers.remove(worker)
            self._say(f"a worker on {worker.host} was lost: its cases go on elsewhere")
        worker.end()

    def _on_supervisor_done(self, supervisor: asyncio.Task[None]) -> None:
        if not supervisor.cancelled():
            self._error = supervisor.exception()
            self._changed.set()


async def start_ray(job: ExecutorJob) -> RayExecutor:
    """Connect to the cluster and start its workers.

    Raises:
        VenireError: The run writes spans to a file, the cluster cannot be used, or a worker cannot start.
    """
    if job.traced:
        raise VenireError(
            "spans of workers on a cluster are not gathered into one file",
            remedy="leave out --trace, or give the nodes' processes a tracer provider of their own",
        )
    config = WorkerConfig(
        rubric=job.rubric,
        juries=tuple(job.juries),
        scored=job.court.scored,
        seed=job.seed,
        prices=job.prices,
        in_flight=job.in_flight,
        folder=str(Path.cwd()),
        listening=job.court.listener is not None,
    )
    return await RayExecutor.connect(job.cluster, job.court, config, at_once=job.at_once, say=job.say)


def _transcript_or_error(
    found: Transcript | OutOfBudget | UserError | Crash, *, redacted: bool
) -> Transcript:
    match found:
        case OutOfBudget(limit):
            raise BudgetSpent(limit)
        case UserError(problem, remedy):
            raise VenireError(problem, remedy=remedy)
        case Crash(message, traceback):
            raise (RedactedError if redacted else RuntimeError)(f"on a worker: {message}\n{traceback}")
    return found


def _unfit(message: str) -> VenireError:
    why = next((line for line in reversed(message.splitlines()) if line.strip()), "").strip()[:200]
    return VenireError(
        f"a worker on the Ray cluster cannot be started: {why}",
        remedy="install the same venire[ray] on every node, in the Python that Ray was started with",
    )
