"""The report writer of a study: its findings on disk, in the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table

from ..figures.drawing import Figure
from ..figures.section import Section
from ..selection import Composition
from ..studies.credit_table import UNITS
from ..studies.findings import Findings, RecordedFindings, RunFindings
from ..studies.study_files import REPORT
from .composition_files import composition_figures, composition_json, write_composition
from .folder import write_folder
from .json_documents import records, section_json
from .section_markup import section_figures
from .study_page import CAPTIONS, study_page
from .terminal_tables import interval_words, show_section


@dataclass(frozen=True, slots=True)
class StudyReport:
    """A report that was written, its page at `page`."""

    page: Path
    document: Mapping[str, Any]
    arms: pd.DataFrame
    unit: str
    sections: tuple[Section, ...] = ()

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
            agreement = interval_words(row["score"], row["low"], row["high"])
            seconds = "" if pd.isna(row["seconds"]) else f"{row['seconds']:.2g}"
            table.add_row(str(row["arm"]), str(row["kind"]), agreement, f"{row['cost']:.4g}", seconds)
        console.print(table)
        if rest := len(self.arms) - len(front):
            more = "1 arm more is" if rest == 1 else f"{rest} arms more are"
            console.print(f"{more} not on it\n", style="dim", highlight=False)
        for sentence in self.document["advice"]:
            console.print(f"- {sentence}", highlight=False, markup=False, soft_wrap=True)
        for part in self.sections:
            show_section(part, console)
        for note in self.document["notes"]:
            console.print(f"  note: {note}", highlight=False, markup=False, soft_wrap=True)


def write_study_report(found: Findings, output: Path | None = None) -> StudyReport:
    """The report of a run beside it, where the inspector finds it, and in `output`; that of recorded judgements in
    `output`, or in the study's own folder."""
    if isinstance(found, RecordedFindings):
        return _write_recorded(found, output)
    drawn = _figures(found)
    tables = {"arms": found.table, "trials": found.trials, **_tables("arms", found.arms)}
    if found.jurors is not None:
        tables |= _tables("jurors", found.jurors)
    document = _document(found, tables, drawn)
    tables |= {f"{part.name}_{name}": table for part in found.sections for name, table in part.tables.items()}
    figures = drawn | section_figures(found.sections)
    page = study_page(found, drawn)
    folders = [where for where in (found.folder / REPORT, output) if where]
    written = [write_folder(where, page, document, tables, figures) for where in folders]
    return StudyReport(written[-1], document, found.table, UNITS[found.study.unit], found.sections)


def _write_recorded(found: RecordedFindings, output: Path | None) -> StudyReport:
    page = write_composition(found.jurors, output or found.folder, found.sections)
    document = {"study": found.study, **composition_json(found.jurors, found.sections)}
    return StudyReport(page, document, found.jurors.frontier, found.jurors.unit, found.sections)


def _figures(found: RunFindings) -> dict[str, Figure]:
    """The frontier of the arms, and what there is to draw of the seats."""
    drawn = {name: each for name, each in composition_figures(found.arms).items() if name == "frontier"}
    if found.jurors is not None:
        seats = composition_figures(found.jurors)
        drawn |= {name: each for name, each in seats.items() if name != "frontier"}
    return drawn


def _document(
    found: RunFindings, tables: Mapping[str, pd.DataFrame], figures: Mapping[str, Figure]
) -> dict[str, Any]:
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
            "tokens": paid.tokens,
            "usd": paid.usd,
        },
        "alone": found.alone,
        "trials": records(found.trials),
        "tables": {name: records(table) for name, table in tables.items() if name not in ("arms", "trials")},
        "sections": {part.name: section_json(part) for part in found.sections},
        "figures": {name: CAPTIONS.get(name, name) for name in figures},
        "methods": list(found.methods),
        "notes": list(found.notes),
    }


def _tables(prefix: str, found: Composition) -> dict[str, pd.DataFrame]:
    return {f"{prefix}-{name}": table for name, table in found.tables.items()}
