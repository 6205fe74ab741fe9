"""The desk: what people are asked and what they answer, every click committed to a small database of its own."""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict

from ..rubrics.ballot import Vote
from ..rubrics.case import Exhibit
from ..rubrics.errors import VenireError
from ..rubrics.rubric import Rubric
from .model import digest

FILE = "desk.sqlite"
_PRIVATE = 0o600
_TABLES = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS people (name TEXT PRIMARY KEY, secret TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS contents (hash TEXT PRIMARY KEY, content TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS tasks (
  id INTEGER PRIMARY KEY, person TEXT NOT NULL, address TEXT NOT NULL, case_id TEXT NOT NULL, sheet TEXT NOT NULL,
  place INTEGER NOT NULL, asked_at REAL NOT NULL, done_at REAL, withdrawn_at REAL, UNIQUE (person, address));
CREATE INDEX IF NOT EXISTS tasks_in_order ON tasks (person, place);
CREATE TABLE IF NOT EXISTS clicks (
  id INTEGER PRIMARY KEY, click TEXT NOT NULL UNIQUE, task INTEGER NOT NULL REFERENCES tasks, attribute TEXT NOT NULL,
  part TEXT NOT NULL, value TEXT NOT NULL, seconds REAL NOT NULL, made_at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS clicks_of_task ON clicks (task);
"""

Answers = dict[str, dict[str, Any]]
"""By attribute, what stands in each part of its form: score, rationale, evidence ..."""


class HeardVote(BaseModel):
    """A vote of somebody else as a person may read it, under the label that the protocol gives."""

    model_config = ConfigDict(frozen=True)

    label: str
    vote: Vote


class TaskSheet(BaseModel):
    """What one person is shown at one time: the texts, the form to fill in, and what she may know of others."""

    model_config = ConfigDict(frozen=True)

    case: str
    rubric: str
    """The hash of the rubric's content."""
    exhibits: tuple[Exhibit, ...]
    asked: tuple[str, ...]
    parts: dict[str, dict[str, Any]]
    """By attribute, the JSON schema of each part of its answer."""
    notes: tuple[str, ...] = ()
    """What else may be known of the case: its system and verdict, where nobody is blind; what an orchestrator asks."""
    seat: str = ""
    """The seat that she holds; empty where she rates and no jury waits for her."""
    kind: str = "ballot"
    round: int = 1
    own: tuple[Vote, ...] = ()
    """Her votes so far: a changed one must say what moved her."""
    heard: tuple[HeardVote, ...] = ()


class DeskTask(NamedTuple):
    """A sheet on one person's desk."""

    id: int
    person: str
    case: str
    place: int
    done_at: float | None
    withdrawn_at: float | None
    """Since when nobody waits for it any more."""


class SeatedPerson(NamedTuple):
    """How a person who holds a seat stands with her ballots."""

    name: str
    waiting: int
    given: int
    seconds: float
    """How long she looked at what she was asked."""

    def __str__(self) -> str:
        waits = f"{self.waiting} ballot{' waits' if self.waiting == 1 else 's wait'} for {self.name}"
        return f"{waits}; {self.given} given in {self.seconds / 60:.0f} min" if self.given else waits


class Parked(Exception):
    """A deliberation that can go on only when a person has answered. Nothing is wrong with it."""

    def __init__(self, person: str) -> None:
        super().__init__(f"{person} is asked")
        self.person = person


class Click(NamedTuple):
    """One change of one part of an answer, as it was made."""

    case: str
    person: str
    attribute: str
    part: str
    value: Any
    seconds: float
    """Time in view since the change before."""
    made_at: float


_TASK = "SELECT id, person, case_id, place, done_at, withdrawn_at FROM tasks"


class Desk:
    """The people, their links and their tasks. Several processes may hold it open: each write is a transaction."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if (folder / FILE).exists() and not os.access(folder, os.W_OK):
            # On media that cannot be written, there is nobody to write meanwhile either.
            address = f"file:{quote(str(folder / FILE))}?immutable=1"
            self._database = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            os.close(os.open(folder / FILE, os.O_RDWR | os.O_CREAT, _PRIVATE))
            self._database = sqlite3.connect(
                folder / FILE, isolation_level=None, timeout=30, check_same_thread=False
            )
            # A click that is lost in a power cut is one that somebody was told was saved.
            self._database.executescript(
                f"PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; BEGIN IMMEDIATE; {_TABLES} COMMIT;"
            )
        except (OSError, sqlite3.Error) as error:
            raise VenireError(
                f"{folder / FILE} cannot be opened: {getattr(error, 'strerror', None) or error}",
                remedy="choose a folder that can be written to",
            ) from None

    def close(self) -> None:
        self._database.close()

    def rows(self, sql: str, *values: Any) -> list[Any]:
        return self._database.execute(sql, values).fetchall()

    def fact(self, name: str) -> str | None:
        return next((value for (value,) in self.rows("SELECT value FROM facts WHERE name = ?", name)), None)

    def set_fact(self, name: str, value: str) -> None:
        self.rows("INSERT OR REPLACE INTO facts VALUES (?, ?)", name, value)

    def keep(self, content: str) -> str:
        """Keep a text once; its hash finds it again."""
        self.rows("INSERT OR IGNORE INTO contents VALUES (?, ?)", key := digest(content), content)
        return key

    def content(self, key: str) -> str:
        ((content,),) = self.rows("SELECT content FROM contents WHERE hash = ?", key)
        return str(content)

    def rubric(self, sheet: TaskSheet) -> Rubric:
        return Rubric.model_validate_json(self.content(sheet.rubric))

    # Links

    def links(self, names: Iterable[str]) -> dict[str, str]:
        """The secret of each person's link, made where she has none."""
        for name in names:
            self.rows("INSERT OR IGNORE INTO people VALUES (?, ?)", name, secrets.token_urlsafe(24))
        return dict(self.rows("SELECT name, secret FROM people ORDER BY rowid"))

    def revoke_links(self) -> None:
        """Let no link lead here any more; whoever is asked again gets a new one."""
        self.rows("DELETE FROM people")

    # Tasks

    def add_tasks(self, person: str, tasks: Iterable[tuple[str, str, str]]) -> None:
        """Put tasks on a person's desk in this order, each with its address, its case and the hash of its sheet; those that are there stay as they are."""
        self.rows("BEGIN IMMEDIATE")
        try:
            ((place,),) = self.rows("SELECT coalesce(max(place) + 1, 0) FROM tasks WHERE person = ?", person)
            for number, (address, case, sheet) in enumerate(tasks, place):
                self.rows(
                    "INSERT OR IGNORE INTO tasks (person, address, case_id, sheet, place, asked_at) VALUES (?, ?, ?, ?, ?, ?)",
                    *(person, address, case, sheet, number, time.time()),
                )
        except BaseException:
            self.rows("ROLLBACK")
            raise
        self.rows("COMMIT")

    def task(self, person: str, place: int) -> DeskTask | None:
        return next((DeskTask(*row) for row in self.rows(f"{_TASK} WHERE person = ? AND place = ?", person, place)), None)  # fmt: skip

    def task_at(self, person: str, address: str) -> DeskTask | None:
        return next((DeskTask(*row) for row in self.rows(f"{_TASK} WHERE person = ? AND address = ?", person, address)), None)  # fmt: skip

    def open_place(self, person: str, after: int = -1) -> int | None:
        """The place of the first task that is not done, looking on from `after` and then from the beginning."""
        places = self.rows(
            "SELECT place FROM tasks WHERE person = ? AND done_at IS NULL AND withdrawn_at IS NULL ORDER BY place <= ?, place LIMIT 1",
            *(person, after),
        )
        return places[0][0] if places else None

    def counts(self) -> dict[str, tuple[int, int]]:
        """By person, how many tasks are done, of how many; what was withdrawn is none."""
        rows = self.rows(
            "SELECT person, count(done_at), count(*) - count(withdrawn_at) FROM tasks GROUP BY person ORDER BY person"
        )
        return {person: (done, all_of_them) for person, done, all_of_them in rows}

    def count(self, person: str) -> tuple[int, int]:
        ((done, all_of_them),) = self.rows(
            "SELECT count(done_at), count(*) - count(withdrawn_at) FROM tasks WHERE person = ?", person
        )
        return done, all_of_them

    def asked_at(self, task: DeskTask) -> float:
        ((moment,),) = self.rows("SELECT asked_at FROM tasks WHERE id = ?", task.id)
        return float(moment)

    def sheet(self, task: DeskTask) -> TaskSheet:
        ((content,),) = self.rows(
            "SELECT content FROM contents JOIN tasks ON hash = sheet WHERE tasks.id = ?", task.id
        )
        return TaskSheet.model_validate_json(content)

    # Answers

    def answers(self, task: DeskTask) -> Answers:
        """What stands on a task's form now: of each part, what was put there last."""
        answers: Answers = {}
        for attribute, part, value in self.rows(
            "SELECT attribute, part, value FROM clicks WHERE task = ? ORDER BY id", task.id
        ):
            answers.setdefault(attribute, {})[part] = json.loads(value)
        return answers

    def save(
        self, task: DeskTask, click: str, attribute: str, part: str, value: Any, *, seconds: float
    ) -> Answers:
        """Commit one click and return what stands on the form with it. Sent twice under one id, it is one click."""
        self.rows(
            "INSERT OR IGNORE INTO clicks (click, task, attribute, part, value, seconds, made_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
            *(click, task.id, attribute, part, json.dumps(value), seconds, time.time()),
        )
        return self.answers(task)

    def mark_done(self, task: DeskTask, done: bool) -> None:
        """Count the task as done from now on, or not."""
        if done != (task.done_at is not None):
            self.rows("UPDATE tasks SET done_at = ? WHERE id = ?", time.time() if done else None, task.id)

    def withdraw(self, task: DeskTask) -> None:
        """Ask for it no more."""
        self.rows("UPDATE tasks SET withdrawn_at = ? WHERE id = ? AND done_at IS NULL", time.time(), task.id)

    def has_lapsed(self, person: str, sheet: TaskSheet) -> bool:
        """Whether nobody waits any more for what she was asked about the same texts."""
        rows = self.rows(
            "SELECT content FROM contents JOIN tasks ON hash = sheet WHERE person = ? AND case_id = ? AND withdrawn_at IS NOT NULL",
            *(person, sheet.case),
        )
        texts = set(sheet.exhibits)
        return any(set(TaskSheet.model_validate_json(content).exhibits) == texts for (content,) in rows)

    def seats(self) -> list[SeatedPerson]:
        """Everybody who was asked, with what waits for her and what she gave."""
        rows = self.rows(
            "SELECT person, sum(done_at IS NULL AND withdrawn_at IS NULL), count(done_at), "
            "(SELECT coalesce(sum(seconds), 0) FROM clicks JOIN tasks AS mine ON mine.id = task WHERE mine.person = tasks.person) "
            "FROM tasks GROUP BY person ORDER BY person"
        )
        return [SeatedPerson(*row) for row in rows]

    def seconds(self, task: DeskTask) -> float:
        """How long its sheet was looked at."""
        ((seconds,),) = self.rows("SELECT coalesce(sum(seconds), 0) FROM clicks WHERE task = ?", task.id)
        return float(seconds)

    def clicks(self) -> Iterable[Click]:
        """Every click on every desk, in the order in which they were made."""
        for case, person, attribute, part, value, seconds, made_at in self._database.execute(
            "SELECT case_id, person, attribute, part, value, seconds, made_at FROM clicks JOIN tasks ON tasks.id = task ORDER BY clicks.id"
        ):
            yield Click(case, person, attribute, part, json.loads(value), seconds, made_at)

    def last_click(self) -> int:
        """A number that grows with every click."""
        ((number,),) = self.rows("SELECT coalesce(max(id), 0) FROM clicks")
        return int(number)


def asked_now(rubric: Rubric, asked: Sequence[str], answers: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The attributes that are asked, given the answers so far: one with a condition, only where that is met."""
    names: list[str] = []
    for name in asked:
        conditions = rubric.by_name[name].asked_if
        if all(
            condition not in asked
            or (condition in names and answers.get(condition, {}).get("score") == value)
            for condition, value in conditions.items()
        ):
            names.append(name)
    return names


def seated_people(run: object) -> list[SeatedPerson]:
    """Those who hold a seat in the run in a directory; nobody where there is no desk."""
    if not isinstance(run, Path) or not (run / FILE).exists():
        return []
    desk = Desk(run)
    try:
        return desk.seats()
    finally:
        desk.close()


def cases_asked(run: Path) -> dict[str, dict[str, bool]]:
    """By person who was asked in the run in a directory, each case, and whether she has voted on it, or may not any more."""
    if not (run / FILE).exists():
        return {}
    desk = Desk(run)
    try:
        rows = desk.rows(
            "SELECT person, case_id, max(done_at IS NOT NULL OR withdrawn_at IS NOT NULL) FROM tasks GROUP BY person, case_id"
        )
    finally:
        desk.close()
    asked: dict[str, dict[str, bool]] = {}
    for person, case, voted in rows:
        asked.setdefault(person, {})[case] = bool(voted)
    return asked


def answers_given(run: object) -> int:
    """How many ballots people have sent to the run in a directory."""
    return sum(person.given for person in seated_people(run))


def await_answers(run: object, answered: int) -> None:
    """Return when people have sent more than `answered` ballots, or a minute has passed: somebody's time may be up."""
    until = time.monotonic() + 60
    while time.monotonic() < until and answers_given(run) == answered:
        time.sleep(1)
