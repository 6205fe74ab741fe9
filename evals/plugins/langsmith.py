"""LangSmith and openevals: an evaluator whose feedback has a key for each attribute, with its reasons.

Both take any callable of inputs, outputs and reference outputs, so that nothing of theirs is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from .judgement import Judgement, named_scores
from .samples import case_from_row, sole_value
from .sitting import convene, field_of, warn_of_one_name

Feedback = list[dict[str, Any]]


class JuryEvaluator:
    """Has a jury judge outputs under a rubric: a score for a number, a value for a word.

    What is hung or does not apply has no score: its value says so, and its comment why. `output` and `reference` name the
    fields that are judged and known to be good: the only field or all of them, unless they do. `source` names the input that
    the output was made from, `against` the one that holds another output, to be compared with this one: above 0 this one is preferred. The other
    inputs are the question. `prefix` begins the keys, for several juries in one experiment. `options` are those of a sitting: `model`, `base_url`, `record`, `max_usd` ...
    """

    def __init__(
        self,
        rubric: Any,
        jury: Any,
        *,
        output: str | None = None,
        reference: str | None = None,
        source: str | None = None,
        against: str | None = None,
        prefix: str = "",
        **options: Any,
    ) -> None:
        self._output, self._reference, self._prefix = output, reference, prefix
        self._source, self._against = source, against
        self._sitting = convene(rubric, jury, **options)
        # Under which LangSmith shows it.
        self.__name__ = self._sitting.jury.name
        warn_of_one_name(self, self._sitting, prefix)

    def __call__(
        self, *, inputs: Any = None, outputs: Any, reference_outputs: Any = None, **_: Any
    ) -> Feedback:
        case = self._case(inputs, outputs, reference_outputs)
        return self._feedback(self._sitting.hear_sync(case))

    async def acall(
        self, *, inputs: Any = None, outputs: Any, reference_outputs: Any = None, **_: Any
    ) -> Feedback:
        """The same for those who await: `evaluators=[jury.acall]`."""
        return self._feedback(await self._sitting.hear(self._case(inputs, outputs, reference_outputs)))

    def _case(self, inputs: Any, outputs: Any, reference_outputs: Any) -> Case:
        judged, good = _field(outputs, self._output), _field(reference_outputs, self._reference)
        return case_from_row(inputs, judged, good, source=self._source, against=self._against)

    def _feedback(self, judgement: Judgement) -> Feedback:
        return [
            {
                "key": score.name,
                "score": score.number,
                "value": score.label,
                "comment": score.reason,
                "metadata": score.metadata,
            }
            for score in named_scores(judgement, self._prefix)
        ]


def jury_preferences(
    rubric: Any,
    jury: Any,
    *,
    output: str | None = None,
    reference: str | None = None,
    source: str | None = None,
    prefix: str = "",
    **options: Any,
) -> list[Callable[..., dict[str, Any]]]:
    """For `evaluate_comparative`: an evaluator for each attribute of a rubric of pairs, all of them from one deliberation.

    A run's score is 1 where its output is preferred, 0 where the other's is, 0.5 for a tie; where there is no verdict neither run has a
    score, and the comment says why. The arguments are those of `JuryEvaluator`.
    """
    sitting = convene(rubric, jury, **options)
    if not sitting.rubric.compares:
        raise VenireError(
            f"the rubric {sitting.rubric.name} does not compare two outputs",
            remedy="name a rubric with kind: pair",
        )

    def comparing(attribute: str) -> Callable[..., dict[str, Any]]:
        def compare(runs: Any, inputs: Any, outputs: Any, reference_outputs: Any) -> dict[str, Any]:
            own, other = runs
            judged, rival = (_field(each, output) for each in outputs)
            good = _field(reference_outputs, reference)
            given = {**inputs, "the other output": rival}
            share: float | None = None
            try:
                case = case_from_row(given, judged, good, source=source, against="the other output")
                mark = sitting.hear_sync(case).marks[attribute]
                share, comment = mark.share, mark.reason
            except VenireError as error:
                # LangSmith ends the whole comparison at an error.
                comment = str(error)
            scores = {own.id: share, other.id: None if share is None else 1 - share}
            return {"key": f"{prefix}{attribute}", "scores": scores, "comment": comment}

        return compare

    return [comparing(attribute) for attribute in sitting.rubric.names]


def _field(fields: Any, name: str | None) -> Any:
    """The named field, or the only one; what is no mapping is taken as it is."""
    if not isinstance(fields, Mapping):
        return fields
    return sole_value(fields) if name is None else field_of(fields, name)
