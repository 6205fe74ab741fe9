"""Read access to the record of a run, for the process that writes it and for any other."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from ...agents.cost import Cost
from ...agents.model import Usage
from ...personas.jury import Jury
from ...personas.options import CHECKED
from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from ...rubrics.rubric import Rubric
from ..transcript import UNREACHED, Transcript
from .database import Database

Model = TypeVar("Model", bound=BaseModel)

_PAGE = 200
_CALL = "SELECT request, text, finish, prompt, completion, cached, usd, seconds FROM calls WHERE key = ?"
_TEXT = "SELECT text FROM texts WHERE hash = ?"
_LATEST = "NOT EXISTS (SELECT 1 FROM transcripts AS later WHERE later.arm = one.arm AND later.case_id = one.case_id AND later.follows = one.id)"


class Arm(NamedTuple):
    """A jury with everything that decides what it will ask, as it sat in this run."""

    id: int
    name: str
    rubric: Rubric
    jury: Jury
    manifest: dict[str, Any]


class FinishedDeliberation(NamedTuple):
    """A stored deliberation; `number` increases with every one that is finished."""

    number: int
    arm: int
    case: str
    fingerprint: str
    """Of the case as it was judged."""
    transcript: Transcript


class UnfinishedDeliberation(NamedTuple):
    """A deliberation as far as it had come when it was last stored."""

    arm: int
    case: str
    fingerprint: str
    changed_at: float
    """In seconds since the epoch."""
    transcript: Transcript


class Hearing(NamedTuple):
    """The last deliberation of an arm on a case: its number, and the fingerprint of the case as it was then."""

    number: int
    fingerprint: str


class RecordedCall(NamedTuple):
    """One call as it was sent and answered; a redacted record has neither words nor reply."""

    model: str
    settings: str
    """As JSON."""
    messages: tuple[tuple[str, str], ...]
    """Each with its role."""
    reply: str
    finish: str
    usage: Usage
    usd: float | None
    seconds: float
    version: str = ""
    """The model as the provider stated it, where that says more than its name."""


class ArmProgress(NamedTuple):
    """How many cases an arm has finished, of `cases`: those of its last run session and those it had heard before (None: not known)."""

    arm: str
    done: int
    cases: int | None
    started: float
    last: float | None
    recent: int
    """How many deliberations it finished within the time asked about."""


class Reader:
    """Read-only view of a run."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.name = database.name
        """The run as it is shown: a directory, or an address without its password."""

    def release(self) -> None:
        """Close the database connection."""
        self._database.close()

    def fact(self, name: str) -> str | None:
        """What the run says of itself under `name`, such as the run that it replays; None where it says nothing."""
        rows = self._database.rows("SELECT value FROM facts WHERE name = ?", (name,))
        return rows[0][0] if rows else None

    def facts(self, prefix: str) -> dict[str, str]:
        """All that the run says of itself under names that begin with `prefix`."""
        sql = "SELECT name, value FROM facts WHERE name LIKE ?"
        return {str(name): str(value) for name, value in self._database.rows(sql, (f"{prefix}%",))}

    def arms(self) -> list[Arm]:
        """Every arm by name; of arms with the same name, the one that sat last."""
        latest: dict[str, Arm] = {}
        for number, name, manifest in self._database.rows(
            "SELECT arms.id, arms.name, arms.manifest FROM arms JOIN (SELECT arm, max(id) AS sat FROM sittings GROUP BY arm) "
            "AS last ON last.arm = arms.id ORDER BY last.sat"
        ):
            parts = json.loads(manifest)
            rubric = Rubric.model_validate(parts["rubric"])
            jury = Jury.model_validate(parts["jury"], context=CHECKED)
            latest[name] = Arm(number, name, rubric, jury, parts)
        return list(latest.values())

    def arm_number(self, name: str, fingerprint: str) -> int | None:
        """The number of the arm with this name and manifest; None where it has not sat yet."""
        rows = self._database.rows(
            "SELECT id FROM arms WHERE name = ? AND fingerprint = ?", (name, fingerprint)
        )
        return rows[0][0] if rows else None

    def transcripts(self, arm: Arm, case: str | None = None) -> Iterator[Transcript]:
        """The arm's transcripts in the order of the case file; the latest where a case was changed and heard again."""
        if case is None:
            yield from self._latest(arm)
            return
        # By the index of cases: in the order of the file, the database would scan the whole arm for it.
        sql = "SELECT content FROM transcripts WHERE case_id = ? AND arm = ? ORDER BY id DESC LIMIT 1"
        for (content,) in self._database.rows(sql, (case, arm.id)):
            yield self._parse_stored(Transcript, content)

    def transcripts_without_a_model(self, arm: Arm) -> Iterator[Transcript]:
        """Those of the arm's transcripts in which a model, a juror's or the orchestrator's, could not be reached."""
        # The database leaves out those that do not even have the word, which are nearly all.
        words = " OR ".join("content LIKE ?" for _ in UNREACHED)
        likely = self._latest(arm, f"AND ({words})", tuple(f'%"{reason}"%' for reason in UNREACHED))
        yield from (transcript for transcript in likely if transcript.unreached)

    def _latest(self, arm: Arm, only: str = "", values: tuple[str, ...] = ()) -> Iterator[Transcript]:
        position, number = -1, 0
        while True:
            rows = self._database.rows(
                f"SELECT position, id, content FROM transcripts AS one WHERE arm = ? AND (position, id) > (?, ?) {only} "
                f"AND {_LATEST} ORDER BY position, id LIMIT {_PAGE}",
                (arm.id, position, number, *values),
            )
            for position, number, content in rows:  # noqa: B007
                yield self._parse_stored(Transcript, content)
            if len(rows) < _PAGE:
                return

    def transcript(self, number: int) -> Transcript:
        """The deliberation with this number."""
        ((content,),) = self._database.rows("SELECT content FROM transcripts WHERE id = ?", (number,))
        return self._parse_stored(Transcript, content)

    def finished_deliberations(
        self, *, after: int, most: int, last: int | None = None
    ) -> list[FinishedDeliberation]:
        """The next `most` deliberations that were finished after number `after` (and up to `last`), in that order.

        Where a case was changed and heard again, only the latest. For readers that follow a run as it goes on.
        """
        rows = self._database.rows(
            f"SELECT id, arm, case_id, case_fingerprint, content FROM transcripts AS one WHERE id > ? AND id <= ? AND {_LATEST} ORDER BY id LIMIT ?",
            (after, self.last_finished() if last is None else last, most),
        )
        return [
            FinishedDeliberation(number, arm, case, fingerprint, self._parse_stored(Transcript, content))
            for number, arm, case, fingerprint, content in rows
        ]

    def last_finished(self) -> int:
        """The number of the deliberation finished last; 0 where there is none."""
        ((number,),) = self._database.rows("SELECT coalesce(max(id), 0) FROM transcripts")
        return number

    def unfinished_deliberations(self, most: int) -> list[UnfinishedDeliberation]:
        """What is being deliberated now, the latest to change first; nothing while no process writes the run."""
        if not self.writing():
            return []
        rows = self._database.rows(
            "SELECT arm, case_id, case_fingerprint, changed_at, content FROM unfinished ORDER BY changed_at DESC LIMIT ?",
            (most,),
        )
        return [
            UnfinishedDeliberation(arm, case, fingerprint, moment, self._parse_stored(Transcript, content))
            for arm, case, fingerprint, moment, content in rows
        ]

    def recorded_calls(self, keys: Iterable[str]) -> dict[str, RecordedCall]:
        """By key, the calls whose words the record holds: of a redacted one none."""
        wanted = list(dict.fromkeys(keys))
        rows = self._database.rows_of_each([(_CALL, (key,)) for key in wanted])
        asked = {key: (json.loads(row[0][0]), row[0]) for key, row in zip(wanted, rows, strict=True) if row}
        hashes = list(
            dict.fromkeys(
                name
                for request, _ in asked.values()
                for part in request["parts"]
                for name in part[1:]
                if name
            )
        )
        texts = self._database.rows_of_each([(_TEXT, (name,)) for name in hashes])
        words = {name: json.loads(row[0][0]) for name, row in zip(hashes, texts, strict=True) if row}
        return {
            key: RecordedCall(
                model=request["model"],
                settings=json.dumps(request["settings"]),
                messages=tuple(
                    (role, words.get(opening, "") + words.get(body, ""))
                    for role, opening, body in request["parts"]
                ),
                reply=json.loads(text),
                finish=finish,
                usage=Usage(prompt, completion, cached),
                usd=usd,
                seconds=seconds,
                version=request.get("came_with", {}).get("version", ""),
            )
            for key, (request, (_, text, finish, prompt, completion, cached, usd, seconds)) in asked.items()
            if all(name in words for part in request["parts"] for name in part[1:] if name)
        }

    def first_numbers(self, arm: Arm | None = None) -> dict[str, int]:
        """By case, the number of its first deliberation, or of its first by `arm`."""
        mine, values = ("", ()) if arm is None else ("WHERE arm = ?", (arm.id,))
        sql = f"SELECT case_id, min(id) FROM transcripts {mine} GROUP BY case_id"
        return {str(case): int(number) for case, number in self._database.rows(sql, values)}

    def case_ids(self) -> list[str]:
        return sorted(case for (case,) in self._database.rows("SELECT DISTINCT case_id FROM transcripts"))

    def case(self, case: str, fingerprint: str | None = None) -> Case | None:
        """The case as it was last judged, or as it was when it had this fingerprint."""
        last = "(SELECT case_fingerprint FROM transcripts WHERE case_id = ? ORDER BY id DESC LIMIT 1)"
        rows = self._database.rows(
            f"SELECT content FROM cases WHERE id = ? AND fingerprint = {last if fingerprint is None else '?'}",
            (case, case if fingerprint is None else fingerprint),
        )
        return self._parse_stored(Case, rows[0][0]) if rows else None

    def _parse_stored(self, model: type[Model], content: str) -> Model:
        """What a row holds; an error where it is not what was written."""
        try:
            return model.model_validate_json(content)
        except ValidationError:
            raise VenireError(
                f"{self.name}: the record is damaged: a stored {model.__name__.lower()} cannot be read",
                remedy="restore the run from a copy, or run its cases again in a new directory",
            ) from None

    # Progress

    def writing(self) -> bool:
        """Whether a process is writing the run now."""
        return self._database.writing()

    def cost(self, *, since: float = 0.0) -> Cost:
        """The cost of the recorded calls, all of them or those made `since`; without seconds, as calls overlap."""
        (row,) = self._database.rows(
            "SELECT count(*), coalesce(sum(prompt), 0), coalesce(sum(completion), 0), coalesce(sum(cached), 0), "
            "count(usd), coalesce(sum(usd), 0), count(CASE WHEN estimated > 0 THEN 1 END) FROM calls WHERE made_at >= ?",
            (since,),
        )
        calls, prompt, completion, cached, priced, usd, estimated = row
        return Cost(calls, Usage(prompt, completion, cached), priced, usd, estimated=estimated)

    def last_call(self) -> float | None:
        """When the last call was recorded, in seconds since the epoch."""
        ((moment,),) = self._database.rows("SELECT max(made_at) FROM calls")
        return moment

    def arm_progress(self, *, since: float) -> list[ArmProgress]:
        """Progress of each arm; `recent` counts the deliberations finished `since`."""
        return [self._progress(arm, since) for arm in self.arms()]

    def _progress(self, arm: Arm, since: float) -> ArmProgress:
        ((last,),) = self._database.rows("SELECT max(finished_at) FROM transcripts WHERE arm = ?", (arm.id,))
        ((recent,),) = self._database.rows(
            "SELECT count(*) FROM transcripts WHERE finished_at >= ? AND arm = ?", (since, arm.id)
        )
        ((cases, started),) = self._database.rows(
            "SELECT cases, started_at FROM sittings WHERE arm = ? ORDER BY id DESC LIMIT 1", (arm.id,)
        )
        return ArmProgress(arm.name, self.heard_cases(arm.id), cases, started, last, recent)

    def heard_cases(self, arm: int) -> int:
        """How many cases the arm with this number has heard."""
        ((number,),) = self._database.rows(
            "SELECT count(DISTINCT case_id) FROM transcripts WHERE arm = ?", (arm,)
        )
        return number
