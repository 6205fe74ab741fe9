"""A comparison on disk and as JSON, and the figures it has something to draw for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..comparison.comparison import Comparison
from ..figures.confusion import confusion_figure
from ..figures.cost import cost_figure
from ..figures.drawing import Figure
from ..figures.forest import forest_figure
from ..figures.gaps import gaps_figure
from ..figures.heatmap import heatmap_figure
from ..ratings.sheet import CONSTANT, OVERALL
from .comparison_page import comparison_page
from .comparison_summary import comparison_summary
from .folder import write_folder
from .json_documents import estimate_json, records, section_json
from .png import check_png
from .section_markup import section_figures


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """The comparison as JSON; NaN is null, with a note beside it."""
    tables = {name: records(table) for name, table in comparison.main_tables.items() if name != "agreement"}
    return {
        "arms": {
            arm: {
                name: {key: estimate_json(e) for key, e in found.items()}
                for name, found in attributes.items()
            }
            for arm, attributes in comparison.agreement.items()
        },
        "kinds": dict(comparison.kinds),
        **tables,
        "summary": _summary_json(comparison),
        "sentences": comparison.sentences(),
        "methods": list(comparison.methods),
        "notes": list(comparison.notes),
        "ratings": None if comparison.ratings is None else comparison.ratings.to_json(),
        "sections": {section.name: section_json(section) for section in comparison.sections},
    }


def _summary_json(comparison: Comparison) -> dict[str, str]:
    """The first page in words."""
    summary = comparison_summary(comparison)
    return {name: getattr(summary, name) for name in ("question", "answer", "cost", "certainty")}


def comparison_figures(comparison: Comparison) -> dict[str, Figure]:
    """Every figure that the comparison has something to draw for, by name."""
    found = {
        arm: {attribute: each["icc3k"] for attribute, each in attributes.items()}
        for arm, attributes in comparison.agreement.items()
        if comparison.kinds[arm] != "text overlap"
    }
    counts, apart = comparison.confusion, comparison.gaps
    drawn = {
        "forest": forest_figure(found, "ICC(3,k) with people"),
        "gaps": gaps_figure(apart[apart["arm"] != CONSTANT]),
        "confusion": confusion_figure(counts[(counts["attribute"] == OVERALL) & (counts["arm"] != CONSTANT)]),
    }
    if len(comparison.pairs):
        drawn["heatmap"] = heatmap_figure(comparison.pairs)
    if len(comparison.costs):
        overall = {arm: attributes[OVERALL] for arm, attributes in found.items()}
        people = [each.value for arm, each in overall.items() if comparison.kinds[arm] == "person"]
        drawn["cost"] = cost_figure(comparison.costs, overall, people)
    return drawn | section_figures(comparison.sections)


def write_report(comparison: Comparison, folder: Path, *, pictures: bool = False) -> Path:
    """Write `report.html`, `comparison.json`, `tables/*.csv` and `figures/*.svg`; the page's path.

    With `pictures`, also `figures/*.png`, which needs an extra.
    """
    if pictures:
        check_png()
    drawn = comparison_figures(comparison)
    return write_folder(
        folder,
        comparison_page(comparison, drawn),
        comparison_json(comparison),
        comparison.tables,
        drawn,
        name="comparison",
        pictures=pictures,
    )
