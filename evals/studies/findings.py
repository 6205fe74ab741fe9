"""What a study found: the arms on the frontier, what each seat adds, what was paid, and which arm to use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from ...orchestration.record import Store, Toll
from ...rubrics.errors import VenireError
from ..ratings.evidence import checked
from ..ratings.question import Question
from ..selection import Composition, analyse, weigh
from .blind_ballots import blind_ballots
from .credit_table import UNITS, credits, groups_of, questions_in
from .study_record import Kept, kept, kept_ratings, kept_trials


@dataclass(frozen=True, slots=True)
class Report:
    """A study's findings, as tables and sentences."""

    study: Kept
    folder: Path
    arms: Composition
    """The arms that sat on the test cases, chosen on the others."""
    jurors: Composition | None
    """Juries made of the seats' own first ballots; None where there is too little for any."""
    table: pd.DataFrame
    """One row an arm, cheapest first: how it is made, what it earned on either part of the cases, what it took."""
    trials: pd.DataFrame
    paid: Toll
    """What was really paid, for all arms together."""
    alone: int
    """The calls that all arms, those given up early among them, would have made each in a run of its own."""
    notes: tuple[str, ...]

    def sentences(self) -> list[str]:
        """Which arm to use, and what was paid to know it."""
        return [*self.arms.sentences(), self.paid_sentence]

    @property
    def paid_sentence(self) -> str:
        dollars = f"${self.paid.usd:.4f}" if self.paid.priced == self.paid.calls else "an unknown price"
        return (
            f"The study made {self.paid.calls} calls ({self.paid.prompt + self.paid.completion} tokens, {dollars}); "
            f"each arm in a run of its own would have made {self.alone} in all."
        )


def report_on(folder: Path, *, resamples: int = 1000) -> Report:
    """The report of the study that was run in `folder`. Makes no model call."""
    study, people = kept(folder), kept_ratings(folder)
    store = Store.read(folder)
    try:
        return _reported(study, folder, store, people, resamples)
    finally:
        store.release()


def _reported(study: Kept, folder: Path, store: Store, people: pd.DataFrame, resamples: int) -> Report:
    both = (*study.selection, *study.test)
    table, notes = credits(
        store, study.arms, both, people, attributes=study.attributes, unit=study.unit, seed=study.seed
    )
    heard = table.dropna(subset=["credit"]).groupby("arm")["case"].agg(set)
    tested = [arm for arm, cases in heard.items() if not study.test or cases & set(study.test)]
    if not tested:
        raise VenireError(
            f"{folder}: no arm of the study has heard a {'test ' if study.test else ''}case that people rated",
            remedy="run it to its end: venire study run",
        )
    found = weigh(
        table[table["arm"].isin(tested)],
        test=study.test or None,
        seed=study.seed,
        resamples=resamples,
        unit=UNITS[study.unit],
    )
    arms = [arm for arm in store.arms() if arm.name in study.arms]
    questions = questions_in(arms, study.attributes)
    jurors, why = _jurors(store, study, people, questions, resamples)
    return Report(
        study=study,
        folder=folder,
        arms=found,
        jurors=jurors,
        table=_arms_table(store, study, table, found),
        trials=pd.DataFrame(kept_trials(folder)),
        paid=store.toll(),
        alone=sum(each.calls for arm in store.arms() for each in store.transcripts(arm)),
        notes=(*notes, *found.notes, *why),
    )


def _jurors(
    store: Store, study: Kept, people: pd.DataFrame, questions: Mapping[str, Question], resamples: int
) -> tuple[Composition | None, tuple[str, ...]]:
    """What the seats add to each other, as far as they voted blind."""
    ballots = blind_ballots(store, study.arms, study.unit)
    rated, _ = checked(people, questions, taken=set())
    ballots["group"] = ballots["case"].map(groups_of(store, [*study.selection, *study.test]))
    if study.search is not None:
        # Only what was chosen heard the test cases: all seats can be held against each other on the others alone.
        ballots = ballots[ballots["case"].isin(list(study.selection))]
    try:
        test = set(study.test) & set(ballots["case"])
        found = analyse(
            ballots, rated, questions=questions, test=test or None, seed=study.seed, resamples=resamples
        )
    except VenireError as error:
        return None, (f"What each seat adds cannot be told: {error.problem}.",)
    return found, tuple(f"Of the seats' own ballots: {note}" for note in found.notes)


def _arms_table(store: Store, study: Kept, table: pd.DataFrame, found: Composition) -> pd.DataFrame:
    """The frontier with how each arm is made, and what it earned on the cases it was chosen on."""
    made = {
        arm.name: {
            "seats": len(arm.jury.seats),
            "protocol": arm.jury.protocol,
            "count": arm.jury.count or "",
            "calibration": study.arms[arm.name],
            "calls": sum(transcript.calls for transcript in store.transcripts(arm)),
        }
        for arm in store.arms()
        if arm.name in study.arms
    }
    chosen_on = table[table["case"].isin(list(study.selection))].groupby("arm")["credit"].mean()
    rows = found.frontier.drop(columns=["size", "jurors"])
    for column in ("seats", "protocol", "count", "calibration", "calls"):
        rows[column] = [made[arm][column] for arm in rows["arm"]]
    rows["selection"] = rows["arm"].map(chosen_on)
    order = [
        "arm",
        "kind",
        "seats",
        "protocol",
        "count",
        "calibration",
        "front",
        "selection",
        "score",
        "low",
        "high",
    ]
    return rows[[*order, "n", "answered", "cost", "seconds", "calls"]]
