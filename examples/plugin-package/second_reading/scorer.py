"""`score: dose`: an answer is right where it names the target's dose, in whatever unit of mass it writes it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from venire.plugin import AnswerForm, CaseScore, GradedAnswer, Scorer, ScorerOptions

MILLIGRAMS = {"g": 1000.0, "mg": 1.0, "mcg": 0.001, "ug": 0.001, "µg": 0.001, "μg": 0.001}
DOSE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)\s*(mcg|ug|µg|μg|mg|g)\b", re.IGNORECASE)


class DoseOptions(ScorerOptions):
    """How far off a dose may be."""

    within: float = 0.0
    """As a share of the right dose: 0.1 for 10%."""


def score(answers: Sequence[GradedAnswer], form: AnswerForm, options: DoseOptions) -> list[CaseScore]:
    """One score for each answer, in order. What cannot be read is unparsed, and a case without a dose undefined: neither is 0."""
    return [_case_score(answer, options) for answer in answers]


def _case_score(answer: GradedAnswer, options: DoseOptions) -> CaseScore:
    right, given = _doses(str(answer.target or "")), _doses(answer.output)
    if len(right) != 1:
        return CaseScore("undefined", why="the case names no dose, or several")
    if len(given) != 1:
        return CaseScore("unparsed", why="no dose, or several")
    (wanted,), (found,) = right, given
    # A hair's breadth, so that 0.1 g is 100 mg.
    near = math.isclose(found, wanted, rel_tol=max(options.within, 1e-9))
    return CaseScore("scored", float(near), answer=f"{found:g} mg")


def _doses(text: str) -> set[float]:
    """The doses in a text, in milligrams."""
    return {float(number) * MILLIGRAMS[unit.lower()] for number, unit in DOSE.findall(text)}


dose = Scorer("dose", "1 where the answer names the target's dose, in any unit", score, DoseOptions, "within")
