"""The index: what the inspector needs to find a deliberation quickly. Derived from the record, never truth."""

from __future__ import annotations

import json
import sqlite3
import tempfile
import threading
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from ..orchestration.reading.analysis import (
    Census,
    Flag,
    InstantAgreement,
    contradictions,
    flags,
    instant_agreements,
    interest,
)
from ..orchestration.reading.analysis.census import Key
from ..orchestration.reading.analysis.movement import distance
from ..orchestration.reading.scores import ScoreCounts, score_sums
from ..orchestration.record import Arm, FinishedDeliberation, Location, Store
from ..orchestration.transcript import Abstained, Cast, Decided, Ledger
from ..orchestration.verdict import Verdict
from ..rubrics.scale import Value
from .deliberation_reader import Recounter

FILE = "inspector.sqlite"
_FORM = f"4 {version('venire')}"
"""Changes whenever an index made before could not be read, or would say something else."""
_BATCH = 40
_MOST_WORDS = 20_000
"""Characters of a deliberation's reasons that can be searched."""
DERIVED = "derived"
"""The method of a composite or a reversed score."""
SCORE, CAUSE = "score", "cause"
"""Topics of sums: scores by system and attribute, and why attributes are hung."""
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
CREATE INDEX flags_of ON flags (number);
CREATE INDEX flags_by_kind ON flags (kind, attribute, number);
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
        (number,) = self.reading.execute("SELECT read_to FROM about").fetchone()
        return number

    def catch_up(self) -> None:
        """Read everything that the record holds now, before returning."""
        store = Store.read(self._run)
        recounter, connection = Recounter(store), _connection(self.path)
        try:
            while self._read_some(store, recounter, connection):
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
        recounter, connection = Recounter(store), _connection(self.path)
        try:
            while not self._stopping.is_set():
                if not self._read_some(store, recounter, connection):
                    self._stopping.wait(_PAUSE)
        finally:
            connection.close()
            store.release()

    def _read_some(self, store: Store, recounter: Recounter, connection: sqlite3.Connection) -> bool:
        """Read the next few deliberations; whether there were any. Several inspectors may do so in turn."""
        connection.execute("BEGIN IMMEDIATE")
        try:
            (read_to,) = connection.execute("SELECT read_to FROM about").fetchone()
            fresh = store.finished_deliberations(after=read_to, most=_BATCH)
            arms = {arm.id: arm for arm in store.arms()} if fresh else {}
            for finished in fresh:
                if self._stopping.is_set():
                    break
                arm = arms.get(finished.arm)
                if arm is not None and not _add(connection, store, recounter, arm, arms, finished):
                    # A case was changed and judged again: sums cannot be taken back, so all is counted anew.
                    connection.execute("ROLLBACK")
                    _start_over(connection)
                    return True
                connection.execute("UPDATE about SET read_to = ?", (finished.number,))
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return bool(fresh)


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
    store: Store,
    recounter: Recounter,
    arm: Arm,
    arms: dict[int, Arm],
    finished: FinishedDeliberation,
) -> bool:
    """Index one deliberation; False where the index holds an earlier one of the same arm and case."""
    known = connection.execute(
        "SELECT 1 FROM deliberations WHERE arm = ? AND case_id = ?", (arm.id, finished.case)
    ).fetchone()
    if known:
        return False
    verdict = recounter.verdict(arm, finished.transcript)
    agreements = instant_agreements(finished.transcript, arm.rubric)
    found = list(flags(verdict, arm.rubric))
    found += _contrasts(connection, verdict, arm, arms, agreements)
    connection.executemany(
        "INSERT INTO outcomes VALUES (?, ?, ?, ?, ?, ?)",
        [
            (
                finished.number,
                name,
                o.status,
                None if o.value is None else json.dumps(o.value),
                o.method,
                _number(o.value),
            )
            for name, o in verdict.outcomes.items()
        ]
        + [
            (finished.number, name, "reached", json.dumps(value), DERIVED, value)
            for name, value in verdict.derived.items()
        ],
    )
    connection.execute(
        "INSERT INTO reasons (rowid, words) VALUES (?, ?)", (finished.number, _reasons(verdict))
    )
    connection.executemany(
        "INSERT INTO agreements VALUES (?, ?)",
        [(finished.number, json.dumps(a._asdict())) for a in agreements],
    )
    _add_flags(connection, finished.number, found)
    _add_row(connection, store, arm, finished, verdict, found)
    census = Census()
    census.add(verdict, arm.rubric, arm.jury, tuple(found))
    for key, (times, total) in census.sums.items():
        _count(connection, arm.id, key, times, total)
    case = store.case(finished.case)
    for attribute, what, times, total in score_sums(verdict):
        about = json.dumps([(case.system if case else None) or "", attribute])
        _count(connection, arm.id, (SCORE, about, what), times, total)
    for cause in {o.why for o in verdict.outcomes.values() if o.status == "hung"}:
        _count(connection, arm.id, (CAUSE, cause[:200], ""), 1, 0)
    return True


def _number(value: Value | None) -> float | None:
    """The score that a column is sorted by; None for words."""
    return None if value is None or isinstance(value, str) else float(value)


def _reasons(verdict: Verdict) -> str:
    """Every reason that was given, to be searched by word: jurors', the orchestrator's questions and decisions."""
    found: list[str] = []
    for entry in verdict.transcript.entries:
        match entry:
            case Cast():
                found += [vote.rationale for vote in entry.ballot.votes]
            case Ledger():
                found += [f"{dispute.dispute} {dispute.question}" for dispute in entry.disputes]
            case Decided():
                found += [finding.rationale for finding in entry.findings]
            case Abstained():
                found.append(entry.abstention.detail)
            case _:
                continue
    return "\n".join(found)[:_MOST_WORDS]


def _add_row(
    connection: sqlite3.Connection,
    store: Store,
    arm: Arm,
    finished: FinishedDeliberation,
    verdict: Verdict,
    found: list[Flag],
) -> None:
    transcript, cost = finished.transcript, finished.transcript.cost
    case = store.case(finished.case)
    spreads = [o.spread for o in verdict.outcomes.values() if o.spread is not None]
    about = [case.group, case.system, case.question] if case else []
    connection.execute(
        "INSERT INTO deliberations VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            finished.number,
            arm.id,
            arm.name,
            finished.case,
            " ".join(case.output[:400].split())[:160] if case else "",
            " ".join(part[:80] for part in about if part),
            verdict.stop.reason,
            transcript.rounds,
            transcript.turns,
            cost.tokens,
            cost.usd,
            cost.seconds,
            max(spreads, default=None),
            sum(o.status == "hung" for o in verdict.outcomes.values()),
            len(found),
            interest(flag.weight for flag in found),
            (case.group if case else None) or "",
            (case.system if case else None) or "",
            next((o.why for o in verdict.outcomes.values() if o.status == "hung"), "")[:400],
        ),
    )


def _add_flags(connection: sqlite3.Connection, number: int, found: list[Flag]) -> None:
    connection.executemany(
        "INSERT INTO flags VALUES (?, ?, ?, ?, ?)",
        [(number, f.kind, f.weight, f.attribute, f.text) for f in found],
    )


def _contrasts(
    connection: sqlite3.Connection,
    verdict: Verdict,
    arm: Arm,
    arms: dict[int, Arm],
    agreements: tuple[InstantAgreement, ...],
) -> list[Flag]:
    """Where this arm agreed at once and another did not follow; the other way round is noted on the other's row."""
    reached = {name: o.value for name, o in verdict.outcomes.items() if o.value is not None}
    own: list[Flag] = []
    others = connection.execute(
        "SELECT number, arm FROM deliberations WHERE case_id = ?", (verdict.case,)
    ).fetchall()
    for number, other in others:
        if other not in arms:
            continue
        rows = connection.execute(
            "SELECT attribute, value FROM outcomes WHERE number = ? AND value IS NOT NULL", (number,)
        )
        found = {name: json.loads(value) for name, value in rows}
        own += contradictions(agreements, arms[other].name, found)
        shared = reached.keys() & found.keys()
        alike = sum(distance(reached[name], found[name]) < 0.5 for name in shared)
        _count(connection, arm.id, ("alike", arms[other].name, ""), len(shared), alike)
        theirs = [
            InstantAgreement(**json.loads(content))
            for (content,) in connection.execute("SELECT content FROM agreements WHERE number = ?", (number,))
        ]
        noted = list(contradictions(theirs, arm.name, reached))
        if noted:
            _note(connection, number, other, noted)
    return own


def _note(connection: sqlite3.Connection, number: int, arm: int, noted: list[Flag]) -> None:
    """Add flags to a deliberation that was indexed before."""
    before = connection.execute("SELECT kind, weight FROM flags WHERE number = ?", (number,)).fetchall()
    _add_flags(connection, number, noted)
    weights = [weight for _, weight in before] + [flag.weight for flag in noted]
    connection.execute(
        "UPDATE deliberations SET flags = ?, interest = ? WHERE number = ?",
        (len(weights), interest(weights), number),
    )
    for kind in {flag.kind for flag in noted} - {kind for kind, _ in before}:
        _count(connection, arm, ("flagged", kind, ""), 1, 0)


def _count(connection: sqlite3.Connection, arm: int, key: Key, times: int, total: float) -> None:
    connection.execute(
        "INSERT INTO sums VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET times = times + excluded.times, "
        "total = total + excluded.total",
        (arm, *key, times, total),
    )
