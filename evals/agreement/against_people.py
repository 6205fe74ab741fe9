"""The coefficients of one arm against people, on one attribute or on all that share a scale."""

from __future__ import annotations

from dataclasses import replace

from ...rubrics.scale import Scale
from ..ratings.question import nearest_legal
from ..ratings.score_tables import ARM, PEOPLE
from ..statistics.alpha import krippendorff_alpha
from ..statistics.chance import cohen_kappa, gwet_ac, percent_agreement
from ..statistics.correlation import spearman
from ..statistics.error import mae, offset, rmse
from ..statistics.estimate import Estimate, undefined
from ..statistics.icc import Interval, icc
from ..statistics.jackknife import Jackknife
from ..statistics.matrix import Matrix
from .coefficients import beside_refused

MEASURES = (
    "icc3k",
    "kappa_quadratic",
    "kappa",
    "alpha_ordinal",
    "ac2",
    "spearman",
    "exact",
    "offset",
    "mae",
    "rmse",
)
RATERS = (ARM, PEOPLE)
AGAINST_PEOPLE = Jackknife(by="cluster", own=True)
"""The intervals of a judge against what people's ratings come to."""
ICC_COLUMNS = ("icc3k", "low", "high", "n", "note")


def coefficients(grid: Matrix, scale: Scale) -> dict[str, Estimate]:
    """Every coefficient of `MEASURES`; what does not fit is NaN with a note.

    Args:
        grid: The raters `arm` and `people` as `sheet.pairs` lays them out.
    """
    if not grid.cases:
        return nothing("no case was scored by both the arm and people")
    jackknife = AGAINST_PEOPLE
    if not scale.numeric:
        return nothing("this measure needs numbers, but the values are words", n=len(grid.cases)) | {
            "kappa": cohen_kappa(grid, jackknife=jackknife),
            "exact": percent_agreement(grid, jackknife=jackknife),
        }
    legal, note = _on_scale(grid, scale)
    values = list(map(float, scale.values)) or None
    by_category = {
        "kappa": cohen_kappa(legal, jackknife=jackknife, raters=RATERS),
        "ac2": gwet_ac(legal, weighting="quadratic", categories=values, jackknife=jackknife),
        "exact": percent_agreement(legal, jackknife=jackknife),
    }
    estimates = {
        "icc3k": icc(grid, form="icc3k", jackknife=jackknife),
        "kappa_quadratic": cohen_kappa(grid, weighting="quadratic", jackknife=jackknife, raters=RATERS),
        "alpha_ordinal": krippendorff_alpha(grid, level="ordinal", jackknife=jackknife),
        "spearman": spearman(grid, jackknife=jackknife, raters=RATERS),
        "offset": offset(grid, jackknife=jackknife, raters=RATERS),
        "mae": mae(grid, jackknife=jackknife, raters=RATERS),
        "rmse": rmse(grid, jackknife=jackknife, raters=RATERS),
        **{name: _with(estimate, note) for name, estimate in by_category.items()},
    }
    return beside_refused({name: estimates[name] for name in MEASURES})


def icc3k_cells(grid: Matrix, interval: Interval) -> dict[str, float | int | str]:
    """ICC(3,k) of the raters `arm` and `people` as the cells `ICC_COLUMNS`; NaN with a note where there is none."""
    estimate = (
        icc(grid, form="icc3k", interval=interval, jackknife=AGAINST_PEOPLE)
        if grid.cases
        else undefined("no case was scored by both the arm and people", method="icc3k")
    )
    cells = (estimate.value, estimate.low, estimate.high, estimate.n, estimate.note)
    return dict(zip(ICC_COLUMNS, cells, strict=True))


def nothing(why: str, *, n: int = 0) -> dict[str, Estimate]:
    """Every coefficient undefined, for one reason."""
    return {name: undefined(why, method=name, n=n) for name in MEASURES}


def _on_scale(grid: Matrix, scale: Scale) -> tuple[Matrix, str]:
    """The ratings with means and medians between two values brought to the nearest, and how many those were."""
    if not scale.values:
        return grid, ""
    legal = nearest_legal(grid.values, [float(value) for value in scale.values])
    moved_count = int((legal != grid.values).sum())
    if not moved_count:
        return grid, ""
    return replace(
        grid, values=legal
    ), f"{moved_count} scores between two values of the scale were moved to the nearer value"


def _with(estimate: Estimate, note: str) -> Estimate:
    return replace(estimate, note="; ".join(filter(None, (estimate.note, note))))
