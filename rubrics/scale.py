"""Scales: which answers are legal, and what each of them means."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from .costs import CostMatrix

Value = int | float | str
"""One legal answer: a number on numeric scales, a word on nominal ones."""

Level = Literal["nominal", "ordinal", "interval", "binary"]

NOT_APPLICABLE = "not_applicable"
"""The answer of a juror who finds that the question does not arise. It is counted, never averaged."""


def _from_pairs(anchors: Any) -> Any:
    return dict(map(tuple, anchors)) if isinstance(anchors, list) else anchors


Anchors = Annotated[
    dict[int | float | str, str],
    BeforeValidator(_from_pairs),
    # In JSON every key is a word; pairs keep a number a number.
    PlainSerializer(lambda anchors: [[value, words] for value, words in anchors.items()], when_used="json"),
]
"""Each legal value and its meaning, in order."""


class Scale(BaseModel):
    """The answers a question allows, in order, and how far apart they are."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    level: Level
    anchors: Anchors = {}
    """From the lowest value to the highest."""
    minimum: float | None = None
    """For an interval scale without anchors: the lowest legal number."""
    maximum: float | None = None
    costs: CostMatrix | None = None
    """What each answer is worth where the right one is known. Jurors never see it."""

    @model_validator(mode="after")
    def _has_answers(self) -> Self:
        continuous = self.minimum is not None and self.maximum is not None
        if not self.anchors and not continuous:
            raise ValueError("a scale needs anchors\nwrite anchors: {1: worst, 2: ..., 5: best}")
        if self.anchors and (self.minimum is not None or self.maximum is not None):
            raise ValueError("anchors and minimum/maximum exclude each other\nkeep the anchors")
        if continuous and (self.level != "interval" or self.minimum >= self.maximum):  # type: ignore[operator]
            raise ValueError("minimum and maximum need level: interval, and minimum below maximum")
        if self.anchors:
            self._check_anchors()
        if self.costs is not None:
            self.costs.check_square(self.values)
        return self

    @model_serializer(mode="wrap")
    def _without_missing_costs(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """As it was before there were costs, where there are none: a record knows its rubrics by this."""
        fields: dict[str, Any] = handler(self)
        if self.costs is None:
            fields.pop("costs", None)
        return fields

    def _check_anchors(self) -> None:
        values = list(self.anchors)
        if len(values) < 2:
            raise ValueError("a scale needs two values or more")
        if self.level == "binary" and len(values) != 2:
            raise ValueError(f"a binary scale has two values, this one {len(values)}\nuse level: ordinal")
        if NOT_APPLICABLE in values:
            raise ValueError(f"{NOT_APPLICABLE!r} is not a value\nset may_not_apply: true on the attribute")
        numeric = [value for value in values if not isinstance(value, str)]
        if self.level in ("ordinal", "interval") and len(numeric) != len(values):
            raise ValueError(f"an {self.level} scale has numbers for values\nuse level: nominal for words")
        if numeric and len(numeric) == len(values) and numeric != sorted(numeric):
            raise ValueError("anchors must run from the lowest value to the highest")

    @property
    def values(self) -> tuple[Value, ...]:
        """The legal answers in order; empty where any number between minimum and maximum is legal."""
        return tuple(self.anchors)

    @cached_property
    def numeric(self) -> bool:
        return not any(isinstance(value, str) for value in self.anchors)

    @cached_property
    def half_step(self) -> float:
        """Half of the shortest step between its numbers; a number nearer than that to a value stands for it."""
        if not self.numeric:
            return 0.0
        return min((float(b) - float(a) for a, b in pairwise(self.values)), default=0.0) / 2

    @property
    def ordered(self) -> bool:
        return self.level != "nominal" and self.numeric

    @property
    def ends(self) -> tuple[Value, Value]:
        """The lowest and the highest legal answer."""
        if self.anchors:
            return self.values[0], self.values[-1]
        assert self.minimum is not None and self.maximum is not None
        return self.minimum, self.maximum
