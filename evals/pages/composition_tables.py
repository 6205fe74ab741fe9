"""A study's table as markup: its caption over it, folded where it is long."""

from __future__ import annotations

import pandas as pd

from .json_documents import records
from .markup import Html, fragment
from .parts import collapsible, paragraph, table
from .study_tables import TABLES, used_heads

LONG = 20
"""From so many rows on, a table is folded."""


def study_table(name: str, frame: pd.DataFrame) -> Html:
    """The table that `study_tables` describes as `name`; yes or nothing stands for a truth value."""
    shown = frame.reindex(columns=list(TABLES[name].heads))
    for column in shown.select_dtypes(bool):
        shown[column] = shown[column].map({True: "yes", False: ""})
    whole = table(name, shown, used_heads(TABLES[name], records(shown)))
    if len(frame) > LONG:
        whole = collapsible(f"All {len(frame)} rows", whole)
    return fragment(paragraph(TABLES[name].caption, "soft"), whole)
