"""What a rating answers: an attribute's scale, and which end of it is the good one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import pandas as pd

from ...rubrics.rubric import Rubric
from ...rubrics.scale import NOT_APPLICABLE, Scale, Value


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


def half_step(scale: Scale) -> float | None:
    """Half of the shortest distance between two values of the scale, 0 where any number is legal; None for words."""
    if not scale.numeric:
        return None
    steps = [float(b) - float(a) for a, b in zip(scale.values, scale.values[1:], strict=False)]
    return min(steps, default=0.0) / 2


def off_scale(values: pd.Series, scale: Scale) -> pd.Series:
    """Which of a juror's values are no legal answer, as a ballot is checked; blank and `not_applicable` are none to check."""
    given = values.notna() & ~values.astype(str).isin(["", NOT_APPLICABLE])
    if not scale.numeric:
        return given & ~values.astype(str).isin(list(map(str, scale.values)))
    numbers = pd.to_numeric(values.where(given), errors="coerce")
    if scale.values:
        return given & ~numbers.isin(list(scale.values))
    low, high = map(float, scale.ends)
    return given & ~numbers.between(low, high)


def assumed_question(
    values: pd.Series, level: str | None, categories: Sequence[Value] = ()
) -> Question | None:
    """What ratings without a rubric seem to answer; None where they are the same throughout.

    Words are nominal, 0 and 1 a binary scale, other numbers an interval between the lowest and the highest.
    """
    numbers = pd.to_numeric(values, errors="coerce")
    words = bool(numbers.isna().any())
    used = sorted(set(map(str, values))) if words else sorted(set(numbers.astype(float)))
    if len(used) < 2:
        return None
    legal = list(categories) or used
    if words or level == "nominal":
        scale = Scale(level="nominal", anchors={value: str(value) for value in legal})
    elif len(legal) == 2 and (level == "binary" or (level is None and set(legal) == {0.0, 1.0})):
        scale = Scale(level="binary", anchors={value: str(value) for value in legal})
    else:
        scale = Scale(level="interval", minimum=used[0], maximum=used[-1])
    return Question(scale, "high")
