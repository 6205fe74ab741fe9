"""The coefficients of one arm against people, on one attribute or on all that share a scale."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

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


def coefficients(table: pd.DataFrame, scale: Scale, draws: Draws) -> dict[str, Estimate]:
    """Every coefficient of `MEASURES`; what does not fit is NaN with a note.

    Args:
        table: The raters `arm` and `people` as `sheet.pairs` lays them out.
        draws: Every coefficient sees the same resamples.
    """
    if table.empty:
        return nothing("no case has both the arm's score and one of people")

    def boot() -> Bootstrap:
        return draws.bootstrap(
            by="cluster", levels=tuple(map(float, scale.values)) if scale.numeric else None
        )

    if not scale.numeric:
        found = nothing("needs numbers; the values are words", n=len(table) // 2)
        return found | {
            "kappa": cohen_kappa(table, bootstrap=boot()),
            "exact": percent_agreement(table, bootstrap=boot()),
        }
    table = table.astype({"value": float})
    alone = table["cluster"].nunique() == len(table) // 2
    legal, note = _on_scale(table, scale)
    values = list(map(float, scale.values)) or None
    by_category = {
        "kappa": cohen_kappa(legal, bootstrap=boot(), raters=RATERS),
        "ac2": gwet_ac(legal, weighting="quadratic", categories=values, bootstrap=boot()),
        "exact": percent_agreement(legal, bootstrap=None if alone else boot()),
    }
    found = {
        "icc3k": icc(table, form="icc3k", bootstrap=None if alone else boot(), levels=boot().levels),
        "kappa_quadratic": cohen_kappa(table, weighting="quadratic", bootstrap=boot(), raters=RATERS),
        "alpha_ordinal": krippendorff_alpha(table, level="ordinal", bootstrap=boot()),
        "spearman": spearman(table, bootstrap=boot(), raters=RATERS),
        "offset": offset(table, bootstrap=boot(), raters=RATERS),
        "mae": mae(table, bootstrap=boot(), raters=RATERS),
        "rmse": rmse(table, bootstrap=boot(), raters=RATERS),
        **{name: _with(each, note) for name, each in by_category.items()},
    }
    return {name: found[name] for name in MEASURES}


def nothing(why: str, *, n: int = 0) -> dict[str, Estimate]:
    """Every coefficient undefined, for one reason."""
    return {name: undefined(why, method=name, n=n) for name in MEASURES}


def _on_scale(table: pd.DataFrame, scale: Scale) -> tuple[pd.DataFrame, str]:
    """The table with means and medians between two values brought to the nearest, and how many those were."""
    if not scale.values:
        return table, ""
    values = table["value"].to_numpy(float)
    legal = nearest_legal(values, [float(value) for value in scale.values])
    moved = int((legal != values).sum())
    return table.assign(
        value=legal
    ), f"{moved} scores between two values went to the nearest" if moved else ""


def _with(estimate: Estimate, note: str) -> Estimate:
    return replace(estimate, note="; ".join(filter(None, (estimate.note, note))))
