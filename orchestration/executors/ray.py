"""`--executor ray`: cases are heard by workers all over a cluster; a lost worker's cases go on elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any, Self

from ...agents.budget import BudgetSpent
from ...agents.gateway import Calls
from ...personas.jury import Jury
from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from ..bench import Court
from ..record.redacted_errors import WordsWithheld
from ..transcript import Transcript
from .coordinator import Clerk
from .messages import Broken, Spent, Wrong
from .ray_cluster import Cluster, connected
from .ray_worker import Hand, Lost
from .worker import Terms

GATHERING = 20.0
"""Seconds that the first worker waits for the others, so that each gets its share of the cases."""
PATIENCE = 30.0
"""Seconds after which it is said that the cluster has no room."""
LOSSES = 3
"""Workers that may be lost with one case."""
STARTS = 10
"""Times in a row that a worker may be lost before it has begun."""


class RayExecutor:
    """The run's side: hands out cases, and serves the record and the limits to those who hear them."""

    def __init__(
        self,
        ray: Any,
        court: Court,
        terms: Terms,
        *,
        at_once: int,
        say: Callable[[str], None],
        close: ExitStack,
    ) -> None:
        self._ray = ray
        self._terms = terms
        self._at_once = at_once
        self._say = say
        self._close = close
        self._clerk = Clerk(court)
        self._crew: set[Hand] = set()
        self._changed = asyncio.Event()
        self._trouble: BaseException | None = None
        self._keepers: list[asyncio.Task[None]] = []

    @classmethod
    async def opened(
        cls, cluster: Cluster, court: Court, terms: Terms, *, at_once: int, say: Callable[[str], None]
    ) -> Self:
        """Ready to hear: the workers are placed, as far as there is room for them, and found fit."""
        with ExitStack() as stack:
            ray = stack.enter_context(connected(cluster))
            executor = cls(ray, court, terms, at_once=at_once, say=say, close=stack.pop_all())
        try:
            await executor._gather(cluster.workers)
        except BaseException:
            await executor.close()
            raise
        return executor

    def keep(self, calls: Calls, *, redacted: bool) -> None:
        self._clerk.keep(calls, redacted=redacted)

    async def hear(self, case: Case, jury: Jury) -> Transcript:
        """What the jury says, by the worker with the least to do; when that is lost, by another from the record."""
        arm = self._terms.juries.index(jury)
        for _ in range(LOSSES):
            hand = await self._free_hand()
            try:
                found = await hand.hear(case, arm, self._clerk.redacted)
            except Lost:
                self._lose(hand)
                continue
            if self._clerk.trouble is not None:
                raise self._clerk.trouble
            return _unwrapped(found, redacted=self._clerk.redacted)
        raise VenireError(
            f"case {case.id!r}: {LOSSES} workers were lost while they heard it",
            remedy="see Ray's logs on the nodes (one that runs out of memory ends its workers), and run it again",
        )

    def let_go(self) -> None:
        self._clerk.court.providers.let_go()
        self._clerk.tell_if_spent()

    async def close(self) -> None:
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        self._close.close()
        await self._clerk.court.close()

    async def _gather(self, wanted: int | None) -> None:
        cpus = int(self._ray.cluster_resources().get("CPU", 1))
        # A worker beyond the cases that are heard at a time would have nothing to do.
        places = max(1, min(wanted or cpus, self._at_once))
        self._keepers = [asyncio.create_task(self._keep(number)) for number in range(places)]
        for keeper in self._keepers:
            keeper.add_done_callback(self._stopped)
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await self._free_hand()
        if not self._crew:
            self._say("waiting until the Ray cluster has a CPU free for a worker")
        await self._free_hand()
        with suppress(TimeoutError):
            async with asyncio.timeout(GATHERING):
                while len(self._crew) < min(places, cpus) and self._trouble is None:
                    await self._change()
        await self._free_hand()

    async def _keep(self, number: int) -> None:
        """Have a worker in this place, and when it is lost another."""
        failures = 0
        while True:
            hand = Hand(self._ray, self._clerk, at_once=self._at_once)
            failures += 1
            try:
                await hand.begin(self._terms, number)
                failures = 0
                self._crew.add(hand)
                self._changed.set()
                await hand.serve()
            except Lost as lost:
                if failures == STARTS or lost.unfit is not None:
                    raise _unfit(lost.unfit or "it is lost every time") from None
                self._lose(hand)
            finally:
                hand.end()
            await asyncio.sleep(failures)

    async def _free_hand(self) -> Hand:
        """The worker with the least to do, as soon as there is one."""
        while not self._crew and self._trouble is None:
            await self._change()
        if self._trouble is not None:
            raise self._trouble
        return min(self._crew, key=lambda hand: hand.cases)

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    def _lose(self, hand: Hand) -> None:
        if hand in self._crew:
            self._crew.remove(hand)
            self._say(f"a worker on {hand.host} was lost: its cases go on elsewhere")
        hand.end()

    def _stopped(self, keeper: asyncio.Task[None]) -> None:
        if not keeper.cancelled():
            self._trouble = keeper.exception()
            self._changed.set()


def _unwrapped(found: Transcript | Spent | Wrong | Broken, *, redacted: bool) -> Transcript:
    match found:
        case Spent(limit):
            raise BudgetSpent(limit)
        case Wrong(problem, remedy):
            raise VenireError(problem, remedy=remedy)
        case Broken(told, where):
            raise (WordsWithheld if redacted else RuntimeError)(f"on a worker: {told}\n{where}")
    return found


def _unfit(told: str) -> VenireError:
    why = next((line for line in reversed(told.splitlines()) if line.strip()), "").strip()[:200]
    return VenireError(
        f"a worker on the Ray cluster cannot be started: {why}",
        remedy="install the same venire[ray] on every node, in the Python that Ray was started with",
    )
