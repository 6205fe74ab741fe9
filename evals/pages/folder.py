"""A report on disk: the page, its figures, its tables and the JSON, in one folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ...orchestration.record.atomic_write import write_atomically
from ...orchestration.record.private_files import FOLDER_MODE
from ..figures.drawing import Figure
from ..ratings.csv_text import csv_text
from .json_documents import document_text
from .png import png
from .svg import svg


def write_folder(
    folder: Path,
    page: str,
    document: Mapping[str, Any],
    tables: Mapping[str, pd.DataFrame],
    figures: Mapping[str, Figure],
    *,
    name: str = "report",
    pictures: bool = False,
) -> Path:
    """Write `report.html`, the document as `NAME.json`, `tables/*.csv` and `figures/*.svg`; the page's path.

    With `pictures`, also `figures/*.png`.
    """
    listed, drawn = folder / "tables", folder / "figures"
    for part in (listed, drawn):
        part.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    for title, table in tables.items():
        write_atomically(listed / f"{title}.csv", csv_text(table))
    for title, figure in figures.items():
        write_atomically(drawn / f"{title}.svg", svg(figure))
        if pictures:
            (drawn / f"{title}.png").write_bytes(png(figure))
    write_atomically(folder / f"{name}.json", document_text(document) + "\n")
    written = folder / "report.html"
    write_atomically(written, page)
    return written
