"""A study's report on disk, in the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table

from ..selection import Composition
from ..studies.credit_table import UNITS
from ..studies.findings import Report, report_on
from ..studies.recorded_study import RecordedStudy
from ..studies.study_record import REPORT
from .composition_files import composition_json, figures, write_composition
from .folder import write_folder
from .study_page import CAPTIONS, study_page
from .tables import bounded, records


@dataclass(frozen=True, slots=True)
class StudyReport:
    """A report that was written to `page`."""

    page: Path
    document: Mapping[str, Any]
    arms: pd.DataFrame
    unit: str

    def json(self) -> dict[str, Any]:
        return dict(self.document)

    def show(self, console: Console) -> None:
        """The arms that nothing beats, then what to use."""
        front = self.arms[self.arms["front"]]
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        table.add_column("on the frontier", no_wrap=True)
        for column in ("kind", "agreement", self.unit, "seconds"):
            table.add_column(column)
        for row in front.to_dict("records"):
            agreement = bounded(row["score"], row["low"], row["high"])
            seconds = "" if pd.isna(row["seconds"]) else f"{row['seconds']:.2g}"
            table.add_row(str(row["arm"]), str(row["kind"]), agreement, f"{row['cost']:.4g}", seconds)
        console.print(table)
        if len(front) < len(self.arms):
            console.print(
                f"{len(self.arms) - len(front)} arms more are not on it\n", style="dim", highlight=False
            )
        for sentence in self.document["advice"]:
            console.print(f"- {sentence}", highlight=False, markup=False, soft_wrap=True)


def report_run(folder: Path, output: Path | None, *, resamples: int) -> StudyReport:
    """The report of a run, beside it, where the inspector finds it, and in `output`."""
    found = report_on(folder, resamples=resamples)
    drawn = _drawn(found)
    tables = {"arms": found.table, "trials": found.trials, **_tables("arms", found.arms)}
    if found.jurors is not None:
        tables |= _tables("jurors", found.jurors)
    page, document = study_page(found, drawn), _document(found, tables, drawn)
    places = [where for where in (folder / REPORT, output) if where]
    written = [write_folder(where, page, document, tables, drawn) for where in places]
    return StudyReport(written[-1], document, found.table, UNITS[found.study.unit])


def report_recorded(study: RecordedStudy, output: Path | None, *, resamples: int) -> StudyReport:
    """The report of a study of recorded jurors, in `output` or beside the study's file."""
    found = study.analysed(resamples=resamples)
    page = write_composition(found, output or study.folder)
    return StudyReport(
        page, {"study": study.study.name, **composition_json(found)}, found.frontier, found.unit
    )


def _drawn(found: Report) -> dict[str, str]:
    """The frontier of the arms, and what there is to draw of the seats."""
    drawn = {name: svg for name, svg in figures(found.arms).items() if name == "frontier"}
    if found.jurors is not None:
        drawn |= {name: svg for name, svg in figures(found.jurors).items() if name != "frontier"}
    return drawn


def _document(found: Report, tables: Mapping[str, pd.DataFrame], drawn: Mapping[str, str]) -> dict[str, Any]:
    study, paid = found.study, found.paid
    return {
        "study": study.name,
        "description": study.description,
        "recommended": found.arms.recommended,
        "advice": found.sentences(),
        "measure": found.arms.measure,
        "unit": UNITS[study.unit],
        "arms": records(found.table),
        "selection": list(study.selection),
        "test": list(study.test),
        "planned": dict(study.planned),
        "paid": {
            "calls": paid.calls,
            "tokens": paid.prompt + paid.completion,
            "usd": paid.usd if paid.priced == paid.calls else None,
        },
        "alone": found.alone,
        "trials": records(found.trials),
        "tables": {name: records(table) for name, table in tables.items() if name not in ("arms", "trials")},
        "figures": {name: CAPTIONS.get(name, name) for name in drawn},
        "methods": [*found.arms.methods, *(found.jurors.methods if found.jurors else ())],
        "notes": list(found.notes),
    }


def _tables(prefix: str, found: Composition) -> dict[str, pd.DataFrame]:
    return {f"{prefix}-{name}": table for name, table in found.tables.items()}
