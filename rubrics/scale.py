"""Scales: which answers are legal, what each of them means, and what it is worth where the right one is known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    FiniteFloat,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from .files import nearest
from .yaml_files import wrong

Value = int | float | str
"""One legal answer: a number on numeric scales, a word on nominal ones."""
Level = Literal["nominal", "ordinal", "interval", "binary"]
NOT_APPLICABLE = "not_applicable"
"""The answer of a juror who finds that the question does not arise. It is counted, never averaged."""
ABSTENTION = "abstention"


def preferred_side(value: Value) -> int:
    """Which output a value of a pair prefers: -1 for A, 0 for a tie, 1 for B; a mean by the nearest level, a tie if in doubt."""
    number = float(value)
    return 0 if abs(number) <= 0.5 else 1 if number > 0 else -1


def value_words(value: Value | None, *, pair: bool) -> str:
    """A value as a reader knows it: of a pair `A`, `tie` or `B`, with how clearly on more than three levels; another as it is."""
    if not pair or value is None or isinstance(value, str):
        return f"{round(value, 2):g}" if isinstance(value, float) else str(value)
    side, degree = preferred_side(value), abs(float(value))
    return "tie" if side == 0 else ("B" if side > 0 else "A") + (f" {degree:g}" if degree > 1 else "")


def _from_pairs(anchors: Any) -> Any:
    return dict(map(tuple, anchors)) if isinstance(anchors, list) else anchors


Anchors = Annotated[
    dict[int | float | str, str],
    BeforeValidator(_from_pairs),
    # In JSON every key is a word; pairs keep a number a number.
    PlainSerializer(lambda anchors: [[value, words] for value, words in anchors.items()], when_used="json"),
]
"""Each legal value and its meaning, in order."""


def _plain_number(value: Any) -> Any:
    """A number as it is; a word or a boolean is not read as one."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a number\nwrite a number such as 1.5 or -2")
    return value


Worth = Annotated[FiniteFloat, BeforeValidator(_plain_number)]


def _as_written(schema: dict[str, Any]) -> None:
    """The schema of a matrix as a file writes it: a row for each right answer, and the worth of an abstention."""
    row = {"type": "object", "additionalProperties": {"type": "number"}}
    schema["properties"] = {ABSTENTION: {"type": "number"}}
    schema |= {"additionalProperties": row, "required": [ABSTENTION]}


class CostMatrix(BaseModel):
    """What each answer is worth, by the right one: high is good, a cost is a negative number.

    In a rubric it stands on a scale, a row for each right answer, and the worth of an abstention beside them:
    `costs: {0: {0: 1, 1: -1}, 1: {0: -2, 1: 1}, abstention: -3}`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra=_as_written)

    rows: dict[Value, dict[Value, Worth]]
    """By the right answer, then by the answer given."""
    abstention: Worth
    """Of a seat that gave no legal answer, or a jury that hung."""

    @model_validator(mode="before")
    @classmethod
    def _from_rows(cls, cells: Any) -> Any:
        """The rows and the abstention are written side by side; in JSON, where every key is a word, as pairs."""
        if isinstance(cells, list):
            cells = {
                key: dict(map(tuple, row)) if isinstance(row, list) else row for key, row in map(tuple, cells)
            }
        if not isinstance(cells, Mapping) or set(cells) == {"rows", ABSTENTION}:
            return cells
        rows = {key: row for key, row in cells.items() if key != ABSTENTION}
        for key, row in rows.items():
            if isinstance(key, str) and isinstance(row, int | float):
                raise wrong(f"unknown key {key!r}\n{nearest(key, [ABSTENTION])}", key)
            if not isinstance(row, Mapping):
                raise wrong(
                    f"the row of {key!r} is not a mapping\nwrite the reward for each answer: {{ANSWER: NUMBER, ...}}",
                    _step(key),
                )
        if ABSTENTION not in cells:
            raise wrong("the reward for an abstention is missing\nadd abstention: NUMBER")
        return {"rows": rows, ABSTENTION: cells[ABSTENTION]}

    @model_serializer(mode="plain", when_used="json")
    def _as_pairs(self) -> list[list[Any]]:
        rows = [[key, [[value, worth] for value, worth in row.items()]] for key, row in self.rows.items()]
        return [*rows, [ABSTENTION, self.abstention]]

    def check_square(self, values: tuple[Value, ...]) -> None:
        """Raises, at its place under a scale's `costs`, where a row or column is missing or is not a value of the scale."""
        if not values:
            raise wrong(
                "only a scale with anchors can have costs\nremove the costs, or write anchors", "costs"
            )
        if ABSTENTION in values:
            raise wrong(
                f"a scale that has {ABSTENTION!r} as a value cannot have costs\nrename the value", "costs"
            )
        _check_names(list(self.rows), values, "costs")
        for key, row in self.rows.items():
            _check_names(list(row), values, "costs", key)

    def reward(self, true: Value, given: Value | None) -> float:
        """What `given` is worth where `true` is right; None is an abstention."""
        row = self.rows[true]
        return self.abstention if given is None else row[given]


def _check_names(names: list[Value], values: tuple[Value, ...], *at: Value) -> None:
    place = [_step(part) for part in at]
    row = f"in the row of {at[1]!r}, the answer" if at[1:] else "the row of"
    for name in names:
        if name not in values:
            legal = [*map(str, values), *([] if at[1:] else [ABSTENTION])]
            problem = f"{name!r} is not a value of the scale\n{nearest(str(name), legal)}"
            raise wrong(problem, *place, _step(name))
    for value in values:
        if value not in names:
            raise wrong(f"{row} {value!r} is missing\ngive every value of the scale: {list(values)}", *place)


def _step(key: Value) -> int | str:
    """A key as `Written` knows its line."""
    return key if isinstance(key, int) else str(key)


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
            raise ValueError("a scale cannot have both anchors and minimum or maximum\nkeep the anchors")
        if continuous and (self.level != "interval" or self.minimum >= self.maximum):  # type: ignore[operator]
            raise ValueError(
                "minimum and maximum need level: interval, and minimum must be below maximum\nwrite level: interval, with the smaller number as minimum"
            )
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
            raise ValueError("a scale needs two values or more\nadd a value to the anchors")
        if self.level == "binary" and len(values) != 2:
            raise ValueError(
                f"a binary scale has two values, but this one has {len(values)}\nuse level: ordinal"
            )
        if NOT_APPLICABLE in values:
            raise ValueError(
                f"{NOT_APPLICABLE!r} cannot be a value of a scale\nwrite may_not_apply: true at the attribute instead"
            )
        numeric = [value for value in values if not isinstance(value, str)]
        if self.level in ("ordinal", "interval") and len(numeric) != len(values):
            raise ValueError(
                f"the values of an {self.level} scale must be numbers\nuse level: nominal for words"
            )
        if numeric and len(numeric) == len(values) and numeric != sorted(numeric):
            raise ValueError(
                "the anchors are not in order\nwrite the anchors from the lowest value to the highest"
            )

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
