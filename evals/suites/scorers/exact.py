"""The same words: equal to the target, case, white space and outer punctuation aside."""

from __future__ import annotations

from collections.abc import Sequence

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


def _score(answers: Sequence[GradedAnswer], form: AnswerForm, options: ScorerOptions) -> list[CaseScore]:
    return [_case_score(answer) for answer in answers]


def _case_score(answer: GradedAnswer) -> CaseScore:
    targets = answer.target if isinstance(answer.target, list | tuple) else [answer.target]
    correct = {folded_text(final_text(str(target))) for target in targets if target is not None}
    if not correct:
        return NO_TARGET
    text = folded_text(final_text(answer.output))
    if not text:
        return unparsed_score("no answer")
    return CaseScore("scored", float(text in correct), answer=text)


EXACT = Scorer("exact", "1 if the answer is the target, or one of a list of targets", _score)
