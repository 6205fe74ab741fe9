"""A study of compositions on disk and as JSON, and the figures it has something to draw for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..figures.contributions import contributions_figure
from ..figures.drawing import Figure
from ..figures.growth import growth_figure
from ..figures.pareto import pareto_figure
from ..figures.section import Section
from ..selection import Composition
from .composition_page import composition_page
from .folder import write_folder
from .json_documents import records, section_json


def composition_figures(composition: Composition) -> dict[str, Figure]:
    """Every figure that there is something to draw for, by name."""
    drawn = {
        "frontier": pareto_figure(
            composition.frontier,
            recommended=composition.recommended,
            unit=composition.unit,
            measure=composition.measure,
        )
    }
    if len(composition.jurors):
        drawn["contributions"] = contributions_figure(composition.jurors)
    if len(composition.growth):
        drawn["growth"] = growth_figure(composition.growth, composition.measure)
    return drawn


def composition_json(composition: Composition, sections: tuple[Section, ...] = ()) -> dict[str, Any]:
    """What other programs read; NaN is null."""
    return {
        "recommended": composition.recommended,
        "advice": composition.sentences(),
        "measure": composition.measure,
        "unit": composition.unit,
        "tables": {name: records(table) for name, table in composition.tables.items()},
        "sections": {part.name: section_json(part) for part in sections},
        "methods": [*composition.methods, *(said for part in sections for said in part.methods)],
        "notes": list(composition.notes),
    }


def write_composition(composition: Composition, folder: Path, sections: tuple[Section, ...] = ()) -> Path:
    """Write `report.html`, `report.json`, `tables/*.csv` and `figures/*.svg`; the page's path."""
    drawn = composition_figures(composition)
    page = composition_page(composition, drawn, sections)
    tables = {f"{part.name}_{name}": table for part in sections for name, table in part.tables.items()}
    return write_folder(
        folder, page, composition_json(composition, sections), {**composition.tables, **tables}, drawn
    )
