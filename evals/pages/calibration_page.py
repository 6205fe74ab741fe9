"""A calibration in the terminal, as JSON and as a page."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from ..calibration.applying import Applied
from ..calibration.calibrating import Calibration
from ..ratings.sheet import OVERALL
from .json_documents import records
from .parts import items, methods_section, page, paragraph, section, table
from .section_markup import section_part

MOST = 20
"""Calibrated scores shown in the terminal; a file holds all."""
WORDS = {"offset": "offset", "rmse": "RMSE", "spearman": "Spearman", "kappa_quadratic": "quadratic kappa"}


def calibration_table(found: Calibration) -> Table:
    """Arms and their jurors as rows, each measure before and after, over the attributes that share a scale."""
    shown = _table("evaluator", "n", *WORDS.values())
    whole = found.changes[found.changes["attribute"] == OVERALL]
    for (arm, who), rows in whole.groupby(["arm", "evaluator"], sort=False):
        by = {str(row["measure"]): row for row in rows.to_dict("records")}
        cells = [
            f"{_two_decimals(by[name]['before'])} -> {_two_decimals(by[name]['after'])}" for name in WORDS
        ]
        shown.add_row(Text(str(who) if who == arm else f"  {who}"), str(by["rmse"]["n"]), *cells)
    return shown


def applied_table(applied: Applied) -> Table:
    """The first calibrated scores."""
    shown = _table("arm", "case", "attribute", "calibrated", "jurors")
    for row in applied.scores.head(MOST).to_dict("records"):
        jurors = str(row["jurors"]) if row["jurors"] else "derived"
        shown.add_row(
            *(Text(str(row[name])) for name in ("arm", "case", "attribute")),
            _two_decimals(row["value"]),
            jurors,
        )
    return shown


def calibration_json(run: str, found: Calibration | None, applied: Applied | None) -> dict[str, Any]:
    """What was learned and what it changed; under `applied`, the scores of the run it was applied to."""
    document: dict[str, Any] = {"run": run}
    if found is not None:
        told = found.section
        document |= found.saved.model_dump(mode="json")
        document["changes"] = records(found.changes)
        document["learning"] = records(told.tables["learning"])
        document["direct"] = records(told.tables["direct"])
        document["sentences"] = list(told.sentences)
        document["methods"] = list(told.methods)
        document["notes"] = list(found.notes)
    document["applied"] = (
        None if applied is None else {"scores": records(applied.scores), "notes": list(applied.notes)}
    )
    return document


def calibration_page(found: Calibration) -> str:
    """The whole page: what calibration changed, juror by juror, and how it was done."""
    told = found.section
    heads = {str(name): str(name).replace("_", " ") for name in found.changes.columns}
    body = [
        section_part(told),
        section("Every juror and attribute", table("calibration-jurors", found.changes, heads)),
        methods_section(told.methods),
        section("Notes", items(found.notes, "notes") or paragraph("None.")),
    ]
    made = found.made
    under = f"{', '.join(found.crossed)}; {made.method}, {made.folds} folds, seed {made.seed}; 95% intervals"
    return page("Calibration to people", under, body)


def _two_decimals(value: float) -> str:
    return "-" if value != value else f"{round(value, 2) + 0.0:.2f}"


def _table(*columns: str) -> Table:
    shown = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        shown.add_column(column, overflow="fold")
    return shown
