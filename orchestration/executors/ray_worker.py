"""A worker on a Ray cluster, seen from the run: a Ray actor, and the handler of its messages."""

from __future__ import annotations

from typing import Any

from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from ..transcript import Transcript
from .coordinator import Coordinator
from .messages import Crash, OutOfBudget, UserError
from .worker import Worker, WorkerConfig, refuse_other_build
from .worker_handler import WorkerHandler


class WorkerLost(Exception):
    """The worker's process is gone or unreachable; `unfit` says why it could not even start."""

    def __init__(self, unfit: str | None) -> None:
        super().__init__(unfit or "lost")
        self.unfit = unfit


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
                    remedy=f"{remedy}; on that node, before ray start: workers have its files and its environment",
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
