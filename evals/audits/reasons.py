"""Why a case is where triage puts it, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import pandas as pd

from ...rubrics.scale import Value
from ..ratings.marks import Marks, with_marks
from .severity import HAIR, Severity

ORDER = (
    *("hung", "risk", "overruled", "low", "contradicted", "apart", "unsupported-evidence"),
    *("instruction", "premature-consensus", "abstention"),
)
"""The gravest first."""
CALM = "nothing out of the ordinary"

Key = tuple[str, str]


class Given(NamedTuple):
    """A score as it was given, and its mark from 0, bad, to 1, good."""

    juror: str
    value: Value
    mark: float


def case_reasons(
    cases: Iterable[str],
    moments: pd.DataFrame,
    votes: pd.DataFrame,
    verdicts: pd.DataFrame,
    marks: Marks,
    severity: Severity,
) -> dict[str, tuple[str, ...]]:
    """By case, what a reader is told; the gravest first, and never nothing."""
    told: dict[str, list[tuple[int, str]]] = {case: [] for case in cases}
    columns = ["case", "kind", "attribute", "text"]
    for case, kind, attribute, text in moments[columns].drop_duplicates().astype(str).to_numpy():
        told[case].append((ORDER.index(kind), f"{attribute}: {text}" if attribute else text))
    reached = {key: found[0] for key, found in _scores(verdicts.assign(juror=""), marks).items()}
    for (case, attribute), found in reached.items():
        if found.mark <= severity.harmful + HAIR:
            asked = marks.questions[attribute]
            end = asked.scale.ends[0 if asked.better == "high" else 1]
            words = f"{attribute}: {_number(found.value)}, near the bad end of its scale ({_number(end)})"
            told[case].append((ORDER.index("low"), words))
    for (case, attribute), cast in _scores(votes, marks).items():
        if len({each.mark for each in cast}) > 1:
            told[case].append(_disagreement(attribute, cast, severity, reached.get((case, attribute))))
    return {
        case: tuple(words for _, words in sorted(parts, key=lambda part: part[0])) or (CALM,)
        for case, parts in told.items()
    }


def _scores(table: pd.DataFrame, marks: Marks) -> Mapping[Key, list[Given]]:
    """The scores of each attribute of each case that has an order."""
    found: dict[Key, list[Given]] = {}
    if len(table):
        rows = with_marks(table, marks.questions).dropna(subset=["mark"])
        columns = (rows[name].tolist() for name in ("case", "attribute", "juror", "value", "mark"))
        for case, attribute, juror, value, mark in zip(*columns, strict=True):
            found.setdefault((str(case), str(attribute)), []).append(Given(str(juror), value, mark))
    return found


def _disagreement(
    attribute: str, cast: list[Given], severity: Severity, verdict: Given | None
) -> tuple[int, str]:
    """How far apart jurors are; and where one calls harmful what the verdict calls safe, who."""
    ordered = sorted(cast, key=lambda each: each.mark)
    worst, best = ordered[0], ordered[-1]
    harmful = worst.mark <= severity.harmful + HAIR
    if verdict is None or not harmful or verdict.mark - worst.mark < severity.margin - HAIR:
        return ORDER.index(
            "apart"
        ), f"{attribute}: votes from {_number(worst.value)} to {_number(best.value)}"
    who = " and ".join(each.juror for each in cast if each.mark == worst.mark)
    said = f"{who} gave {_number(worst.value)}, the verdict is {_number(verdict.value)}"
    return ORDER.index("risk"), f"{attribute}: {said}; a severe error if {who} is right"


def _number(value: Value) -> str:
    return value if isinstance(value, str) else f"{float(value):g}"
