"""The triage of a run as it is kept, with people's ratings or without."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd

from ...orchestration.record import Store
from ...rubrics.errors import VenireError
from ..figures.section import Section
from ..ratings.evidence import Evidence, gather
from ..ratings.flag_table import ArmMoments
from ..ratings.marks import lay_marks
from ..ratings.question import rubric_questions
from ..ratings.reference import Rule
from ..ratings.run_tables import ArmRatings, JurorRatings, arm_tables
from ..statistics.draws import Draws
from .review import errors
from .severity import Severity
from .triage import Docket, triage
from .triage_section import triage_section


def run_triage(
    run: Store | Path | str,
    human: pd.DataFrame | None = None,
    *,
    arm: str | None = None,
    severity: Severity | None = None,
    reference: Rule | None = None,
    seed: int = 0,
    resamples: int = 1000,
) -> tuple[Docket, Section | None]:
    """The triage of one arm of a run, its first jury unless named; with ratings, also how good it is."""
    store = run if isinstance(run, Store) else Store.read(run)
    try:
        evidence = gather(store, human, rule=reference) if human is not None else _without_ratings(store)
    finally:
        if store is not run:
            store.release()
    named = arm or next((name for name, kind in evidence.kinds.items() if kind == "jury"), None)
    named = named or next(iter(evidence.kinds), None)
    if named is None or named not in evidence.kinds:
        problem = f"the run has no arm {named!r}" if named else "the run has no arm"
        raise VenireError(
            problem, remedy=f"choose one of {', '.join(evidence.kinds) or 'none: run a jury first'}"
        )
    severity = severity or Severity()
    marks = lay_marks(evidence)
    if human is None:
        return triage(evidence, marks, named, severity), None
    wrong = errors(marks, named, severity)
    if wrong.notna().sum() == 0:
        raise VenireError(
            f"the ratings and {named} have no case and attribute in common",
            remedy="check that the ratings use the run's case ids and the rubric's attribute names",
        )
    docket = triage(evidence, marks, named, severity, wrong=wrong)
    told = triage_section(evidence, marks, severity, Draws(seed, resamples), arms=(named,))
    return docket, replace(told, notes=tuple(dict.fromkeys((*evidence.notes, *told.notes))))


def _without_ratings(store: Store) -> Evidence:
    """What triage needs of a run that nobody rated."""
    arms = store.arms()
    ratings, ballots, moments = arm_tables(store, ArmRatings(), JurorRatings(), ArmMoments())
    return Evidence(
        arms=ratings,
        people=pd.DataFrame(columns=["case", "rater", "attribute", "value"]),
        questions=rubric_questions(*(arm.rubric for arm in arms)),
        cases=pd.DataFrame(columns=["case", "group", "system"]),
        costs=pd.DataFrame(),
        stops=pd.DataFrame(),
        kinds={arm.name: "single judge" if arm.jury.single_judge else "jury" for arm in arms},
        ballots=ballots,
        moments=moments,
    )
