"""Everyone's scores on one footing: 0 is the bad end of an attribute's scale, 1 the good one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from .clusters import clusters
from .evidence import Evidence
from .question import Question
from .reference import KEYS, Rule, reference, reference_values

SECOND = "re-score panel"


@dataclass(frozen=True, slots=True)
class Marks:
    """A table of marks from 0 to 1, one row for each attribute of each case, one column for each evaluator."""

    table: pd.DataFrame
    """Indexed by case and attribute; NaN where an evaluator gave nothing."""
    arms: tuple[str, ...]
    jurors: Mapping[str, tuple[str, ...]]
    """By arm of two seats or more, its jurors' columns."""
    people: tuple[str, ...]
    kinds: Mapping[str, str]
    """By column: jury, single judge, juror, second panel or person."""
    questions: Mapping[str, Question]
    """Those whose scale has an order; the others have no marks."""
    clusters: pd.Series
    """By case, what is resampled together with it."""
    rule: Rule | None = None
    """How people's marks of a question become its reference."""
    notes: tuple[str, ...] = ()
    _references: dict[tuple[str, ...], pd.Series] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """By the people asked, what they say: every evaluator is held against the same."""

    def reference(self, *, without: Collection[str] = ()) -> pd.Series:
        """The people's reference, or that of the others; NaN where there is none."""
        asked = tuple(name for name in self.people if name not in without)
        if asked not in self._references:
            given = self.table[list(asked)]
            attributes = given.index.get_level_values("attribute")
            values = reference_values(given.to_numpy(float), attributes, self.questions, self.rule)
            self._references[asked] = pd.Series(values, given.index)
        return self._references[asked]

    @property
    def grouped(self) -> bool:
        return bool(self.clusters.duplicated().any())

    def attributes(self) -> list[str]:
        """Those that anybody marked, in the rubric's order."""
        there = set(self.table.index.get_level_values("attribute"))
        return [name for name in self.questions if name in there]


def lay_marks(evidence: Evidence) -> Marks:
    """The evidence as marks. A seat's repeats count as their median."""
    ordered = {name: asked for name, asked in evidence.questions.items() if asked.scale.ordered}
    seated = _seats(evidence.ballots)
    voters = _long(seated, "evaluator", ordered)
    arms = _long(evidence.arms, "rater", ordered)
    people = _long(evidence.people, "rater", ordered)
    second = _second_panel(evidence, ordered)
    known = [part for part in (arms, voters, people, second) if len(part)]
    wide = (
        pd.concat(known, ignore_index=True).pivot_table(
            index=KEYS, columns="evaluator", values="mark", aggfunc="median", sort=False
        )
        if known
        else pd.DataFrame(index=pd.MultiIndex.from_arrays([[], []], names=KEYS), dtype=float)
    )
    raters = tuple(sorted(set(people["evaluator"])))
    by_arm = {
        str(arm): tuple(dict.fromkeys(rows["evaluator"])) for arm, rows in seated.groupby("arm", sort=False)
    }
    panel = {SECOND: "second panel"} if len(second) else {}
    columns = [*evidence.kinds, *(name for names in by_arm.values() for name in names), *panel, *raters]
    cases = wide.index.get_level_values("case").unique().to_series()
    left_out = [name for name in evidence.questions if name not in ordered]
    return Marks(
        table=wide.reindex(columns=columns),
        arms=tuple(evidence.kinds),
        jurors=by_arm,
        people=raters,
        kinds={
            **evidence.kinds,
            **{name: "juror" for names in by_arm.values() for name in names},
            **panel,
            **dict.fromkeys(raters, "person"),
        },
        questions=ordered,
        clusters=clusters(cases, evidence.groups).set_axis(cases),
        rule=evidence.rule,
        notes=(
            *((f"without an order of its values, and left out: {', '.join(left_out)}",) if left_out else ()),
            *evidence.reference().notes,
        ),
    )


def _seats(ballots: pd.DataFrame) -> pd.DataFrame:
    """The votes of juries of two seats or more, each seat named with its arm."""
    if ballots.empty:
        return pd.DataFrame(columns=["arm", "case", "attribute", "value", "evaluator"])
    several = ballots.groupby("arm")["seat"].transform("nunique") > 1
    kept = ballots[several]
    return kept.assign(evaluator=kept["arm"] + ": " + kept["seat"])[
        ["arm", "case", "attribute", "value", "evaluator"]
    ]


def with_marks(rows: pd.DataFrame, questions: Mapping[str, Question]) -> pd.DataFrame:
    """The rows whose attribute has an order, each with its `mark`; NaN where the value is no number."""
    kept = rows[rows["attribute"].isin(list(questions))]
    values = pd.to_numeric(kept["value"], errors="coerce").to_numpy(float)
    ends = {name: _ends(questions[name]) for name in dict.fromkeys(kept["attribute"])}
    bad, good = np.array([ends[name] for name in kept["attribute"]], dtype=float).reshape(-1, 2).T
    return kept.assign(mark=np.clip((values - bad) / (good - bad), 0.0, 1.0) + 0.0)


def _long(table: pd.DataFrame, named: str, questions: Mapping[str, Question]) -> pd.DataFrame:
    rows = with_marks(table, questions).rename(columns={named: "evaluator"})
    return rows.astype({"case": str})[[*KEYS, "evaluator", "mark"]].dropna(subset=["mark"])


def _second_panel(evidence: Evidence, questions: Mapping[str, Question]) -> pd.DataFrame:
    """What those who scored again say together, under one name."""
    if evidence.rescored.empty:
        return pd.DataFrame(columns=[*KEYS, "evaluator", "mark"])
    together = reference(evidence.rescored, questions, rule=evidence.rule).table
    return _long(together.assign(rater=SECOND), "rater", questions)


def _ends(asked: Question) -> tuple[float, float]:
    """The bad end of the scale and the good one."""
    low, high = (float(end) for end in asked.scale.ends)
    return (low, high) if asked.better == "high" else (high, low)
