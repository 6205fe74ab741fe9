"""A D-study for the terminal and as JSON."""

from __future__ import annotations

import math
from typing import Any

from rich.table import Table

from ..inference.run_dstudy import DStudy, RunDStudy
from .json_documents import records


def dstudy_json(run: str, found: RunDStudy) -> dict[str, Any]:
    """The study as JSON; NaN is null."""
    return {
        "run": run,
        "arm": found.arm,
        "studies": [_study_json(each) for each in found.studies],
        "sentences": [each.sentence for each in found.studies],
        "notes": list(found.notes),
    }


def components_table(found: RunDStudy) -> Table:
    """Where the variance comes from, a row for each attribute and stage; negative components as they came out."""
    table = _table(
        "attribute", "ballots", "cases", "jurors", "case x juror", "repeats", "relative", "absolute"
    )
    for each in found.studies:
        of = each.components
        table.add_row(
            each.attribute,
            each.stage,
            *(_cell(part, 4) for part in (of.case, of.juror, of.interaction, of.repeat)),
            _cell(of.relative(of.jurors, of.repeats)),
            _cell(of.absolute(of.jurors, of.repeats)),
        )
    return table


def designs_table(study: DStudy) -> Table:
    """The coefficients of designs of other sizes, with what they cost."""
    table = _table("design", "jurors", "repeats", "relative", "absolute", "calls a case", "cost a case")
    for row in study.designs.to_dict("records"):
        table.add_row(
            row["design"],
            str(row["jurors"]),
            str(row["repeats"]),
            _cell(row["relative"]),
            _cell(row["absolute"]),
            str(row["calls"]),
            "unknown" if math.isnan(row["usd"]) else f"${row['usd']:.5f}",
        )
    return table


def _study_json(each: DStudy) -> dict[str, Any]:
    of = each.components
    numbers = {"case": of.case, "juror": of.juror, "interaction": of.interaction, "repeat": of.repeat}
    return {
        "attribute": each.attribute,
        "stage": each.stage,
        "components": {name: None if math.isnan(value) else value for name, value in numbers.items()},
        "cases": of.cases,
        "jurors": of.jurors,
        "repeats": None if math.isnan(of.repeats) else of.repeats,
        "method": of.method,
        "note": of.note,
        "designs": records(each.designs),
    }


def _cell(value: float, places: int = 3) -> str:
    return "" if math.isnan(value) else f"{value:.{places}f}"


def _table(*columns: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        table.add_column(column)
    return table
