"""`recorded/FILE#JUROR`: real judgements, or checks of claims, from a table, answered again by case."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from ...personas.jury import ModelSettings
from ...rubrics.case import is_swapped
from ...rubrics.claim import CheckRow, read_check_rows
from ...rubrics.errors import InvalidFile, VenireError
from ...rubrics.files import nearest
from ...rubrics.rows import cell_number, read_rows
from ..cost import FREE, Price
from ..model import ModelFailure, Reply, Request, Subject
from ..model_client import ClientFactory, ModelClient


class RecordedChecksClient(ModelClient):
    """One verifier of the table. A claim that it never checked, or abstained on, is an abstention again."""

    context_window = None
    votes_only = True

    def __init__(self, juror: str, checks: Mapping[tuple[str, str], CheckRow]) -> None:
        self.juror = juror
        self._checks = checks

    async def complete(self, request: Request) -> Reply:
        subject = request.subject
        if subject is None or subject.kind != "verification":
            raise ModelFailure("refused", f"{self.juror} is a record of checks; it can only check claims")
        found = [self._checks.get((subject.case, claim.id)) for claim in subject.claims]
        given = [row for row in found if row is not None and row.verdict is not None]
        if not given:
            asked = ", ".join(claim.id for claim in subject.claims)
            raise ModelFailure("no_record", f"{self.juror} has no verdict on {asked} of case {subject.case}")
        answer = [
            {"claim": row.claim, "reason": row.reason, "evidence": row.evidence, "verdict": row.verdict}
            for row in given
        ]
        return Reply(text=json.dumps({"checks": answer}), usd=0.0)

    def list_price(self, model: str) -> Price:
        return FREE


def holds_checks(file: Path) -> bool:
    """Whether a table's first row is a check of a claim, and not a judgement of an attribute."""
    first = next(iter(read_rows(file)), None)
    return first is not None and {"claim", "verdict"} <= first[1].keys()


def connect_checks(file: Path, juror: str) -> RecordedChecksClient:
    """The client of one juror of a table of checks."""
    table: dict[str, dict[tuple[str, str], CheckRow]] = {}
    for row in read_check_rows(file):
        table.setdefault(row.juror, {})[row.case, row.claim] = row
    if juror not in table:
        raise VenireError(f"{file}: no juror named {juror!r}", remedy=nearest(juror, table))
    return RecordedChecksClient(juror, table[juror])


_Cell = dict[str, Any]
_Key = tuple[str, str, int]
"""Case, attribute and repeat."""


def connect(settings: ModelSettings) -> RecordedClient | RecordedChecksClient:
    file, _, juror = (settings.model or "").removeprefix("recorded/").partition("#")
    if not file or not juror:
        raise VenireError(
            f"the model {settings.model!r} does not say which juror's judgements to use",
            remedy="write it as recorded/FILE#JUROR",
        )
    if holds_checks(Path(file)):
        return connect_checks(Path(file), juror)
    table = _load(Path(file))
    if juror not in table:
        raise VenireError(f"{file}: no juror named {juror!r}", remedy=nearest(juror, table))
    return RecordedClient(juror, table[juror])


class RecordedClient(ModelClient):
    """One juror of the table. A case that it never judged is an abstention."""

    context_window = None
    votes_only = True

    def __init__(self, juror: str, judgements: dict[_Key, _Cell]) -> None:
        self.juror = juror
        self._judgements = judgements
        self._judged: dict[str, set[str]] = {}
        for case, attribute, _ in judgements:
            self._judged.setdefault(case, set()).add(attribute)

    def answers_for(self, subject: Subject) -> tuple[str, ...]:
        """The attributes it judged; all that is asked where it never saw the case, which is an abstention."""
        judged = self._judged.get(subject.case)
        return subject.asked if judged is None else tuple(name for name in subject.asked if name in judged)

    async def complete(self, request: Request) -> Reply:
        subject = request.subject
        if subject is None or subject.kind != "ballot" or request.schema is None:
            raise ModelFailure("refused", f"{self.juror} is a record of votes; it can only vote")
        answer: dict[str, Any] = {}
        costs: list[float | None] = []
        for attribute in subject.asked:
            cell = self._judgements.get((subject.case, attribute, request.repeat))
            if cell is None:
                raise ModelFailure("no_record", f"{self.juror} has no {attribute} for case {subject.case}")
            vote = {
                "rationale": cell.get("rationale") or f"Recorded judgement of {self.juror}.",
                "evidence": [],
                "moved_by": "",
                "confidence": "medium",
                "score": _value(cell, subject, attribute),
            }
            answer[attribute] = {
                part: vote[part] for part in request.schema["properties"][attribute]["properties"]
            }
            costs.append(cell["cost"])
        known = [cost for cost in costs if cost is not None]
        return Reply(text=json.dumps(answer), usd=sum(known) if len(known) == len(costs) else None)

    def list_price(self, model: str) -> Price:
        return FREE


def _value(cell: _Cell, subject: Subject, attribute: str) -> Any:
    """The value as the scale has it; a preference between a row's outputs as one between output A and output B."""
    text, number = cell["value"], cell["number"]
    if not subject.rubric.scale_of(attribute).numeric or number is None:
        return text
    if subject.rubric.compares and is_swapped(subject.case):
        number = -number
    elif not isinstance(text, str):
        return text
    return int(number) if number.is_integer() else number


def _load(path: Path) -> dict[str, dict[_Key, _Cell]]:
    """By juror, its judgements; a file that has not changed is read once for all who are in it."""
    state = path.stat()
    return _table(path.resolve(), path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=4)
def _table(resolved: Path, path: Path, changed: int, size: int) -> dict[str, dict[_Key, _Cell]]:
    """The judgements in the file at `path` as it was left at `changed`. Without a column of costs a judgement costs nothing; with one, a blank cell is unknown."""
    table: dict[str, dict[_Key, _Cell]] = {}
    rows = list(read_rows(path))
    priced = any("cost" in row for _, row in rows)
    for number, row in rows:
        for column in ("case", "juror", "attribute", "value"):
            if column not in row:
                raise InvalidFile(
                    f"{path}:{number}: the column {column!r} is missing",
                    remedy="give a table of judgements the columns case,juror,attribute,value",
                )
        if row["value"] in (None, ""):
            continue
        at = f"{path}:{number}"
        cost = _number(row.get("cost"), at, "cost")
        row["cost"] = cost if priced else 0.0
        row["number"] = cell_number(row["value"], at)
        key = (str(row["case"]), str(row["attribute"]), int(_number(row.get("repeat"), at, "repeat") or 0))
        judgements = table.setdefault(str(row["juror"]), {})
        if key in judgements:
            raise InvalidFile(
                f"{path}:{number}: {row['juror']} judged {row['attribute']} of {row['case']} twice",
                remedy="number the judgements in a column 'repeat'",
            )
        judgements[key] = row
    return table


def _number(value: Any, at: str, column: str) -> float | None:
    """A number; None where the cell is blank or the table has no such column."""
    if value is None or value == "":
        return None
    number = cell_number(value, at)
    if number is None or not math.isfinite(number):
        raise InvalidFile(
            f"{at}: {column} is {value!r}, which is not a number",
            remedy="write a number, or leave the cell blank",
        )
    return number


client_factory = ClientFactory(connect=connect, per_model=True)
