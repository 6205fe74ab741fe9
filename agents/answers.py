"""Reading a model's answer: the one JSON object in it that fits the shape, or what is wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from .model import ModelFailure

Shape = TypeVar("Shape", bound=BaseModel)

_THINKING = re.compile(r"<think>.*?</think>", re.DOTALL)
_REFUSAL = re.compile(
    r"^\W*(?:i(?:'|’)?m (?:very |so )?sorry|sorry,|i am sorry|i (?:can(?:'|’)?t|cannot|can not|won(?:'|’)?t|"
    r"will not|am unable|am not able|must decline|refuse)|(?:as an ai\b.*?)?i(?:'|’)?m (?:unable|not able))",
    re.IGNORECASE,
)
_SCORE_ERRORS = {"literal_error", "greater_than_equal", "less_than_equal", "value_error"}
_CANDIDATES = 200
"""How many opening braces are tried in an answer that is not JSON as it stands."""


class UnusableAnswer(Exception):
    """An answer that cannot be used."""

    def __init__(self, failure: ModelFailure) -> None:
        super().__init__(str(failure))
        self.failure = failure


def read_answer(text: str, shape: type[Shape]) -> Shape:
    """The answer in `text`, which may stand between other words or in a code fence.

    Two different objects that both fit are as bad as none: nobody can say which was meant.
    """
    try:
        return shape.model_validate_json(text)
    except ValidationError as error:
        first_error = error
    fits: list[Shape] = []
    errors: list[ValidationError] = []
    for candidate in _objects(_THINKING.sub("", text)):
        try:
            filled = shape.model_validate_json(json.dumps(candidate))
        except ValidationError as error:
            errors.append(error)
        else:
            if filled not in fits:
                fits.append(filled)
    if len(fits) == 1:
        return fits[0]
    if len(fits) > 1:
        raise UnusableAnswer(ModelFailure("unparsable", "more than one JSON object fits; give exactly one"))
    raise UnusableAnswer(_describe(errors[-1] if errors else first_error, text))


def refuses(text: str) -> bool:
    """Whether the answer is a refusal in words. Anything with a JSON object in it is not."""
    return "{" not in text and bool(_REFUSAL.match(_THINKING.sub("", text).strip()))


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Every outermost JSON object in the text."""
    decoder = json.JSONDecoder()
    at = text.find("{")
    for _ in range(_CANDIDATES):
        if at == -1:
            return
        try:
            found, end = decoder.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError):
            end = at + 1
        else:
            if isinstance(found, dict):
                yield found
        at = text.find("{", end)


def _describe(error: ValidationError, text: str) -> ModelFailure:
    details = error.errors()
    if details[0]["type"] == "json_invalid":
        start = " ".join(text.split())[:200]
        return ModelFailure("unparsable", f"no JSON object of the required form; the answer began: {start!r}")
    said = "; ".join(f"{'.'.join(map(str, d['loc']))}: {d['msg']}{_input_note(d)}" for d in details[:6])
    if all("score" in d["loc"] and d["type"] in _SCORE_ERRORS for d in details):
        return ModelFailure("out_of_scale", said)
    return ModelFailure("unparsable", said)


def _input_note(detail: Any) -> str:
    value = detail.get("input")
    return (
        f" (given {value!r})"
        if isinstance(value, int | float | bool) or (isinstance(value, str) and len(value) < 60)
        else ""
    )
