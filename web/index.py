"""The index: what the inspector needs to find a deliberation quickly. Derived from the record, never truth."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

from ..orchestration.reading.analysis import Census
from ..orchestration.reading.scores import ScoreCounts
from ..orchestration.record import Arm, Location, Store
from .deliberation_reader import last_shown
from .index_writer import (
    FILE,
    IndexWorkers,
    ReadTo,
    open_index,
    prepare_index,
    read_to,
    write_flag_batch,
    write_score_batch,
)
from .summaries import SCORE, Summariser

_BATCH = 40
_MANY = 400
"""Deliberations from which on processes of their own summarise what the record holds at first."""
_PAUSE = 1.0


class Index:
    """A SQLite file that a thread keeps up with the record. It can be deleted at any time and is made again.

    Scores come first, for a list that can be sorted and filtered after seconds; flags and reasons, which take longer to
    work out, follow. The file lies beside the record; where nothing can be written there, or the record is in a
    database, in a temporary directory.
    """

    def __init__(self, run: Location) -> None:
        self._run = run
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        try:
            self.path = (run if isinstance(run, Path) else self._elsewhere()) / FILE
            prepare_index(self.path)
        except (sqlite3.OperationalError, OSError):
            self.path = self._elsewhere() / FILE
            prepare_index(self.path)
        self.reading = open_index(self.path)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="venire-index", daemon=True)

    def start(self) -> None:
        """Follow the record from a thread of its own until closed; what follows it already goes on."""
        if self._thread.ident is None:
            self._thread.start()

    def close(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        self.reading.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    @property
    def read_to(self) -> ReadTo:
        """The numbers of the last deliberations it knows."""
        return read_to(self.reading)

    def catch_up(self) -> None:
        """Read everything that the record holds now, before returning."""
        store = Store.read(self._run)
        summariser, connection = Summariser(store), open_index(self.path)
        try:
            while self._read_some(summariser, store, connection):
                pass
        finally:
            connection.close()
            store.release()

    def censuses(self, arms: list[Arm]) -> dict[str, Census]:
        """Each arm's sums, by name."""
        found = {arm.id: Census() for arm in arms}
        rows = self.reading.execute("SELECT * FROM sums WHERE topic != ?", (SCORE,))
        for arm, topic, one, two, times, total in rows:
            if arm in found:
                found[arm].sums[topic, one, two] = (times, total)
        return {arm.name: found[arm.id] for arm in arms}

    def versions(self) -> dict[int, dict[str, list[str]]]:
        """By arm's id and seat, the versions of its model that the provider stated."""
        found: dict[int, dict[str, list[str]]] = {}
        for arm, seat, version in self.reading.execute(
            "SELECT arm, one, two FROM sums WHERE topic = 'version'"
        ):
            found.setdefault(arm, {}).setdefault(seat, []).append(version)
        return found

    def score_counts(self, arms: list[Arm]) -> ScoreCounts:
        """How often each arm gave each score, by system and attribute."""
        names = {arm.id: arm.name for arm in arms}
        rows = self.reading.execute("SELECT arm, one, two, times, total FROM sums WHERE topic = ?", (SCORE,))
        found = {}
        for arm, about, what, times, total in rows:
            if arm in names:
                system, attribute = json.loads(about)
                found[names[arm], system, attribute, what] = (times, total)
        return ScoreCounts(found)

    def _elsewhere(self) -> Path:
        self._temporary = tempfile.TemporaryDirectory(prefix="venire-")
        return Path(self._temporary.name)

    def _follow(self) -> None:
        store = Store.read(self._run)
        summariser, connection = Summariser(store), open_index(self.path)
        try:
            if last_shown(store) - read_to(connection).flagged >= _MANY:
                # Without them, this thread goes on from where they left off, and says what they could not.
                with suppress(OSError, EOFError):
                    self._read_with_workers(store, connection)
            while not self._stopping.is_set():
                if not self._read_some(summariser, store, connection):
                    self._stopping.wait(_PAUSE)
        finally:
            connection.close()
            store.release()

    def _read_with_workers(self, store: Store, connection: sqlite3.Connection) -> None:
        """Read what the record holds now, summarised by other processes; less where another inspector reads it too."""
        arms = {arm.id: arm for arm in store.arms()}
        with IndexWorkers(self._run, os.cpu_count() or 1) as workers:
            for scores in workers.scores(read_to(connection).scored, last_shown(store), _BATCH):
                if self._stopping.is_set() or not write_score_batch(connection, scores):
                    return
            scored, flagged = read_to(connection)
            for flags in workers.flags(flagged, scored, _BATCH):
                if self._stopping.is_set() or not write_flag_batch(connection, arms, flags):
                    return

    def _read_some(self, summariser: Summariser, store: Store, connection: sqlite3.Connection) -> bool:
        """Read the scores or, where all are there, the flags of a few deliberations; whether there were any to read.

        Several inspectors may do so in turn.
        """
        last, (scored, flagged) = last_shown(store), read_to(connection)
        if self._stopping.is_set():
            return False
        if scored < last:
            write_score_batch(connection, summariser.scores(scored, last, _BATCH))
        elif flagged < scored:
            arms = {arm.id: arm for arm in store.arms()}
            write_flag_batch(connection, arms, summariser.flags(flagged, scored, _BATCH))
        return flagged < last
