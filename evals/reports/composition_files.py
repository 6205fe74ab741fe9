"""A study of compositions on disk: the page, its figures, its tables and the JSON, in one folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..compositions import Composition
from ..tables import records
from .composition_page import composition_page
from .contributions import contributions
from .growth import growth
from .pareto import pareto

__all__ = ["composition_json", "composition_page", "figures", "write_composition"]


def figures(composition: Composition) -> dict[str, str]:
    """Every figure that there is something to draw for, as SVG."""
    drawn = {"frontier": pareto(composition)}
    if len(composition.jurors):
        drawn["contributions"] = contributions(composition)
    if len(composition.growth):
        drawn["growth"] = growth(composition)
    return drawn


def composition_json(composition: Composition) -> dict[str, Any]:
    """What other programs read; NaN is null."""
    return {
        "recommended": composition.recommended,
        "advice": composition.sentences(),
        "measure": composition.measure,
        "unit": composition.unit,
        "tables": {name: records(table) for name, table in composition.tables.items()},
        "methods": list(composition.methods),
        "notes": list(composition.notes),
    }


def write_composition(composition: Composition, folder: Path) -> Path:
    """Write `report.html`, `report.json`, `tables/*.csv` and `figures/*.svg`; the page's path."""
    drawn = figures(composition)
    for name in ("tables", "figures"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name, table in composition.tables.items():
        table.to_csv(folder / "tables" / f"{name}.csv", index=False)
    for name, svg in drawn.items():
        (folder / "figures" / f"{name}.svg").write_text(svg, encoding="utf-8")
    document = json.dumps(composition_json(composition), indent=1, allow_nan=False)
    (folder / "report.json").write_text(document + "\n", encoding="utf-8")
    written = folder / "report.html"
    written.write_text(composition_page(composition, drawn), encoding="utf-8")
    return written
