"""Cost matrices: what an answer is worth where the right one is known, and what no answer is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, FiniteFloat, model_serializer, model_validator

from .files import nearest
from .yaml_files import wrong

Answer = int | float | str
ABSTENTION = "abstention"


def _plain_number(value: Any) -> Any:
    """A number as it is; a word or a boolean is not read as one."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is no number\nwrite a number such as 1.5 or -2")
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

    rows: dict[Answer, dict[Answer, Worth]]
    """By the right answer, then by the answer given."""
    abstention: Worth
    """Of a seat that gave no legal answer, or a jury that hung."""

    @model_validator(mode="before")
    @classmethod
    def _from_rows(cls, written: Any) -> Any:
        """The rows and the abstention are written side by side; in JSON, where every key is a word, as pairs."""
        if isinstance(written, list):
            written = {
                key: dict(map(tuple, row)) if isinstance(row, list) else row
                for key, row in map(tuple, written)
            }
        if not isinstance(written, Mapping) or set(written) == {"rows", ABSTENTION}:
            return written
        rows = {key: row for key, row in written.items() if key != ABSTENTION}
        for key, row in rows.items():
            if isinstance(key, str) and isinstance(row, int | float):
                raise wrong(f"unknown key {key!r}\n{nearest(key, [ABSTENTION])}", key)
            if not isinstance(row, Mapping):
                raise wrong(
                    f"the row of {key!r} is no mapping\nwrite what each answer is worth: {{ANSWER: NUMBER, ...}}",
                    _step(key),
                )
        if ABSTENTION not in written:
            raise wrong("what an abstention is worth is missing\nadd abstention: NUMBER")
        return {"rows": rows, ABSTENTION: written[ABSTENTION]}

    @model_serializer(mode="plain", when_used="json")
    def _as_pairs(self) -> list[list[Any]]:
        rows = [[key, [[given, worth] for given, worth in row.items()]] for key, row in self.rows.items()]
        return [*rows, [ABSTENTION, self.abstention]]

    def check_square(self, values: tuple[Answer, ...]) -> None:
        """Raises, at its place under a scale's `costs`, where a row or column is missing or is no value of the scale."""
        if not values:
            raise wrong("only a scale with anchors can have costs\nremove them, or write anchors", "costs")
        if ABSTENTION in values:
            raise wrong(f"a scale with the value {ABSTENTION!r} can have no costs\nrename the value", "costs")
        _check_names(list(self.rows), values, "costs")
        for key, row in self.rows.items():
            _check_names(list(row), values, "costs", key)

    def reward(self, true: Answer, given: Answer | None) -> float:
        """What `given` is worth where `true` is right; None is an abstention."""
        row = self.rows[true]
        return self.abstention if given is None else row[given]


def _check_names(found: list[Answer], values: tuple[Answer, ...], *at: Answer) -> None:
    place = [_step(part) for part in at]
    row = f"in the row of {at[1]!r}, the answer" if at[1:] else "the row of"
    for name in found:
        if name not in values:
            known = [*map(str, values), *([] if at[1:] else [ABSTENTION])]
            problem = f"{name!r} is no value of the scale\n{nearest(str(name), known)}"
            raise wrong(problem, *place, _step(name))
    for value in values:
        if value not in found:
            raise wrong(f"{row} {value!r} is missing\ngive every value of the scale: {list(values)}", *place)


def _step(key: Answer) -> int | str:
    """A key as `Written` knows its line."""
    return key if isinstance(key, int) else str(key)
