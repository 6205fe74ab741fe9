"""The coefficients of one arm against people, on one attribute or on all that share a scale."""

from __future__ import annotations

from dataclasses import replace

from ...rubrics.scale import Scale
from ..ratings.sheet import ARM, PEOPLE, nearest_legal
from ..statistics.alpha import krippendorff_alpha
from ..statistics.bootstrap import Bootstrap
from ..statistics.correlation import spearman
from ..statistics.draws import Draws
from ..statistics.error import mae, offset, rmse
from ..statistics.estimate import Estimate, undefined
from ..statistics.gwet import gwet_ac
from ..statistics.icc import icc
from ..statistics.kappa import cohen_kappa
from ..statistics.matrix import Matrix
from ..statistics.percent import percent_agreement

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


def coefficients(grid: Matrix, scale: Scale, draws: Draws) -> dict[str, Estimate]:
    """Every coefficient of `MEASURES`; what does not fit is NaN with a note.

    Args:
        grid: The raters `arm` and `people` as `sheet.pairs` lays them out.
        draws: Every coefficient sees the same resamples.
    """
    if not grid.cases:
        return nothing("no case has both the arm's score and one of people")

    def boot() -> Bootstrap:
        return draws.bootstrap(
            by="cluster", levels=tuple(map(float, scale.values)) if scale.numeric else None
        )

    if not scale.numeric:
        found = nothing("needs numbers; the values are words", n=len(grid.cases))
        return found | {
            "kappa": cohen_kappa(grid, bootstrap=boot()),
            "exact": percent_agreement(grid, bootstrap=boot()),
        }
    alone = not grid.clustered
    legal, note = _on_scale(grid, scale)
    values = list(map(float, scale.values)) or None
    by_category = {
        "kappa": cohen_kappa(legal, bootstrap=boot(), raters=RATERS),
        "ac2": gwet_ac(legal, weighting="quadratic", categories=values, bootstrap=boot()),
        "exact": percent_agreement(legal, bootstrap=None if alone else boot()),
    }
    found = {
        "icc3k": icc(grid, form="icc3k", bootstrap=None if alone else boot(), levels=boot().levels),
        "kappa_quadratic": cohen_kappa(grid, weighting="quadratic", bootstrap=boot(), raters=RATERS),
        "alpha_ordinal": krippendorff_alpha(grid, level="ordinal", bootstrap=boot()),
        "spearman": spearman(grid, bootstrap=boot(), raters=RATERS),
        "offset": offset(grid, bootstrap=boot(), raters=RATERS),
        "mae": mae(grid, bootstrap=boot(), raters=RATERS),
        "rmse": rmse(grid, bootstrap=boot(), raters=RATERS),
        **{name: _with(each, note) for name, each in by_category.items()},
    }
    return {name: found[name] for name in MEASURES}


def nothing(why: str, *, n: int = 0) -> dict[str, Estimate]:
    """Every coefficient undefined, for one reason."""
    return {name: undefined(why, method=name, n=n) for name in MEASURES}


def _on_scale(grid: Matrix, scale: Scale) -> tuple[Matrix, str]:
    """The ratings with means and medians between two values brought to the nearest, and how many those were."""
    if not scale.values:
        return grid, ""
    legal = nearest_legal(grid.values, [float(value) for value in scale.values])
    moved = int((legal != grid.values).sum())
    if not moved:
        return grid, ""
    return replace(grid, values=legal), f"{moved} scores between two values went to the nearest"


def _with(estimate: Estimate, note: str) -> Estimate:
    return replace(estimate, note="; ".join(filter(None, (estimate.note, note))))
