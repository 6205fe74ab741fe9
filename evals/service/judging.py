"""Cases that programs send, judged one after the other: the request, the queue before the jury, answers kept in memory."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError, to_json

from ...orchestration.deliberate import models_line
from ...orchestration.reading.export import verdicts
from ...orchestration.record import Location, Store
from ...orchestration.record.manifest import case_fingerprint
from ...personas.jury import Jury
from ...rubrics.case import Case
from ...rubrics.conversation import SpokenMessage
from ...rubrics.rubric import Rubric
from ..plugins.judgement import Judgement
from ..plugins.sitting import Sitting, convene

MOST_BYTES = 32 * 2**20
PATIENCE = 60.0
"""Seconds to finish accepted requests after a signal."""
Text = Annotated[str, Field(min_length=1, pattern=r"[^\s\x1c-\x1f]")]
"""Words, of which at least one character can be seen."""
Body = TypeVar("Body", bound=BaseModel)


class RequestError(Exception):
    """A request that is answered with an error: HTTP status, problem, remedy and headers."""

    def __init__(self, status: int, problem: str, remedy: str, **headers: str) -> None:
        super().__init__(problem)
        self.status, self.problem, self.remedy, self.headers = status, problem, remedy, headers


class _CaseFields(BaseModel):
    """What a request for a case has besides what is judged."""

    model_config = ConfigDict(extra="forbid", strict=True, title="Case")

    id: Annotated[Text, Field(max_length=512)] | None = Field(
        None,
        description="The id under which the case is stored (default: a hash of its texts).",
    )
    source: Annotated[str, Field()] | list[str] | None = Field(
        None, description="What the output was made from: a text, or a list of texts."
    )
    reference: str | None = None
    question: str | None = None
    audience: str | None = None
    group: str | None = None
    metadata: dict[str, Any] = Field(
        default_factory=dict, description="Data that are stored with the case and never shown to a juror."
    )
    messages: tuple[SpokenMessage, ...] = Field(
        default_factory=tuple,
        min_length=1,
        description="A conversation or a trajectory in OpenAI's chat format, tool calls included. Without `output`, the conversation itself is judged. With `output`, the conversation is what came before the output.",
    )

    def case(self) -> Case:
        """The case; without an id, the same words get the same one."""
        parts = {name: part for name, part in self if part and name != "id"}
        unhashed = {"id", "metadata"} if self.messages else {"id", "metadata", "messages"}
        fields = self.model_dump(exclude=unhashed).items()
        # Records know their cases by this: the order is a part of it.
        words = to_json(dict(sorted(fields, key=lambda field: not field[0].startswith("output"))))
        return Case.from_row({"id": self.id or f"case-{hashlib.sha256(words).hexdigest()[:16]}", **parts})


class CaseRequest(_CaseFields):
    """A case to be judged. It needs `output`, or `messages` to judge; jurors see `reference` only if the rubric asks for it."""

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": ["output"]}, {"required": ["messages"]}]}
    )

    output: Text = Field(
        default_factory=str, description="The text to judge; without `output`, the messages are judged."
    )
    system: str | None = Field(
        None, description="The system that produced the output. Jurors never see its name."
    )

    @model_validator(mode="after")
    def _has_something_to_judge(self) -> Self:
        if not self.output and not self.messages:
            raise PydanticCustomError("missing", "output: Field required, or messages")
        return self


class PairRequest(_CaseFields):
    """Two outputs to be compared. Only they are required; jurors see `reference` only if the rubric asks for it."""

    output_a: Text = Field(description="The first of the two texts to compare.")
    output_b: Text = Field(description="The second of the two texts to compare.")
    system_a: str | None = Field(
        None, description="The system that produced output_a. Jurors never see its name."
    )
    system_b: str | None = Field(
        None, description="The system that produced output_b. Jurors never see its name."
    )


def case_request(rubric: Rubric) -> type[CaseRequest] | type[PairRequest]:
    """What a request for this rubric must hold: one output, or two to compare."""
    return PairRequest if rubric.compares else CaseRequest


def read_case(body: bytes, rubric: Rubric) -> Case:
    """The case in a request's body.

    Raises:
        RequestError: 400 if the body is not JSON, 422 if it is not a valid case.
    """
    keys = "the keys output_a and output_b" if rubric.compares else "the key output or messages"
    model = case_request(rubric)
    return read_body(
        model,
        body,
        f"a JSON object with {keys}",
        f"a case with {keys}, as /openapi.json or the tool's schema says",
    ).case()


def read_body(model: type[Body], body: bytes, json_object: str, valid: str) -> Body:
    """A request's body as a model.

    Args:
        json_object: What to send, where the body is not JSON.
        valid: What to send, where it is not valid.

    Raises:
        RequestError: 400 if the body is not JSON, 422 if it does not fit.
    """
    try:
        # A model's own strictness does not reach the models within it; the description says what every one of them takes.
        return model.model_validate_json(body, strict=model.model_config.get("strict"))
    except ValidationError as error:
        detail = error.errors()[0]
        if detail["type"] == "json_invalid":
            raise RequestError(400, "the body is not JSON", f"send {json_object}") from None
        place = ".".join(map(str, detail["loc"])) or "the body"
        raise RequestError(422, f"{place}: {detail['msg']}", f"send {valid}") from None


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """Settings of the service."""

    host: str
    port: int
    allow_host: tuple[str, ...]
    """Names that a request's `Host` may have, beside `host`."""
    tls_cert: Path | None
    """Certificate chain in PEM; with `tls_key`, the service speaks HTTPS."""
    tls_key: Path | None
    token_env: str
    """Environment variable with the token; if it is not set, one is generated and printed once."""
    max_body: int
    """Bytes."""
    in_flight: int
    """Calls to each provider at a time."""
    at_once: int
    """Deliberations at a time."""
    most_waiting: int
    """Requests that may wait for their turn."""
    max_connections: int
    """Open connections at a time; beyond that, those that wait for their client give way."""
    max_usd: float | None
    """Budget of this process."""
    max_tokens: int | None
    prices: Path | None
    redact: bool
    """Keep the words of cases and jurors out of the record."""


@contextmanager
def open_queue(
    rubric: Rubric, jury: Jury, record: Location, config: ServiceConfig, say: Callable[[str], None]
) -> Iterator[JudgeQueue]:
    """The jury in session on its record, and the queue before it; both are closed at the end. Its models are said first."""
    sitting = convene(
        rubric,
        jury,
        record=record,
        prices=config.prices,
        max_usd=config.max_usd,
        max_tokens=config.max_tokens,
        in_flight=config.in_flight,
        redact=config.redact,
        must_reach=True,
    )
    say(models_line([jury]))
    try:
        reading = Store.read(record)
        try:
            yield JudgeQueue(sitting, reading, at_once=config.at_once, most_waiting=config.most_waiting)
        finally:
            reading.release()
    finally:
        sitting.close()


class JudgeQueue:
    """Judges cases, `at_once` at a time while at most `most_waiting` wait; the same case again costs a look-up."""

    def __init__(self, sitting: Sitting, record: Store, *, at_once: int, most_waiting: int) -> None:
        self.sitting = sitting
        self._record = record
        self._answers = AnswerCache()
        self._most = at_once + most_waiting
        self._places = asyncio.Semaphore(at_once)
        self._accepted = self._hearing = 0

    async def judge(self, case: Case) -> bytes:
        """The deliberation as JSON: the answer in memory, or the jury's.

        Raises:
            RequestError: 503, at once, where too many wait already.
        """
        key = (case.id, case_fingerprint(case))
        body = self._answers.get(key)
        if body is None:
            body = await self._hear(case)
            self._answers.put(key, body)
        return body

    async def _hear(self, case: Case) -> bytes:
        if self._accepted >= self._most:
            raise RequestError(503, "too many requests are waiting", "try again", **{"Retry-After": "5"})
        self._accepted += 1
        try:
            async with self._places:
                self._hearing += 1
                try:
                    judgement = await self.sitting.hear(case)
                finally:
                    self._hearing -= 1
        finally:
            self._accepted -= 1
        return json.dumps(judgement.document).encode()

    def kept_judgement(self, case: str) -> Judgement:
        """The judgement of a case in the record; asks no model.

        Raises:
            RequestError: 404 where it has none.
        """
        for _, verdict in verdicts(self._record, arm=self.sitting.jury.name, case=case):
            return Judgement(verdict, self.sitting.rubric, fresh=False)
        raise RequestError(
            404,
            "no case with this id has a verdict",
            "have the case judged first; finished calls are not paid for again",
        )

    def case_ids(self) -> list[str]:
        """The cases heard, in the order of their verdicts."""
        return self._record.case_ids()

    def state(self) -> dict[str, str | int]:
        """What is being judged now, and by whom."""
        return {
            "rubric": self.sitting.rubric.name,
            "jury": self.sitting.jury.name,
            "hearing": self._hearing,
            "waiting": self._accepted - self._hearing,
            "heard": len(self.case_ids()),
        }

    def log_bug(self, log: logging.Logger, error: Exception) -> None:
        """Log an unexpected error; of a redacted record, its type alone."""
        # The message of an error may hold a patient's words, and so may its traceback.
        log.error("not answered: %s", type(error).__name__, exc_info=None if self._record.redacted else error)


class AnswerCache:
    """Response bodies by case, at most `most` bytes; the least recently used are dropped."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._size = 0
        self._bodies: OrderedDict[tuple[str, str], bytes] = OrderedDict()

    def get(self, case: tuple[str, str]) -> bytes | None:
        """The answer to the case with this id and fingerprint, if it is kept."""
        if case in self._bodies:
            self._bodies.move_to_end(case)
        return self._bodies.get(case)

    def put(self, case: tuple[str, str], body: bytes) -> None:
        """Keep an answer, in place of the least recently used."""
        self._size += len(body) - len(self._bodies.pop(case, b""))
        self._bodies[case] = body
        while self._size > self._most:
            self._size -= len(self._bodies.popitem(last=False)[1])
