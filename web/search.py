"""Finding deliberations: filter, sort and page, all in the index."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from urllib.parse import urlencode

from ..rubrics.scale import Value

PAGE = 50
SORTS = {
    "look": ("worth a look", "interest DESC, case_id, arm"),
    "case": ("case", "case_id, arm"),
    "spread": ("spread", "spread DESC, case_id, arm"),
    "rounds": ("rounds", "rounds DESC, turns DESC, case_id, arm"),
    "tokens": ("tokens", "tokens DESC, case_id, arm"),
    "seconds": ("seconds", "seconds DESC, case_id, arm"),
    "latest": ("finished last", "number DESC"),
}


class Row(NamedTuple):
    """One deliberation in a list."""

    number: int
    arm: str
    case: str
    title: str
    stop: str
    rounds: int
    turns: int
    tokens: int
    usd: float | None
    seconds: float
    spread: float | None
    flag_count: int
    flags: list[tuple[str, int, str, str]]
    """Kind, weight, attribute and text of the weightiest of each kind, in the order of their weight."""
    outcomes: dict[str, tuple[str, Value | None, str]]
    """Status, value and method by attribute."""


@dataclass(frozen=True, slots=True)
class CaseSearch:
    """Words, filters, order and page of the list of cases. Empty fields do not restrict."""

    q: str = ""
    arm: str = ""
    flag: str = ""
    stop: str = ""
    attribute: str = ""
    value: str = ""
    sort: str = "look"
    page: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> CaseSearch:
        """The search in a query string; what makes no sense there is left out."""
        page = query.get("page", "1")
        return cls(
            q=query.get("q", "")[:200],
            arm=query.get("arm", "")[:200],
            flag=query.get("flag", "")[:60],
            stop=query.get("stop", "")[:60],
            attribute=query.get("attribute", "")[:100],
            value=query.get("value", "")[:100],
            sort=query.get("sort", "") if query.get("sort") in SORTS else "look",
            page=int(page) if page.isdecimal() and 0 < int(page[:9]) < 10**6 else 1,
        )

    def address(self, path: str, **changes: Any) -> str:
        """The relative URL of `path` under this search, with some of it changed."""
        fields = {name: changes.pop(name) for name in list(changes) if name in self.__slots__}
        changed = replace(self, **fields)
        query = {name: getattr(changed, name) for name in self.__slots__}
        default = CaseSearch()
        kept = {name: value for name, value in query.items() if value != getattr(default, name)}
        return f"./{path}?{urlencode({**kept, **changes})}"


class Finder:
    """Runs searches on the index; arms that were replaced by a newer one of the same name are left out."""

    def __init__(self, connection: sqlite3.Connection, arms: Iterable[int]) -> None:
        self._connection = connection
        self._arms = list(arms)

    def find(self, search: CaseSearch) -> tuple[list[Row], int]:
        """One page of what the search finds, and how many it finds in all."""
        where, values = self._where(search)
        total = self.count(search)
        order = SORTS[search.sort][1]
        rows = self._connection.execute(
            "SELECT number, arm_name, case_id, title, stop, rounds, turns, tokens, usd, seconds, spread, flags "
            f"FROM deliberations d WHERE {where} ORDER BY {order} LIMIT ? OFFSET ?",
            (*values, PAGE, (search.page - 1) * PAGE),
        ).fetchall()
        return [self._row(row) for row in rows], total

    def neighbours(self, search: CaseSearch, case: str, arm: str) -> tuple[tuple[str, str] | None, ...]:
        """The (case, arm) before and after a deliberation in what the search finds."""
        where, values = self._where(search)
        order = SORTS[search.sort][1]
        found = self._connection.execute(
            "SELECT before_case, before_arm, after_case, after_arm FROM (SELECT case_id, arm_name, "
            "lag(case_id) OVER w AS before_case, lag(arm_name) OVER w AS before_arm, lead(case_id) OVER w AS after_case, "
            f"lead(arm_name) OVER w AS after_arm FROM deliberations d WHERE {where} WINDOW w AS (ORDER BY {order})) "
            "WHERE case_id = ? AND arm_name = ?",
            (*values, case, arm),
        ).fetchone()
        if found is None:
            return (None, None)
        return tuple((c, a) if c is not None else None for c, a in (found[:2], found[2:]))

    def count(self, search: CaseSearch) -> int:
        """How many deliberations the search finds."""
        where, values = self._where(search)
        (total,) = self._connection.execute(
            f"SELECT count(*) FROM deliberations d WHERE {where}", values
        ).fetchone()
        return total

    def _where(self, search: CaseSearch) -> tuple[str, list[Any]]:
        parts, values = [f"d.arm IN ({', '.join('?' * len(self._arms))})"], list[Any](self._arms)
        if search.q:
            parts.append(
                "(d.case_id LIKE ? ESCAPE '\\' OR d.title LIKE ? ESCAPE '\\' OR d.about LIKE ? ESCAPE '\\')"
            )
            values += [f"%{_literal(search.q)}%"] * 3
        for column, wanted in (("arm_name", search.arm), ("stop", search.stop)):
            if wanted:
                parts.append(f"d.{column} = ?")
                values.append(wanted)
        if search.flag == "any":
            parts.append("d.flags > 0")
        elif search.flag == "none":
            parts.append("d.flags = 0")
        elif search.flag:
            on = " AND attribute = ?" if search.attribute and not search.value else ""
            parts.append(f"d.number IN (SELECT number FROM flags WHERE kind = ?{on})")
            values += [search.flag, search.attribute] if on else [search.flag]
        if search.attribute and search.value:
            if search.value in ("hung", "not_applicable"):
                held, wanted_values = "status = ?", [search.value]
            else:
                held, wanted_values = "value IN (?, ?)", [search.value, json.dumps(search.value)]
            parts.append(f"d.number IN (SELECT number FROM outcomes WHERE attribute = ? AND {held})")
            values += [search.attribute, *wanted_values]
        return " AND ".join(parts), values

    def _row(self, row: tuple[Any, ...]) -> Row:
        flags = self._connection.execute(
            # Beside max() SQLite gives the other columns of the row that has the maximum.
            "SELECT kind, max(weight), attribute, text FROM flags WHERE number = ? GROUP BY kind ORDER BY 2 DESC",
            (row[0],),
        ).fetchall()
        outcomes = {
            name: (status, None if value is None else json.loads(value), method)
            for name, status, value, method in self._connection.execute(
                "SELECT attribute, status, value, method FROM outcomes WHERE number = ? ORDER BY rowid",
                (row[0],),
            )
        }
        return Row._make((*row, flags, outcomes))


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
