"""A table as CSV that no spreadsheet runs."""

from __future__ import annotations

import pandas as pd

from ...rubrics.csv_cells import csv_cell


def csv_text(table: pd.DataFrame) -> str:
    """The table as CSV, without its index; texts and column names that look like formulas are made harmless."""
    words = table.select_dtypes(exclude="number").columns
    harmless = table.assign(**{name: table[name].map(csv_cell) for name in words})
    return harmless.rename(columns=csv_cell).to_csv(index=False)
