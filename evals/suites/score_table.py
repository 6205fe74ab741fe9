"""A table of scores: systems by scenarios, wide or long, with each scenario's direction and scale."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from ...rubrics.errors import InvalidFile
from ...rubrics.files import near_column, nearest
from ...rubrics.rows import cell_number, read_rows

Direction = Literal["higher", "lower", "none"]
DIRECTIONS: Mapping[str, Direction] = {
    "": "higher",
    "higher": "higher",
    "high": "higher",
    "lower": "lower",
    "low": "lower",
    "none": "none",
}
LONG = ("scenario", "score")
"""The columns that make a table a long one."""


@dataclass(frozen=True, slots=True)
class ScenarioColumn:
    """What is known of one scenario's scores; higher is better, from 0 to 1, unless said otherwise."""

    scenario: str
    category: str = ""
    direction: Direction = "higher"
    """`none`: its values have no order of merit."""
    low: float = 0.0
    high: float = 1.0

    def share(self, score: float) -> float:
        """Where a score lies between the worst (0) and the best (1)."""
        part = (score - self.low) / (self.high - self.low)
        return 1 - part if self.direction == "lower" else part


@dataclass(frozen=True)
class ScoreTable:
    """Scores of systems on scenarios, as they were given."""

    means: pd.DataFrame
    """Systems as rows, scenarios as columns, in the order of the file; NaN where there is no score."""
    columns: Mapping[str, ScenarioColumn]
    cases: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    """Of a scenario whose cases are known: cases as rows, systems as columns."""
    off_scale: tuple[str, ...] = ()
    """Scenarios whose scores do not lie from 0 to 1 and whose scale nobody gave: compared, but not averaged with others."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Columns that are no scenarios, and why."""


def load_scores(path: str | Path, columns: str | Path | None = None) -> ScoreTable:
    """The table in a CSV or JSONL file: wide (`system`, a column a scenario) or long (`system,scenario,score`, optional `case`).

    A leaderboard is read as it was published: `Model` is a system, 78.4% is 0.784, of 0.61 ± 0.02 the first number counts, a dash is no score; columns
    of ranks, means and words are no scenarios.

    Raises:
        InvalidFile: Whatever is wrong with either file, with the line where it is wrong.
    """
    file = Path(path)
    rows = list(read_rows(file))
    if not rows:
        raise InvalidFile(
            f"{file}: the table has no rows",
            remedy="write a table with the columns system,SCENARIO,... or system,scenario,score",
        )
    published = "system" not in rows[0][1]
    rows = [(line, _named_system(row)) for line, row in rows]
    header = rows[0][1]
    if "system" not in header:
        raise InvalidFile(
            f"{file}:1: the column 'system' is missing",
            remedy=f"{near_column('system', header)}give the columns system,SCENARIO,... or system,scenario,score",
        )
    long = all(name in header for name in LONG)
    left_out = _other_columns([row for _, row in rows]) if published and not long else {}
    cells = _long_cells(file, rows) if long else _wide_cells(file, rows, left_out)
    table = pd.DataFrame(cells, columns=["system", "scenario", "case", "score"])
    systems, scenarios = table["system"].unique(), table["scenario"].unique()
    described_columns = _columns(Path(columns), list(scenarios)) if columns is not None else {}
    means = table.groupby(["system", "scenario"])["score"].mean().unstack()
    column_by_name = {name: described_columns.get(name, ScenarioColumn(name)) for name in scenarios}
    _check_scales(file, table, described_columns)
    by_case = {
        str(name): cells.pivot(index="case", columns="system", values="score").reindex(columns=systems)
        for name, cells in table[table["case"] != ""].groupby("scenario", sort=False)
    }
    return ScoreTable(
        means.reindex(index=systems, columns=scenarios),
        column_by_name,
        by_case,
        tuple(name for name in scenarios if name not in described_columns and _is_off_scale(table, name)),
        left_out,
    )


_SYSTEM = ("model", "model name", "model/adapter", "system name")
"""What leaderboards call the system."""
_SUMMARIES = ("rank", "mean", "mean score", "mean win rate", "win rate", "average", "avg", "overall", "macro", "macro average")  # fmt: skip
_NO_SCORE = ("", "-", "–", "—", "n/a", "na", "nan")


def _named_system(row: dict[str, Any]) -> dict[str, Any]:
    """A row with its system under that name, whatever a leaderboard calls it."""
    if "system" in row:
        return row
    name = next((key for key in row if str(key).strip().casefold() in _SYSTEM), None)
    return row if name is None else {"system" if key == name else key: cell for key, cell in row.items()}


def _other_columns(rows: list[dict[str, Any]]) -> dict[str, str]:
    """The columns of a wide table that summarise the others, or hold words alone."""
    left_out = {}
    for name in dict.fromkeys(str(key) for row in rows for key in row if key != "system"):
        cells = [_cell_text(row.get(name)) for row in rows]
        written = [cell for cell in cells if cell not in _NO_SCORE]
        if name.strip().casefold().replace("_", " ") in _SUMMARIES:
            left_out[name] = "this column is a summary of other columns, such as a rank or mean"
        elif written and not any(re.fullmatch(r"[-+−]?[\d.,]+(e[-+]?\d+)?\s*%?", cell) for cell in written):
            left_out[name] = "this column has words, not scores"
    return left_out


def _cell_text(cell: Any) -> str:
    """A cell as written, without an error beside the number."""
    return re.split(r"±|\+/?-|\(", str("" if cell is None else cell))[0].strip().casefold()


def _wide_cells(
    file: Path, rows: list[tuple[int, dict[str, Any]]], left_out: Mapping[str, str]
) -> list[tuple[str, str, str, float]]:
    cells, systems = [], set()
    for line, row in rows:
        system = _name(file, line, row, "system")
        if system in systems:
            raise InvalidFile(f"{file}:{line}: {system!r} is listed twice", remedy="give each system one row")
        systems.add(system)
        for scenario, cell in row.items():
            if scenario != "system" and scenario not in left_out:
                cells.append((system, str(scenario), "", _score(file, line, cell)))
    if not cells:
        raise InvalidFile(
            f"{file}:1: the table has no column for a scenario", remedy="add a column for each scenario"
        )
    return cells


def _long_cells(file: Path, rows: list[tuple[int, dict[str, Any]]]) -> list[tuple[str, str, str, float]]:
    cells, keys = [], set()
    for line, row in rows:
        system, scenario = (_name(file, line, row, name) for name in ("system", "scenario"))
        case = str(row.get("case") or "").strip()
        if (system, scenario, case) in keys:
            place = f"case {case!r} of {scenario!r}" if case else repr(scenario)
            raise InvalidFile(
                f"{file}:{line}: {system!r} has two scores for {place}",
                remedy="keep one of the two rows, or add a column case that distinguishes them",
            )
        keys.add((system, scenario, case))
        cells.append((system, scenario, case, _score(file, line, row.get("score"))))
    return cells


def _name(file: Path, line: int, row: Mapping[str, Any], column: str) -> str:
    name = str(row.get(column) if row.get(column) is not None else "").strip()
    if not name:
        raise InvalidFile(f"{file}:{line}: the {column} is missing", remedy=f"give every row a {column}")
    return name


def _score(file: Path, line: int, cell: Any) -> float:
    """The number in a cell, a percentage as a share; NaN where it is blank."""
    written = _cell_text(cell)
    if written in _NO_SCORE:
        return math.nan
    number = cell_number(written.removesuffix("%").strip(), f"{file}:{line}")
    score = float(cell) if isinstance(cell, bool) else number
    if score is not None and written.endswith("%"):
        score /= 100
    if score is None or not math.isfinite(score):
        raise InvalidFile(
            f"{file}:{line}: {str(cell)[:40]!r} is not a score",
            remedy="write a number, or leave the cell blank",
        )
    return score


def _columns(file: Path, scenarios: list[str]) -> dict[str, ScenarioColumn]:
    column_by_name: dict[str, ScenarioColumn] = {}
    for line, row in read_rows(file, required=("scenario",)):
        name = _name(file, line, row, "scenario")
        if name in column_by_name:
            raise InvalidFile(f"{file}:{line}: {name!r} is listed twice", remedy="give each scenario one row")
        if name not in scenarios:
            raise InvalidFile(
                f"{file}:{line}: the table has no scenario {name!r}", remedy=nearest(name, scenarios)
            )
        direction = str(row.get("direction") or "").strip().lower()
        if direction not in DIRECTIONS:
            raise InvalidFile(
                f"{file}:{line}: {direction!r} is not a direction",
                remedy="write higher, lower or none",
            )
        low, high = (_score(file, line, row.get(end)) for end in ("low", "high"))
        low, high = 0.0 if math.isnan(low) else low, 1.0 if math.isnan(high) else high
        if low >= high:
            raise InvalidFile(
                f"{file}:{line}: low is {low:g}, which is not below high ({high:g})",
                remedy="write the smaller number as low",
            )
        category = str(row.get("category") or "").strip()
        column_by_name[name] = ScenarioColumn(name, category, DIRECTIONS[direction], low, high)
    return column_by_name


def _check_scales(file: Path, table: pd.DataFrame, columns: Mapping[str, ScenarioColumn]) -> None:
    for name, column in columns.items():
        cells = table[table["scenario"] == name]
        strays = cells[(cells["score"] < column.low) | (cells["score"] > column.high)]
        if len(strays) and column.direction != "none":
            stray = strays.iloc[0]
            raise InvalidFile(
                f"{file}: the score {stray['score']:g} of {stray['system']!r} on {name!r} is not on the scale from {column.low:g} to {column.high:g}",
                remedy="correct the score, or the scale in --columns",
            )


def _is_off_scale(table: pd.DataFrame, name: str) -> bool:
    scores = table.loc[table["scenario"] == name, "score"]
    return bool(((scores < 0) | (scores > 1)).any())
