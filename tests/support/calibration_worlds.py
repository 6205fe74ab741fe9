"""Worlds for calibration: jurors, people and what the cases are, as evidence, without a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from venire.evals.ratings.evidence import Evidence
from venire.evals.ratings.question import Question
from venire.rubrics.rubric import Rubric
from venire.rubrics.scale import Scale

LIKERT = Scale.model_validate({"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}})
KIND = Scale.model_validate({"level": "nominal", "anchors": {"red": "", "green": "", "blue": ""}})
RUBRIC = Rubric.model_validate(
    {
        "name": "note",
        "version": 1,
        "scales": {"agree5": LIKERT.model_dump(exclude_none=True)},
        "attributes": [
            {"name": "accurate", "question": "Is it true?", "scale": "agree5"},
            {"name": "risk", "question": "Could it harm?", "scale": "agree5", "better": "low", "reverse_as": "safety"},
        ],
        "composites": {"quality": {"accurate": 0.6, "safety": 0.4}},
    }
)  # fmt: skip
Votes = Mapping[str, Mapping[str, np.ndarray]]
"""By attribute, by juror: one value a case, NaN where the juror abstained."""


def jury_evidence(
    votes: Votes,
    people: Mapping[str, np.ndarray],
    *,
    arm: str = "jury",
    groups: Sequence[str] | None = None,
    systems: Sequence[str] | None = None,
    questions: Mapping[str, Question] | None = None,
    rubric: Rubric | None = None,
    rescored: Mapping[str, np.ndarray] | None = None,
) -> Evidence:
    """One arm whose verdict is the mean of its jurors; NaN is a vote or a label that was never given."""
    n = len(next(iter(next(iter(votes.values())).values())))
    cases = np.array([f"c{number}" for number in range(n)])
    asked = questions or {name: Question(LIKERT, "high") for name in votes}
    ballots = [
        _long(cases, attribute, values, juror=juror)
        for attribute, by in votes.items()
        for juror, values in by.items()
    ]
    cast = pd.concat(ballots, ignore_index=True).assign(arm=arm)
    cast["seat"] = cast["juror"].str.split("#").str[0]
    cast["model"] = cast["seat"]
    verdicts = [_long(cases, attribute, _mean(by), rater=arm) for attribute, by in votes.items()]
    rated = [_long(cases, attribute, values, rater="people") for attribute, values in people.items()]
    second = [
        _long(cases, attribute, values, rater="second") for attribute, values in (rescored or {}).items()
    ]
    return Evidence(
        arms=pd.concat(verdicts, ignore_index=True),
        people=pd.concat(rated, ignore_index=True),
        questions=asked,
        cases=pd.DataFrame({"case": cases, "group": groups, "system": systems}),
        costs=pd.DataFrame(columns=["arm", "cases", "calls", "tokens", "usd"]),
        stops=pd.DataFrame(columns=["arm", "reason", "limit", "cases"]),
        kinds={arm: "jury"},
        ballots=cast,
        rubrics={arm: rubric} if rubric else {},
        rescored=pd.concat(second, ignore_index=True) if second else pd.DataFrame(),
    )  # fmt: skip


def harsh_jury(seed: int, n: int, *, noise: float = 0.45) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Three jurors who squeeze and lower what they see, and people who do not."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(3.2, 1.0, n)
    people = np.clip(np.rint(quality + rng.normal(0, 0.4, n)), 1, 5)
    habits = {"ana": (-1.0, 0.6), "ben": (-0.6, 0.5), "cy": (0.4, 0.7)}
    votes = {
        name: np.clip(np.rint(3 + squeeze * (quality - 3) + shift + rng.normal(0, noise, n)), 1, 5)
        for name, (shift, squeeze) in habits.items()
    }
    return votes, people


def _long(cases: np.ndarray, attribute: str, values: np.ndarray, **who: str) -> pd.DataFrame:
    table = pd.DataFrame({"case": cases, **who, "attribute": attribute, "value": values})
    return table.dropna(subset=["value"])


def _mean(by: Mapping[str, np.ndarray]) -> np.ndarray:
    columns = list(by.values())
    if columns[0].dtype == object:
        return columns[0]
    given = np.column_stack(columns)
    known = ~np.isnan(given)
    total = np.where(known, given, 0).sum(axis=1)
    return np.where(known.any(axis=1), total / np.maximum(known.sum(axis=1), 1), np.nan)
