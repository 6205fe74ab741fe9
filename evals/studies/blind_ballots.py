"""The seats of a study as recorded jurors: each seat's blind first ballot, once, whichever arms it sat in."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import pandas as pd

from ...agents.cost import CostUnit
from ...orchestration.record import Arm, Store
from ...orchestration.transcript import Cast, Transcript
from ...personas.jury import Seat
from ...rubrics.scale import NOT_APPLICABLE
from .axes import NOBODY

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
