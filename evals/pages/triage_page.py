"""A triage in the terminal, as JSON and as a page."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from ...rubrics.safe_text import safe
from ..audits.triage import RULE, SIGNALS, Docket
from ..figures.section import Section
from .json_documents import records, section_json
from .parts import items, page, paragraph, section, table
from .section_markup import section_part


def docket_table(docket: Docket, most: int) -> Table:
    """The first cases as a table in the terminal, a reason a line."""
    shown = Table(
        title=f"{docket.arm}: {min(most, len(docket.cases))} of {len(docket.cases)} cases, the first to see first",
        title_justify="left",
        box=None,
        padding=(0, 2, 0, 0),
        header_style="dim",
    )
    for column in ("", "case", "priority", "why"):
        shown.add_column(column, overflow="fold")
    for row in docket.first(most).to_dict("records"):
        priority = "no verdict" if row["undecided"] else f"{row['priority']:.2f}"
        why = "\n".join(safe(words) for words in row["reasons"])
        shown.add_row(str(row["place"]), Text(safe(str(row["case"]))), priority, Text(why))
    return shown


def docket_json(run: str, docket: Docket, told: Section | None, most: int | None) -> dict[str, Any]:
    """The cases in order with their signals and reasons; under `review`, how good the order is, where people rated."""
    cases = []
    for row in records(docket.first(most)):
        kept = {name: row[name] for name in ("case", "place", "priority", "undecided")}
        signals = {name: row[name] for name in SIGNALS}
        cases.append({**kept, "signals": signals, "reasons": list(row["reasons"])})
    review = section_json(told) if told else None
    return {"run": run, "arm": docket.arm, "rule": RULE, "signals": SIGNALS, "cases": cases, "review": review}


def triage_page(docket: Docket, told: Section | None) -> str:
    """The whole page: how good the order is, where people rated, then the cases in it."""
    heads = {"place": "place", "case": "case", "priority": "priority", "undecided": "no verdict"}
    heads |= {name: name.replace("_", " ") for name in SIGNALS} | {"why": "why"}
    listed = docket.cases.assign(why=["; ".join(words) for words in docket.cases["reasons"]])
    body = [
        section_part(told) if told else None,
        section(
            "Cases, the first to see first",
            paragraph(RULE),
            items([f"{name.replace('_', ' ')}: {words}" for name, words in SIGNALS.items()], "notes"),
            table("cases", listed, heads),
        ),
    ]
    return page("Which cases a person should see first", f"{docket.arm}, {len(docket.cases)} cases", body)
