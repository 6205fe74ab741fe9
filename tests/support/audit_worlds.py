"""Evidence that is made up, with something planted in it or nothing; and the shared data as evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from shared_data import shared_file

from venire.evals.ratings.evidence import Evidence
from venire.evals.ratings.question import Question
from venire.rubrics.scale import Scale

LIKERT = Question(
    Scale.model_validate({"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}}), "high"
)
WIDE = Question(Scale.model_validate({"level": "interval", "minimum": -20, "maximum": 20}), "high")
IMPACT = Question(
    Scale.model_validate({"level": "ordinal", "anchors": {0: "none", 1: "minimal", 2: "significant"}}), "low"
)
SECOND_BETTER = Question(
    Scale.model_validate({"level": "ordinal", "anchors": {-1: "the first", 0: "a tie", 1: "the second"}}),
    "high",
)
VOTES = ["arm", "case", "juror", "seat", "model", "attribute", "value"]
RATINGS = ["case", "rater", "attribute", "value"]


def case_names(n: int) -> list[str]:
    return [f"c{number}" for number in range(n)]


def votes(
    arm: str,
    seat: str,
    scores: Sequence[float] | np.ndarray,
    *,
    model: str = "m",
    attribute: str = "safe",
    repeat: int = 1,
) -> pd.DataFrame:
    """One juror's votes, a case each, as rows of an evidence's ballots."""
    juror = seat if repeat == 1 else f"{seat}#{repeat}"
    rows = {"arm": arm, "juror": juror, "seat": seat, "model": model, "attribute": attribute}
    return pd.DataFrame({"case": case_names(len(scores)), "value": scores, **rows})[VOTES]


def ratings(rater: str, scores: Sequence[float] | np.ndarray, attribute: str = "safe") -> pd.DataFrame:
    """One rater's scores, a case each, as rows of a table of ratings."""
    return pd.DataFrame(
        {"case": case_names(len(scores)), "rater": rater, "attribute": attribute, "value": scores}
    )[RATINGS]


def evidence(
    questions: Mapping[str, Question],
    *,
    arms: Sequence[pd.DataFrame] = (),
    people: Sequence[pd.DataFrame] = (),
    ballots: Sequence[pd.DataFrame] = (),
    systems: Sequence[str | None] | None = None,
    groups: Sequence[str] | None = None,
    moments: Sequence[tuple[str, str, str, str, str]] = (),
    rescored: pd.DataFrame | None = None,
) -> Evidence:
    """Tables as `gather` would give them."""
    given = pd.concat(arms) if arms else pd.DataFrame(columns=RATINGS)
    cast = pd.concat(ballots) if ballots else pd.DataFrame(columns=VOTES)
    human = pd.concat(people) if people else pd.DataFrame(columns=RATINGS)
    found = list(dict.fromkeys([*given["case"], *cast["case"], *human["case"]]))
    cases = pd.DataFrame(
        {"case": found, "group": groups or [None] * len(found), "system": systems or [None] * len(found)}
    ).assign(source_length=None, output_length=None)
    kinds = dict.fromkeys([*given["rater"], *cast["arm"]], "jury")
    return Evidence(
        arms=given,
        people=human,
        questions=questions,
        cases=cases,
        costs=pd.DataFrame(columns=["arm", "cases", "calls", "tokens", "usd"]),
        stops=pd.DataFrame(columns=["arm", "reason", "limit", "cases"]),
        kinds=kinds,
        ballots=cast,
        moments=pd.DataFrame(list(moments), columns=["arm", "case", "kind", "attribute", "text"]),
        rescored=rescored if rescored is not None else pd.DataFrame(),
    )


def shared_table(name: str) -> pd.DataFrame:
    """A table of the shared data, or a reason to skip."""
    return pd.read_csv(shared_file(name))


def clinicians_evidence() -> Evidence:
    """Two clinicians and a layman's guess as evaluators, the two together as a jury, the adjudicated label as people."""
    frame = shared_table("wer-is-unaware/primock_data_final_outcomes.csv")
    a, b = (frame[f"clinician_{name}"].to_numpy(float) for name in "ab")
    guess = frame["ze_clinical_guess"].to_numpy(float)
    cast = [votes("both", name, scores) for name, scores in (("a", a), ("b", b))]
    scores = {"both": (a + b) / 2, "clinician a": a, "clinician b": b, "layman": guess}
    return evidence(
        {"safe": IMPACT},
        arms=[ratings(name, given).dropna() for name, given in scores.items()],
        people=[ratings("adjudicated", frame["final_outcome"].to_numpy(float))],
        ballots=cast,
        groups=list(frame["call_id"]),
    )


def pandalm_evidence() -> Evidence:
    """GPT-3.5 and PandaLM-7B as a jury of two, three annotators as people; the score says how far the second is better."""
    frame = shared_table("pandalm/testset_v1_with_judges.csv")
    second = {"0": 0.0, "1": -1.0, "2": 1.0}
    judges = {
        name: frame[name].astype(str).map(second).fillna(0.0).to_numpy(float)
        for name in ("gpt35", "pandalm7b")
    }
    people = [
        ratings(f"annotator {n}", frame[f"annotator{n}"].astype(str).map(second).to_numpy(float))
        for n in (1, 2, 3)
    ]
    mean = (judges["gpt35"] + judges["pandalm7b"]) / 2
    return evidence(
        {"safe": SECOND_BETTER},
        arms=[ratings(name, given) for name, given in {"both": mean, **judges}.items()],
        people=people,
        ballots=[votes("both", name, given) for name, given in judges.items()],
    )
