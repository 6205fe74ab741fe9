"""The index: what the inspector needs to find a deliberation quickly. Derived from the record, never truth."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
import threading
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from ..orchestration.reading.analysis import Census, Flag, InstantAgreement, Kind, contradictions, interest
from ..orchestration.reading.analysis.census import Key
from ..orchestration.reading.analysis.movement import distance
from ..orchestration.reading.scores import ScoreCounts
from ..orchestration.record import Arm, Location, Store
from .index_workers import IndexWorkers
from .summaries import SCORE, Batch, DeliberationSummary, Summariser, add_sum

FILE = "inspector.sqlite"
_FORM = f"5 {version('venire')}"
"""Changes whenever an index made before could not be read, or would say something else."""
_BATCH = 40
_MANY = 400
"""Deliberations from which on processes of their own summarise what the record holds at first."""
_PAUSE = 1.0

_SCHEMA = """
CREATE TABLE about (form TEXT NOT NULL, read_to INTEGER NOT NULL);
CREATE TABLE deliberations (
    number INTEGER PRIMARY KEY, arm INTEGER NOT NULL, arm_name TEXT NOT NULL, case_id TEXT NOT NULL, title TEXT NOT NULL,
    about TEXT NOT NULL, stop TEXT NOT NULL, rounds INTEGER NOT NULL, turns INTEGER NOT NULL, tokens INTEGER NOT NULL,
    usd REAL, seconds REAL NOT NULL, spread REAL, hung INTEGER NOT NULL, flags INTEGER NOT NULL, interest REAL NOT NULL,
    case_group TEXT NOT NULL, system TEXT NOT NULL, cause TEXT NOT NULL, UNIQUE (arm, case_id)
);
CREATE INDEX by_interest ON deliberations (interest DESC, case_id);
CREATE INDEX by_case ON deliberations (case_id);
CREATE INDEX by_system ON deliberations (system);
CREATE INDEX by_group ON deliberations (case_group);
CREATE VIRTUAL TABLE reasons USING fts5 (words, content = '', tokenize = 'unicode61 remove_diacritics 2');
CREATE TABLE flags (
    number INTEGER NOT NULL, kind TEXT NOT NULL, weight INTEGER NOT NULL, attribute TEXT NOT NULL, text TEXT NOT NULL
);
CREATE INDEX flags_of ON flags (number, kind, attribute);
CREATE TABLE outcomes (
    number INTEGER NOT NULL, attribute TEXT NOT NULL, status TEXT NOT NULL, value TEXT, method TEXT NOT NULL, score REAL
);
CREATE INDEX outcomes_of ON outcomes (number);
CREATE INDEX outcomes_by_score ON outcomes (attribute, number, score);
CREATE INDEX outcomes_by_value ON outcomes (attribute, value, number);
CREATE TABLE agreements (number INTEGER NOT NULL, content TEXT NOT NULL);
CREATE INDEX agreements_of ON agreements (number);
CREATE TABLE sums (
    arm INTEGER NOT NULL, topic TEXT NOT NULL, one TEXT NOT NULL, two TEXT NOT NULL, times INTEGER NOT NULL,
    total REAL NOT NULL, PRIMARY KEY (arm, topic, one, two)
) WITHOUT ROWID;
"""


class Index:
    """A SQLite file that a thread keeps up with the record. It can be deleted at any time and is made again.

    It lies beside the record; where nothing can be written there, or the record is in a database, in a temporary
    directory.
    """

    def __init__(self, run: Location) -> None:
        self._run = run
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        try:
            self.path = (run if isinstance(run, Path) else self._elsewhere()) / FILE
            _prepare(self.path)
        except (sqlite3.OperationalError, OSError):
            self.path = self._elsewhere() / FILE
            _prepare(self.path)
        self.reading = _connection(self.path)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="venire-index", daemon=True)

    def start(self) -> None:
        """Follow the record from a thread of its own until closed."""
        self._thread.start()

    def close(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        self.reading.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    @property
    def read_to(self) -> int:
        """The number of the last deliberation it knows."""
        return _read_to(self.reading)

    def catch_up(self) -> None:
        """Read everything that the record holds now, before returning."""
        store = Store.read(self._run)
        summariser, connection = Summariser(store), _connection(self.path)
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
        summariser, connection = Summariser(store), _connection(self.path)
        try:
            if store.last_finished() - _read_to(connection) >= _MANY:
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
            for batch in workers.batches(_read_to(connection), store.last_finished(), _BATCH):
                if self._stopping.is_set() or not _write(connection, arms, batch):
                    return

    def _read_some(self, summariser: Summariser, store: Store, connection: sqlite3.Connection) -> bool:
        """Read the next few deliberations; whether there were any. Several inspectors may do so in turn."""
        batch = summariser.batch(after=_read_to(connection), most=_BATCH)
        if batch.read_to == batch.after or self._stopping.is_set():
            return False
        _write(connection, {arm.id: arm for arm in store.arms()}, batch)
        return True


def _read_to(connection: sqlite3.Connection) -> int:
    (number,) = connection.execute("SELECT read_to FROM about").fetchone()
    return number


def _write(connection: sqlite3.Connection, arms: dict[int, Arm], batch: Batch) -> bool:
    """Add a batch to the index; False where another inspector had read on, or all has to be counted anew."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if _read_to(connection) != batch.after:
            connection.execute("ROLLBACK")
            return False
        sums: dict[int, dict[Key, tuple[int, float]]] = {}
        for summary in batch.summaries:
            if not _add(connection, summary, arms, sums):
                # A case was changed and judged again: sums cannot be taken back, so all is counted anew.
                connection.execute("ROLLBACK")
                _start_over(connection)
                return False
        _add_sums(connection, sums)
        connection.execute("UPDATE about SET read_to = ?", (batch.read_to,))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return True


def _prepare(path: Path) -> None:
    """An index of this form at `path`: the one that is there, or an empty one."""
    form = None
    if path.exists():
        connection = _connection(path)
        with suppress(sqlite3.DatabaseError):
            (form,) = connection.execute("SELECT form FROM about").fetchone() or (None,)
        connection.close()
    if form != _FORM:
        for left in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
            left.unlink(missing_ok=True)
        connection = _connection(path)
        _start_over(connection)
        connection.close()
        path.chmod(0o600)


def _connection(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=30)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = OFF")
    return connection


def _start_over(connection: sqlite3.Connection) -> None:
    tables = [
        row[0]
        for row in connection.execute(
            # The tables behind the full-text one go with it.
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name != 'sqlite_sequence' AND name NOT LIKE 'reasons\\_%' ESCAPE '\\'"
        )
    ]
    dropped = "".join(f'DROP TABLE "{name}";' for name in tables)
    connection.executescript(f"BEGIN IMMEDIATE; {dropped} {_SCHEMA} COMMIT;")
    connection.execute("INSERT INTO about VALUES (?, 0)", (_FORM,))


def _add(
    connection: sqlite3.Connection,
    summary: DeliberationSummary,
    arms: dict[int, Arm],
    sums: dict[int, dict[Key, tuple[int, float]]],
) -> bool:
    """Index one deliberation and add to the arms' sums; False where the index holds an earlier one of the arm and case."""
    others = connection.execute(
        "SELECT number, arm FROM deliberations WHERE case_id = ?", (summary.case,)
    ).fetchall()
    if any(arm == summary.arm for _, arm in others):
        return False
    number, mine = summary.number, sums.setdefault(summary.arm, {})
    for key, (times, total) in summary.sums.items():
        add_sum(mine, key, times, total)
    own: list[Flag] = []
    for other_number, other in others:
        if other in arms:
            own += _contrast(connection, summary, other_number, arms[other], sums)
    found = [*summary.flags, *own]
    for kind in {flag.kind for flag in own} - {flag.kind for flag in summary.flags}:
        add_sum(mine, ("flagged", kind, ""), 1, 0.0)
    connection.executemany(
        "INSERT INTO outcomes VALUES (?, ?, ?, ?, ?, ?)", [(number, *score) for score in summary.scores]
    )
    connection.execute("INSERT INTO reasons (rowid, words) VALUES (?, ?)", (number, summary.reasons))
    connection.executemany(
        "INSERT INTO agreements VALUES (?, ?)",
        [(number, json.dumps(agreement._asdict())) for agreement in summary.agreements],
    )
    _add_flags(connection, number, found)
    connection.execute(
        "INSERT INTO deliberations VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            number,
            summary.arm,
            summary.arm_name,
            summary.case,
            summary.title,
            summary.about,
            summary.stop,
            summary.rounds,
            summary.turns,
            summary.tokens,
            summary.usd,
            summary.seconds,
            summary.spread,
            summary.hung,
            len(found),
            interest(flag.weight for flag in found),
            summary.group,
            summary.system,
            summary.cause,
        ),
    )
    return True


def _add_flags(connection: sqlite3.Connection, number: int, found: list[Flag]) -> None:
    connection.executemany(
        "INSERT INTO flags VALUES (?, ?, ?, ?, ?)",
        [(number, f.kind, f.weight, f.attribute, f.text) for f in found],
    )


def _contrast(
    connection: sqlite3.Connection,
    summary: DeliberationSummary,
    number: int,
    other: Arm,
    sums: dict[int, dict[Key, tuple[int, float]]],
) -> list[Flag]:
    """Where this arm agreed at once and the other did not follow; the other way round is noted on the other's row."""
    rows = connection.execute(
        "SELECT attribute, value FROM outcomes WHERE number = ? AND value IS NOT NULL", (number,)
    )
    found = {name: json.loads(value) for name, value in rows}
    shared = summary.reached.keys() & found.keys()
    alike = sum(distance(summary.reached[name], found[name]) < 0.5 for name in shared)
    add_sum(sums[summary.arm], ("alike", other.name, ""), len(shared), alike)
    theirs = [
        InstantAgreement(**json.loads(content))
        for (content,) in connection.execute("SELECT content FROM agreements WHERE number = ?", (number,))
    ]
    noted = list(contradictions(theirs, summary.arm_name, summary.reached))
    if noted:
        kinds = _note(connection, number, noted)
        for kind in kinds:
            add_sum(sums.setdefault(other.id, {}), ("flagged", kind, ""), 1, 0.0)
    return list(contradictions(summary.agreements, other.name, found))


def _note(connection: sqlite3.Connection, number: int, noted: list[Flag]) -> set[Kind]:
    """Add flags to a deliberation that was indexed before; the kinds that are new to it."""
    before = connection.execute("SELECT kind, weight FROM flags WHERE number = ?", (number,)).fetchall()
    _add_flags(connection, number, noted)
    weights = [weight for _, weight in before] + [flag.weight for flag in noted]
    connection.execute(
        "UPDATE deliberations SET flags = ?, interest = ? WHERE number = ?",
        (len(weights), interest(weights), number),
    )
    return {flag.kind for flag in noted} - {kind for kind, _ in before}


def _add_sums(connection: sqlite3.Connection, sums: dict[int, dict[Key, tuple[int, float]]]) -> None:
    connection.executemany(
        "INSERT INTO sums VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET times = times + excluded.times, "
        "total = total + excluded.total",
        [(arm, *key, times, total) for arm, mine in sums.items() for key, (times, total) in mine.items()],
    )
