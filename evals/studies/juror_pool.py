"""The pool from whom juries are drawn: every juror's votes on every question, side by side with people's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...rubrics.errors import VenireError
from ...rubrics.scale import Scale
from ..ratings.folds import cluster_numbers, groups_in
from ..ratings.question import Question, off_scale
from ..ratings.reference import KEYS, Rule, codes, reference, require_columns
from ..statistics.matrix import FloatArray, IntArray, InvalidRatings

COUNTINGS = ("median", "mean", "mode")
BINARY, WORDS = "median, hung where tied", "mode of words"
ENOUGH = 0.5
"""The share of the questions that a juror must have answered to be in the pool."""
PRICED, VOTES = "cost per case", "votes per case"
"""What cost counts: what the judgements say, or, where that is not known of all, votes."""
UNIT = [*KEYS, "repeat"]
SHOWN = 3
"""Illegal judgements that are written out in a note."""


@dataclass(frozen=True, slots=True)
class Pool:
    """One row for each question: an attribute of a case, and which repeat or order of it."""

    jurors: tuple[str, ...]
    questions: pd.DataFrame
    """Columns `case`, `attribute`, `repeat`."""
    votes: FloatArray
    """By question and juror; NaN is an abstention."""
    truth: FloatArray
    cluster: IntArray
    """The number of the case, or of the group of cases, that is drawn as a whole."""
    counting: npt.NDArray[np.str_]
    """By question, how votes on it are counted."""
    exact: npt.NDArray[np.bool_]
    """By question: whether only the same answer agrees, and none at all counts as a miss."""
    width: FloatArray
    """By question: the scale's highest value less its lowest."""
    direction: FloatArray
    """By question: 1 where high values are good, -1 where low ones are."""
    cost: FloatArray
    """By juror, for one case."""
    seconds: FloatArray
    unit: str
    notes: tuple[str, ...] = ()

    def at(self, rows: npt.NDArray[np.integer]) -> Pool:
        """The pool of some of the questions."""
        return replace(
            self,
            questions=self.questions.iloc[rows],
            **{name: getattr(self, name)[rows] for name in ("votes", "truth", "cluster", "counting", "exact", "width", "direction")},
        )  # fmt: skip


def pool_of(
    judgements: pd.DataFrame,
    people: pd.DataFrame,
    questions: Mapping[str, Question],
    counting: str,
    *,
    rule: Rule | None = None,
) -> Pool:
    """The pool of the jurors in `judgements`, on the questions that people answered too.

    A judgement off its scale is an abstention, as it is when the same answer is given in a run.

    Raises:
        InvalidRatings: A column is missing, a person's value is not on its scale, a juror judged a question twice.
        VenireError: Nothing is left to compare.
    """
    if counting not in COUNTINGS:
        raise VenireError(f"votes cannot be counted by {counting!r} here", remedy=f"use one of {COUNTINGS}")
    require_columns(judgements, ("case", "juror", "attribute", "value"), "the judgements")
    given = judgements.astype({"case": str, "juror": str, "attribute": str})
    given["repeat"] = given["repeat"].fillna(0).astype(int) if "repeat" in given else 0
    require_columns(people, KEYS, "the people's ratings")
    known = reference(people[people["case"].astype(str).isin(given["case"])], questions, rule=rule)
    truth = known.table.assign(value=codes(known.table, questions))
    met = given.merge(truth[KEYS], on=KEYS)
    if met.empty:
        raise VenireError(
            "the judgements and the people's ratings have no case and attribute in common",
            remedy="check that both use the same case ids, and the attribute names of the rubric",
        )
    twice = met.duplicated([*UNIT, "juror"])
    if twice.any():
        row = met[twice].iloc[0]
        raise InvalidRatings(
            f"{row['juror']} judged {row['attribute']!r} of case {row['case']!r} more than once",
            remedy="number the judgements in a column 'repeat'",
        )
    met, illegal = legal_judgements(met, questions)
    wide = met.assign(value=codes(met, questions)).pivot(index=UNIT, columns="juror", values="value")
    wide = wide[list(dict.fromkeys(met["juror"]))]
    answered = wide.notna().mean()
    seldom = answered[answered < ENOUGH]
    kept = [str(name) for name in answered.index[answered >= ENOUGH]]
    if not kept:
        raise VenireError(
            "; ".join(("no juror answered at least half of the questions", *illegal)),
            remedy="give judgements of the cases that people rated, on the scales of the rubric",
        )
    notes = (*known.notes, *illegal, *_notes(given, met, seldom))
    return _pool(given, wide[kept], truth, questions, counting, notes)


def legal_judgements(
    met: pd.DataFrame, questions: Mapping[str, Question]
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The judgements with those off their scale made blank, and a note that says how many and which."""
    illegal = pd.Series(False, met.index)
    for name, values in met.groupby("attribute")["value"]:
        illegal[values.index] = off_scale(values, questions[str(name)].scale)
    if not illegal.any():
        return met, ()
    shown = [
        f"{row['juror']}'s {_value_text(row['value'])} for {row['attribute']!r} of case {row['case']!r} is not on its scale"
        for row in met[illegal].head(SHOWN).to_dict("records")
    ]
    more = f", and {illegal.sum() - SHOWN} more" if illegal.sum() > SHOWN else ""
    note = f"{illegal.sum()} judgements count as abstentions: {', '.join(shown)}{more}."
    return met.assign(value=met["value"].astype(object).where(~illegal, None)), (note,)


def _value_text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _pool(
    given: pd.DataFrame,
    wide: pd.DataFrame,
    truth: pd.DataFrame,
    questions: Mapping[str, Question],
    counting: str,
    notes: tuple[str, ...],
) -> Pool:
    rows = wide.index.to_frame(index=False)
    scales = [questions[name].scale for name in rows["attribute"]]
    ends = [(min(s.values), max(s.values)) if s.values and s.numeric else (0, 1) if s.values else s.ends for s in scales]  # fmt: skip
    costs, unit = _cost_by_juror(given, "cost", wide.columns)
    return Pool(
        jurors=tuple(map(str, wide.columns)),
        questions=rows,
        votes=wide.to_numpy(float),
        truth=rows.merge(truth, on=KEYS, how="left")["value"].to_numpy(float),
        cluster=cluster_numbers(rows["case"], groups_in(given)),
        counting=np.array([_rule(scale, counting) for scale in scales]),
        exact=np.array([s.level in ("nominal", "binary") for s in scales]),
        width=np.array([float(high) - float(low) for low, high in ends]),
        direction=np.array([-1.0 if questions[name].better == "low" else 1.0 for name in rows["attribute"]]),
        cost=costs,
        seconds=_seconds_by_juror(given, wide.columns),
        unit=unit,
        notes=notes,
    )  # fmt: skip


def _rule(scale: Scale, counting: str) -> str:
    """How the rule named `counting` counts answers on this scale."""
    if scale.level == "binary" and counting == "median":
        return BINARY
    if not scale.ordered:
        return "mode" if scale.numeric else WORDS
    return counting


def _cost_by_juror(given: pd.DataFrame, column: str, jurors: pd.Index) -> tuple[FloatArray, str]:
    """What one case takes of each juror, over the cases whose cost is known in full; where it is not known of all, each counts
    one vote."""
    if column in given:
        rows = given.assign(spent=pd.to_numeric(given[column], errors="coerce"))
        by_case = rows.groupby(["juror", "case"])["spent"].agg(["sum", "count", "size"])
        whole = by_case["sum"].where(by_case["count"] == by_case["size"])
        mean = whole.groupby("juror").mean().reindex(jurors).to_numpy(float)
        if column != "cost" or np.isfinite(mean).all():
            return mean, PRICED
    return np.ones(len(jurors)), VOTES


def _seconds_by_juror(given: pd.DataFrame, jurors: pd.Index) -> FloatArray:
    """The mean seconds of a case; NaN where all took none, for answers that were written down beforehand do not say what they took."""
    if "seconds" not in given:
        return np.full(len(jurors), np.nan)
    spent, _ = _cost_by_juror(given, "seconds", jurors)
    return np.where(spent > 0, spent, np.nan)


def _notes(given: pd.DataFrame, met: pd.DataFrame, seldom: pd.Series) -> tuple[str, ...]:
    notes = []
    if lost := given["case"].nunique() - met["case"].nunique():
        notes.append(f"{lost} cases that jurors judged have no rating by people and were left out.")
    if len(seldom):
        some = ", ".join(map(str, seldom.index[:5])) + (" and others" if len(seldom) > 5 else "")
        notes.append(f"Jurors left out, because they answered fewer than half of the questions: {some}.")
    if "cost" in given and pd.to_numeric(given["cost"], errors="coerce").isna().any():
        notes.append("For some judgements, the cost was not recorded.")
    return tuple(notes)
