"""A comparison on disk: the page, its figures, its tables and the JSON, in one folder."""

from __future__ import annotations

import json
from pathlib import Path

from ..comparison import Comparison
from ..tables import comparison_json
from .comparison_page import comparison_page
from .confusion import confusion
from .cost import cost
from .forest import forest
from .gaps import gaps
from .heatmap import heatmap
from .png import check, png
from .sections import section_figures


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
    for name in ("tables", "figures"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name, table in comparison.tables.items():
        table.to_csv(folder / "tables" / f"{name}.csv", index=False)
    for name, svg in drawn.items():
        (folder / "figures" / f"{name}.svg").write_text(svg, encoding="utf-8")
        if pictures:
            (folder / "figures" / f"{name}.png").write_bytes(png(svg))
    document = json.dumps(comparison_json(comparison), indent=1, allow_nan=False)
    (folder / "comparison.json").write_text(document + "\n", encoding="utf-8")
    written = folder / "report.html"
    written.write_text(comparison_page(comparison, drawn), encoding="utf-8")
    return written
