"""Win rates in the terminal and as JSON."""

from __future__ import annotations

import math
from typing import Any

from rich.table import Table

from ..audits.win_rates import Record, WinRates
from ..statistics.estimate import Estimate
from .json_documents import estimate_json
from .terminal_tables import interval_words


def win_rates_table(found: WinRates) -> Table:
    """Systems as rows, best first: against all others, then against each where there are more than two."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in (
        "system",
        "against",
        "win rate",
        "SE",
        "95% interval",
        "won",
        "tied",
        "lost",
        "Bradley-Terry",
    ):
        table.add_column(column, overflow="fold")
    for record in found.systems:
        strength = found.strengths[record.system]
        table.add_row(*_cells(record), interval_words(strength.value, strength.low, strength.high))
        for pair in found.pairs if len(found.systems) > 2 else ():
            if pair.system == record.system:
                table.add_row(*_cells(pair), "")
    return table


def win_rates_sentences(found: WinRates, lost: int) -> list[str]:
    """What a reader must know of the count."""
    counted = {
        "half": "a tie counts as half a win",
        "drop": f"{found.dropped} tie(s) are left out",
        "separate": "a tie is neither won nor lost",
    }[found.ties]
    told = [f"{found.comparisons} comparisons; {counted}."]
    if found.merged:
        told.append(
            f"{found.merged} of them are two judgements with the order swapped: verdicts that differ are a tie, probabilities are averaged."
        )
    if lost:
        told.append(f"{lost} judgement(s) hold no preference and are left out.")
    notes = {each.note for each in (*found.strengths.values(), *(r.rate for r in found.systems)) if each.note}
    return [*told, *(f"{note[0].upper()}{note[1:]}." for note in sorted(notes))]


def win_rates_json(file: str, found: WinRates, lost: int) -> dict[str, Any]:
    """Rates as shares from 0 to 1, with their standard errors."""
    return {
        "file": file,
        "ties": found.ties,
        "comparisons": found.comparisons,
        "merged": found.merged,
        "dropped": found.dropped,
        "without_preference": lost,
        "systems": {
            record.system: _record_json(record)
            | {"bradley_terry": _estimate_json(found.strengths[record.system])}
            for record in found.systems
        },
        "pairs": [
            {"system": pair.system, "against": pair.against} | _record_json(pair) for pair in found.pairs
        ],
    }


def _record_json(record: Record) -> dict[str, Any]:
    return {
        "win_rate": _estimate_json(record.rate),
        "wins": record.wins,
        "ties": record.ties,
        "losses": record.losses,
    }


def _estimate_json(estimate: Estimate) -> dict[str, Any]:
    return estimate_json(estimate) | {"se": None if math.isnan(estimate.se) else estimate.se}


def _cells(record: Record) -> list[str]:
    rate = record.rate
    shown = ["" if math.isnan(x) else f"{100 * x:.2f}" for x in (rate.value, rate.se, rate.low, rate.high)]
    interval = f"{shown[2]} to {shown[3]}" if shown[2] else ""
    counts = [str(count) for count in (record.wins, record.ties, record.losses)]
    return [record.system, record.against or "all", f"{shown[0]}%", shown[1], interval, *counts]
