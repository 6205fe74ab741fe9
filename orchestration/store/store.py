"""The record of a run: append-only, every answer committed before it is used."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Iterator
from typing import Any

from ...agents.model import Reply, Request
from ...personas.jury import Jury
from ...rubrics.case import Case
from ...rubrics.rubric import Rubric
from ..transcript import Transcript
from . import redaction
from .advance import advance, toll
from .batches import Batches
from .calls import CALL, SEALED_CALL, reply_of, texts_of, writes_of
from .database import Database, Row, Values, Write
from .kept import ANYTHING, Kept
from .location import Location
from .opening import IS_REDACTED, begin_redacted, opened
from .rows import Advance, Arm, Finished, Heard, Toll
from .schema import CURRENT, check, upgrade

_PAGE = 200
_TEXTS = 1024

_LATEST = "NOT EXISTS (SELECT 1 FROM transcripts AS later WHERE later.arm = one.arm AND later.case_id = one.case_id AND later.follows = one.id)"


class Store:
    """A run. One process writes at a time; any number may read."""

    def __init__(self, database: Database, *, write: bool) -> None:
        self._database = database
        self.name = database.name
        """The run as people are told of it: a directory, or an address without its password."""
        self._writer = Batches(self._commit, name="venire-record") if write else None
        self._asker = (
            Batches(database.rows_of_each, name="venire-look-up") if write and database.distant else None
        )
        self.redacted = bool(database.rows(IS_REDACTED))
        """Whether words are kept out of it."""
        self._texts: dict[str, None] = {}
        self._kept = Kept() if write and not database.rows(ANYTHING) else None
        """In a run that began empty, what has been kept since: nothing else need be looked for."""

    @classmethod
    def create(cls, run: Location, *, redact: bool = False) -> Store:
        """The run at `run`, made if it does not exist, for writing. A run that was begun redacted stays so."""
        database = opened(run, write=True)
        try:
            upgrade(database)
            if redact:
                begin_redacted(database)
            return cls(database, write=True)
        except BaseException:
            database.close()
            raise

    @classmethod
    def read(cls, run: Location) -> Store:
        """The run at `run`, for reading; one that an older venire made is upgraded first."""
        database = opened(run, write=False)
        try:
            if check(database) < CURRENT:
                database.lock()
                upgrade(database)
                database.close()
                database = opened(run, write=False)
            return cls(database, write=False)
        except BaseException:
            database.close()
            raise

    async def close(self) -> None:
        """Commit what is waiting, and let the run go."""
        for thread in (self._writer, self._asker):
            if thread is not None:
                await asyncio.to_thread(thread.stop)
        self.release()

    def shut(self) -> None:
        """`close`, for code outside an event loop."""
        for thread in (self._writer, self._asker):
            if thread is not None:
                thread.stop()
        self.release()

    def release(self) -> None:
        """Let go of a run that was opened for reading."""
        self._database.close()

    # Calls

    async def get(self, key: str) -> Reply | None:
        """The recorded reply to the request with this key."""
        if self._kept is not None and not self._kept.perhaps(key):
            return None
        if not self.redacted:
            rows = await self._found(CALL, (key,))
            return reply_of(rows[0]) if rows else None
        rows = await self._found(SEALED_CALL, (redaction.address_of(key),))
        return reply_of(rows[0], sealed_with=key) if rows else None

    async def put(self, key: str, request: Request, reply: Reply) -> None:
        """Commit the reply. Once this returns, it survives the process."""
        if self._kept is not None:
            self._kept.note(key)
        texts = {} if self.redacted else texts_of(request)
        fresh = {name: text for name, text in texts.items() if name not in self._texts}
        await self._write(*writes_of(key, request, reply, fresh, redacted=self.redacted))
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
        """The arm's number, after noting that it sits now, to hear so many cases."""
        await self._write(
            (
                "INSERT INTO arms (name, fingerprint, manifest) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (name, fingerprint, json.dumps(manifest)),
            )
        )
        sql = "SELECT id FROM arms WHERE name = ? AND fingerprint = ?"
        ((number,),) = await self._found(sql, (name, fingerprint))
        await self._write(
            (
                "INSERT INTO sittings (key, arm, cases, started_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (uuid.uuid4().hex, number, cases, time.time()),
            )
        )
        return number

    async def heard(self, arm: int, case: str) -> Heard | None:
        """When `arm` last heard the case with this id, and as what; None if it never did."""
        if self._kept is not None and not self._kept.perhaps((arm, case)):
            return None
        sql = "SELECT id, case_fingerprint FROM transcripts WHERE arm = ? AND case_id = ? ORDER BY id DESC LIMIT 1"
        rows = await self._found(sql, (arm, case))
        return Heard(*rows[0]) if rows else None

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
        """Keep a finished deliberation.

        `position` is the case's place in its file; `follows` the number of the deliberation that this one
        replaces because the case was changed.
        """
        if self._kept is not None:
            self._kept.note((arm, case.id))
        if self.redacted:
            transcript = redaction.withheld(transcript, case)
        await self._write(
            (
                "INSERT INTO cases (id, fingerprint, content) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (case.id, case_fingerprint, self.kept(case).model_dump_json()),
            ),
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

    async def complete(self) -> None:
        """Everything was heard: sealed replies are no longer needed, and go."""
        if self.redacted:
            await self._write(("DELETE FROM sealed", ()))

    def kept(self, case: Case) -> Case:
        """The case as this record holds it."""
        return redaction.withheld_case(case) if self.redacted else case

    def arms(self) -> list[Arm]:
        """Every arm by name; of arms with the same name, the one that sat last."""
        latest: dict[str, Arm] = {}
        for number, name, manifest in self._database.rows(
            "SELECT arms.id, arms.name, arms.manifest FROM arms JOIN (SELECT arm, max(id) AS sat FROM sittings GROUP BY arm) "
            "AS last ON last.arm = arms.id ORDER BY last.sat"
        ):
            found = json.loads(manifest)
            rubric, jury = Rubric.model_validate(found["rubric"]), Jury.model_validate(found["jury"])
            latest[name] = Arm(number, name, rubric, jury, found)
        return list(latest.values())

    def transcripts(self, arm: Arm, case: str | None = None) -> Iterator[Transcript]:
        """The arm's transcripts in the order of the case file; the latest where a case was changed and heard again."""
        only, values = ("AND case_id = ?", (case,)) if case is not None else ("", ())
        position, number = -1, 0
        while True:
            rows = self._database.rows(
                f"SELECT position, id, content FROM transcripts AS one WHERE arm = ? AND (position, id) > (?, ?) {only} "
                f"AND {_LATEST} ORDER BY position, id LIMIT {_PAGE}",
                (arm.id, position, number, *values),
            )
            for position, number, content in rows:  # noqa: B007
                yield Transcript.model_validate_json(content)
            if len(rows) < _PAGE:
                return

    def transcript(self, number: int) -> Transcript:
        """The deliberation with this number."""
        ((content,),) = self._database.rows("SELECT content FROM transcripts WHERE id = ?", (number,))
        return Transcript.model_validate_json(content)

    def finished(self, *, after: int, most: int) -> list[Finished]:
        """The next `most` deliberations that were finished after number `after`, in that order.

        Where a case was changed and heard again, only the latest. For readers that follow a run as it goes on.
        """
        rows = self._database.rows(
            f"SELECT id, arm, case_id, content FROM transcripts AS one WHERE id > ? AND {_LATEST} ORDER BY id LIMIT ?",
            (after, most),
        )
        return [
            Finished(number, arm, case, Transcript.model_validate_json(content))
            for number, arm, case, content in rows
        ]

    def last_finished(self) -> int:
        """The number of the deliberation finished last; 0 where there is none."""
        ((number,),) = self._database.rows("SELECT coalesce(max(id), 0) FROM transcripts")
        return number

    def case_ids(self) -> list[str]:
        return sorted(case for (case,) in self._database.rows("SELECT DISTINCT case_id FROM transcripts"))

    def case(self, case: str, fingerprint: str | None = None) -> Case | None:
        """The case as it was last judged, or as it was when it had this fingerprint."""
        if fingerprint is None:
            sql = "SELECT case_fingerprint FROM transcripts WHERE case_id = ? ORDER BY id DESC LIMIT 1"
            rows = self._database.rows(sql, (case,))
            if not rows:
                return None
            fingerprint = rows[0][0]
        rows = self._database.rows(
            "SELECT content FROM cases WHERE id = ? AND fingerprint = ?", (case, fingerprint)
        )
        return Case.model_validate_json(rows[0][0]) if rows else None

    # How the run stands

    def writing(self) -> bool:
        """Whether a process is writing the run now."""
        return self._database.writing()

    def toll(self, *, since: float = 0.0) -> Toll:
        """What the recorded calls took, all of them or those made `since`."""
        return toll(self._database, since)

    def advances(self, *, since: float) -> list[Advance]:
        """How far each arm has come; `recent` counts what it finished `since`."""
        return [advance(self._database, arm, since) for arm in self.arms()]

    async def _found(self, sql: str, values: Values) -> list[Row]:
        """The rows of a quick query: at once where the database is near, off the event loop where it is not."""
        if self._asker is None:
            return self._database.rows(sql, values)
        return await self._asker.done((sql, values))

    async def _write(self, *writes: Write) -> None:
        assert self._writer is not None, "opened for reading"
        await self._writer.done(writes)

    def _commit(self, jobs: list[tuple[Write, ...]]) -> list[None]:
        """The writes of many in one transaction: the work of the writing thread."""
        self._database.commit([write for job in jobs for write in job])
        return [None] * len(jobs)
