"""A worker process: hears the cases it is given; record, slots and budget are proxies of the coordinator's."""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from types import TracebackType

from ...agents.budget import Budget, BudgetSpent, LimitReached
from ...agents.cost import Cost, Price
from ...agents.model import Reply, Request, Sampling
from ...agents.prompting import PROMPTS
from ...agents.providers import Preflight, ProviderKey, Providers
from ...personas.jury import Jury
from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from ...rubrics.rubric import Rubric
from ..bench import Court
from ..deliberate import FirstCaseGate, hear, models_asked, ready
from ..record.redaction import print_redacted
from ..transcript import Transcript
from ..worked_examples import ScoredCases
from .messages import (
    UNNUMBERED,
    AcquireSlot,
    Channel,
    Commit,
    Crash,
    EntryAdded,
    Forgo,
    FromWorker,
    Lookup,
    OutOfBudget,
    ProviderAnswered,
    ProviderBusy,
    ProviderFailed,
    ReleaseSlot,
    ToWorker,
    UserError,
    broadcasts,
)


class Worker:
    """One process of the cluster. It returns errors as messages: Ray logs exceptions, and those may quote a case."""

    def __init__(self) -> None:
        self._channel = Channel()
        self._budget = RemoteBudget()

    async def identity(self) -> tuple[str, str, str]:
        """Host, version and prompts hash, as plain strings that any version can unpickle."""
        return platform.node(), *build_identity()

    async def begin(self, config: WorkerConfig, number: int) -> UserError | Crash | None:
        """Connect every model that the juries need, with the API keys of this process's environment."""
        with suppress(OSError):
            os.chdir(config.folder)
        listener = (
            (lambda case, entry: self._channel.notify(EntryAdded(case, entry))) if config.listening else None
        )
        self._config = config
        self._court = Court(
            calls=RemoteCalls(self._channel),
            budget=self._budget,
            # Pauses must scatter between workers too.
            seed=config.seed + number,
            scored=config.scored,
            listener=listener,
            providers=Providers(
                config.in_flight, prices=config.prices, slots=lambda key: RemoteSlots(self._channel, key)
            ),
        )
        try:
            preflight = Preflight()
            if config.asks_models:
                await preflight.check(s for jury in config.juries for s in models_asked(jury))
            self._first_alone = [
                FirstCaseGate(sure=not config.asks_models or preflight.is_sure_of(models_asked(jury)))
                for jury in config.juries
            ]
            for jury in config.juries:
                ready(jury, self._court, config.rubric)
        except VenireError as error:
            return UserError(error.problem, error.remedy)
        except Exception as error:
            return Crash.of(error, redacted=False)
        return None

    async def hear(
        self, case: Case, arm: int, redacted: bool, trace_salt: bytes
    ) -> Transcript | OutOfBudget | UserError | Crash:
        """The transcript of the jury with this number on the case; its spans know the case by the run's own salt."""
        self._court.trace_salt = trace_salt
        if redacted:
            asyncio.get_running_loop().set_exception_handler(print_redacted)
        try:
            jury = self._config.juries[arm]
            return await self._first_alone[arm].run(
                lambda: hear(case, self._config.rubric, jury, self._court)
            )
        except BudgetSpent as spent:
            return OutOfBudget(spent.limit)
        except VenireError as error:
            return UserError(error.problem, error.remedy)
        except Exception as error:
            return Crash.of(error, redacted=redacted)

    async def collect(self) -> FromWorker:
        return await self._channel.collect()

    async def deliver(self, messages: ToWorker) -> None:
        for broadcast in broadcasts(messages):
            if isinstance(broadcast, OutOfBudget):
                self._budget.limit = broadcast.limit
        for number, response in messages:
            if number != UNNUMBERED:
                self._channel.deliver(number, response)


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """Settings shared by all workers of a run."""

    rubric: Rubric
    juries: tuple[Jury, ...]
    scored: ScoredCases
    seed: int
    prices: Mapping[str, Price]
    in_flight: int
    folder: str
    """What the paths in a jury are relative to."""
    listening: bool
    asks_models: bool = True
    """Whether a worker asks every model, before its first case, if it can be reached from its node."""


def build_identity() -> tuple[str, str]:
    """The version of venire and a hash of its prompts: the same on every node of a run."""
    return version("venire"), PROMPTS.hash


def refuse_other_build(host: str, venire: str, prompts: str) -> None:
    """An error if the venire on a node has another version or other prompts."""
    here = build_identity()
    if venire != here[0]:
        raise VenireError(
            f"on node {host}: the version of venire is {venire}, but here it is {here[0]}",
            remedy="install the same version on every node, in the Python that Ray was started with",
        )
    if prompts != here[1]:
        raise VenireError(
            f"on node {host}: the prompts of venire differ from those on this machine",
            remedy="install the same venire on every node",
        )


class RemoteCalls:
    """Proxy of the run's record of calls."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    async def get(self, key: str) -> Reply | None:
        """The recorded reply; None also means that this worker has claimed the call."""
        reply = self._channel.ask(Lookup(key))
        try:
            return await asyncio.shield(reply)
        except asyncio.CancelledError:
            reply.add_done_callback(lambda answer: self._forgo_if_unanswered(key, answer))
            raise

    async def put(self, key: str, request: Request, reply: Reply) -> None:
        # The form of the answer and the subject are in the key already, and in no row of the record.
        slim = replace(request, schema=None, subject=None, settings=Sampling(request.settings))
        await self._channel.ask(Commit(key, slim, reply))

    def forgo(self, key: str) -> None:
        self._channel.notify(Forgo(key))

    def _forgo_if_unanswered(self, key: str, answer: asyncio.Future[Reply | None]) -> None:
        if answer.exception() is None and answer.result() is None:
            self.forgo(key)


class RemoteSlots:
    """Proxy of one provider's slots, which all workers of the run share."""

    def __init__(self, channel: Channel, provider: ProviderKey) -> None:
        self._channel = channel
        self._provider = provider

    async def __aenter__(self) -> None:
        slot = self._channel.ask(AcquireSlot(self._provider))
        try:
            await asyncio.shield(slot)
        except asyncio.CancelledError:
            slot.add_done_callback(self._give_back)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release(unsent=kind is not None and issubclass(kind, BudgetSpent | LimitReached))

    def release(self, *, unsent: bool = False) -> None:
        self._channel.notify(ReleaseSlot(self._provider, unsent))

    def on_answer(self, tokens: int = 0) -> None:
        self._channel.notify(ProviderAnswered(self._provider, tokens))

    def on_busy(self, took: float, retry_after: float | None) -> None:
        self._channel.notify(ProviderBusy(self._provider, took, retry_after))

    def on_failure(self, why: str) -> None:
        self._channel.notify(ProviderFailed(self._provider, why))

    def admit_all(self) -> None:
        """Nothing to do: the queue of waiting calls is the coordinator's."""

    def _give_back(self, slot: asyncio.Future[None]) -> None:
        if slot.exception() is None:
            self.release(unsent=True)


@dataclass(slots=True)
class RemoteBudget(Budget):
    """Proxy of the run's budget: not spent until the coordinator says so."""

    limit: str | None = None

    def check(self) -> None:
        if self.limit is not None:
            raise BudgetSpent(self.limit)

    def add(self, cost: Cost) -> None:
        """Nothing to do: the coordinator counts the replies it commits."""
