"""The record of a run: append-only, every answer committed before it is used, texts that many calls share stored once by hash."""

from __future__ import annotations

import asyncio
import json
import os
import time
import uuid
from collections.abc import Hashable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

from ...agents.cost import Cost
from ...agents.model import Estimated, FailedTry, Reply, Request, Usage, digest, json_text
from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from ..transcript import Transcript
from . import redaction
from .database import (
    Batches,
    Database,
    Location,
    NoRun,
    Row,
    Values,
    Write,
    create_missing_tables,
    is_address,
    layout_version,
    no_run,
    without_password,
)
from .reader import Hearing, Reader
from .sqlite import SqliteDatabase

_SLOTS = 2**22
_TEXTS = 1024
"""Hashes of texts that are remembered to be in the record."""
_ANYTHING = "SELECT 1 FROM calls UNION ALL SELECT 1 FROM transcripts LIMIT 1"
_ADD_FACT = "INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING"
_SEALING = "SELECT value FROM facts WHERE name = 'redacted'"
_KEEP = (
    "INSERT INTO unfinished (arm, case_id, case_fingerprint, changed_at, content) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (arm, case_id) DO UPDATE SET case_fingerprint = excluded.case_fingerprint, "
    "changed_at = excluded.changed_at, content = excluded.content"
)
_FORGET = "DELETE FROM unfinished WHERE arm = ? AND case_id = ?"
_ESTIMATED = get_args(Estimated)
"""What the column of that name holds the index of."""
_CAME_WITH = ', "came_with": '
"""What follows it in a call's `request` came with its reply."""
_COLUMNS = "finish, prompt, completion, cached, usd, seconds, estimated"
_CALL = f"SELECT text, {_COLUMNS}, request FROM calls WHERE key = ?"
_SEALED_CALL = (
    f"SELECT words, {_COLUMNS}, request FROM calls JOIN sealed ON sealed.key = calls.key WHERE calls.key = ?"
)

_ADD_CALL = (
    f"INSERT INTO calls (key, request, text, {_COLUMNS}, made_at) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)
_ADD_TEXT = "INSERT INTO texts (hash, text) VALUES (?, ?) ON CONFLICT DO NOTHING"
_ADD_SEALED = "INSERT INTO sealed (key, words) VALUES (?, ?) ON CONFLICT DO NOTHING"


class Store(Reader):
    """A run. One process writes to a directory at a time, several to a database; any number may read."""

    def __init__(self, database: Database, *, write: bool) -> None:
        redacted = _is_redacted(database)
        super().__init__(database)
        self._writer = Batches(self._commit, name="venire-record") if write else None
        self._asker = (
            Batches(database.rows_of_each, name="venire-look-up") if write and database.distant else None
        )
        self.redacted = redacted
        """Whether texts are stored as hashes only."""
        self._texts: dict[str, None] = {}
        self._unfinished: set[tuple[int, str]] = set()
        self.shared = database.distant
        """Whether other processes may write it too."""
        self._keys = KeyFilter(since_empty=write and not self.shared and not database.rows(_ANYTHING))

    @classmethod
    def create(cls, run: Location, *, redact: bool = False) -> Store:
        """The run at `run`, made if it does not exist, for writing. A run that was begun redacted stays so."""
        database = open_database(run, write=True)
        try:
            create_missing_tables(database)
            if redact:
                _begin_redacted(database)
            return cls(database, write=True)
        except BaseException:
            database.close()
            raise

    @classmethod
    def read(cls, run: Location) -> Store:
        """The run at `run`, for reading."""
        database = open_database(run, write=False)
        try:
            if layout_version(database) == 0:
                raise no_run(database.name)
            return cls(database, write=False)
        except BaseException:
            database.close()
            raise

    def trace_salt(self) -> bytes:
        """The random bytes that key this run's hashes in traces: made once, kept with the record."""
        self._database.commit([(_ADD_FACT, ("trace_salt", os.urandom(16).hex()))])
        ((salt,),) = self._database.rows("SELECT value FROM facts WHERE name = 'trace_salt'")
        return bytes.fromhex(salt)

    def add_fact(self, name: str, value: str) -> None:
        """Have the run say `value` of itself under `name`; what it said before stays."""
        self._database.commit([(_ADD_FACT, (name, value))])

    async def note(self, name: str, value: str) -> None:
        """`add_fact`, while other things are being written."""
        await self._write((_ADD_FACT, (name, value)))

    async def close(self) -> None:
        """Commit what is waiting, and close the database."""
        await asyncio.to_thread(self._stop_threads)
        self.release()

    def close_sync(self) -> None:
        """`close`, for code that is not async."""
        self._stop_threads()
        self.release()

    def _stop_threads(self) -> None:
        for thread in (self._writer, self._asker):
            if thread is not None:
                thread.stop()

    # Calls

    async def get(self, key: str) -> Reply | None:
        """The recorded reply to the request with this key."""
        if not self._keys.may_contain(key):
            return None
        if not self.redacted:
            rows = await self._query(_CALL, (key,))
            return _reply_of(rows[0]) if rows else None
        rows = await self._query(_SEALED_CALL, (redaction.address_of(key),))
        return _reply_of(rows[0], sealed_with=key) if rows else None

    async def put(self, key: str, request: Request, reply: Reply) -> None:
        """Commit the reply. Once this returns, it survives the process."""
        self._keys.add(key)
        texts = {} if self.redacted else _texts_of(request)
        fresh = {name: text for name, text in texts.items() if name not in self._texts}
        await self._write(*_writes_of(key, request, reply, fresh, redacted=self.redacted))
        # Only what is committed is known; and only the latest, so that memory does not grow with the cases.
        self._texts.update(dict.fromkeys(fresh))
        while len(self._texts) > _TEXTS:
            del self._texts[next(iter(self._texts))]

    def forgo(self, key: str) -> None:
        """Nothing was promised for the call with this key."""

    # Arms, cases, transcripts

    async def add_arm(
        self, name: str, fingerprint: str, manifest: dict[str, Any], *, cases: int | None = None
    ) -> int:
        """The arm's number, after recording that a session of it begins, with so many cases."""
        await self._write(
            (
                "INSERT INTO arms (name, fingerprint, manifest) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (name, fingerprint, json.dumps(manifest)),
            )
        )
        sql = "SELECT id FROM arms WHERE name = ? AND fingerprint = ?"
        ((number,),) = await self._query(sql, (name, fingerprint))
        await self._write(
            (
                "INSERT INTO sittings (key, arm, cases, started_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (uuid.uuid4().hex, number, cases, time.time()),
            )
        )
        return number

    async def lease(self, arm: int, case: str) -> bool:
        """Whether this process may hear the case; False while another one does."""
        return not self.shared or await asyncio.to_thread(self._database.lease, f"{arm} {case}")

    async def end_lease(self, arm: int, case: str) -> None:
        """The case was heard, or given up: another process may hear it."""
        if self.shared:
            await asyncio.to_thread(self._database.end_lease, f"{arm} {case}")

    async def last_hearing(self, arm: int, case: str) -> Hearing | None:
        """The last deliberation of `arm` on the case with this id; None if there is none."""
        if not self._keys.may_contain((arm, case)):
            return None
        sql = "SELECT id, case_fingerprint FROM transcripts WHERE arm = ? AND case_id = ? ORDER BY id DESC LIMIT 1"
        rows = await self._query(sql, (arm, case))
        return Hearing(*rows[0]) if rows else None

    async def add(
        self,
        arm: int,
        case: Case,
        case_fingerprint: str,
        transcript: Transcript,
        *,
        position: int,
        follows: int = 0,
    ) -> None:
        """Store a finished deliberation.

        `position` is the case's place in its file; `follows` the number of the deliberation that this one
        replaces because the case was changed.
        """
        self._keys.add((arm, case.id))
        if self.redacted:
            transcript = redaction.redacted_transcript(transcript, case)
        forget = [(_FORGET, (arm, case.id))] if (arm, case.id) in self._unfinished else []
        self._unfinished.discard((arm, case.id))
        await self._write(
            *forget,
            self._case_write(case, case_fingerprint),
            (
                "INSERT INTO transcripts (arm, case_id, case_fingerprint, position, follows, finished_at, content) "
                "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (
                    arm,
                    case.id,
                    case_fingerprint,
                    position,
                    follows,
                    time.time(),
                    transcript.model_dump_json(),
                ),
            ),
        )

    async def keep_unfinished(
        self, arm: int, case: Case, case_fingerprint: str, transcript: Transcript
    ) -> None:
        """Store a deliberation as far as it has come, in place of what was stored of it before."""
        self._unfinished.add((arm, case.id))
        if self.redacted:
            transcript = redaction.redacted_transcript(transcript, case)
        await self._write(
            self._case_write(case, case_fingerprint),
            (_KEEP, (arm, case.id, case_fingerprint, time.time(), transcript.model_dump_json())),
        )

    async def forget_unfinished(self) -> None:
        """Drop what a session that was ended left unfinished."""
        if self._database.rows("SELECT 1 FROM unfinished LIMIT 1"):
            await self._write(("DELETE FROM unfinished", ()))

    def _case_write(self, case: Case, fingerprint: str) -> Write:
        return (
            "INSERT INTO cases (id, fingerprint, content) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (case.id, fingerprint, self.stored_form(case).model_dump_json()),
        )

    async def complete(self) -> None:
        """Every case is finished: delete sealed replies, which are no longer needed."""
        if self.redacted:
            await self._write(("DELETE FROM sealed", ()))

    def stored_form(self, case: Case) -> Case:
        """The case as this record stores it: redacted, if the record is."""
        return redaction.redacted_case(case) if self.redacted else case

    async def _query(self, sql: str, values: Values) -> list[Row]:
        """Rows of a quick query; off the event loop where the database is on another machine."""
        if self._asker is None:
            return self._database.rows(sql, values)
        return await self._asker.submit((sql, values))

    async def _write(self, *writes: Write) -> None:
        assert self._writer is not None, "opened for reading"
        await self._writer.submit(writes)

    def _commit(self, jobs: list[tuple[Write, ...]]) -> list[None]:
        """The writes of many in one transaction: the work of the writing thread."""
        self._database.commit([write for job in jobs for write in job])
        return [None] * len(jobs)


def recorded_cost(run: Location) -> Cost:
    """What the calls that a run holds have cost; nothing where there is no run yet."""
    if not run_exists(run):
        return Cost()
    store = Store.read(run)
    try:
        return store.cost()
    finally:
        store.release()


def run_exists(run: Location) -> bool:
    """Whether a record has been begun at `run`. Nothing is made there."""
    try:
        database = open_database(run, write=False)
    except NoRun:
        return False
    try:
        return database.version() > 0
    finally:
        database.close()


def open_database(run: Location, *, write: bool) -> Database:
    """The database of the run at `run`: PostgreSQL for an address, SQLite for a directory."""
    if not is_address(run):
        return SqliteDatabase(Path(run), write=write)
    # Imported late: its driver is an extra.
    from .postgres import PostgresDatabase

    return PostgresDatabase(str(run), write=write)


def _begin_redacted(database: Database) -> None:
    """Mark the run as redacted; an error if words are stored already."""
    if database.rows(_SEALING):
        return
    if database.rows("SELECT 1 FROM sittings LIMIT 1"):
        raise VenireError(
            f"{database.name}: this run was started without --redact, so it already holds texts",
            remedy="name a new run for --redact, and delete this one if it must not be kept",
        )
    database.commit([(_ADD_FACT, ("redacted", redaction.SEALING))])


def _is_redacted(database: Database) -> bool:
    """Whether texts are stored as hashes only; an error where replies were sealed in another way."""
    sealing = database.rows(_SEALING)
    if sealing and sealing[0][0] != redaction.SEALING:
        raise VenireError(
            f"{database.name}: the replies of this redacted run are not encrypted by {redaction.SEALING}",
            remedy="read the run with the version of venire that made it, or run its cases again with --redact in a new directory",
        )
    return bool(sealing)


class KeyFilter:
    """Bloom filter over stored keys: spares a new run the queries for what cannot be stored yet.

    One hash function over four million slots, so that its size does not grow. A record that held something when it
    was opened has keys that were never added: its filter answers True to every key.
    """

    def __init__(self, *, since_empty: bool) -> None:
        self._slots = bytearray(_SLOTS) if since_empty else None

    def add(self, key: Hashable) -> None:
        if self._slots is not None:
            self._slots[hash(key) % _SLOTS] = 1

    def may_contain(self, key: Hashable) -> bool:
        """False where the key is definitely absent."""
        return self._slots is None or self._slots[hash(key) % _SLOTS] == 1


def _texts_of(request: Request) -> dict[str, str]:
    """The texts that a request is made of, by hash: openings are shared by seats, bodies by cases."""
    return {
        _text_hash(text): text
        for message in request.messages
        for text in (message.opening, message.body)
        if text
    }


def _writes_of(
    key: str, request: Request, reply: Reply, texts: Mapping[str, str], *, redacted: bool
) -> list[Write]:
    """The writes that store a call; `texts` are those that may not be in the record yet, by hash."""
    parts = ", ".join(
        f'["{m.role}", "{_text_hash(m.opening)}", "{_text_hash(m.body)}"]' for m in request.messages
    )
    terms = _terms(request.model, request.settings.text, request.repeat)
    came = _came_with(reply)
    asked = f'{terms[:-1]}, "parts": [{parts}]{came}}}'
    usage = reply.usage
    spent = (
        reply.finish,
        usage.prompt,
        usage.completion,
        usage.cached,
        reply.usd,
        reply.seconds,
        _ESTIMATED.index(reply.estimated),
        time.time(),
    )
    if redacted:
        place = redaction.address_of(key)
        call = (_ADD_CALL, (place, asked, json.dumps(""), *spent))
        return [call, (_ADD_SEALED, (place, redaction.seal(reply.text, key)))]
    call = (_ADD_CALL, (key, asked, json.dumps(reply.text), *spent))
    return [*((_ADD_TEXT, (name, json_text(text))) for name, text in texts.items()), call]


def _came_with(reply: Reply) -> str:
    """The version that a reply states and the tries before it, as the last part of a call's `request`; nothing where there are none."""
    if not reply.version and not reply.failures:
        return ""
    came = {"version": reply.version, "failures": [each.model_dump() for each in reply.failures]}
    return f"{_CAME_WITH}{json.dumps(came)}"


def _text_hash(text: str) -> str:
    """The content address of a text; empty for none."""
    return digest(text) if text else ""


def _reply_of(row: Row, *, sealed_with: str | None = None) -> Reply:
    """The reply in a row of `_CALL`, or of `_SEALED_CALL` with the key that opens it."""
    text, finish, prompt, completion, cached, usd, seconds, estimated, request = row
    came = json.loads(request).get("came_with", {}) if _CAME_WITH in request else {}
    return Reply(
        text=json.loads(text) if sealed_with is None else redaction.unseal(text, sealed_with),
        usage=Usage(prompt, completion, cached),
        usd=usd,
        seconds=seconds,
        finish=finish,
        estimated=_ESTIMATED[estimated],
        version=came.get("version", ""),
        failures=tuple(FailedTry.model_validate(each) for each in came.get("failures", ())),
    )


@lru_cache(maxsize=256)
def _terms(model: str, settings: str, repeat: int) -> str:
    """Model, settings and repeat as JSON; a key in the base URL is masked."""
    shown = json.loads(settings)
    if "base_url" in shown:
        shown["base_url"] = without_password(shown["base_url"])
    return json.dumps({"model": model, "settings": shown, "repeat": repeat})
