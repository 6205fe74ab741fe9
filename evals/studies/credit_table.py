"""The credit that each arm of a study earned on each case, and what that cost: read from the record, never from a model."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pandas as pd

from ...agents.cost import CostUnit
from ...orchestration.reading.export import verdicts
from ...orchestration.record import Store
from ..ratings.question import rubric_questions
from ..ratings.rating_check import check_ratings
from ..ratings.reference import Rule, reference
from ..ratings.run_tables import VALUES
from ..selection import arm_credits
from ..selection.deliberated_arms import JURY, SINGLE
from .arm_calibration import calibrate_arms
from .schema import Calibration

UNITS: Mapping[CostUnit, str] = {
    "usd": "US dollars a case",
    "tokens": "tokens a case",
    "calls": "model calls a case",
}


def arm_values(
    store: Store, names: Collection[str], cases: Collection[str], unit: CostUnit
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The arms' scores (`case, rater, attribute, value`), and what each case took (`arm, case, cost, seconds`).

    An arm's cost is what it would take alone: a call that it shares with others counts in full for each.
    """
    values, spent = [], []
    wanted = frozenset(cases)
    for name in names:
        for arm, verdict in verdicts(store, arm=name):
            if verdict.case not in wanted:
                continue
            cost = verdict.transcript.cost
            spent.append((arm.name, verdict.case, cost.amount(unit), cost.seconds))
            values += [
                (verdict.case, arm.name, attribute, outcome.value)
                for attribute, outcome in verdict.outcomes.items()
                if outcome.status == "reached"
            ]
    return (
        pd.DataFrame(values, columns=list(VALUES)),
        pd.DataFrame(spent, columns=["arm", "case", "cost", "seconds"]),
    )


def credit_table(
    store: Store,
    arms: Mapping[str, Calibration],
    cases: Collection[str],
    people: pd.DataFrame,
    *,
    attributes: Collection[str],
    rule: Rule | None,
    unit: CostUnit,
    seed: int,
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """One row for each arm, case and attribute with the credit it earned: what `weigh` takes; and what was left out."""
    sat = [arm for arm in store.arms() if arm.name in arms]
    questions = rubric_questions(*(arm.rubric for arm in sat), only=attributes)
    values, spent = arm_values(store, [arm.name for arm in sat], cases, unit)
    values, notes = calibrate_arms(
        store, people, values, {arm.name: arms[arm.name] for arm in sat}, rule=rule, seed=seed
    )
    rated, check = check_ratings(
        people, rubric_questions(*(arm.rubric for arm in sat)), cases=cases, more_to_come=True
    )
    kinds = {arm.name: SINGLE if arm.jury.single_judge else JURY for arm in sat}
    agreed = reference(rated, questions, rule=rule)
    table = arm_credits(
        values,
        agreed,
        questions=questions,
        kinds={name: kind for name, kind in kinds.items() if name in set(values["rater"])},
        costs=_by_arm(spent),
        groups=groups_of(store, cases),
    )
    unscored = [repr(name) for name in questions if name not in set(values["attribute"])]
    silent = [f"no arm has a score of {', '.join(unscored)}, so no figure holds any"] if unscored else []
    # No answer to what was never put before an arm is no miss.
    return table.merge(spent[["arm", "case"]], on=["arm", "case"]), (
        *check.notes,
        *agreed.notes,
        *notes,
        *silent,
    )


def _by_arm(spent: pd.DataFrame) -> pd.DataFrame:
    """The mean cost and seconds of a case by arm; NaN where the price of one case is unknown."""
    return pd.DataFrame(
        [
            (arm, rows["cost"].mean(skipna=False), rows["seconds"].mean())
            for arm, rows in spent.groupby("arm", sort=False)
        ],
        columns=["arm", "cost", "seconds"],
    )


def groups_of(store: Store, cases: Collection[str]) -> dict[str, str]:
    """By case, its group; a case without one is not in it."""
    stored = {name: store.case(name) for name in cases}
    return {name: case.group for name, case in stored.items() if case is not None and case.group is not None}
