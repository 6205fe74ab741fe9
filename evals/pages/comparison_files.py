"""A comparison on disk, and the figures it has something to draw for."""

from __future__ import annotations

from pathlib import Path

from ..comparison.comparison import Comparison
from ..figures.confusion import confusion
from ..figures.cost import cost
from ..figures.forest import forest
from ..figures.gaps import gaps
from ..figures.heatmap import heatmap
from .comparison_page import comparison_page
from .folder import write_folder
from .png import check
from .section_markup import section_figures
from .tables import comparison_json


def figures(comparison: Comparison) -> dict[str, str]:
    """Every figure that the comparison has something to draw for, as SVG."""
    drawn = {"forest": forest(comparison), "gaps": gaps(comparison), "confusion": confusion(comparison)}
    if len(comparison.pairs):
        drawn["heatmap"] = heatmap(comparison)
    if len(comparison.costs):
        drawn["cost"] = cost(comparison)
    return drawn | section_figures(comparison.sections)


def write_report(comparison: Comparison, folder: Path, *, pictures: bool = False) -> Path:
    """Write `report.html`, `comparison.json`, `tables/*.csv` and `figures/*.svg`; the page's path.

    With `pictures`, also `figures/*.png`, which needs an extra.
    """
    if pictures:
        check()
    drawn = figures(comparison)
    return write_folder(
        folder,
        comparison_page(comparison, drawn),
        comparison_json(comparison),
        comparison.tables,
        drawn,
        name="comparison",
        pictures=pictures,
    )
