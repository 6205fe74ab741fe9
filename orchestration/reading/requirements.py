"""What a verdict must say for a build to pass: `accurate>=4`, `stigmatizing<=2`, `impact==none`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ...rubrics.rubric import Rubric
from ...rubrics.scale import Value
from ..verdict import Verdict

_SIGNS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_WRITTEN = re.compile(r"\s*([^<>=\s]+)\s*(>=|<=|==|>|<)\s*(\S+)\s*")


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on an attribute, a reversed score or a composite."""

    name: str
    sign: str
    bound: Value

    @classmethod
    def parse(cls, written: str, rubric: Rubric) -> Requirement:
        """The requirement as a person wrote it, checked against what the rubric asks."""
        found = _WRITTEN.fullmatch(written)
        if found is None:
            raise VenireError(
                f"{written!r} is no requirement", remedy="write NAME>=NUMBER, for example accurate>=4"
            )
        name, sign, bound = found.groups()
        known = [*rubric.names, *rubric.reversed_names, *rubric.composites]
        if name not in known:
            raise VenireError(f"{rubric.name} does not ask about {name!r}", remedy=nearest(name, known))
        if sign == "==" and name in rubric.names and not rubric.scale_of(name).numeric:
            return cls(name, sign, bound)
        try:
            return cls(name, sign, float(bound))
        except ValueError:
            raise VenireError(
                f"{written!r}: {bound!r} is no number", remedy=f"compare {name} with a number"
            ) from None

    def miss(self, verdict: Verdict) -> str | None:
        """Why the verdict does not meet it; None where it does, or where the question does not apply."""
        outcome = verdict.outcomes.get(self.name)
        if outcome is not None and outcome.status == "not_applicable":
            return None
        if outcome is not None and outcome.status == "hung":
            return f"{self}: hung, {outcome.why}"
        value = outcome.value if outcome is not None else verdict.derived.get(self.name)
        if value is None:
            return f"{self}: no score, because a part of it has none"
        return None if self._met(value) else f"{self}: it is {_value_text(value)}"

    def _met(self, value: Value) -> bool:
        if self.sign == "==":
            return value == self.bound
        return _SIGNS[self.sign](float(value), float(self.bound))

    def __str__(self) -> str:
        return f"{self.name}{self.sign}{_value_text(self.bound)}"


def _value_text(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:g}"
