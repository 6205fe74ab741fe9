"""AutoGen's progress ledger: its shape, what can be wrong with one, and the one that AutoGen is given."""

from __future__ import annotations

import copy
import json
from collections.abc import Collection
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from ...rubrics.shapes import Schema, inline

# Strict, so that the string "False" is not a yes. Keys that nobody asked for do no harm.
_FORM = ConfigDict(strict=True, frozen=True, json_schema_extra={"additionalProperties": False})


class YesOrNo(BaseModel):
    model_config = _FORM

    reason: str
    answer: bool


class InWords(BaseModel):
    model_config = _FORM

    reason: str
    answer: str


class ProgressLedger(BaseModel):
    """What the orchestrator makes of the conversation so far, and what it wants next."""

    model_config = _FORM

    is_request_satisfied: YesOrNo
    is_in_loop: YesOrNo
    is_progress_being_made: YesOrNo
    next_speaker: InWords
    instruction_or_question: InWords

    @property
    def satisfied(self) -> bool:
        return self.is_request_satisfied.answer

    @property
    def stalled(self) -> bool:
        return not self.is_progress_being_made.answer or self.is_in_loop.answer

    @property
    def speaker(self) -> str:
        return self.next_speaker.answer

    @property
    def summary(self) -> str:
        """What it comes to, in words."""
        if self.satisfied:
            return f"the request is satisfied. {self.is_request_satisfied.reason}".strip()
        stuck = " (in a loop)" if self.is_in_loop.answer else " (no progress)" if self.stalled else ""
        return f"{self.speaker} speaks next{stuck}: {self.instruction_or_question.answer}"

    def problem(self, speakers: Collection[str]) -> str:
        """Why nobody can follow this ledger; empty if someone can."""
        if self.satisfied or self.speaker in speakers:
            return ""
        return f"next_speaker: no juror is named {self.speaker!r}; choose one of {', '.join(speakers)}"


def ledger_words(text: str) -> str:
    """A ledger of the record in words; what is none, such as one that was redacted, as it is."""
    try:
        return ProgressLedger.model_validate_json(text).summary
    except ValidationError:
        return text


@lru_cache(maxsize=256)
def ledger_schema(speakers: tuple[str, ...]) -> Schema:
    """The JSON schema of a ledger that can only name one of `speakers`."""
    schema: dict[str, Any] = copy.deepcopy(dict(inline(ProgressLedger)))
    schema["properties"]["next_speaker"]["properties"]["answer"]["enum"] = list(speakers)
    return Schema(schema)


def move(*, satisfied: bool = False, replan: bool = False, speaker: str = "", instruction: str = "") -> str:
    """A ledger that makes AutoGen do one thing: give the final answer, plan anew, or let `speaker` speak.

    AutoGen's own counter of stalls is never zeroed, so it is given no stall except to make it plan anew.
    """
    answers: dict[str, bool | str] = {
        "is_request_satisfied": satisfied,
        "is_in_loop": False,
        "is_progress_being_made": not replan,
        "next_speaker": speaker,
        "instruction_or_question": instruction,
    }
    return json.dumps({key: {"reason": "", "answer": answer} for key, answer in answers.items()})
