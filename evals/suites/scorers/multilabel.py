"""Several labels at once: micro-F1."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from pydantic import field_validator

from ..scorer import (
    NO_TARGET,
    AnswerForm,
    CaseScore,
    GradedAnswer,
    Scorer,
    ScorerOptions,
    final_text,
    folded_text,
)

NONE = frozenset({"none", "no labels", "n/a", "[]", "no codes"})
"""Answers that say that no label applies."""


class LabelOptions(ScorerOptions):
    """Where labels stand in an answer."""

    pattern: str | None = None
    """A regular expression whose matches are the labels; without it they are parted by commas, semicolons or lines."""

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        try:
            re.compile(pattern or "")
        except re.error as error:
            raise ValueError(f"not a regular expression: {error}") from None
        return pattern


def read_labels(given: Any, options: LabelOptions) -> frozenset[str] | None:
    """The labels in an answer or a target; the empty set where it says that there are none, None where it says nothing."""
    if isinstance(given, list | tuple):
        return frozenset(label for text_label in given if (label := folded_text(str(text_label))))
    text = final_text(str(given))
    if options.pattern is not None:
        labels = frozenset(folded_text(match[0]) for match in re.finditer(options.pattern, text))
        return labels or (frozenset() if folded_text(text) in NONE else None)
    if text.startswith("[") and text.endswith("]"):
        try:
            return read_labels(json.loads(text), options)
        except ValueError:
            text = text[1:-1]
    if folded_text(text) in NONE:
        return frozenset()
    return (
        frozenset(label for part in re.split(r"[,;\n]", text) if (label := folded_text(part.lstrip("-# "))))
        or None
    )


def _score(answers: Sequence[GradedAnswer], form: AnswerForm, options: LabelOptions) -> list[CaseScore]:
    return [_case_score(answer, options) for answer in answers]


def _case_score(answer: GradedAnswer, options: LabelOptions) -> CaseScore:
    correct = None if answer.target is None else read_labels(answer.target, options)
    if correct is None:
        return NO_TARGET
    labels = read_labels(answer.output, options)
    if labels is None:
        # Every label that was wanted is missed; nothing is taken for granted of what was meant.
        return CaseScore("unparsed", weight=float(len(correct)), why="no labels")
    weight = len(labels) + len(correct)
    value = 2 * len(labels & correct) / weight if weight else 1.0
    return CaseScore("scored", value, weight=float(weight), answer=", ".join(sorted(labels)))


MULTILABEL = Scorer(
    "multilabel",
    "micro-F1 of the labels over all cases: twice the number of right labels, divided by the number of labels given plus the number of labels wanted",
    _score,
    LabelOptions,
    "pattern",
)
