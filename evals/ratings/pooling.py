"""Which attributes are taken together as `overall`, all turned to the same direction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..statistics.matrix import Value
from .question import Question

OVERALL = "overall"
"""What all pooled attributes together are called in tables."""
YES_NO = frozenset({0.0, 1.0})


@dataclass(frozen=True, slots=True)
class Pooling:
    """The attributes that share one scale of numbers, and which of them are turned before they are mixed."""

    names: tuple[str, ...]
    turned: Mapping[str, float]
    """By attribute that is turned, the sum of its scale's ends: a value becomes that sum minus the value."""

    def rows(self, table: pd.DataFrame, columns: Sequence[str] = ("value",)) -> pd.DataFrame:
        """The rows whose `attribute` is pooled; the numbers in `columns` are turned where it has to be."""
        pooled = table[table["attribute"].isin(self.names)]
        return pooled.assign(**{name: self.turn(pooled[name], pooled["attribute"]) for name in columns})

    def turn(self, values: pd.Series, attributes: pd.Series) -> pd.Series:
        """The values, those of turned attributes reflected on their scale; unchanged where none is turned."""
        return _reflect(values, attributes, self.turned) if self.turned else values

    @property
    def note(self) -> str:
        """Which attributes were turned, in words; nothing where none was."""
        return f"scores of {', '.join(self.turned)} reversed so that high is good" if self.turned else ""


def pooling(
    questions: Mapping[str, Question], among: Collection[str] | None = None, *, good_is_high: bool = False
) -> Pooling:
    """The largest set of attributes that share level, ends and values of a scale of numbers; of equal ones the first.

    Where some of them are better high and others low, the latter are turned: a constant best score is then one value.

    Args:
        among: The attributes to choose from; without it all.
        good_is_high: Turn every attribute that is better low, also where all are.
    """
    kinds = {
        name: _declared_kind(question)
        for name, question in questions.items()
        if question.scale.numeric and (among is None or name in among)
    }
    return _one_direction(_largest_set(kinds), questions, good_is_high=good_is_high)


def upright(values: pd.Series, attributes: pd.Series, questions: Mapping[str, Question]) -> pd.Series:
    """The values, those of attributes that are better low reflected on their scale: high is good for all."""
    return _reflect(values, attributes, _low_ones(questions))


def table_pooling(
    parts: Mapping[str, pd.DataFrame],
    questions: Mapping[str, Question],
    levels: Mapping[str, str | None],
    categories: Mapping[str, Sequence[Value]],
) -> tuple[Pooling, str]:
    """The pooling of a ratings table whose scales may be undeclared, and what a reader must know of it.

    Attributes share a scale when what was asked is known and the same, or their level and values are declared and the
    same. Where values are not declared, an attribute joins the one that uses the widest range if all its values lie
    within it; yes-or-no attributes (0 and 1) join only each other, and words only words.

    Args:
        parts: By attribute, its rows.
    """
    kinds: dict[str, Hashable] = {}
    undeclared: dict[tuple[str | None, str], list[str]] = {}
    for name, part in parts.items():
        if name in questions:
            kinds[name] = _declared_kind(questions[name])
        elif categories.get(name):
            kinds[name] = (levels[name], _content(part["value"]), tuple(categories[name]))
        else:
            kinds[name] = name
            undeclared.setdefault((levels[name], _content(part["value"])), []).append(name)
    for kind, names in undeclared.items():
        kinds |= dict.fromkeys(_within_the_widest(names, parts), kind)
    pooled = _largest_set(kinds)
    if len(pooled) < 2:
        reason = (
            "no ratings" if not parts else "no two attributes share a scale, so attributes are not pooled"
        )
        return Pooling((), {}), reason
    result = _one_direction(pooled, questions)
    remarks = (
        ["the attributes are assumed to share a scale, because no scale is declared"]
        if kinds[pooled[0]] in undeclared
        else []
    )
    others = [name for name in parts if name not in pooled]
    if others:
        remarks.append(
            f"{', '.join(others)} left out, because the scale differs from that of the pooled attributes"
        )
    remarks += [result.note] if result.note else []
    return result, f"pools {', '.join(pooled)}: {'; '.join(remarks)}" if remarks else ""


def _one_direction(
    names: tuple[str, ...], questions: Mapping[str, Question], *, good_is_high: bool = False
) -> Pooling:
    low = _low_ones({name: questions[name] for name in names if name in questions})
    return Pooling(names, low if good_is_high or len(low) < len(names) else {})


def _low_ones(questions: Mapping[str, Question]) -> dict[str, float]:
    """By attribute that is better low, the sum of its scale's ends."""
    return {
        name: sum(map(float, question.scale.ends))
        for name, question in questions.items()
        if question.better == "low" and question.scale.ordered
    }


def _reflect(values: pd.Series, attributes: pd.Series, total: Mapping[str, float]) -> pd.Series:
    ends = attributes.map(total).to_numpy(float)
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(float)
    return pd.Series(np.where(np.isnan(ends), numbers, ends - numbers), values.index)


def _largest_set(kinds: Mapping[str, Hashable]) -> tuple[str, ...]:
    """The names of the kind that most have, in their order; of kinds as common the first."""
    if not kinds:
        return ()
    ((commonest, _),) = Counter(kinds.values()).most_common(1)
    return tuple(name for name, kind in kinds.items() if kind == commonest)


def _declared_kind(question: Question) -> Hashable:
    return question.scale.level, question.scale.ends, question.scale.values


def _within_the_widest(names: Sequence[str], parts: Mapping[str, pd.DataFrame]) -> list[str]:
    """Of attributes of one kind, those that use no value beyond what one of them uses."""
    if _content(parts[names[0]]["value"]) == "words":
        words = {name: set(map(str, parts[name]["value"])) for name in names}
        widest = max(words.values(), key=len)
        return [name for name, vocabulary in words.items() if vocabulary <= widest]
    ends = {
        name: (parts[name]["value"].astype(float).min(), parts[name]["value"].astype(float).max())
        for name in names
    }
    low, high = max(ends.values(), key=lambda end: end[1] - end[0])
    return [name for name, end in ends.items() if low <= end[0] and end[1] <= high]


def _content(values: pd.Series) -> str:
    numbers = pd.to_numeric(values, errors="coerce")
    if numbers.isna().any():
        return "words"
    return "yes or no" if set(numbers) <= YES_NO else "numbers"
