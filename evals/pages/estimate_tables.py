"""Estimates from labels and a jury, for the terminal and as JSON."""

from __future__ import annotations

import math
from typing import Any

from rich.table import Table

from ..inference.run_estimates import RunEstimate, RunEstimates
from .json_documents import estimate_json
from .terminal_tables import estimate_words


def estimates_json(run: str, found: RunEstimates) -> dict[str, Any]:
    """The estimates as JSON; NaN is null, with a note."""
    return {
        "run": run,
        "arm": found.arm,
        "estimates": [_estimate_json(each) for each in found.estimates],
        "sentences": [each.sentence for each in found.estimates],
        "notes": list(found.notes),
    }


def estimates_table(found: RunEstimates) -> Table:
    """A row for each estimate: with the jury, labels alone, the jury alone, and what the jury is worth."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("attribute", "of", "labels and jury", "labels alone", "jury alone", "labels", "worth"):
        table.add_column(column)
    for each in found.estimates:
        table.add_row(
            each.attribute,
            each.of,
            estimate_words(each.found.estimate),
            estimate_words(each.found.labels_alone),
            estimate_words(each.jury_alone),
            str(each.found.labels_alone.n),
            "" if math.isnan(each.found.worth) else f"{each.found.worth:.0f}",
        )
    return table


def _estimate_json(each: RunEstimate) -> dict[str, Any]:
    worth, power = each.found.worth, each.found.power
    return {
        "attribute": each.attribute,
        "of": each.of,
        "estimate": estimate_json(each.found.estimate),
        "labels_alone": estimate_json(each.found.labels_alone),
        "jury_alone": estimate_json(each.jury_alone),
        "labels": each.found.labels_alone.n,
        "cases": each.cases,
        "design": each.design,
        "power": None if math.isnan(power) else power,
        "worth_in_labels": None if math.isnan(worth) else worth,
    }
