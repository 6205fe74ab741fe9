"""Model calls: the request, the reply, and the ways it can fail."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from ..rubrics.ballot import AbstentionReason, Schema, Vote
from ..rubrics.case import Exhibit, Label
from ..rubrics.claim import Claim
from ..rubrics.rubric import Rubric
from .instructions import fold_tight

MAX_REPLY = 2_000_000
"""Bytes of one reply at the most, where nothing else is said: many times what any ballot has."""
_NAME = re.compile(r"[\w.:/@+-]{1,80}", re.ASCII)
"""The form of a model's name: no sentence, which could repeat a prompt."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message. What many messages open with is kept apart, so that it is stored and hashed once."""

    role: Literal["system", "user", "assistant"]
    body: str
    opening: str = ""

    @property
    def content(self) -> str:
        return self.opening + self.body

    @property
    def json_content(self) -> str:
        """The content as JSON."""
        return (
            json_text(self.opening)[:-1] + json_text(self.body)[1:] if self.opening else json_text(self.body)
        )


SubjectKind = Literal["ballot", "ledger", "decision", "extraction", "verification"]


@dataclass(frozen=True, slots=True)
class Context:
    """What a seat may know beside the case when it is asked, for those who read no prompt."""

    own: tuple[Vote, ...] = ()
    """Its own votes so far."""
    heard: tuple[tuple[str, Vote], ...] = ()
    """The others' votes, each under the label that the protocol gives."""
    notes: tuple[str, ...] = ()
    """What else it is told: a question of the orchestrator's, the side that it argues for."""
    first: Label | None = None
    """Which output of a pair is shown first."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a request is about, for providers that are not language models and read no prompt."""

    case: str
    seat: str
    rubric: Rubric
    exhibits: tuple[Exhibit, ...]
    asked: tuple[str, ...]
    """The attributes to answer for."""
    round: int
    kind: SubjectKind = "ballot"
    claims: tuple[Claim, ...] = ()
    """Of a verification: the claims to check against the exhibits."""
    context: Context = Context()


class Sampling(dict[str, Any]):
    """Temperature, top_p, max_tokens, seed and address, as far as they are set; their JSON is made once."""

    @cached_property
    def text(self) -> str:
        return json.dumps(self)


@dataclass(frozen=True)
class Request:
    """One question to one model. Its key is its content: the same question has the same key."""

    model: str
    messages: tuple[Message, ...]
    schema: Schema | None
    """The JSON schema of the answer; None for free text."""
    settings: Sampling
    repeat: int
    """Which of several answers to the same question this is."""
    timeout: float
    subject: Subject | None = None
    max_reply: int = MAX_REPLY
    """Bytes of the reply at the most; a longer one is given up."""

    @cached_property
    def key(self) -> str:
        """A hash of everything that can change the answer."""
        messages = ", ".join(
            f'["{m.role}", "{digest(m.opening) if m.opening else ""}", {json_text(m.body)}]'
            for m in self.messages
        )
        schema = "null" if self.schema is None else f'"{digest(self.schema.text)}"'
        parts = f"[{json_text(self.model)}, [{messages}], {schema}, {self.settings.text}, {self.repeat}"
        if self.subject is not None and self.model.startswith(("recorded/", "person/")):
            # A recorded juror, or a person, is asked by case and seat, not by words: two cases may have the same words.
            parts += f", {json.dumps([self.subject.case, self.subject.seat])}"
        return _sha256(f"{parts}]")


class CachedText(str):
    """A text that stands in many prompts, with its hash, its JSON and its folded form computed once."""

    def __reduce__(self) -> tuple[type[CachedText], tuple[str]]:
        return CachedText, (str(self),)

    @cached_property
    def digest(self) -> str:
        return _sha256(self)

    @cached_property
    def json_text(self) -> str:
        return json.dumps(self)

    @cached_property
    def tight(self) -> str:
        return fold_tight(self)


def digest(text: str) -> str:
    """The SHA-256 of a text, as hex."""
    return text.digest if isinstance(text, CachedText) else _digest(text)


def json_text(text: str) -> str:
    """The text as JSON."""
    return text.json_text if isinstance(text, CachedText) else _json_text(text)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# What a seat is told comes again with every case; no more is kept than the seats of a few juries need.
_digest = lru_cache(maxsize=256)(_sha256)
_json_text = lru_cache(maxsize=256)(json.dumps)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, as the provider counted them."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    """The part of `prompt` that the provider had in its cache."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt + other.prompt, self.completion + other.completion, self.cached + other.cached
        )

    @property
    def total(self) -> int:
        return self.prompt + self.completion


class FailedTry(BaseModel):
    """A request that brought no reply and was sent again, or given up."""

    model_config = ConfigDict(frozen=True)

    at: float
    """When it was sent, in seconds since the epoch."""
    seconds: float
    """Until it failed, a wait for a slot included."""
    reason: AbstentionReason
    detail: str
    """What went wrong in a few words, none of them the provider's."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered, and what it cost."""

    text: str
    usage: Usage = field(default_factory=Usage)
    usd: float | None = None
    """None where the price is not known."""
    seconds: float = 0.0
    finish: Literal["stop", "length", "refusal"] = "stop"
    estimated: Estimated = ""
    """Why `usage` is our own estimate; empty where it is the provider's."""
    version: str = ""
    """The model as the provider states it; empty where it states none, or none but what was asked for."""
    failures: tuple[FailedTry, ...] = ()
    """The tries before it that brought no reply."""


Answer = Callable[[tuple[Message, ...], Schema | None], Awaitable[Reply]]
"""What stands behind a framework's model: from a conversation, and the schema of the reply if it must have one."""


Estimated = Literal["", "missing", "implausible"]
"""What was wrong with a provider's token counts."""


class ModelFailure(Exception):
    """The model gave no usable answer. `reason` is what an abstention will say."""

    received: Reply | None = None
    """What came in the answer's place and has to be paid for like one; None where nothing came, or an error."""
    failures: tuple[FailedTry, ...] = ()
    """The tries that brought no reply, this one the last; empty where it was not sent again."""

    def __init__(self, reason: AbstentionReason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason: AbstentionReason = reason
        self.detail = detail

    @property
    def summary(self) -> str:
        """What went wrong in a few words, none of them the provider's: it may repeat a prompt."""
        return self.detail.partition(":")[0][:60]


class AccessRefused(ModelFailure):
    """The provider refuses the key, or has no such model: no other request to it would fare better."""

    def __init__(self, detail: str, remedy: str = "") -> None:
        super().__init__("unavailable", detail)
        self.remedy = remedy
        """What the user can do about it, where more is known than that key, name or address are wrong."""


class FormatRefused(ModelFailure):
    """The server does not know the form of answer that was asked for; sent again, the request will ask for less."""

    def __init__(self, detail: str) -> None:
        super().__init__("unavailable", detail)


class TransientFailure(ModelFailure):
    """The provider is busy or broken for now: the same request may succeed later."""

    def __init__(
        self,
        detail: str,
        *,
        reason: AbstentionReason = "unavailable",
        retry_after: float | None = None,
        busy: bool = False,
    ) -> None:
        super().__init__(reason, detail)
        self.retry_after = retry_after
        self.busy = busy
        """Rate-limited, not down."""


def stated_version(model: object, fingerprint: object = None) -> str:
    """A provider's own name of the model that answered, with the fingerprint of its set-up; what has not the form of a name is left out."""
    return " ".join(name for name in (model, fingerprint) if isinstance(name, str) and _NAME.fullmatch(name))


def reply_too_long(request: Request, received: Reply | None = None) -> ModelFailure:
    """The failure of a reply that went on for longer than the request allows; it is paid for as far as it came."""
    failure = ModelFailure("unparsable", f"the reply has more than {request.max_reply} bytes")
    failure.received = received or Reply(text=" " * request.max_reply)
    return failure
