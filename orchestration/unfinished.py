"""Deliberations in progress, stored every second or so for those who look on while a run goes on."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from ..rubrics.case import Case
from .record import Store
from .transcript import Transcript

EVERY = 1.0
"""Seconds between two looks at what has changed."""
AFTER = 2.0
"""Seconds that a deliberation goes on before it is stored: whoever is done sooner costs nothing."""
MOST = 64
"""Deliberations that are stored at a look, the longest in progress first."""


@dataclass(slots=True, eq=False)
class _Going:
    arm: int
    case: Case
    fingerprint: str
    began: float
    transcript: Transcript | None = None
    changed: bool = False


class Unfinished:
    """Follows deliberations from their first step to their last, and keeps `store` up with them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._going: dict[tuple[str, str], _Going] = {}

    def begin(self, arm: int, name: str, case: Case, fingerprint: str) -> None:
        """The arm of this number and name begins to deliberate."""
        self._going[name, case.id] = _Going(arm, case, fingerprint, time.monotonic())

    def follow(self, transcript: Transcript) -> None:
        """A deliberation has come so far."""
        going = self._going.get((transcript.arm, transcript.case))
        if going is not None:
            going.transcript, going.changed = transcript, True

    def end(self, name: str, case: Case) -> None:
        """The deliberation is over, whatever became of it. Said before its end is stored, so that nothing is stored after it."""
        self._going.pop((name, case.id), None)

    async def keep(self) -> None:
        """Store what has changed, again and again, until cancelled."""
        while True:
            await asyncio.sleep(EVERY)
            before = time.monotonic() - AFTER
            slow = [(key, each) for key, each in self._going.items() if each.changed and each.began < before]
            for key, going in slow[:MOST]:
                # While the one before was stored, this one may have ended.
                if going.transcript is not None and self._going.get(key) is going:
                    going.changed = False
                    await self._store.keep_unfinished(
                        going.arm, going.case, going.fingerprint, going.transcript
                    )
