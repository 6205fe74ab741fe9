"""Everybody's scores side by side: as they were given (`Sheet`), and from 0, bad, to 1, good (`Marks`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..statistics.matrix import FloatArray, IntArray, Matrix
from .evidence import Evidence
from .folds import clusters
from .pooling import OVERALL, Pooling, pooling
from .question import Question
from .reference import KEYS, Rule, reference, reference_values

ARM, PEOPLE = "arm", "people"
CONSTANT = "always the best score"
TIE = "always a tie"
"""What the constant is called where outputs are compared."""
SECOND = "re-score panel"


@dataclass(frozen=True, slots=True)
class Sheet:
    """The scores, who is who, and what is drawn together when cases are resampled."""

    rows: pd.DataFrame
    """Columns `case`, `attribute`, `cluster`, then one a rater; a rater without a score has NaN."""
    people: tuple[str, ...]
    arms: tuple[str, ...]
    """Of the run, juries before single judges."""
    questions: Mapping[str, Question]
    pooling: Pooling
    """The attributes that `overall` pools."""
    references: Mapping[str | None, pd.Series]
    """Row by row what people say, under None; under a person's name what the others do."""
    rule: Rule | None
    overlap: pd.DataFrame
    """By case, how far its text overlaps with its reference: one column for each baseline that has a value."""
    grouped: bool
    """Whether cases of one group are drawn together."""
    _parts: dict[str, pd.DataFrame] = field(default_factory=dict, init=False, repr=False, compare=False)
    """By attribute the rows `of` it: every rater is looked at on the same."""

    @property
    def floor(self) -> str:
        """The name of the constant that reads nothing."""
        return floor_name(self.questions)

    def of(self, attribute: str) -> pd.DataFrame:
        """The rows of one attribute, or of those that `overall` pools, which are turned to one direction."""
        if attribute not in self._parts:
            self._parts[attribute] = (
                self.pooling.rows(self.rows, (*self.arms, *self.people, self.floor))
                if attribute == OVERALL
                else self.rows[self.rows["attribute"] == attribute]
            )
        return self._parts[attribute]

    def scale_question(self, attribute: str) -> Question | None:
        """The attribute's question; for `overall`, one of those that share the scale."""
        name = next(iter(self.pooling.names), None) if attribute == OVERALL else attribute
        return None if name is None else self.questions[name]

    def reference(self, attribute: str, *, without: str | None = None) -> pd.Series:
        """What people say of the rows `of` the attribute; NaN where nobody rated or there is no majority."""
        rows = self.of(attribute)
        values = self.references[without].loc[rows.index]
        if attribute == OVERALL:
            values = self.pooling.turn(values, rows["attribute"])
        question = self.scale_question(attribute)
        return values.astype(float) if question is not None and question.scale.numeric else values


@dataclass(frozen=True, slots=True)
class Scores:
    """The numbers of one attribute, or of those that `overall` pools: a row a question, a column a rater."""

    rows: pd.DataFrame
    """`case`, `attribute`, `cluster`, and the sheet's other columns."""
    by_rater: Mapping[str, FloatArray]
    people: FloatArray
    """The people's reference."""
    cluster: IntArray

    def pairs(self, rater: str) -> Matrix:
        """`pairs` of a rater and the reference."""
        return pairs(self.cluster, self.by_rater[rater], self.people)


def scores(sheet: Sheet, attribute: str) -> Scores | None:
    """The numbers of every arm and of the constant on `attribute`, read off the sheet once; None for words."""
    question = sheet.scale_question(attribute)
    if question is None or not question.scale.numeric:
        return None
    rows = sheet.of(attribute)
    values = {
        name: pd.to_numeric(rows[name], errors="coerce").to_numpy(float)
        for name in (*sheet.arms, sheet.floor)
    }
    people = pd.to_numeric(sheet.reference(attribute), errors="coerce").to_numpy(float)
    return Scores(rows, values, people, pd.factorize(rows["cluster"])[0].astype(np.int64))


def lay_out(evidence: Evidence) -> Sheet:
    """The evidence as one sheet, with a column for the constant that gives every case the best score, and every pair a tie."""
    everyone = pd.concat([evidence.arms.astype({"value": object}), evidence.people.astype({"value": object})])
    wide = everyone.pivot(index=["case", "attribute"], columns="rater", values="value").reset_index()
    wide.columns.name = None
    people = tuple(sorted(set(evidence.people["rater"])))
    ranks = {name: kind != "jury" for name, kind in evidence.kinds.items()}
    arms = tuple(sorted(ranks, key=lambda name: ranks[name]))
    wide = wide.reindex(columns=["case", "attribute", *arms, *people])
    wide = wide[wide["attribute"].isin(list(evidence.questions))]
    constants = [_constant(evidence.questions[name]) for name in wide["attribute"]]
    wide[floor_name(evidence.questions)] = pd.Series(constants, wide.index, object)
    groups = evidence.groups
    wide.insert(2, "cluster", clusters(wide["case"], groups))
    keys = pd.MultiIndex.from_frame(wide[KEYS].astype(str))

    def reference(*without: str) -> pd.Series:
        """Row by row of `wide` what people say, those in `without` left out."""
        values = evidence.reference(without=without).table.set_index(KEYS)["value"]
        return values.reindex(keys).set_axis(wide.index)

    return Sheet(
        rows=wide,
        people=people,
        arms=arms,
        questions=evidence.questions,
        pooling=pooling(evidence.questions, set(wide["attribute"])),
        references={None: reference()} | {name: reference(name) for name in people if len(people) > 1},
        rule=evidence.rule,
        overlap=evidence.likeness.dropna(axis="columns", how="all"),
        grouped=bool(wide["case"].isin(groups.index).any()),
    )


def pairs(cluster: npt.ArrayLike, first: npt.ArrayLike, second: npt.ArrayLike) -> Matrix:
    """Two columns as the raters `arm` and `people`, over the rows that have both; a case is the row's number."""
    return Matrix.of_columns({ARM: first, PEOPLE: second}, cluster)


def floor_name(questions: Mapping[str, Question]) -> str:
    """What the constant beside these questions is called; the questions of one run are all of pairs, or none is."""
    return TIE if any(question.pair for question in questions.values()) else CONSTANT


def _constant(question: Question) -> object:
    """The good end of the scale, a tie between two outputs; nothing for words, of which none is best."""
    if question.pair:
        return 0
    return question.scale.ends[1 if question.better == "high" else 0] if question.scale.ordered else np.nan


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
    answers: Mapping[str, float] = field(default_factory=dict)
    """By column, how many answers lie behind a mark (their median over marks); one that is not known is 1."""
    notes: tuple[str, ...] = ()
    _references: dict[tuple[str, ...], pd.Series] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """By the people asked, what they say: every evaluator is held against the same."""

    def reference(self, *, without: Collection[str] = ()) -> pd.Series:
        """The people's reference, or that of the others; NaN where there is none."""
        raters = tuple(name for name in self.people if name not in without)
        if raters not in self._references:
            marks = self.table[list(raters)]
            attributes = marks.index.get_level_values("attribute")
            values = reference_values(marks.to_numpy(float), attributes, self.questions, self.rule)
            # Means of other marks that come to the same must be ties where they are ranked, whatever their last bits.
            self._references[raters] = pd.Series(np.round(values, 12), marks.index)
        return self._references[raters]

    @property
    def grouped(self) -> bool:
        return bool(self.clusters.duplicated().any())

    def attributes(self) -> list[str]:
        """Those that anybody marked, in the rubric's order."""
        marked_names = set(self.table.index.get_level_values("attribute"))
        return [name for name in self.questions if name in marked_names]


def lay_marks(evidence: Evidence) -> Marks:
    """The evidence as marks. A seat's repeats count as their median."""
    questions = {name: q for name, q in evidence.questions.items() if q.scale.ordered}
    seated = _seats(evidence.ballots)
    voters = _long(seated, "evaluator", questions)
    arms = _long(evidence.arms, "rater", questions)
    people = _long(evidence.people, "rater", questions)
    second_panel = _second_panel(evidence, questions)
    tables = [part for part in (arms, voters, people, second_panel) if len(part)]
    wide = (
        pd.concat(tables, ignore_index=True).pivot_table(
            index=KEYS, columns="evaluator", values="mark", aggfunc="median", sort=False
        )
        if tables
        else pd.DataFrame(index=pd.MultiIndex.from_arrays([[], []], names=KEYS), dtype=float)
    )
    raters = tuple(sorted(set(people["evaluator"])))
    by_arm = {
        str(arm): tuple(dict.fromkeys(rows["evaluator"])) for arm, rows in seated.groupby("arm", sort=False)
    }
    panel = {SECOND: "second panel"} if len(second_panel) else {}
    columns = [*evidence.kinds, *(name for names in by_arm.values() for name in names), *panel, *raters]
    cases = wide.index.get_level_values("case").unique().to_series()
    left_out = [name for name in evidence.questions if name not in questions]
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
        questions=questions,
        clusters=clusters(cases, evidence.groups).set_axis(cases),
        rule=evidence.rule,
        answers={
            **_answers(evidence.ballots, "arm"),
            **_answers(seated, "evaluator"),
            **_answers(evidence.rescored.assign(panel=SECOND), "panel"),
        },
        notes=(
            *(
                (f"attributes left out, because their values have no order: {', '.join(left_out)}",)
                if left_out
                else ()
            ),
            *evidence.reference().notes,
        ),
    )


def _answers(table: pd.DataFrame, evaluator: str) -> dict[str, float]:
    """By evaluator, how many answers to one question of one case are counted together."""
    if table.empty:
        return {}
    sizes = table.groupby([evaluator, *KEYS]).size()
    return {str(name): float(size) for name, size in sizes.groupby(level=0).median().items()}


def _seats(ballots: pd.DataFrame) -> pd.DataFrame:
    """The votes of juries of two seats or more, each seat named with its arm."""
    if ballots.empty:
        return pd.DataFrame(columns=["arm", "case", "attribute", "value", "evaluator"])
    several = ballots.groupby("arm")["seat"].transform("nunique") > 1
    seats = ballots[several]
    return seats.assign(evaluator=seats["arm"] + ": " + seats["seat"])[
        ["arm", "case", "attribute", "value", "evaluator"]
    ]


def with_marks(rows: pd.DataFrame, questions: Mapping[str, Question]) -> pd.DataFrame:
    """The rows whose attribute has an order, each with its `mark`; NaN where the value is not a number."""
    table = rows[rows["attribute"].isin(list(questions))]
    values = pd.to_numeric(table["value"], errors="coerce").to_numpy(float)
    ends = {name: _ends(questions[name]) for name in dict.fromkeys(table["attribute"])}
    bad_ends, good_ends = np.array([ends[name] for name in table["attribute"]], dtype=float).reshape(-1, 2).T
    return table.assign(mark=np.clip((values - bad_ends) / (good_ends - bad_ends), 0.0, 1.0) + 0.0)


def _long(table: pd.DataFrame, column: str, questions: Mapping[str, Question]) -> pd.DataFrame:
    rows = with_marks(table, questions).rename(columns={column: "evaluator"})
    return rows.astype({"case": str})[[*KEYS, "evaluator", "mark"]].dropna(subset=["mark"])


def _second_panel(evidence: Evidence, questions: Mapping[str, Question]) -> pd.DataFrame:
    """What those who scored again say together, under one name."""
    if evidence.rescored.empty:
        return pd.DataFrame(columns=[*KEYS, "evaluator", "mark"])
    panel = reference(evidence.rescored, questions, rule=evidence.rule).table
    return _long(panel.assign(rater=SECOND), "rater", questions)


def _ends(question: Question) -> tuple[float, float]:
    """The bad end of the scale and the good one."""
    low, high = (float(end) for end in question.scale.ends)
    return (low, high) if question.better == "high" else (high, low)
