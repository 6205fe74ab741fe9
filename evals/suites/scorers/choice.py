"""One of several answers, given by its letter or its text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any

from ..scorer import (
    NO_TARGET,
    AnswerForm,
    CaseScore,
    GradedAnswer,
    Scorer,
    ScorerOptions,
    final_text,
    folded_text,
    unparsed_score,
)

_STATED = re.compile(r"\b(?:final\s+)?answer\b(?:\s+is)?\s*[:=]?\s*", re.IGNORECASE)
"""What stands before an answer within a longer text."""
_AFTER = r"(?=$|\s*[.):,;\]\n-])"
"""What may follow a letter: never a plain space, as in 'A patient with fever'."""
_WORD_END = r"(?!\w)"


def choices(form: AnswerForm, columns: Mapping[str, Any]) -> dict[str, str]:
    """The answers that a case allows, by label: letters with their texts, or words that are their own labels."""
    options = columns.get(form.options)
    if isinstance(options, Mapping):
        return {str(label): str(text) for label, text in options.items()}
    if isinstance(options, list | tuple):
        return dict(zip(ascii_uppercase, map(str, options), strict=False))
    return {label: label for label in form.of}


def read_choice(output: str, allowed: Mapping[str, str]) -> str | None:
    """The label of the answer that `output` gives; None where it gives none, or several."""
    text = final_text(output)
    folded = folded_text(text)
    by_text = {folded_text(words): label for label, words in allowed.items()}
    by_text |= {folded_text(label): label for label in allowed}
    if folded in by_text:
        return by_text[folded]
    if (label := _leading(text, allowed)) is not None:
        return label
    labels = {_leading(text[match.end() :], allowed) for match in _STATED.finditer(text)} - {None}
    return labels.pop() if len(labels) == 1 else None


def _leading(text: str, answers: Mapping[str, str]) -> str | None:
    """The label at the beginning of `text`, or the longest answer's text that stands there."""
    text = text.lstrip(" \t\n'\"")
    for label in sorted(answers, key=len, reverse=True):
        letter = len(label) == 1 and label.isalpha()
        boundary = _AFTER if letter else _WORD_END
        pattern = rf"[(\[]{re.escape(label)}[)\]]|{re.escape(label)}['\"]?{boundary}"
        if re.match(pattern, text, 0 if letter else re.IGNORECASE):
            return label
    folded = " ".join(text.casefold().split())
    for label, words in sorted(answers.items(), key=lambda entry: len(entry[1]), reverse=True):
        folded_answer = folded_text(words)
        if len(folded_answer) > 1 and re.match(rf"{re.escape(folded_answer)}(?!\w)", folded):
            return label
    return None


def _score(answers: Sequence[GradedAnswer], form: AnswerForm, options: ScorerOptions) -> list[CaseScore]:
    return [_case_score(answer, choices(form, answer.columns)) for answer in answers]


def _case_score(answer: GradedAnswer, answers: Mapping[str, str]) -> CaseScore:
    correct = None if answer.target is None else read_choice(str(answer.target), answers)
    if correct is None:
        return NO_TARGET
    label = read_choice(answer.output, answers)
    if label is None:
        return unparsed_score(
            "the answer matches none of the allowed answers, or several of them"
            if answer.output.strip()
            else "no answer"
        )
    return CaseScore("scored", float(label == correct), answer=label)


CHOICE = Scorer(
    "choice", "1 if the answer, given by letter or text, is the right one of the allowed answers", _score
)
