"""A worker: hears the cases it is given, and holds nothing that would be lost with it."""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version

from ...agents.budget import BudgetSpent
from ...agents.prices import Price
from ...agents.prompting import prompts_hash
from ...agents.providers import Providers
from ...personas.jury import Jury
from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from ...rubrics.rubric import Rubric
from ..bench import Court
from ..deliberate import hear, ready
from ..record.redacted_errors import tell_without_words
from ..transcript import Transcript
from .channel import Post, unsolicited
from .messages import NOTE, Broken, Incoming, Noted, Outgoing, Spent, Wrong
from .remote import FarBudget, FarCalls, FarPlaces


@dataclass(frozen=True, slots=True)
class Terms:
    """What every worker of a run goes by."""

    rubric: Rubric
    juries: tuple[Jury, ...]
    scored: frozenset[str]
    seed: int
    prices: Mapping[str, Price]
    in_flight: int
    folder: str
    """What the paths in a jury are relative to."""
    listening: bool


def made_with() -> tuple[str, str]:
    """What must be the same wherever a run is heard: the version of venire, and a hash of its prompts."""
    return version("venire"), prompts_hash()


def refuse_other(host: str, venire: str, prompts: str) -> None:
    """An error if what is on a node would not ask what this venire asks."""
    here = made_with()
    if venire != here[0]:
        raise VenireError(
            f"on node {host}: venire is {venire}, here it is {here[0]}",
            remedy="install the same version on every node, in the Python that Ray was started with",
        )
    if prompts != here[1]:
        raise VenireError(
            f"on node {host}: venire has other prompts than here",
            remedy="install the same venire on every node",
        )


class Worker:
    """One process of the cluster. No exception leaves it: its message could hold words, and Ray keeps logs."""

    def __init__(self) -> None:
        self._post = Post()
        self._budget = FarBudget()

    async def introduced(self) -> tuple[str, str, str]:
        """Where it is, and what it was made with: in plain words, which any version can read."""
        return platform.node(), *made_with()

    async def begin(self, terms: Terms, number: int) -> Wrong | Broken | None:
        """Open every road that the juries need; the keys are those of this process's own environment."""
        with suppress(OSError):
            os.chdir(terms.folder)
        listener = (lambda case, entry: self._post.tell(Noted(case, entry))) if terms.listening else None
        self._terms = terms
        self._court = Court(
            calls=FarCalls(self._post),
            budget=self._budget,
            # Pauses must scatter between workers too.
            seed=terms.seed + number,
            scored=terms.scored,
            listener=listener,
            providers=Providers(
                terms.in_flight, prices=terms.prices, places=lambda key: FarPlaces(self._post, key)
            ),
        )
        try:
            for jury in terms.juries:
                ready(jury, self._court)
        except VenireError as error:
            return Wrong(error.problem, error.remedy)
        except Exception as error:
            return Broken.of(error, redacted=False)
        return None

    async def hear(self, case: Case, arm: int, redacted: bool) -> Transcript | Spent | Wrong | Broken:
        """What the jury with this number says of the case."""
        if redacted:
            asyncio.get_running_loop().set_exception_handler(tell_without_words)
        try:
            return await hear(case, self._terms.rubric, self._terms.juries[arm], self._court)
        except BudgetSpent as spent:
            return Spent(spent.limit)
        except VenireError as error:
            return Wrong(error.problem, error.remedy)
        except Exception as error:
            return Broken.of(error, redacted=redacted)

    async def collect(self) -> Outgoing:
        return await self._post.collect()

    async def deliver(self, answers: Incoming) -> None:
        for told in unsolicited(answers):
            if isinstance(told, Spent):
                self._budget.limit = told.limit
        for number, answer in answers:
            if number != NOTE:
                self._post.deliver(number, answer)
