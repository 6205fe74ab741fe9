"""Reading deliberations out of the record for a page."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

from ..orchestration.counting import Count
from ..orchestration.deliberate import recount
from ..orchestration.reading.analysis import Flag, flags_across_arms
from ..orchestration.reading.export import learned_count, sealed_cases
from ..orchestration.record import Arm, Store
from ..orchestration.record.database import is_address
from ..orchestration.record.reader import RecordedCall
from ..orchestration.transcript import Transcript
from ..orchestration.verdict import Verdict
from ..rubrics.rubric import Rubric

_AGAIN = 60.0
"""Seconds before a rule that learns from a whole run is made to learn again from one that has grown."""


def run_name(store: Store) -> str:
    """The run's name as a page's head shows it: the last part of its directory, or its address."""
    return store.name if is_address(store.name) else Path(store.name).resolve().name


def last_shown(store: Store) -> int:
    """The number of the last deliberation before the first one that is sealed."""
    return min((*sealed_cases(store).values(), store.last_finished() + 1)) - 1


class NotThere(Exception):
    """What was asked for is not in the record: answered with status 404."""


class DeliberationRecord(NamedTuple):
    """One deliberation, its rubric, and what is worth a look in it."""

    verdict: Verdict
    rubric: Rubric
    flags: tuple[Flag, ...]
    arm: Arm
    others: tuple[Verdict, ...] = ()
    """What the other arms made of the same case."""


class Recounter:
    """Recounts verdicts from transcripts; what a counting rule has learned from the run is cached, and renewed as the run grows."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._learned: dict[int, tuple[Count | None, int, float]] = {}

    def verdict(self, arm: Arm, transcript: Transcript) -> Verdict:
        return recount(transcript, arm.rubric, arm.jury, learned=self._count(arm))

    def _count(self, arm: Arm) -> Count | None:
        known, now = self._learned.get(arm.id), time.monotonic()
        if known is not None and (known[0] is None or now - known[2] < _AGAIN):
            return known[0]
        last = self._store.last_finished()
        if known is not None and known[1] == last:
            return known[0]
        count = learned_count(self._store, arm)
        self._learned[arm.id] = (count, last, now)
        return count


class DeliberationReader:
    """Reads deliberations by case and arm from the record, and flags what is worth a look."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._recounter = Recounter(store)

    def arms(self) -> list[Arm]:
        return self._store.arms()

    def arms_of(self, case: str) -> list[str]:
        """The arms that have judged the case."""
        if case in sealed_cases(self._store):
            raise NotThere(
                "A person on the jury still has to cast a first, blind vote on that case. Until then, its votes are hidden."
            )
        found = [
            arm.name for arm in self.arms() if next(self._store.transcripts(arm, case), None) is not None
        ]
        if not found:
            raise NotThere("The record holds no deliberation on that case.")
        return found

    def read(self, case: str, arm: str) -> DeliberationRecord:
        arms = {found.name: found for found in self.arms()}
        verdict = self._verdict(arms[arm], case) if arm in arms else None
        if verdict is None:
            raise NotThere("The record holds no such deliberation.")
        heard = [self._verdict(other, case) for name, other in arms.items() if name != arm]
        others = tuple(other for other in heard if other is not None)
        found = flags_across_arms(verdict, arms[arm].rubric, others)
        return DeliberationRecord(verdict, arms[arm].rubric, found, arms[arm], others)

    def calls(self, verdict: Verdict) -> dict[str, RecordedCall]:
        """By key, the calls behind a deliberation, word for word."""
        return self._store.recorded_calls(
            key for entry in verdict.transcript.entries for key in entry.spent.calls
        )

    def _verdict(self, arm: Arm, case: str) -> Verdict | None:
        sealed = case in sealed_cases(self._store)
        transcript = None if sealed else next(self._store.transcripts(arm, case), None)
        return None if transcript is None else self._recounter.verdict(arm, transcript)
