"""What a rating answers: an attribute's scale, and which end of it is the good one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from ...rubrics.rubric import Rubric
from ...rubrics.scale import Scale


class Question(NamedTuple):
    """An attribute's scale, and which end of it is the good one."""

    scale: Scale
    better: Literal["high", "low"]


def rubric_questions(*rubrics: Rubric, only: Iterable[str] | None = None) -> dict[str, Question]:
    """The questions that the rubrics ask, by attribute; where two ask the same, the first's counts."""
    wanted = None if only is None else set(only)
    return {
        attribute.name: Question(rubric.scale_of(attribute.name), attribute.better)
        for rubric in reversed(rubrics)
        for attribute in rubric.attributes
        if wanted is None or attribute.name in wanted
    }
