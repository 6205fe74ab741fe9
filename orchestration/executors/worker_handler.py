"""A desk: the clerk's dealings with one worker, from its first letter until it is lost."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

from ...agents.budget import BudgetSpent
from ...agents.model import ModelFailure, Reply
from ...agents.providers import ProviderKey
from ...rubrics.errors import VenireError
from .channel import LINGER
from .coordinator import Clerk
from .messages import (
    Answer,
    Answered,
    Broken,
    Busy,
    Commit,
    Enter,
    Failed,
    Forgone,
    Incoming,
    Leave,
    Lookup,
    Note,
    Noted,
    Outgoing,
    Question,
    Refused,
    Spent,
    Wrong,
)


class Desk:
    """Takes letters in order; answers each as soon as it can be answered."""

    def __init__(self, clerk: Clerk, send: Callable[[Incoming], None]) -> None:
        self._clerk = clerk
        self._send = send
        self._answers: Incoming = []
        self._held: Counter[ProviderKey] = Counter()
        self._waits: set[asyncio.Task[None]] = set()
        self._commits: set[asyncio.Task[None]] = set()
        clerk.desks.add(self)

    def take(self, letters: Outgoing) -> None:
        for number, letter in letters:
            if isinstance(letter, Lookup | Commit | Enter):
                if isinstance(letter, Commit):
                    self._clerk.receive(letter)
                tasks = self._commits if isinstance(letter, Commit) else self._waits
                task = asyncio.create_task(self._answer(number, letter))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            else:
                self._note(letter)

    def reply(self, number: int, answer: Answer) -> None:
        """Answers go out together, with those that are ready soon after."""
        if self not in self._clerk.desks:
            return
        if not self._answers:
            asyncio.get_running_loop().call_later(LINGER, self._post)
        self._answers.append((number, answer))

    def lost(self) -> None:
        """The worker is gone: what it was asking is free for others, and so are its places.

        The provider may go on with calls that nobody waits for, so their places are kept for as long as the slowest
        answer took. A reply that it had sent is committed all the same.
        """
        self._clerk.desks.discard(self)
        self._answers.clear()
        for task in list(self._waits):
            task.cancel()
        self._clerk.claims.lost(self)
        for provider, places in self._held.items():
            line = self._clerk.court.providers.at(provider).seats
            for _ in range(places):
                asyncio.get_running_loop().call_later(self._clerk.presumed, line.leave)
        self._held.clear()

    async def _answer(self, number: int, letter: Question) -> None:
        try:
            answer: Answer = await self._answered(letter)
        except BudgetSpent as spent:
            answer = Spent(spent.limit)
        except ModelFailure as failure:
            answer = Refused(failure.reason, failure.detail)
        except VenireError as error:
            answer = Wrong(error.problem, error.remedy)
        except Exception as error:
            # A task's exception would be lost: the worker is answered, and the run ends with it.
            self._clerk.trouble = error
            answer = Broken.of(error, redacted=self._clerk.redacted)
        self.reply(number, answer)

    async def _answered(self, letter: Question) -> Reply | None:
        match letter:
            case Lookup(key):
                return await self._clerk.claims.reply(key, self, self._clerk.calls.get)
            case Commit():
                await self._clerk.commit(letter)
            case Enter(provider):
                await self._enter(provider)
        return None

    async def _enter(self, provider: ProviderKey) -> None:
        line, budget = self._clerk.court.providers.at(provider).seats, self._clerk.court.budget
        # Nobody waits in line for what may not be sent.
        budget.check()
        await line.__aenter__()
        try:
            budget.check()
        except (BudgetSpent, VenireError):
            line.leave(unsent=True)
            self._clerk.tell_if_spent()
            raise
        self._held[provider] += 1

    def _note(self, letter: Note) -> None:
        clerk = self._clerk
        match letter:
            case Forgone(key):
                clerk.claims.forgo(key, self)
            case Noted(case, entry):
                if clerk.court.listener is not None:
                    clerk.court.listener(case, entry)
            case Leave(provider, unsent):
                self._held[provider] -= 1
                clerk.court.providers.at(provider).seats.leave(unsent=unsent)
            case Answered(provider, tokens):
                clerk.court.providers.at(provider).seats.answered(tokens)
            case Busy(provider, took, retry_after):
                clerk.court.providers.at(provider).seats.busy(took, retry_after)
            case Failed(provider, why):
                clerk.court.providers.at(provider).seats.failed(why)

    def _post(self) -> None:
        if self._answers:
            answers, self._answers = self._answers, []
            self._send(answers)
