"""The coordinator by itself: whose call it is, whose slot, and who is told that nothing more may be sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from venire.agents.budget import Budget
from venire.agents.cost import Cost
from venire.agents.model import ModelFailure, Reply, Request, Sampling
from venire.orchestration.executors import coordinator as module
from venire.orchestration.executors.coordinator import Claims, Coordinator, WorkerHandler
from venire.orchestration.executors.messages import (
    UNNUMBERED,
    AcquireSlot,
    Commit,
    Crash,
    EntryAdded,
    Forgo,
    Lookup,
    OutOfBudget,
    ProviderUnavailable,
    ReleaseSlot,
    UserError,
)
from venire.rubrics.errors import VenireError

REQUEST = Request("server/a", (), None, Sampling(), 0, 60.0)
SPENT = OutOfBudget("max_calls")


class Slots:
    """A provider's, of which it is noted who came and went."""

    def __init__(self, enter: Callable[[], None]) -> None:
        self.enter, self.log = enter, list[str]()

    async def __aenter__(self) -> None:
        self.enter()
        self.log.append("in")

    def release(self, *, unsent: bool = False) -> None:
        self.log.append("unsent" if unsent else "out")


class Desk:
    """A coordinator with two workers, and what each was sent."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, enter: Callable[[], None] = lambda: None) -> None:
        monkeypatch.setattr(module, "LINGER", 0)
        monkeypatch.setattr(module, "_UNKNOWN", 0.01)
        self.replies: dict[str, Any] = {}
        self.slots, self.budget, self.heard = Slots(enter), Budget(max_calls=1), list[Any]()
        court: Any = SimpleNamespace(
            calls=self, budget=self.budget, listener=lambda *told: self.heard.append(told),
            providers=SimpleNamespace(at=lambda provider: SimpleNamespace(slots=self.slots)),
        )  # fmt: skip
        self.coordinator = Coordinator(court)
        self.sent: tuple[list[Any], list[Any]] = ([], [])
        self.one, self.two = (WorkerHandler(self.coordinator, sent.extend) for sent in self.sent)

    async def get(self, key: str) -> Reply | None:
        found = self.replies.get(key)
        if isinstance(found, Exception):
            raise found
        return found

    async def put(self, key: str, request: Request, reply: Reply) -> None:
        self.replies[key] = reply

    async def settle(self) -> None:
        await asyncio.sleep(0.005)


def commit(key: str) -> Commit:
    return Commit(key, REQUEST, Reply("text", seconds=0.01))


def test_only_the_slots_that_a_lost_worker_still_holds_are_released_and_it_is_told_nothing_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main() -> None:
        desk = Desk(monkeypatch)
        desk.one.take([(number, AcquireSlot("p")) for number in (1, 2, 3)])  # type: ignore[arg-type]
        desk.two.take([(1, AcquireSlot("p"))])  # type: ignore[arg-type]
        await desk.settle()
        assert desk.sent == ([(1, None), (2, None), (3, None)], [(1, None)])
        desk.one.take([(UNNUMBERED, ReleaseSlot("p", unsent=False))])  # type: ignore[arg-type]
        assert desk.slots.log == ["in"] * 4 + ["out"]
        desk.one.release()
        desk.one.reply(9, None)
        assert desk.slots.log.count("out") == 1, "the provider may still be at it"
        await asyncio.sleep(0.05)
        assert desk.slots.log == ["in"] * 4 + ["out"] * 3 and len(desk.sent[0]) == 3

    asyncio.run(main())


def test_a_spent_budget_is_told_to_whoever_asks_for_a_slot_and_to_all_who_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main() -> None:
        # Spent while a slot was waited for: it goes back as one in which nothing was sent.
        desk = Desk(monkeypatch, enter=lambda: desk.budget.add(Cost(calls=1)))
        desk.one.take([(1, AcquireSlot("p"))])  # type: ignore[arg-type]
        await desk.settle()
        assert desk.slots.log == ["in", "unsent"]
        assert desk.sent == ([(UNNUMBERED, SPENT), (1, SPENT)], [(UNNUMBERED, SPENT)])
        # Spent before: no slot is waited for.
        desk.two.take([(5, AcquireSlot("p"))])  # type: ignore[arg-type]
        await desk.settle()
        assert desk.sent[1][1:] == [(5, SPENT)] and desk.slots.log == ["in", "unsent"]
        desk.one.release()
        await asyncio.sleep(0.05)
        assert desk.slots.log == ["in", "unsent"], "it holds none"

        # The reply that spends it is counted at once, and recorded before the others are told.
        desk = Desk(monkeypatch)
        desk.one.take([(1, commit("k"))])
        assert desk.budget.spent.calls == 1
        await desk.settle()
        assert desk.replies["k"].text == "text"
        assert desk.sent == ([(UNNUMBERED, SPENT), (1, None)], [(UNNUMBERED, SPENT)])

    asyncio.run(main())


@pytest.mark.parametrize("redacted", [False, True])
def test_an_error_is_answered_by_its_kind_and_a_bug_ends_the_run(
    monkeypatch: pytest.MonkeyPatch, redacted: bool
) -> None:
    async def main() -> None:
        desk = Desk(monkeypatch)
        desk.coordinator.attach(desk, redacted=redacted)  # type: ignore[arg-type]
        desk.replies |= {"user": VenireError("p", remedy="r"), "down": ModelFailure("unavailable", "d")}
        desk.one.take([(1, Lookup("user")), (2, Lookup("down")), (3, Lookup("new"))])
        await desk.settle()
        assert desk.sent[0] == [(1, UserError("p", "r")), (2, ProviderUnavailable("unavailable", "d")), (3, None)]  # fmt: skip
        assert desk.coordinator.error is None
        bug = desk.replies["bug"] = ValueError("canary")
        desk.one.take([(4, Lookup("bug"))])
        await desk.settle()
        ((number, crash),) = desk.sent[0][3:]
        assert number == 4 and isinstance(crash, Crash) and ("canary" in crash.message) is not redacted
        assert desk.coordinator.error is bug
        desk.replies.clear()
        desk.two.take([(1, Lookup("bug"))])
        await desk.settle()
        assert desk.sent[1] == [(1, None)], "nobody waits for what failed"
        desk.one.take([(UNNUMBERED, EntryAdded("c", "entry"))])  # type: ignore[arg-type]
        assert desk.heard == [("c", "entry")]

    asyncio.run(main())


def test_a_call_is_one_workers_until_it_is_answered_or_given_up_by_that_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main() -> None:
        desk = Desk(monkeypatch)
        for handler in (desk.one, desk.two):
            handler.take([(1, Lookup("k"))])
        await desk.settle()
        desk.two.take([(UNNUMBERED, Forgo("k"))])
        await desk.settle()
        assert desk.sent == ([(1, None)], []), "the second waits, and cannot give up what is the first's"
        desk.one.take([(UNNUMBERED, Forgo("k"))])
        await desk.settle()
        assert desk.sent[1] == [(1, None)], "now it is its own"
        desk.one.take([(2, Lookup("k"))])
        desk.two.take([(2, commit("k"))])
        await desk.settle()
        assert [(number, reply.text) for number, reply in desk.sent[0] if isinstance(reply, Reply)] == [(2, "text")]  # fmt: skip
        # What the record holds is everybody's at once.
        for handler in (desk.one, desk.two, desk.two):
            handler.take([(3, Lookup("k"))])
        await desk.settle()
        assert [sum(number == 3 and reply is not None for number, reply in sent) for sent in desk.sent] == [1, 2]  # fmt: skip

    asyncio.run(main())


def test_one_who_gives_up_waiting_leaves_the_call_to_the_others_who_wait() -> None:
    async def main() -> None:
        claims, nothing = Claims(), dict[str, Reply]()

        async def look(key: str) -> Reply | None:
            return nothing.get(key)

        assert await claims.reply("k", "one", look) is None
        gone, waiting = (asyncio.create_task(claims.reply("k", who, look)) for who in ("two", "three"))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        claims.committing("k")
        claims.release_all("one")
        assert not waiting.done(), "its reply has arrived"
        claims.settle("k", Reply("text"))
        assert (await asyncio.wait_for(waiting, 1)) == Reply("text")

    asyncio.run(main())
