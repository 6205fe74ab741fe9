"""A query, by what it returns: run on a read-only database, within limits of time and size."""

from __future__ import annotations

import re
import sqlite3
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationInfo, field_validator

from ....rubrics.errors import VenireError
from ..scorer import NO_TARGET, AnswerForm, CaseScore, GradedAnswer, Scorer, ScorerOptions, unparsed_score

MOST_ROWS = 100_000
LONGEST_VALUE = 1_000_000
"""Bytes of one text or blob, and of the query."""
_STEPS = 1000
"""SQLite instructions between two looks at the clock."""
_FENCE = re.compile(r"```(?:sql|sqlite)?\s*\n(.*?)```", re.IGNORECASE | re.DOTALL)
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_REFUSED_FUNCTIONS = {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"}


class SqlOptions(ScorerOptions):
    """Where a query is run, and how results are compared."""

    database: str
    """An SQLite file; `{column}` in it takes a column of the case."""
    ordered: bool = False
    """Whether rows must come in the same order."""
    seconds: float = Field(default=5.0, gt=0)

    @field_validator("database")
    @classmethod
    def _beside_the_file(cls, value: str, info: ValidationInfo) -> str:
        folder: Path | None = (info.context or {}).get("beside")
        return value if folder is None else str(folder / value)


class RefusedQuery(Exception):
    """A query that cannot be run: no SQL, not a read, or beyond a limit."""


def query_of(output: str) -> str:
    """The query in an answer: what stands in its last fence, or all of it."""
    fenced = _FENCE.findall(output.rsplit("</think>", 1)[-1])
    return (fenced[-1] if fenced else output.rsplit("</think>", 1)[-1]).strip().rstrip(";").strip()


def run_query(database: Path, query: str, *, seconds: float) -> list[tuple[Any, ...]]:
    """The rows that `query` returns.

    Nothing but reading is allowed: the file is opened read-only, and every other action (ATTACH, PRAGMA, DROP, ...) is denied
    when the query is compiled.

    Raises:
        RefusedQuery: It is no query, does more than read, or runs beyond the limits.
    """
    with closing(sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.set_authorizer(_authorize)
        end = time.monotonic() + seconds
        connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
        try:
            cursor = connection.execute(query)
            rows = cursor.fetchmany(MOST_ROWS + 1)
        except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
            timed_out = time.monotonic() > end
            raise RefusedQuery(f"more than {seconds:g} s" if timed_out else str(error)) from None
        except MemoryError:
            raise RefusedQuery("more memory than is available") from None
    if cursor.description is None:
        raise RefusedQuery("it returns no table")
    if len(rows) > MOST_ROWS:
        raise RefusedQuery(f"more than {MOST_ROWS:,} rows")
    return rows


def _authorize(action: int, table: str | None, function_name: str | None, *_: object) -> int:
    function = action == sqlite3.SQLITE_FUNCTION and (function_name or "").lower() in _REFUSED_FUNCTIONS
    return sqlite3.SQLITE_OK if action in _ALLOWED and not function else sqlite3.SQLITE_DENY


def same_rows(given: Sequence[tuple[Any, ...]], wanted: Sequence[tuple[Any, ...]], *, ordered: bool) -> bool:
    """Whether two results are equal: NULL equals NULL, 1 equals 1.0, and two empty results are the same."""
    given_rows, wanted_rows = ([tuple(map(_comparable, row)) for row in rows] for rows in (given, wanted))
    return given_rows == wanted_rows if ordered else Counter(given_rows) == Counter(wanted_rows)


def _comparable(value: Any) -> tuple[str, Any]:
    if isinstance(value, int | float):
        return "number", float(f"{value:.9g}")
    return type(value).__name__, value


def _score(answers: Sequence[GradedAnswer], form: AnswerForm, options: SqlOptions) -> list[CaseScore]:
    return [_case_score(answer, options) for answer in answers]


def _case_score(answer: GradedAnswer, options: SqlOptions) -> CaseScore:
    if answer.target is None or not str(answer.target).strip():
        return NO_TARGET
    database = _database(answer, options)
    try:
        correct_rows = run_query(database, query_of(str(answer.target)), seconds=options.seconds)
    except RefusedQuery as error:
        raise VenireError(
            f"case {answer.case!r}: the query in its target cannot be run: {error}",
            remedy="correct the target, or the database",
        ) from None
    query = query_of(answer.output)
    if not query:
        return unparsed_score("no query")
    try:
        rows = run_query(database, query, seconds=options.seconds)
    except RefusedQuery as error:
        return unparsed_score(f"refused: {error}")
    return CaseScore("scored", float(same_rows(rows, correct_rows, ordered=options.ordered)), answer=query)


def _database(answer: GradedAnswer, options: SqlOptions) -> Path:
    try:
        path = Path(options.database.format_map(answer.columns))
    except (KeyError, IndexError, ValueError):
        raise VenireError(
            f"case {answer.case!r} lacks a column that is named in the path of the database, {options.database!r}",
            remedy="give every case that column",
        ) from None
    if not path.is_file():
        raise VenireError(
            f"{path}: no such database", remedy="name an SQLite file under score: {sql: {database: ...}}"
        )
    return path


SQL = Scorer(
    "sql",
    "1 if the query returns the same rows as the target's query; a query may only read the database",
    _score,
    SqlOptions,
    "database",
)
