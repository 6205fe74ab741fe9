"""Every coefficient that fits a ratings table, by attribute and overall."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd

from ..ratings.people import last_round
from ..ratings.pooling import table_pooling
from ..statistics.alpha import LEVELS, Level, krippendorff_alpha
from ..statistics.bands import band
from ..statistics.bootstrap import Bootstrap
from ..statistics.correlation import kendall, pearson, spearman
from ..statistics.error import mae, offset, rmse
from ..statistics.estimate import Estimate, undefined
from ..statistics.fleiss import fleiss_kappa
from ..statistics.gwet import gwet_ac
from ..statistics.icc import FORMS, icc
from ..statistics.kappa import cohen_kappa
from ..statistics.matrix import InvalidRatings, Value
from ..statistics.outliers import rater_outliers
from ..statistics.percent import percent_agreement

Estimates = dict[str, Estimate]

COEFFICIENTS = (
    *FORMS,
    *(f"alpha_{level}" for level in LEVELS),
    *("ac1", "ac2", "kappa", "kappa_linear", "kappa_quadratic", "fleiss", "percent"),
    *("spearman", "kendall", "pearson", "offset", "rmse", "mae"),
)
NOMINAL = frozenset({"alpha_nominal", "ac1", "kappa", "fleiss", "percent"})
OF_VALUES = NOMINAL | {"ac2", "alpha_ratio", "kappa_linear", "kappa_quadratic"}
"""Those that count how often each value occurs, and so need values that recur."""
ANALYTIC = frozenset({*FORMS, "ac1", "ac2", "fleiss", "percent"})
RANK = {"nominal": 0, "binary": 0, "ordinal": 1, "interval": 2, "ratio": 3}
MANY_VALUES = 100


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far raters agree."""

    attributes: dict[str, Estimates]
    overall: Estimates
    raters: pd.DataFrame
    """By attribute, each rater's harshness and whether the others would agree better without them."""

    @property
    def table(self) -> pd.DataFrame:
        """One row per attribute and coefficient, with the band its value falls in; `overall` comes last."""
        everything = {**self.attributes, "overall": self.overall}
        return pd.DataFrame(
            [
                {"attribute": name, "coefficient": coefficient, **cells(coefficient, each)}
                for name, found in everything.items()
                for coefficient, each in found.items()
            ]
        )

    def to_json(self) -> dict[str, object]:
        """The shape that other programs read; NaN is None, with a note."""
        return {
            "attributes": {name: _as_json(found) for name, found in self.attributes.items()},
            "overall": _as_json(self.overall),
        }


def agreement(
    ratings: pd.DataFrame,
    *,
    levels: Mapping[str, str] | None = None,
    categories: Mapping[str, Sequence[Value]] | None = None,
    seed: int = 0,
    resamples: int = 1000,
) -> Agreement:
    """The coefficients of a ratings table, with intervals, by attribute and overall.

    A coefficient that does not fit an attribute's level is NaN with a note. Where the level is not declared,
    text is nominal and numbers get every coefficient that numbers allow. Of several rounds the last counts.
    "Overall" pools the attributes that share one scale, a case's attributes being drawn together, and is NaN
    with a note where no two do. ICC(2) has its F interval up to twenty cases and the generalised one beyond.

    Args:
        ratings: Columns `case`, `rater`, `attribute`, `value`, and perhaps `round`.
        levels: By attribute: nominal, binary, ordinal, interval or ratio.
        categories: By attribute, the values of its scale, used or not; AC1 and AC2 depend on them.
        seed: Of the resampling; every coefficient sees the same resamples.
    """
    table = last_round(ratings)
    parts = {str(name): table[table["attribute"] == name] for name in dict.fromkeys(table["attribute"])}
    declared = {name: _declared(name, levels) for name in parts}
    scales = categories or {}
    attributes = {
        name: _coefficients(part, declared[name], scales.get(name), seed, resamples, by="case")
        for name, part in parts.items()
    }
    outliers = [
        rater_outliers(
            part, level=_outlier_level(part, declared[name]), bootstrap=_bootstrap(seed, resamples)
        ).assign(attribute=name)
        for name, part in parts.items()
    ]
    raters = (
        pd.concat(outliers, ignore_index=True) if outliers else pd.DataFrame(columns=["attribute", "rater"])
    )
    return Agreement(attributes, _overall(parts, attributes, declared, scales, seed, resamples), raters)


def _overall(
    parts: dict[str, pd.DataFrame],
    attributes: dict[str, Estimates],
    declared: dict[str, str | None],
    scales: Mapping[str, Sequence[Value]],
    seed: int,
    resamples: int,
) -> Estimates:
    if len(attributes) == 1:
        return next(iter(attributes.values()))
    pooled, note = table_pooling(parts, {}, declared, scales)
    names = pooled.names
    if not names:
        return {name: undefined(note, method=name) for name in COEFFICIENTS}
    table = pd.concat([parts[name] for name in names])
    unit = table["case"].astype(str) + "\x1f" + table["attribute"].astype(str)
    rows = table.assign(cluster=table["case"], case=unit)
    found = _coefficients(
        rows, declared[names[0]], scales.get(names[0]) or None, seed, resamples, by="cluster"
    )
    return {
        name: replace(each, note="; ".join(filter(None, (each.note, note)))) for name, each in found.items()
    }


def _coefficients(
    ratings: pd.DataFrame,
    level: str | None,
    scale: Sequence[Value] | None,
    seed: int,
    resamples: int,
    by: str,
) -> Estimates:
    distinct = int(ratings["value"].nunique())
    level = "nominal" if level is None and _is_text(ratings["value"]) else level
    found = {}
    for name, measure in _measures(scale, seed).items():
        unfit = _unfit(name, level, distinct, ratings, scale)
        if unfit:
            found[name] = undefined(unfit, method=name, n=int(ratings["case"].nunique()))
        elif name in ANALYTIC and by == "case":
            found[name] = measure(ratings)
        else:
            found[name] = measure(ratings, bootstrap=_bootstrap(seed, resamples, by))
    return found


def _measures(scale: Sequence[Value] | None, seed: int) -> dict[str, Callable[..., Estimate]]:
    measures: dict[str, Callable[..., Estimate]] = {
        form: partial(icc, form=form, seed=seed) for form in FORMS
    }
    measures |= {f"alpha_{level}": partial(krippendorff_alpha, level=level) for level in LEVELS}
    measures |= {
        "ac1": partial(gwet_ac, categories=scale),
        "ac2": partial(gwet_ac, weighting="quadratic", categories=scale),
        "kappa": partial(cohen_kappa, categories=scale),
        "kappa_linear": partial(cohen_kappa, weighting="linear", categories=scale),
        "kappa_quadratic": partial(cohen_kappa, weighting="quadratic", categories=scale),
        "fleiss": fleiss_kappa,
        "percent": percent_agreement,
        "spearman": spearman,
        "kendall": kendall,
        "pearson": pearson,
        "offset": offset,
        "rmse": rmse,
        "mae": mae,
    }
    return measures


def _unfit(
    name: str, level: str | None, distinct: int, ratings: pd.DataFrame, scale: Sequence[Value] | None
) -> str:
    """Why a coefficient does not fit, or nothing."""
    if level in ("nominal", "binary") and name not in NOMINAL:
        return f"needs more than the {level} level"
    if _is_text(ratings["value"]) and name not in NOMINAL:
        weighted = name in ("ac2", "kappa_linear", "kappa_quadratic") and scale is not None
        return "" if weighted else "needs numbers; the values are text"
    if name == "alpha_ratio" and level in ("ordinal", "interval"):
        return f"needs a true zero, which the {level} level does not have"
    if name == "alpha_ratio" and (ratings["value"].astype(float) < 0).any():
        return "needs values of zero or more"
    if name in OF_VALUES and distinct > MANY_VALUES:
        return f"needs values that recur; there are {distinct} distinct ones"
    return ""


def _declared(name: str, levels: Mapping[str, str] | None) -> str | None:
    level = (levels or {}).get(name)
    if level is not None and level not in RANK:
        raise InvalidRatings(f"{name!r} has the unknown level {level!r}", remedy=f"use one of {list(RANK)}")
    return level


def _outlier_level(ratings: pd.DataFrame, level: str | None) -> Level:
    if _is_text(ratings["value"]) or level in ("nominal", "binary"):
        return "nominal"
    return (
        "interval"
        if level in ("interval", "ratio") or ratings["value"].nunique() > MANY_VALUES
        else "ordinal"
    )


def _is_text(values: "pd.Series") -> bool:
    return bool(pd.to_numeric(values, errors="coerce").isna().any())


def _bootstrap(seed: int, resamples: int, by: str = "case") -> Bootstrap:
    return Bootstrap(np.random.default_rng(seed), resamples, by=by)


def cells(coefficient: str, estimate: Estimate) -> dict[str, object]:
    """An estimate as the cells of a row, with the band its value falls in."""
    named = band(coefficient, estimate.value)
    return {
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "n": estimate.n,
        "band": named.word if named else "",
        "band_source": named.source if named else "",
        "method": estimate.method,
        "note": estimate.note,
    }


def _as_json(found: Estimates) -> dict[str, dict[str, object]]:
    def number(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {
        name: {
            "value": number(each.value),
            "low": number(each.low),
            "high": number(each.high),
            "n": each.n,
            "method": each.method,
            "note": each.note,
        }
        for name, each in found.items()
    }
