"""LangSmith and openevals: an evaluator whose feedback has a key for each attribute, with its reasons.

Both take any callable of inputs, outputs and reference outputs, so that nothing of theirs is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...rubrics.case import Case
from .judgement import Judgement, named_scores, origin
from .samples import case_from_row, sole_value
from .sitting import convene, field_of

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
                "metadata": origin(judgement),
            }
            for score in named_scores(judgement, self._prefix)
        ]


def _field(fields: Any, name: str | None) -> Any:
    """The named field, or the only one; what is no mapping is taken as it is."""
    if not isinstance(fields, Mapping):
        return fields
    return sole_value(fields) if name is None else field_of(fields, name)
