"""What a run's arms and seats answered, held against people: the credit of each arm on each question, and each seat's blind first ballot."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from statistics import median

import numpy as np
import pandas as pd

from ...agents.cost import CostUnit
from ...orchestration.counting import mode
from ...orchestration.reading.export import verdicts
from ...orchestration.record import Arm, Store
from ...orchestration.transcript import Cast, Transcript
from ...personas.jury import Seat
from ...rubrics.scale import NOT_APPLICABLE
from ..calibration.calibrator import cross_validate
from ..calibration.labelled_scores import TooFewLabels, labelled_scores
from ..ratings.evidence import Evidence, gather
from ..ratings.people import check_ratings
from ..ratings.question import Question, rubric_questions
from ..ratings.reference import KEYS, Reference, Rule, codes, reference, require_columns
from ..ratings.run_tables import VALUES
from .candidates import JURY, SINGLE
from .grid import NOBODY
from .jury_search import credit
from .schema import Calibration


def arm_credits(
    ratings: pd.DataFrame,
    people: Reference,
    *,
    questions: Mapping[str, Question],
    kinds: Mapping[str, str],
    costs: pd.DataFrame | None = None,
    groups: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """The table that `weigh` takes, with the arms' and people's values as numbers, from arms' scores (`case, rater, attribute, value`) and people's reference.

    Every arm has a row for every attribute of a case that any arm answered and people have a value for; what it did not answer
    is a miss on nominal and binary scales and has no credit on others.

    Args:
        kinds: By arm: jury or single judge.
        costs: By `arm`, the `cost` and `seconds` of a case.
        groups: By case its group, where it has one.
    """
    require_columns(ratings, ("case", "rater", "attribute", "value"), "the arms' scores")
    truth = people.table.assign(truth=codes(people.table, questions)).drop(columns="value")
    given = ratings.astype({"case": str, "attribute": str, "rater": str})
    given = given[given["attribute"].isin(list(questions))]
    scored = given.assign(value=codes(given, questions))
    asked = scored[KEYS].drop_duplicates().merge(truth, on=KEYS)
    every = asked.merge(pd.DataFrame({"arm": list(kinds), "kind": list(kinds.values())}), how="cross")
    table = every.merge(
        scored.rename(columns={"rater": "arm"})[[*KEYS, "arm", "value"]], on=[*KEYS, "arm"], how="left"
    )
    scales = [questions[name].scale for name in table["attribute"]]
    ends = [tuple(map(float, s.ends)) if s.numeric else (0.0, 1.0) for s in scales]
    table["credit"] = credit(
        table["value"].to_numpy(float),
        table["truth"].to_numpy(float),
        exact=np.array([s.level in ("nominal", "binary") for s in scales], dtype=bool),
        width=np.array([high - low for low, high in ends]),
    )
    table["answered"] = table["value"].notna()
    if costs is not None:
        table = table.merge(costs[["arm", "cost", "seconds"]], on="arm", how="left")
    if groups:
        table["group"] = table["case"].map(dict(groups))
    return table


def calibrate_arms(
    read: Callable[[], Evidence], values: pd.DataFrame, arms: Mapping[str, Calibration], *, seed: int
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """`values` with the scores of the arms that say so calibrated, and what could not be.

    Every case is scored by curves that saw neither it nor another case of its group. What cannot be calibrated has no
    score: an arm is not quietly scored as another.
    """
    wanted = {arm: how for arm, how in arms.items() if how != "none"}
    if not wanted:
        return values, ()
    evidence = read()
    parts, notes = [values[~values["rater"].isin(list(wanted))]], []
    for arm, how in wanted.items():
        try:
            found = cross_validate(labelled_scores(evidence, arm), method=how, seed=seed)
        except TooFewLabels as few:
            notes.append(f"{arm} is left out: {few.problem}")
            continue
        rows = found.scores[~found.scores["attribute"].isin(list(found.composites))]
        parts.append(rows.assign(rater=arm, value=rows["after"].astype(object))[list(values.columns)])
        notes += [f"{arm}: {note}" for note in found.notes]
    return pd.concat(parts, ignore_index=True), tuple(notes)


UNITS: Mapping[CostUnit, str] = {
    "usd": "US dollars per case",
    "tokens": "tokens per case",
    "calls": "model calls per case",
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
        for arm, verdict in verdicts(store, arm=name, written=True):
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
    hearings: Mapping[str, str] | None = None,
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """One row for each arm, case and attribute with the credit it earned: what `weigh` takes; and what was left out."""
    sat = [arm for arm in store.arms() if arm.name in arms]
    questions = rubric_questions(*(arm.rubric for arm in sat), only=attributes)
    values, spent = arm_values(store, [*(arm.name for arm in sat), *(hearings or {})], cases, unit)
    if hearings:
        values, spent = _together(values, spent, hearings, questions)
    read = partial(gather, store, people, rule=rule)
    values, notes = calibrate_arms(read, values, {arm.name: arms[arm.name] for arm in sat}, seed=seed)
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
    silent = (
        [f"no arm has a score for {', '.join(unscored)}, so no figure of the report includes it"]
        if unscored
        else []
    )
    # No answer to what was never put before an arm is no miss.
    return table.merge(spent[["arm", "case"]], on=["arm", "case"]), (
        *check.notes,
        *agreed.notes,
        *notes,
        *silent,
    )


def _together(
    values: pd.DataFrame,
    spent: pd.DataFrame,
    hearings: Mapping[str, str],
    questions: Mapping[str, Question],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The verdicts of an arm's repeated deliberations counted as one, as a judge's repeats are: by the median, or the majority.

    Its cost is that of all of them, its seconds those of the slowest.
    """
    named = values.assign(rater=values["rater"].replace(dict(hearings)))
    repeated = named["rater"].isin(set(hearings.values()))
    rows = []
    for (case, rater, attribute), mine in named[repeated].groupby(["case", "rater", "attribute"], sort=False):
        ordered = attribute in questions and questions[str(attribute)].scale.level in ("ordinal", "interval")
        given = mine["value"].tolist()
        rows.append((case, rater, attribute, median(map(float, given)) if ordered else mode(given)))
    counted = pd.concat([named[~repeated], pd.DataFrame(rows, columns=list(VALUES))], ignore_index=True)
    cost = spent.assign(arm=spent["arm"].replace(dict(hearings))).groupby(["arm", "case"], sort=False)
    return counted, cost.agg(
        cost=("cost", lambda each: each.sum(skipna=False)), seconds=("seconds", "max")
    ).reset_index()


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


COLUMNS = ["case", "juror", "attribute", "value", "cost", "seconds"]
_BLIND = ("blind", "repeat")


def blind_ballots(store: Store, names: Collection[str], unit: CostUnit) -> pd.DataFrame:
    """One row for each attribute that a seat judged on its own: `case, juror, attribute, value, cost, seconds`.

    A juror is named by persona and model. Its cost stands in the first row of a ballot.
    """
    arms = [arm for arm in store.arms() if arm.name in names and arm.jury.protocol != "escalate"]
    labels = _labels(arms)
    rows: dict[tuple[str, str], list[tuple[object, ...]]] = {}
    for arm in arms:
        for transcript in store.transcripts(arm):
            for entry, kind in _first_ballots(arm, transcript):
                who = (transcript.case, labels[kind])
                if who not in rows:
                    rows[who] = list(_rows(transcript.case, labels[kind], entry, unit))
    return pd.DataFrame([row for ballot in rows.values() for row in ballot], columns=COLUMNS)


Kind = tuple[object, ...]
"""What makes two seats one juror: everything but the name, and which of several alike it is."""


def _kinds(arm: Arm) -> dict[str, Kind]:
    return {
        seat.name: (*_alike(seat), start)
        for seat, start in zip(arm.jury.seats, arm.jury.first_repeats, strict=True)
    }


def _alike(seat: Seat) -> Kind:
    return (seat.model_dump_json(exclude={"name"}),)


def _first_ballots(arm: Arm, transcript: Transcript) -> Iterator[tuple[Cast, Kind]]:
    kinds = _kinds(arm)
    for entry in transcript.ballots:
        if entry.purpose in _BLIND and entry.round == 1 and entry.speaker in kinds and not entry.ballot.saw:
            yield entry, kinds[entry.speaker]


def _labels(arms: Collection[Arm]) -> Mapping[Kind, str]:
    """A name for each kind of seat: its persona, its model where several have it, a number where that is not enough."""
    seats = {
        kind: seat for arm in arms for seat, kind in zip(arm.jury.seats, _kinds(arm).values(), strict=True)
    }
    models: dict[str, set[str]] = {}
    for seat in seats.values():
        models.setdefault(_persona(seat), set()).add(seat.model or "local")
    labels: dict[Kind, str] = {}
    taken: list[str] = []
    for kind, seat in seats.items():
        name, model = _persona(seat), seat.model or "local"
        if seat.persona is None and len(models[name]) > 1:
            name = model
        elif len(models[name]) > 1:
            name = f"{name}@{model.rpartition('/')[2]}"
        taken.append(name)
        labels[kind] = name if taken.count(name) == 1 else f"{name}#{taken.count(name)}"
    return labels


def _persona(seat: Seat) -> str:
    return seat.persona.name if seat.persona else NOBODY


def _rows(case: str, juror: str, entry: Cast, unit: CostUnit) -> Iterator[tuple[object, ...]]:
    cost = entry.spent.cost
    for number, vote in enumerate(entry.ballot.votes):
        value = None if vote.value == NOT_APPLICABLE else vote.value
        yield (
            case,
            juror,
            vote.attribute,
            value,
            cost.amount(unit) if number == 0 else 0.0,
            cost.seconds if number == 0 else 0.0,
        )
