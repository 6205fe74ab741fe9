"""A worker on a Ray cluster, as the run knows it: an actor, and the desk that its letters go to."""

from __future__ import annotations

from typing import Any

from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from ..transcript import Transcript
from .coordinator import Clerk
from .messages import Broken, Spent, Wrong
from .worker import Terms, Worker, refuse_other
from .worker_handler import Desk


class Lost(Exception):
    """The worker is gone, or out of reach: `unfit` says why it could not even be made."""

    def __init__(self, unfit: str | None) -> None:
        super().__init__(unfit or "lost")
        self.unfit = unfit


class Hand:
    """One worker, from before it is placed until it is lost."""

    def __init__(self, ray: Any, clerk: Clerk, *, at_once: int) -> None:
        self._ray = ray
        # Twice as many methods at a time as cases: letters come and go meanwhile.
        options = {"num_cpus": 1, "scheduling_strategy": "SPREAD", "max_concurrency": 2 * at_once + 8}
        self._actor = ray.remote(Worker).options(**options).remote()
        self._desk = Desk(clerk, lambda answers: self._actor.deliver.remote(answers))
        self.host = ""
        self.cases = 0
        """Being heard."""
        self.ended = False

    async def begin(self, terms: Terms, number: int) -> None:
        """Wait until it has a place and is fit; what is wrong on its node is an error of the run."""
        introduced = await self._done(self._actor.introduced.remote())
        self.host = introduced[0]
        refuse_other(*introduced)
        match await self._done(self._actor.begin.remote(terms, number)):
            case Wrong(problem, remedy):
                raise VenireError(
                    f"on node {self.host}: {problem}",
                    remedy=f"{remedy}; on that node, before ray start: workers have its files and its environment",
                )
            case Broken(told, where):
                raise RuntimeError(f"on node {self.host}: {told}\n{where}")

    async def serve(self) -> None:
        """See to its letters until it is lost."""
        while True:
            self._desk.take(await self._done(self._actor.collect.remote()))

    async def hear(self, case: Case, arm: int, redacted: bool) -> Transcript | Spent | Wrong | Broken:
        self.cases += 1
        try:
            return await self._done(self._actor.hear.remote(case, arm, redacted))
        finally:
            self.cases -= 1

    def end(self) -> None:
        """Have nothing more to do with it, dead or only out of reach."""
        if not self.ended:
            self.ended = True
            self._desk.lost()
            self._ray.kill(self._actor)

    async def _done(self, promised: Any) -> Any:
        """What a method gave; `Lost` where the worker, or the node that holds what it gave, is no more."""
        errors = self._ray.exceptions
        try:
            return await promised
        except errors.RayActorError as error:
            raise Lost(str(error) if error.actor_init_failed else None) from None
        except errors.ObjectLostError:
            raise Lost(None) from None
