"""A number within a range."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from ....rubrics.rows import without_thousands
from ..scorer import (
    NO_TARGET,
    AnswerForm,
    CaseScore,
    GradedAnswer,
    Scorer,
    ScorerOptions,
    final_text,
    unparsed_score,
)

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d{1,3})?", re.IGNORECASE)
_STATED = re.compile(r"\banswer\b(?:\s+is)?\s*[:=]?\s*", re.IGNORECASE)


class RangeOptions(ScorerOptions):
    """How far from a target that is one number an answer may be."""

    tolerance: float = Field(default=0.0, ge=0)
    """In the target's unit."""
    relative: float = Field(default=0.0, ge=0)
    """As a share of the target: 0.05 for 5%."""


def target_range(target: Any, options: RangeOptions) -> tuple[float, float] | None:
    """The lowest and the highest right number: from `[low, high]`, `{low, high}` or one number with its tolerance."""
    if isinstance(target, Mapping):
        target = [target.get("low"), target.get("high")]
    ends = list(target) if isinstance(target, list | tuple) else [target]
    numbers = [_number(end) for end in ends]
    if len(numbers) not in (1, 2) or None in numbers:
        return None
    low, high = float(numbers[0] or 0), float(numbers[-1] or 0)
    if len(numbers) == 1:
        slack = max(options.tolerance, options.relative * abs(low), 1e-9 * abs(low))
        return low - slack, high + slack
    return (low, high) if low <= high else None


def read_number(output: str) -> float | None:
    """The number that a text gives: the only one in it, or the one after 'answer'; None where neither is clear."""
    text = final_text(output)
    numbers = {_number(match[0]) for match in _NUMBER.finditer(text)}
    if len(numbers) == 1:
        return numbers.pop()
    clear = {_number(match[0]) for at in _STATED.finditer(text) if (match := _NUMBER.match(text, at.end()))}
    return clear.pop() if len(clear) == 1 else None


def _number(raw: Any) -> float | None:
    if raw is None or isinstance(raw, bool):
        return None
    try:
        number = float(without_thousands(str(raw)))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _score(answers: Sequence[GradedAnswer], form: AnswerForm, options: RangeOptions) -> list[CaseScore]:
    return [_case_score(answer, options) for answer in answers]


def _case_score(answer: GradedAnswer, options: RangeOptions) -> CaseScore:
    bounds = target_range(answer.target, options)
    if bounds is None:
        return NO_TARGET
    number = read_number(answer.output)
    if number is None:
        return unparsed_score("the answer has no number, or several numbers")
    return CaseScore("scored", float(bounds[0] <= number <= bounds[1]), answer=f"{number:g}")


RANGE = Scorer(
    "range",
    "1 if the answer is a number within the target's range or tolerance",
    _score,
    RangeOptions,
    "tolerance",
)
