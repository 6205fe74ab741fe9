"""A many-facet analysis for the terminal, as JSON and as a page."""

from __future__ import annotations

import math
from typing import Any

from rich.table import Table

from ..inference.many_facets import Facets
from ..inference.run_facets import facets_section
from .json_documents import section_json
from .parts import page
from .section_markup import section_part


def facets_json(source: str, found: Facets) -> dict[str, Any]:
    """The analysis as JSON: what it says and every table; NaN is null."""
    return {
        "source": source,
        "model": found.model,
        "spread_of_cases": found.spread,
        "separation": {
            name: None if math.isnan(value) else value for name, value in found.separation.items()
        },
        **section_json(facets_section(found)),
    }


def severity_table(found: Facets) -> Table:
    """A row for each rater, the most lenient first."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("rater", "severity", "SE", "infit", "outfit", "fair average", "mean given", "ratings"):
        table.add_column(column)
    for row in found.raters.sort_values("severity").to_dict("records"):
        table.add_row(
            row["rater"],
            f"{row['severity']:+.2f}",
            *(f"{row[name]:.2f}" for name in ("se", "infit", "outfit", "fair", "mean")),
            str(row["n"]),
        )
    return table


def facets_page(source: str, found: Facets) -> str:
    """The whole page, with the Wright map."""
    number = f"{len(found.raters)} raters, {len(found.cases)} cases"
    return page("How harsh each rater is", f"{source}, {number}", [section_part(facets_section(found))])
