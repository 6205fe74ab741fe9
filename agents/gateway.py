"""The one gateway to models: fill a shape from a prompt, once, on the record, within the limits."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Generic, Protocol, TypeVar

from pydantic import BaseModel

from ..personas.jury import Jury, ModelSettings
from ..rubrics.ballot import Schema, inline, unchecked_shape
from ..rubrics.errors import ModelUnreachable
from .answers import UnusableAnswer, read_answer
from .budget import LimitReached, Meter
from .clients.keys import address_without_secrets
from .cost import Receipt
from .model import (
    AccessRefused,
    FailedTry,
    FormatRefused,
    Message,
    ModelFailure,
    Reply,
    Request,
    Sampling,
    Subject,
    TransientFailure,
    digest,
)
from .pacing import RetrySchedule
from .prompting import repair_request
from .providers import RateLimitedClient
from .tokens import window

Shape = TypeVar("Shape", bound=BaseModel)


class Calls(Protocol):
    """The record of calls already paid for."""

    async def get(self, key: str) -> Reply | None: ...

    async def put(self, key: str, request: Request, reply: Reply) -> None:
        """Commit the reply. Once this returns, the reply survives the process."""
        ...

    def forgo(self, key: str) -> None:
        """The call that `get` did not have was not answered: nothing will be put."""
        ...


class Unrecorded:
    """No record: every call is made anew."""

    async def get(self, key: str) -> Reply | None:
        return None

    async def put(self, key: str, request: Request, reply: Reply) -> None:
        return None

    def forgo(self, key: str) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question in words, laid out with what never changes first."""

    system: str
    opening: str
    """The rubric and the case: the same for every seat and round."""
    body: str
    subject: Subject | None = None
    nonce: str = ""
    """The code in the markers around what a case or a model wrote."""

    @property
    def messages(self) -> tuple[Message, ...]:
        return Message("system", "", self.system), Message("user", self.body, self.opening)


@dataclass(frozen=True, slots=True)
class Filled(Generic[Shape]):
    value: Shape
    spent: Receipt


class FillFailed(Exception):
    """No usable answer after one repair; says why, and what was spent on trying."""

    def __init__(
        self, failure: ModelFailure, spent: Receipt, fields: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.spent = spent
        self.fields = fields or {}
        """What the answers held by field, legal or not, the repaired one's before the first's; empty after a refusal."""


class ModelGateway:
    """One seat's access to its model during one deliberation: record, budget, retries and repair are applied here."""

    def __init__(
        self,
        client: RateLimitedClient,
        settings: ModelSettings,
        *,
        calls: Calls,
        meter: Meter,
        rng: random.Random,
        first_repeat: int = 0,
        alternates: Sequence[ModelGateway] = (),
    ) -> None:
        self._alternates = tuple(alternates)
        """Asked in turn where this one's model gives no usable answer."""
        self._client = client
        self._settings = settings
        self._sampling = sampling(settings)
        self.window = window(settings, client.client.context_window)
        self.answers_for = client.client.answers_for
        """Those of the attributes asked about that the model has an opinion on."""
        self.reads_prompts = not client.client.votes_only
        """False for what answers by the case alone: in which order a prompt shows it something is no matter."""
        self._calls = calls
        self._meter = meter
        self._rng = rng
        self._first_repeat = first_repeat
        """Where its repeats start: two seats that are alike in everything are still two jurors."""
        self._said = Counter[str]()
        """How often each question of `say` was put, by its key."""
        self._wasted: dict[str, list[tuple[str, Reply]]] = {}
        """By the key of a question, what came in the place of an answer, each under a key of its own in the record."""

    async def fill(
        self,
        prompt: Prompt,
        shape: type[Shape],
        *,
        check: Callable[[Shape], str | None] | None = None,
        repeat: int = 0,
    ) -> Filled[Shape]:
        """`shape`, filled in by the model.

        `check` may refuse a well-formed answer by saying what is wrong with it. An answer that is
        wrong either way is sent back once with the error; after that the alternates are asked. Raises `FillFailed`
        with the first failure where none of them answers, and `LimitReached` when no call may be made.
        """
        first: FillFailed | None = None
        spent = Receipt()
        for gateway in (self, *self._alternates):
            try:
                filled = await gateway._fill(prompt, shape, check, repeat)
            except FillFailed as failed:
                first = first or failed
                spent = spent.then(failed.spent)
            except LimitReached:
                if first is None:
                    raise
                break
            else:
                if gateway is self:
                    return filled
                by = gateway._settings.model or "local"
                return Filled(filled.value, spent.then(filled.spent.model_copy(update={"by": by})))
        assert first is not None
        raise FillFailed(first.failure, spent, first.fields) from None

    async def _fill(
        self, prompt: Prompt, shape: type[Shape], check: Callable[[Shape], str | None] | None, repeat: int
    ) -> Filled[Shape]:
        """The shape, filled in by this gateway's own model."""
        schema = inline(shape)
        question, spent = prompt.messages, Receipt()
        messages = question
        fields: dict[str, Any] = {}
        for last_try in (False, True):
            request = self._request(messages, schema, repeat, prompt.subject)
            try:
                reply = await self.complete(request)
            except ModelFailure as failure:
                spent = self._with_wasted(spent, request).with_failures(failure.failures)
                raise FillFailed(failure, spent) from None
            spent = self._with_wasted(spent, request).plus(request.key, reply)
            try:
                return Filled(self._read(reply, shape, question, check), spent)
            except UnusableAnswer as misread:
                if misread.failure.reason == "refused":
                    raise FillFailed(misread.failure, spent) from None
                fields |= self._fields(reply, shape, question)
                if last_try:
                    raise FillFailed(misread.failure, spent, fields) from None
                messages = (*question, *repair_request(reply.text, misread.failure.detail, prompt.nonce))
        raise AssertionError("unreachable")

    async def say(self, messages: tuple[Message, ...], schema: Schema | None = None) -> tuple[Reply, str]:
        """The model's own words to a conversation, and the key under which they are recorded.

        The same conversation a second time in one deliberation is a new sample.
        """
        question = self._request(messages, schema, 0, None)
        again = self._said[question.key]
        self._said[question.key] += 1
        request = self._request(messages, schema, again, None) if again else question
        return await self.complete(request), request.key

    async def complete(self, request: Request) -> Reply:
        """Record look-up: the recorded reply, or a new one that is committed before it is returned.

        The same question asked twice at the same time is sent once: the second waits for the first.
        """
        in_progress = self._client.in_progress
        while (waiting := in_progress.get(request.key)) is not None:
            if (reply := await asyncio.shield(waiting)) is not None:
                self._meter.add(reply, replayed=True)
                return reply
        mine = in_progress[request.key] = asyncio.get_running_loop().create_future()
        committed: Reply | None = None
        try:
            committed = await self._calls.get(request.key)
            if committed is not None:
                self._meter.add(committed, replayed=True)
                return committed
            try:
                reply = await self._send_with_retries(request)
                await self._calls.put(request.key, request, reply)
            except BaseException:
                self._calls.forgo(request.key)
                raise
            committed = reply
            return reply
        finally:
            # Without a committed reply, whoever waits for it makes the call anew.
            del in_progress[request.key]
            mine.set_result(committed)

    def _request(
        self,
        messages: tuple[Message, ...],
        schema: Schema | None,
        repeat: int,
        subject: Subject | None,
    ) -> Request:
        return Request(
            model=self._settings.model or "local",
            messages=messages,
            schema=schema,
            settings=self._sampling,
            repeat=self._first_repeat + repeat,
            timeout=self._settings.timeout,
            subject=subject,
            max_reply=self._settings.max_reply,
        )

    async def _send_within_limits(self, request: Request) -> Reply:
        """Budget: the most that one attempt may cost is reserved before it is sent, and released to what it did cost."""
        # Nobody waits for a slot for what may not be sent.
        self._meter.admit()
        reserved = await self._meter.reserve(request, self._client.price(request.model))
        reply: Reply | None = None
        try:
            reply = await self._client.complete(request, self._meter)
            self._meter.add(reply, replayed=False)
            return reply
        except ModelFailure as failure:
            if (received := failure.received) is not None:
                self._meter.add(received, replayed=False)
                await self._keep_wasted(request, received)
            raise
        finally:
            if reserved is not None:
                self._meter.release(request, reserved, reply)

    async def _keep_wasted(self, request: Request, received: Reply) -> None:
        """Commit what came in the place of an answer: it was paid for."""
        key = digest(f"{request.key} {time.time_ns()}")
        self._wasted.setdefault(request.key, []).append((key, received))
        await self._calls.put(key, request, received)

    def _with_wasted(self, spent: Receipt, request: Request) -> Receipt:
        for key, received in self._wasted.pop(request.key, ()):
            spent = spent.plus(key, received)
        return spent

    def _unreachable(self, refused: AccessRefused) -> ModelUnreachable:
        settings = self._settings
        where = f" at {address_without_secrets(settings.base_url)}" if settings.base_url else ""
        key = f" with the key in {settings.api_key_env}" if settings.api_key_env else ""
        return ModelUnreachable(
            f"{settings.model!r} cannot be used{where}{key}: {refused.summary}",
            remedy=f"{refused.remedy or 'correct its key, name or address'}, and run again: answers that were paid for are kept",
        )

    async def _send_with_retries(self, request: Request) -> Reply:
        """Retry: send until answered, with pauses that grow and scatter, a bounded number of times."""
        schedule = RetrySchedule(self._rng)
        failures: list[FailedTry] = []
        while True:
            sent_at = time.time()
            try:
                reply = await self._send_within_limits(request)
                return _with_tries(reply, request.model, failures) if reply.version or failures else reply
            except FormatRefused as failure:
                failures += _failed_tries(failure, sent_at)
                continue
            except AccessRefused as refused:
                ends_run = self._meter.budget.ends_at_refusal and not self._alternates
                if ends_run and not self._client.has_answered(request.model):
                    raise self._unreachable(refused) from None
                raise
            except TransientFailure as failure:
                failures += _failed_tries(failure, sent_at)
                pause = schedule.pause(failure)
                if pause is None:
                    failure.failures = tuple(failures)
                    raise
                await self._sleep(pause)

    async def _sleep(self, seconds: float) -> None:
        """Wait, but not on after the moment from which nothing may be sent."""
        while seconds > 0:
            await asyncio.sleep(min(seconds, 1.0))
            seconds -= 1.0
            self._meter.admit()

    @staticmethod
    def _read(
        reply: Reply,
        shape: type[Shape],
        asked: tuple[Message, ...],
        check: Callable[[Shape], str | None] | None,
    ) -> Shape:
        if reply.finish == "refusal":
            raise UnusableAnswer(
                ModelFailure("refused", reply.text.strip()[:300] or "the provider filtered the answer")
            )
        try:
            value = read_answer(reply.text, shape, asked)
        except UnusableAnswer as misread:
            if reply.finish == "length" and misread.failure.reason != "refused":
                cut = f"the answer stopped at its token limit; {misread.failure.detail}"
                raise UnusableAnswer(ModelFailure("unparsable", cut)) from None
            raise
        if check is not None and (problem := check(value)):
            raise UnusableAnswer(ModelFailure("unparsable", problem))
        return value

    @classmethod
    def _fields(cls, reply: Reply, shape: type[BaseModel], asked: tuple[Message, ...]) -> dict[str, Any]:
        """What an illegal answer holds by field; nothing where no object with these fields can be made out."""
        try:
            read = cls._read(reply, unchecked_shape(shape), asked, None)
        except UnusableAnswer:
            return {}
        return {name: getattr(read, name) for name in read.model_fields_set}


def _with_tries(reply: Reply, model: str, failures: Sequence[FailedTry]) -> Reply:
    """The reply with the tries before it, and of the stated version what the model's own name does not say."""
    version = " ".join(name for name in reply.version.split() if not model.endswith(name))
    return replace(reply, version=version, failures=tuple(failures))


def _failed_tries(failure: ModelFailure, sent_at: float) -> list[FailedTry]:
    """The try that failed; none where something came in the answer's place, which is in the record as a call."""
    if failure.received is not None:
        return []
    seconds = max(0.0, time.time() - sent_at)
    return [FailedTry(at=sent_at, seconds=seconds, reason=failure.reason, detail=failure.summary)]


@lru_cache(maxsize=256)
def sampling(settings: ModelSettings) -> Sampling:
    """The settings that can change an answer, as far as they are set."""
    found = {
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "max_tokens": settings.max_tokens,
        "seed": settings.seed,
        "base_url": settings.base_url,
        "adapter": _adapter_hash(settings),
    }
    given = {name: value for name, value in found.items() if value is not None}
    return Sampling({**settings.params, **given})


def _adapter_hash(settings: ModelSettings) -> str | None:
    if settings.adapter is None and (settings.model or "local") != "local":
        return None
    # Imported late: only a local model has an adapter.
    from .clients.adapters import adapter_of

    adapter = adapter_of(settings)
    return adapter.sha256 if adapter else None


def adapter_hashes(jury: Jury, *, presided: bool) -> dict[str, str]:
    """The hash of every adapter that the jury's models answer with, by seat; where it is presided over, the orchestrator's too."""
    asked: dict[str, ModelSettings] = {seat.name: seat for seat in jury.seats}
    if presided:
        asked["orchestrator"] = jury.orchestrator
    return {
        name: str(held["adapter"])
        for name, settings in asked.items()
        if "adapter" in (held := sampling(settings))
    }
