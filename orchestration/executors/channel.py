"""A worker's post: letters wait here until the clerk collects them, and questions wait for their answers."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

from ...agents.budget import BudgetSpent
from ...agents.model import ModelFailure
from ...rubrics.errors import VenireError
from .messages import NOTE, Answer, Broken, Incoming, Note, Outgoing, Question, Refused, Spent, Wrong

LINGER = 0.002
"""Seconds that letters wait for others to go with: a journey costs more than a letter."""


class Post:
    """Letters go out together: whatever was written while the last ones were on their way."""

    def __init__(self) -> None:
        self._numbers = count(NOTE + 1)
        self._out: Outgoing = []
        self._written = asyncio.Event()
        self._asked: dict[int, asyncio.Future[Any]] = {}

    def tell(self, note: Note) -> None:
        self._write(NOTE, note)

    def ask(self, question: Question) -> asyncio.Future[Any]:
        """The answer to come; what the clerk refuses is raised."""
        number = next(self._numbers)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        self._write(number, question)
        return answer

    async def collect(self) -> Outgoing:
        """What was written, soon after there is something."""
        await self._written.wait()
        await asyncio.sleep(LINGER)
        self._written.clear()
        letters, self._out = self._out, []
        return letters

    def deliver(self, number: int, answer: Answer) -> None:
        asked = self._asked.pop(number)
        if asked.done():
            # Cancelled, with whoever waited for it.
            return
        error = _raised(answer)
        if error is None:
            asked.set_result(answer)
        else:
            asked.set_exception(error)

    def _write(self, number: int, letter: Question | Note) -> None:
        self._out.append((number, letter))
        self._written.set()


def unsolicited(answers: Incoming) -> list[Answer]:
    """Those of the answers that nobody asked for."""
    return [answer for number, answer in answers if number == NOTE]


def _raised(answer: Answer) -> Exception | None:
    match answer:
        case Refused(reason, detail):
            return ModelFailure(reason, detail)
        case Spent(limit):
            return BudgetSpent(limit)
        case Wrong(problem, remedy):
            return VenireError(problem, remedy=remedy)
        case Broken(told, where):
            return RuntimeError(f"{told}\n{where}")
        case _:
            return None
