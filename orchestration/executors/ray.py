"""`--executor ray`: workers on a Ray cluster hear the cases; those of a lost worker continue on another."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import shutil
import socket
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from ...agents.budget import BudgetSpent
from ...agents.gateway import Calls
from ...personas.jury import Jury
from ...rubrics.case import Case
from ...rubrics.errors import MissingExtra, VenireError
from ..bench import Court
from ..record.redaction import RedactedError
from ..transcript import Transcript
from .coordinator import Coordinator, WorkerHandler
from .executor import Cluster, ExecutorJob
from .messages import Crash, OutOfBudget, UserError
from .worker import Worker, WorkerConfig, refuse_other_build

_STORE = 100 * 2**20
"""Bytes of shared memory for a cluster of our own: nothing large goes through it."""
_REACH = 10.0
"""Seconds to wait for a cluster's address to answer."""
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""No reports to Ray's makers, and the new behaviour where the old one warns."""
GATHERING = 20.0
"""Seconds to wait for more workers after the first, so that each gets its share of the cases."""
PATIENCE = 30.0
"""Seconds after which it is reported that the cluster has no free CPU."""
LOSSES = 3
"""Lost workers after which a case is given up."""
STARTS = 10
"""Times in a row that a worker may be lost before it is ready."""


async def start_ray(job: ExecutorJob) -> RayExecutor:
    """Connect to the cluster and start its workers.

    Raises:
        VenireError: The run writes spans to a file, the cluster cannot be used, or a worker cannot start.
    """
    if job.traced:
        raise VenireError(
            "--trace cannot be used with Ray: spans from several nodes cannot be written to one file",
            remedy="leave out --trace, or set up an OpenTelemetry tracer provider on each node",
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
            f"case {case.id!r}: {LOSSES} worker processes in a row ended while they judged it",
            remedy="look at Ray's logs on the nodes (a node may have run out of memory), and run the same command again",
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
            self._say("waiting until the Ray cluster has a free CPU")
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
                    raise _unfit(lost.unfit or "the process was lost at every attempt to start it") from None
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
            self._say(f"a worker process on {worker.host} was lost; other processes continue with its cases")
        worker.end()

    def _on_supervisor_done(self, supervisor: asyncio.Task[None]) -> None:
        if not supervisor.cancelled():
            self._error = supervisor.exception()
            self._changed.set()


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
        f"a worker process cannot be started on the Ray cluster: {why}",
        remedy="install the same venire[ray] on every node, in the Python that Ray was started with",
    )


class RemoteWorker:
    """One Ray actor that runs a `Worker`."""

    def __init__(self, ray: Any, coordinator: Coordinator, *, at_once: int) -> None:
        self._ray = ray
        # Twice as many methods at a time as cases: messages come and go meanwhile.
        options = {"num_cpus": 1, "scheduling_strategy": "SPREAD", "max_concurrency": 2 * at_once + 8}
        self._actor = ray.remote(Worker).options(**options).remote()
        self._handler = WorkerHandler(coordinator, lambda messages: self._actor.deliver.remote(messages))
        self.host = ""
        self.cases = 0
        """How many cases it is hearing now."""
        self.ended = False

    async def begin(self, config: WorkerConfig, number: int) -> None:
        """Wait until it is scheduled, check its version and connect its models; a `VenireError` names the node."""
        identity = await self._result(self._actor.identity.remote())
        self.host = identity[0]
        refuse_other_build(*identity)
        match await self._result(self._actor.begin.remote(config, number)):
            case UserError(problem, remedy):
                raise VenireError(
                    f"on node {self.host}: {problem}",
                    remedy=f"{remedy}; do this on that node before `ray start`",
                )
            case Crash(message, traceback):
                raise RuntimeError(f"on node {self.host}: {message}\n{traceback}")

    async def serve(self) -> None:
        """Handle its messages until it is lost."""
        while True:
            self._handler.take(await self._result(self._actor.collect.remote()))

    async def hear(
        self, case: Case, arm: int, redacted: bool, trace_salt: bytes
    ) -> Transcript | OutOfBudget | UserError | Crash:
        self.cases += 1
        try:
            return await self._result(self._actor.hear.remote(case, arm, redacted, trace_salt))
        finally:
            self.cases -= 1

    def end(self) -> None:
        """Kill the actor and release what it held."""
        if not self.ended:
            self.ended = True
            self._handler.release()
            self._ray.kill(self._actor)

    async def _result(self, promised: Any) -> Any:
        """The result of a remote method; `WorkerLost` if the worker, or the node that holds the result, is gone."""
        errors = self._ray.exceptions
        try:
            return await promised
        except errors.RayActorError as error:
            raise WorkerLost(str(error) if error.actor_init_failed else None) from None
        except errors.ObjectLostError:
            raise WorkerLost(None) from None


class WorkerLost(Exception):
    """The worker's process is gone or unreachable; `unfit` says why it could not even start."""

    def __init__(self, unfit: str | None) -> None:
        super().__init__(unfit or "lost")
        self.unfit = unfit


@contextmanager
def ray_connection(cluster: Cluster) -> Iterator[Any]:
    """Ray, connected while the block runs; it may say nothing on stdout, which belongs to the run's report."""
    if find_spec("ray") is None:
        raise MissingExtra("the executor ray needs Ray", remedy="pip install 'venire[ray]'")
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    address = cluster.address or os.environ.get("RAY_ADDRESS")
    if address == "local":
        address = None
    if address and address.startswith("ray://"):
        raise VenireError(
            f"{address} is the address of a Ray client, which venire does not support",
            remedy="start the run on a node of the cluster, with --ray-address auto",
        )
    if not address and "ray" not in sys.modules:
        # Whoever reaches a cluster can run code on it, and Ray listens on every address of the machine: ours has a
        # secret, which Ray reads when it is loaded.
        os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
    ray: Any = import_module("ray")
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        if ray.is_initialized():
            yield ray
            return
        folder = None if address else tempfile.mkdtemp(prefix="venire-ray-", dir=_short())
        try:
            _connect(ray, address, folder, cluster.workers)
            yield ray
        finally:
            ray.shutdown()
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)


def _connect(ray: Any, address: str | None, folder: str | None, workers: int | None) -> None:
    if address:
        _refuse_unreachable(address)
    own: dict[str, Any] = {
        "num_cpus": workers,
        "object_store_memory": _STORE,
        "include_dashboard": False,
        "_temp_dir": folder,
    }
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": True}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if address:
                ray.init(address=address, **quiet)
            else:
                ray.init(address="local", **own, **quiet)
    except (ConnectionError, RuntimeError, ValueError) as error:
        where = f"the Ray cluster at {address}" if address else "a Ray cluster on this machine"
        why = " ".join(str(error).split())[:300]
        raise VenireError(
            f"{where} cannot be used: {why}",
            remedy="check the output of `ray status`, and install the same versions of Python and Ray on every node",
        ) from None


def _short() -> str | None:
    """A folder with a short path: a socket's name has a limit that some values of TMPDIR exceed."""
    usual = Path("/tmp")  # noqa: S108
    return str(usual) if usual.is_dir() else None


def _refuse_unreachable(address: str) -> None:
    """An error if nothing listens at the address: Ray itself would retry for minutes."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=_REACH).close()
    except OSError as error:
        raise VenireError(
            f"no Ray cluster answers at {address}: {error.strerror or error}",
            remedy="start one with ray start --head, or leave the address out",
        ) from None
