"""What a verdict must say for a build to pass (`accurate>=4`, `impact==none`), and a run held against it as a JUnit report."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

from ...rubrics.errors import VenireError, safe
from ...rubrics.files import nearest
from ...rubrics.rubric import Rubric
from ...rubrics.scale import Value
from ..record import Location, Store
from ..verdict import Verdict
from .export import verdicts

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
                f"{written!r} is not a requirement", remedy="write NAME>=NUMBER, for example accurate>=4"
            )
        name, sign, bound = found.groups()
        known = [*rubric.names, *rubric.reversed_names, *rubric.composites]
        if name not in known:
            raise VenireError(
                f"the rubric {rubric.name} does not ask about {name!r}", remedy=nearest(name, known)
            )
        if sign == "==" and name in rubric.names and not rubric.scale_of(name).numeric:
            return cls(name, sign, bound)
        try:
            return cls(name, sign, float(bound))
        except ValueError:
            raise VenireError(
                f"{written!r}: {bound!r} is not a number", remedy=f"compare {name} with a number"
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
            return f"{self}: there is no score, because an attribute that the score is computed from has none"
        return None if self._met(value) else f"{self}: it is {_value_text(value)}"

    def _met(self, value: Value) -> bool:
        if self.sign == "==":
            return value == self.bound
        return _SIGNS[self.sign](float(value), float(self.bound))

    def __str__(self) -> str:
        return f"{self.name}{self.sign}{_value_text(self.bound)}"


def missed_bounds(written: Sequence[str], scores: Mapping[str, float]) -> list[str]:
    """What `NAME>=NUMBER` requires of named scores and they do not reach; an undefined score reaches nothing.

    Raises:
        VenireError: It is not a requirement, or of a name that has no score.
    """
    missed: list[str] = []
    for each in written:
        found = _WRITTEN.fullmatch(each)
        name, sign, bound = found.groups() if found is not None else ("", "", "")
        try:
            number = float(bound)
            met = _SIGNS[sign]
        except (KeyError, ValueError):
            raise VenireError(f"{each!r} is not a requirement", remedy="write NAME>=NUMBER") from None
        if name not in scores:
            raise VenireError(f"nothing named {name!r} has a score", remedy=nearest(name, list(scores)))
        if not met(scores[name], number):
            missed.append(f"{each}: it is {scores[name]:.4g}")
    return missed


def _value_text(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def write_junit(folder: Location, required: Sequence[Requirement], file: Path | None) -> Held:
    """Hold every verdict of the run against what is `required`, and write that to `file` if one is named.

    A deliberation fails when it misses a requirement; one that reached no score and of which nothing was required
    is skipped, with the reason: it is not a pass.
    """
    store = Store.read(folder)
    cases: list[str] = []
    heard = missed = skipped = 0
    seconds = 0.0
    try:
        for _, verdict in verdicts(store, written=True):
            misses = [why for each in required if (why := each.miss(verdict))]
            silent = not misses and not any(o.status == "reached" for o in verdict.outcomes.values())
            heard, missed, skipped = heard + 1, missed + bool(misses), skipped + silent
            seconds += verdict.transcript.cost.seconds
            if file is not None:
                cases.append(_case(verdict, misses, silent))
        name = store.name
    finally:
        store.release()
    if file is not None:
        counts = f'tests="{heard}" failures="{missed}" errors="0" skipped="{skipped}" time="{seconds:.3f}"'
        body = "".join(cases)
        file.write_text(
            f'<?xml version="1.0" encoding="utf-8"?>\n<testsuites {counts}>\n'
            f"<testsuite name={_attribute(name)} {counts}>\n{body}</testsuite>\n</testsuites>\n",
            encoding="utf-8",
        )
    return Held(missed, heard)


class Held(NamedTuple):
    """How many deliberations missed what was required, of how many."""

    missed: int
    heard: int


def _case(verdict: Verdict, misses: Sequence[str], silent: bool) -> str:
    scores = {name: o.status if o.value is None else str(o.value) for name, o in verdict.outcomes.items()}
    scores |= {name: f"{value:g}" for name, value in verdict.derived.items()}
    scores["stop"] = str(verdict.stop)
    kept = "".join(f"<property name={_attribute(k)} value={_attribute(v)}/>" for k, v in scores.items())
    end = ""
    if misses:
        end = f"<failure message={_attribute('; '.join(misses))}/>"
    elif silent:
        why = "; ".join(f"{name}: {o.why or o.status}" for name, o in verdict.outcomes.items())
        end = f"<skipped message={_attribute(why)}/>"
    return (
        f"<testcase classname={_attribute(verdict.arm)} name={_attribute(verdict.case)} "
        f'time="{verdict.transcript.cost.seconds:.3f}"><properties>{kept}</properties>{end}</testcase>\n'
    )


def _attribute(words: str) -> str:
    """Words as XML holds them: what no XML may hold is shown as its code."""
    return quoteattr(safe(words), {"\n": "&#10;"})
