"""Everybody's scores side by side: one row for each attribute of each case, one column for each rater."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..statistics.matrix import FloatArray, IntArray, Matrix
from .clusters import clusters
from .evidence import Evidence
from .pooling import Pooling, pooling
from .question import Question
from .reference import KEYS, Rule

ARM, PEOPLE = "arm", "people"
OVERALL = "overall"
CONSTANT = "always the best score"


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

    def of(self, attribute: str) -> pd.DataFrame:
        """The rows of one attribute, or of those that `overall` pools, which are turned to one direction."""
        if attribute not in self._parts:
            self._parts[attribute] = (
                self.pooling.rows(self.rows, (*self.arms, *self.people, CONSTANT))
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
        asked = self.scale_question(attribute)
        return values.astype(float) if asked is not None and asked.scale.numeric else values


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
    asked = sheet.scale_question(attribute)
    if asked is None or not asked.scale.numeric:
        return None
    rows = sheet.of(attribute)
    values = {
        name: pd.to_numeric(rows[name], errors="coerce").to_numpy(float) for name in (*sheet.arms, CONSTANT)
    }
    people = pd.to_numeric(sheet.reference(attribute), errors="coerce").to_numpy(float)
    return Scores(rows, values, people, pd.factorize(rows["cluster"])[0].astype(np.int64))


def lay_out(evidence: Evidence) -> Sheet:
    """The evidence as one sheet, with a column for the constant that gives every case the best score."""
    everyone = pd.concat([evidence.arms.astype({"value": object}), evidence.people.astype({"value": object})])
    wide = everyone.pivot(index=["case", "attribute"], columns="rater", values="value").reset_index()
    wide.columns.name = None
    people = tuple(sorted(set(evidence.people["rater"])))
    ranks = {name: kind != "jury" for name, kind in evidence.kinds.items()}
    arms = tuple(sorted(ranks, key=lambda name: ranks[name]))
    wide = wide.reindex(columns=["case", "attribute", *arms, *people])
    wide = wide[wide["attribute"].isin(list(evidence.questions))]
    wide[CONSTANT] = pd.Series(
        [_best(evidence.questions[name]) for name in wide["attribute"]], wide.index, object
    )
    groups = evidence.groups
    wide.insert(2, "cluster", clusters(wide["case"], groups))
    keys = pd.MultiIndex.from_frame(wide[KEYS].astype(str))

    def reference(*without: str) -> pd.Series:
        """Row by row of `wide` what people say, those in `without` left out."""
        found = evidence.reference(without=without).table.set_index(KEYS)["value"]
        return found.reindex(keys).set_axis(wide.index)

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


def nearest_legal(values: FloatArray, legal: Sequence[float]) -> FloatArray:
    """Each value at the nearest legal one, the lower of two that are as near."""
    points = np.asarray(legal, dtype=float)
    return points[np.abs(values[..., None] - points).argmin(axis=-1)]


def _best(asked: Question) -> object:
    """The good end of the scale; nothing for words, of which none is best."""
    return asked.scale.ends[1 if asked.better == "high" else 0] if asked.scale.ordered else np.nan
