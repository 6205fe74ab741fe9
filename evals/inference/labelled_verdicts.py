"""A run's verdicts beside people's reference: what every statement about unlabelled cases starts from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd

from ...orchestration.acceptance import WEIGHTS, confidence
from ...orchestration.record import Arm, Store
from ...orchestration.stopping import settled
from ...orchestration.transcript import Transcript
from ...orchestration.verdict import Outcome, Verdict, outcome_signals
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ...rubrics.scale import NOT_APPLICABLE
from ..ratings.folds import cluster_numbers
from ..ratings.people import check_ratings
from ..ratings.question import Question, rubric_questions
from ..ratings.reference import Rule, codes, reference
from ..ratings.run_tables import arm_tables

Way = Literal["unanimous at once", "converged", "split", "hung", "not applicable"]
WAYS: tuple[Way, ...] = get_args(Way)
"""How a deliberation on an attribute went: the strata that labels can be drawn by."""
SIGNALS = tuple(WEIGHTS)
COLUMNS = ["arm", "case", "attribute", "status", "value", "way", *SIGNALS, "confidence"]


class VerdictTable:
    """One row for each attribute of each verdict, hung ones among them: `COLUMNS`. What is hung has no value."""

    def __init__(self) -> None:
        self._rows: list[dict[str, object]] = []

    def add(self, arm: Arm, verdict: Verdict) -> None:
        for name, outcome in verdict.outcomes.items():
            scale = arm.rubric.scale_of(name)
            signals = outcome_signals(outcome, verdict.transcript, name, scale, arm.jury)
            reached = outcome.status == "reached"
            self._rows.append(
                {
                    "arm": arm.name,
                    "case": verdict.case,
                    "attribute": name,
                    "status": outcome.status,
                    "value": outcome.value if reached else None,
                    "way": deliberation_way(verdict.transcript, name, outcome, arm.jury.tolerance),
                    **signals,
                    "confidence": confidence(signals) if reached else None,
                }
            )

    def table(self) -> pd.DataFrame:
        verdicts = pd.DataFrame(self._rows, columns=COLUMNS)
        return verdicts.astype(dict.fromkeys([*SIGNALS, "confidence"], float))


def deliberation_way(transcript: Transcript, attribute: str, outcome: Outcome, tolerance: float) -> Way:
    """How the deliberation on an attribute went: whether jurors agreed at once, in the end, or not at all."""
    if outcome.status == "hung":
        return "hung"
    if outcome.status == "not_applicable":
        return "not applicable"
    standing = transcript.standing().get(attribute, {})
    final_values = [ballot.vote.value for ballot in standing.values() if ballot.vote.value != NOT_APPLICABLE]
    if not settled(final_values, tolerance):
        return "split"
    first_votes: dict[str, object] = {}
    for entry in transcript.ballots:
        for vote in entry.ballot.votes:
            if vote.attribute == attribute and vote.value != NOT_APPLICABLE:
                first_votes.setdefault(entry.speaker, vote.value)
    blind = [value for juror, value in first_votes.items() if juror in standing]
    return "unanimous at once" if settled(blind, tolerance) else "converged"  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class LabelledVerdicts:
    """All verdicts of a run, each with people's reference where it has one."""

    table: pd.DataFrame
    """The columns of `VerdictTable`, `score` (the value as a number), `reference` (people's, as a number; NaN: no label),
    `cluster`, `group` and `system`."""
    arms: tuple[Arm, ...]
    questions: Mapping[str, Question]
    notes: tuple[str, ...]

    def arm(self, name: str | None) -> Arm:
        """The arm of that name; without one, the run's first jury, or its first judge."""
        if name is None:
            return next((arm for arm in self.arms if not arm.jury.single_judge), self.arms[0])
        match = next((arm for arm in self.arms if arm.name == name), None)
        if match is None:
            raise VenireError(
                f"no arm named {name!r} in this run", remedy=nearest(name, [arm.name for arm in self.arms])
            )
        return match

    def of(self, arm: str, attribute: str) -> pd.DataFrame:
        """The verdicts of one arm on one attribute."""
        table = self.table
        return table[(table["arm"] == arm) & (table["attribute"] == attribute)].reset_index(drop=True)

    def attributes(self, arm: Arm, wanted: str | None) -> list[str]:
        """The attribute named, or all that the arm was asked about and people rated."""
        if wanted is not None:
            if wanted not in arm.rubric.names:
                raise VenireError(
                    f"{arm.name} was not asked about {wanted!r}", remedy=nearest(wanted, arm.rubric.names)
                )
            return [wanted]
        rated_names = set(self.table.loc[self.table["reference"].notna(), "attribute"])
        return [name for name in arm.rubric.names if name in rated_names]


def labelled_verdicts(
    store: Store, human: pd.DataFrame | None, *, rule: Rule | None = None
) -> LabelledVerdicts:
    """The verdicts of every arm of a run with people's reference; without ratings, with none.

    Raises:
        VenireError: The run has no arm, or the ratings cannot be used.
    """
    arms = tuple(store.arms())
    (table,) = arm_tables(store, VerdictTable())
    if not arms or table.empty:
        raise VenireError(f"{store.name}: this run has no verdict", remedy="run a jury on some cases first")
    questions = rubric_questions(*(arm.rubric for arm in arms))
    table["score"] = codes(table, questions)
    notes: tuple[str, ...] = ()
    labels = pd.Series(dtype=float)
    if human is not None:
        people, check = check_ratings(
            human, questions, taken={arm.name for arm in arms}, cases=store.case_ids()
        )
        people_reference = reference(people, questions, rule=rule)
        # That most cases have no label is what this is for, and is said with the estimate.
        notes = (*(note for note in check.notes if "without a rating" not in note), *people_reference.notes)
        if people_reference.table.empty:
            raise VenireError(
                "no case of the run was rated by people",
                remedy="check that the ratings use the run's case ids and the rubric's attribute names",
            )
        labels = people_reference.table.assign(number=codes(people_reference.table, questions)).set_index(
            ["case", "attribute"]
        )["number"]
    keys = pd.MultiIndex.from_frame(table[["case", "attribute"]].astype(str))
    table["reference"] = labels.reindex(keys).to_numpy(float) if len(labels) else np.nan
    cases = {name: store.case(name) for name in dict.fromkeys(table["case"])}
    for part in ("group", "system"):
        part_by_case = {name: getattr(case, part) if case else None for name, case in cases.items()}
        table[part] = table["case"].map(part_by_case).astype(object)
    table["cluster"] = cluster_numbers(
        table["case"], {name: case.group if case else None for name, case in cases.items()}
    )
    return LabelledVerdicts(table, arms, questions, notes)
