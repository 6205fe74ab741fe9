"""Finding deliberations: filter, sort and page, all in the index."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple
from urllib.parse import urlencode

from ..rubrics.scale import Value
from .summaries import DERIVED, between_spaces

PAGE = 50
SORTS = {
    "look": ("worth a look", "interest", True),
    "case": ("case", "case_id", False),
    "arm": ("arm", "arm_name", False),
    "system": ("system", "system", False),
    "group": ("group", "case_group", False),
    "spread": ("spread", "spread", True),
    "rounds": ("rounds", "rounds", True),
    "stop": ("stopped by", "stop", False),
    "tokens": ("tokens", "tokens", True),
    "seconds": ("seconds", "seconds", True),
    "cost": ("cost", "usd", True),
    "hung": ("hung", "hung", True),
    "latest": ("finished last", "number", True),
}
"""By name: what it is called, its column, and whether the largest come first."""
SCORED = "score."
"""What stands before the name of an attribute in a sort by its score."""


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
    flag_count: int | None
    """None until its flags have been looked for."""
    group: str
    system: str
    cause: str
    """Why an attribute is hung, where one is."""
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
    system: str = ""
    group: str = ""
    sort: str = "look"
    up: str = ""
    """Not empty where the order of `sort` is turned round."""
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
            system=query.get("system", "")[:200],
            group=query.get("group", "")[:200],
            sort=_sort(query.get("sort", "")),
            up="1" if query.get("up") else "",
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
        order, scored = _order(search)
        rows = self._connection.execute(
            "SELECT number, arm_name, case_id, title, stop, rounds, turns, tokens, usd, seconds, spread, flags, "
            f"case_group, system, cause FROM deliberations d WHERE {where} ORDER BY {order} LIMIT ? OFFSET ?",
            (*values, *scored, PAGE, (search.page - 1) * PAGE),
        ).fetchall()
        return [self._row(row) for row in rows], total

    def neighbours(self, search: CaseSearch, case: str, arm: str) -> tuple[tuple[str, str] | None, ...]:
        """The (case, arm) before and after a deliberation in what the search finds.

        By the place of the deliberation itself in the order, so that nothing is sorted: one row each way is looked for.
        """
        where, values = self._where(search)
        column, down, bound = _sorted_by(search)
        found = f"SELECT case_id, arm_name, arm, {column} AS place FROM deliberations d WHERE {where}"
        given = (*bound, *values)
        here = self._connection.execute(
            f"SELECT place, case_id, arm FROM ({found}) WHERE case_id = ? AND arm_name = ?",
            (*given, case, arm),
        ).fetchone()
        if here is None:
            return (None, None)
        place, _, number = here
        # Rows without a value stand last, whichever way the others are sorted.
        beyond, short_of = ("<", ">") if down else (">", "<")
        ways = (
            (
                f"place {short_of} ? OR (? IS NULL AND place IS NOT NULL)",
                "<",
                "ASC" if down else "DESC",
                "DESC",
            ),
            (f"place {beyond} ? OR (? IS NOT NULL AND place IS NULL)", ">", "DESC" if down else "ASC", "ASC"),
        )
        return tuple(
            self._connection.execute(
                f"SELECT case_id, arm_name FROM ({found}) WHERE {apart} OR (place IS ? AND (case_id, arm) {side} (?, ?)) "
                f"ORDER BY place {order} NULLS {'FIRST' if side == '<' else 'LAST'}, case_id {ties}, arm {ties} LIMIT 1",
                (*given, place, place, place, case, number),
            ).fetchone()
            for apart, side, order, ties in ways
        )

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
            named = "d.case_id LIKE ? ESCAPE '\\' OR d.title LIKE ? ESCAPE '\\' OR d.about LIKE ? ESCAPE '\\'"
            values += [f"%{_literal(search.q)}%"] * 3
            if words := _words(search.q):
                named += " OR d.number IN (SELECT rowid FROM reasons WHERE reasons MATCH ?)"
                values.append(words)
            parts.append(f"({named})")
        chosen = (
            ("arm_name", search.arm),
            ("stop", search.stop),
            ("system", search.system),
            ("case_group", search.group),
        )
        for column, wanted in chosen:
            if wanted:
                parts.append(f"d.{column} = ?")
                values.append(wanted)
        if search.flag == "any":
            parts.append("d.flags > 0")
        elif search.flag == "none":
            parts.append("d.flags = 0")
        elif search.flag:
            on = " AND instr(f.attributes, ?)" if search.attribute and not search.value else ""
            parts.append(f"EXISTS (SELECT 1 FROM flags f WHERE f.number = d.number AND f.kind = ?{on})")
            values += [search.flag, between_spaces([search.attribute])] if on else [search.flag]
        if search.attribute and search.value:
            if search.value in ("hung", "not_applicable"):
                held, wanted_values = "status = ?", [search.value]
            else:
                held, wanted_values = "value IN (?, ?)", [search.value, json.dumps(search.value)]
            parts.append(
                f"EXISTS (SELECT 1 FROM outcomes o WHERE o.number = d.number AND o.attribute = ? AND {held})"
            )
            values += [search.attribute, *wanted_values]
        return " AND ".join(parts), values

    def _row(self, row: tuple[Any, ...]) -> Row:
        flags = self._connection.execute(
            "SELECT kind, weight, attribute, text FROM flags WHERE number = ? ORDER BY weight DESC",
            (row[0],),
        ).fetchall()
        outcomes = {
            name: (status, None if value is None else json.loads(value), method)
            for name, status, value, method in self._connection.execute(
                "SELECT attribute, status, value, method FROM outcomes WHERE number = ?",
                (row[0],),
            )
        }
        return Row._make((*row, flags, outcomes))

    def values_of(self, column: Literal["system", "case_group", "stop"], most: int = 200) -> list[str]:
        """The values of a column that a filter offers; none where there are more than `most`."""
        found = self._connection.execute(
            f"SELECT DISTINCT {column} FROM deliberations WHERE {column} != '' ORDER BY 1 LIMIT ?",
            (most + 1,),
        ).fetchall()
        return [value for (value,) in found] if len(found) <= most else []

    def arms_by_case(self, cases: Iterable[str]) -> dict[str, list[str]]:
        """The arms that have judged each of these cases."""
        found: dict[str, list[str]] = {}
        known = ", ".join("?" * len(self._arms))
        for case, arm in self._connection.execute(
            f"SELECT case_id, arm_name FROM deliberations d WHERE case_id IN (SELECT value FROM json_each(?)) AND d.arm IN ({known})",
            (json.dumps(list(cases)), *self._arms),
        ):
            found.setdefault(case, []).append(arm)
        return found

    def scores(self, cases: Iterable[str]) -> Iterator[tuple[str, str, str, float]]:
        """Case, arm, attribute and score of whatever was reached with a number in these cases, what is derived not among it."""
        known = ", ".join("?" * len(self._arms))
        yield from self._connection.execute(
            "SELECT d.case_id, d.arm_name, o.attribute, o.score FROM deliberations d JOIN outcomes o USING (number) "
            f"WHERE d.case_id IN (SELECT value FROM json_each(?)) AND o.score IS NOT NULL AND o.method != ? AND d.arm IN ({known})",
            (json.dumps(list(cases)), DERIVED, *self._arms),
        )

    def verdicts(self, arm: int) -> Iterator[tuple[str, str, str, Value | None]]:
        """Case, attribute, status and value of every verdict of an arm, what is derived not among them."""
        for case, attribute, status, value in self._connection.execute(
            "SELECT d.case_id, o.attribute, o.status, o.value FROM deliberations d JOIN outcomes o USING (number) "
            "WHERE d.arm = ? AND o.method != ? ORDER BY d.number",
            (arm, DERIVED),
        ):
            yield case, attribute, status, None if value is None else json.loads(value)


def _sort(name: str) -> str:
    return name[:120] if name in SORTS or name.startswith(SCORED) else "look"


def _sorted_by(search: CaseSearch) -> tuple[str, bool, list[str]]:
    """The expression that a search sorts by, whether the highest comes first, and what is bound in it."""
    if search.sort.startswith(SCORED):
        column, down = "(SELECT score FROM outcomes o WHERE o.attribute = ? AND o.number = d.number)", True
        bound = [search.sort.removeprefix(SCORED)]
    else:
        _, column, down = SORTS[search.sort]
        bound = []
    return column, down != bool(search.up), bound


def _order(search: CaseSearch) -> tuple[str, list[str]]:
    """The ORDER BY of a search and what is bound in it; rows without a value come last either way."""
    column, down, bound = _sorted_by(search)
    # Descending, SQLite puts what has no value last of itself, and can read an index.
    return f"{column} {'DESC' if down else 'ASC NULLS LAST'}, case_id, arm", bound


def _words(text: str) -> str:
    """The words of a search as a phrase whose last word may go on; nothing where it holds no letter or digit."""
    if not any(letter.isalnum() for letter in text):
        return ""
    return '"' + text.replace('"', '""') + '"*'


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
