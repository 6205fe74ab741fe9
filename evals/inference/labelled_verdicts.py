"""A run's verdicts beside people's reference: what every statement about unlabelled cases starts from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...orchestration.record import Arm, Store
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ..ratings.clusters import cluster_numbers
from ..ratings.question import Question, rubric_questions
from ..ratings.rating_check import check_ratings
from ..ratings.reference import Rule, codes, reference
from ..ratings.run_tables import arm_tables
from .verdict_table import VerdictTable


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
        found = next((arm for arm in self.arms if arm.name == name), None)
        if found is None:
            raise VenireError(
                f"no arm named {name!r} in this run", remedy=nearest(name, [arm.name for arm in self.arms])
            )
        return found

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
        rated = set(self.table.loc[self.table["reference"].notna(), "attribute"])
        return [name for name in arm.rubric.names if name in rated]


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
        raise VenireError(f"{store.name}: no verdict in it", remedy="run a jury on some cases first")
    questions = rubric_questions(*(arm.rubric for arm in arms))
    table["score"] = codes(table, questions)
    notes: tuple[str, ...] = ()
    labels = pd.Series(dtype=float)
    if human is not None:
        people, check = check_ratings(
            human, questions, taken={arm.name for arm in arms}, cases=store.case_ids()
        )
        found = reference(people, questions, rule=rule)
        # That most cases have no label is what this is for, and is said with the estimate.
        notes = (*(note for note in check.notes if "that nobody rated" not in note), *found.notes)
        if found.table.empty:
            raise VenireError(
                "no case of the run has people's reference",
                remedy="check that the ratings name the run's cases and the rubric's attributes",
            )
        labels = found.table.assign(number=codes(found.table, questions)).set_index(["case", "attribute"])[
            "number"
        ]
    keys = pd.MultiIndex.from_frame(table[["case", "attribute"]].astype(str))
    table["reference"] = labels.reindex(keys).to_numpy(float) if len(labels) else np.nan
    cases = {name: store.case(name) for name in dict.fromkeys(table["case"])}
    for part in ("group", "system"):
        known = {name: getattr(case, part) if case else None for name, case in cases.items()}
        table[part] = table["case"].map(known).astype(object)
    table["cluster"] = cluster_numbers(
        table["case"], {name: case.group if case else None for name, case in cases.items()}
    )
    return LabelledVerdicts(table, arms, questions, notes)
