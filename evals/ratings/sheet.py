"""Everybody's scores side by side: one row for each attribute of each case, one column for each rater."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..statistics.matrix import FloatArray
from .evidence import Evidence
from .question import Question

ARM, PEOPLE = "arm", "people"
OVERALL = "overall"
CONSTANT = "always the best score"
OVERLAP = "text overlap (ROUGE-L)"
OVERLAPS = {
    "overlap": OVERLAP,
    "token_f1": "text overlap (MiniLM token F1)",
    "cosine": "text overlap (MiniLM cosine)",
}
"""The baselines by the columns of `Evidence.cases` that hold them."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """The scores, who is who, and what is drawn together when cases are resampled."""

    rows: pd.DataFrame
    """Columns `case`, `attribute`, `cluster`, then one a rater; a rater without a score has NaN."""
    people: tuple[str, ...]
    arms: tuple[str, ...]
    """Of the run, juries before single judges."""
    questions: Mapping[str, Question]
    overlap: pd.DataFrame
    """By case, how far its text overlaps with its reference: one column for each baseline that has a value."""
    grouped: bool
    """Whether cases of one group are drawn together."""

    @property
    def pooled(self) -> tuple[str, ...]:
        """The attributes that `overall` pools: the largest set that shares one numeric scale."""
        numeric = {name: asked.scale for name, asked in self.questions.items() if asked.scale.numeric}
        rated = set(self.rows["attribute"])
        kinds = {name: (scale.ends, scale.values) for name, scale in numeric.items() if name in rated}
        if not kinds:
            return ()
        ((most, _),) = Counter(kinds.values()).most_common(1)
        return tuple(name for name, kind in kinds.items() if kind == most)

    def of(self, attribute: str) -> pd.DataFrame:
        """The rows of one attribute, or of those that `overall` pools."""
        wanted = self.pooled if attribute == OVERALL else (attribute,)
        return self.rows[self.rows["attribute"].isin(wanted)]

    def scale_question(self, attribute: str) -> Question | None:
        """The attribute's question; for `overall`, one of those that share the scale."""
        name = next(iter(self.pooled), None) if attribute == OVERALL else attribute
        return None if name is None else self.questions[name]

    def reference(self, rows: pd.DataFrame, *, without: str | None = None) -> pd.Series:
        """The median of the people, or their most frequent word; NaN where nobody or no word wins."""
        raters = [name for name in self.people if name != without]
        given = rows[raters]
        if all(self.questions[name].scale.numeric for name in rows["attribute"].unique()):
            return given.astype(float).median(axis=1)
        return given.apply(_winner, axis=1) if len(given) else given.iloc[:, 0]


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
    groups = evidence.cases.set_index("case")["group"]
    known = wide["case"].map(groups)
    wide.insert(2, "cluster", known.where(known.notna(), wide["case"]))
    return Sheet(
        rows=wide,
        people=people,
        arms=arms,
        questions=evidence.questions,
        overlap=evidence.cases.set_index("case")
        .reindex(columns=list(OVERLAPS))
        .rename(columns=OVERLAPS)
        .dropna(axis="columns", how="all"),
        grouped=bool(known.notna().any()),
    )


def pairs(rows: pd.DataFrame, first: pd.Series, second: pd.Series) -> pd.DataFrame:
    """Two columns as the raters `arm` and `people`, over the rows that have both; `case` is the row's number."""
    both = (first.notna() & second.notna()).to_numpy(bool)
    unit, cluster = np.flatnonzero(both), pd.factorize(rows["cluster"])[0][both]
    sides = {ARM: first, PEOPLE: second}
    return pd.concat(
        [
            pd.DataFrame({"case": unit, "cluster": cluster, "rater": name, "value": column.to_numpy()[both]})
            for name, column in sides.items()
        ],
        ignore_index=True,
    ).infer_objects()


def snapped(values: FloatArray, legal: Sequence[float]) -> FloatArray:
    """Each value at the nearest legal one, the lower of two that are as near."""
    points = np.asarray(legal, dtype=float)
    return points[np.abs(values[:, None] - points).argmin(axis=1)]


def _best(asked: Question) -> object:
    """The good end of the scale; nothing for words, of which none is best."""
    return asked.scale.ends[1 if asked.better == "high" else 0] if asked.scale.ordered else np.nan


def _winner(words: pd.Series) -> object:
    counted = words.dropna().value_counts()
    if counted.empty or (counted == counted.iloc[0]).sum() > 1:
        return np.nan
    return counted.index[0]
