"""Whether the gap between jury and people depends on what was judged, by a linear mixed-effects model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from .crossed import METHOD, mixed_model
from .estimate import Estimate, undefined
from .matrix import InvalidRatings

PREDICTORS = ("group", "system", "source_length", "output_length")
OF_MEANS = "linear regression on one mean difference a case; t interval"


@dataclass(frozen=True, slots=True)
class Effects:
    """What moves the difference, and what was left unexplained."""

    effects: dict[str, Estimate]
    """By term: a length's effect is per standard deviation, a category's against the first by name."""
    p: dict[str, float]
    spread: dict[str, float]
    """The standard deviation of each random intercept, and of the residual."""
    note: str = ""


def difference_effects(
    differences: pd.DataFrame,
    *,
    predictors: Sequence[str] = PREDICTORS,
    intercepts: Sequence[str] = ("rater", "attribute"),
    units: str | None = None,
    confidence: float = 0.95,
) -> Effects:
    """The effect of each predictor on the jury's score minus a person's.

    Missing values: rows without a difference or a predictor are left out. Predictors and intercepts that
    do not vary are left out and named in the note.

    Args:
        differences: One row per case, person and attribute: `difference`, the predictors (text or
            numbers) and the columns of `intercepts`.
        predictors: Fixed effects.
        intercepts: Crossed random intercepts; people differ, and so do attributes.
        units: The column whose values the predictors vary between (cases, patients): intervals and p are Student's t with as many
            degrees of freedom as there are of them less the terms; without it normal.

    References:
        Laird and Ware (1982), Biometrics 38:963-974.
    """
    wanted = [*dict.fromkeys(["difference", *predictors, *intercepts, *([units] if units else [])])]
    absent = [name for name in wanted if name not in differences.columns]
    if absent:
        raise InvalidRatings(
            f"the differences have no column {absent[0]!r}", remedy=f"give {', '.join(wanted)}"
        )
    rows = differences[wanted].dropna().reset_index(drop=True)
    flat = [name for name in (*predictors, *intercepts) if rows[name].nunique() < 2]
    fixed = _design(rows, [name for name in predictors if name not in flat])
    random = [name for name in intercepts if name not in flat]
    note = f"left out, as they do not vary: {', '.join(flat)}" if flat else ""
    freedom = np.inf if units is None else float(rows[units].nunique() - fixed.shape[1])
    if (
        not random
        or len(rows) <= fixed.shape[1] + len(random)
        or rows["difference"].nunique() < 2
        or freedom < 1
    ):
        few = "too few rows, cases, raters or distinct differences for a mixed model"
        nothing = {
            term: undefined(few, method=METHOD, n=len(rows), confidence=confidence)
            for term in map(str, fixed)
        }
        return Effects(nothing, dict.fromkeys(nothing, np.nan), {}, f"{few}; {note}".rstrip("; "))
    large = max(random, key=lambda name: rows[name].nunique())
    fit = mixed_model(
        rows["difference"].to_numpy(float),
        fixed,
        by=rows[large],
        also=[rows[name] for name in random if name != large],
        freedom=freedom,
        confidence=confidence,
    )
    note = "; ".join(filter(None, (fit.note, note)))
    effects = {term: replace(effect, note=note) for term, effect in fit.effects.items()}
    return Effects(effects, fit.p, fit.spread, note)


def mean_difference_effects(
    differences: pd.DataFrame, *, predictors: Sequence[str], confidence: float = 0.95
) -> Effects:
    """The effects on each case's mean difference, for tables too large for the mixed model.

    Predictors of cases are as sure here as there, when everyone rated the same: a case is one row.

    Args:
        differences: One row a case: `difference` and the predictors.
    """
    rows = differences[["difference", *predictors]].dropna().reset_index(drop=True)
    fixed = _design(rows, [name for name in predictors if rows[name].nunique() > 1])
    design, gap = fixed.to_numpy(), rows["difference"].to_numpy(float)
    free = len(rows) - design.shape[1]
    if free < 1 or np.linalg.matrix_rank(design) < design.shape[1]:
        why = "too few cases for the predictors, or the predictors are collinear"
        nothing = {
            term: undefined(why, method=OF_MEANS, n=len(rows), confidence=confidence)
            for term in map(str, fixed)
        }
        return Effects(nothing, dict.fromkeys(nothing, np.nan), {}, why)
    inverse = np.linalg.inv(design.T @ design)
    value = inverse @ design.T @ gap
    spread = float(np.sqrt(((gap - design @ value) ** 2).sum() / free))
    error = spread * np.sqrt(np.diag(inverse))
    exact = spread <= 1e-12 * max(1.0, float(np.abs(gap).max()))
    note = "no interval: the predictors leave nothing over, so that no error can be told" if exact else ""
    error = np.where(exact, np.nan, error)
    reach = float(stdtrit(free, (1 + confidence) / 2)) * error
    effects = {
        str(term): Estimate(
            float(v), float(v - r), float(v + r), len(rows), OF_MEANS, confidence, note, float(e)
        )
        for term, v, r, e in zip(fixed, value, reach, error, strict=True)
    }
    chance = 2 * stdtr(free, -np.abs(value) / error)
    return Effects(effects, dict(zip(effects, map(float, chance), strict=True)), {"residual": spread}, note)


def _design(rows: pd.DataFrame, predictors: Sequence[str]) -> pd.DataFrame:
    """An intercept, numbers in standard deviations, and indicators of all but the first category."""
    columns: dict[str, np.ndarray] = {"intercept": np.ones(len(rows))}
    for name in predictors:
        if pd.api.types.is_numeric_dtype(rows[name].dtype):
            values = rows[name].to_numpy(float)
            columns[name] = (values - values.mean()) / values.std(ddof=1)
        else:
            for label, column in list(_indicators(rows[name]).items())[1:]:
                columns[f"{name}: {label}"] = column.to_numpy()
    return pd.DataFrame(columns)


def _indicators(column: "pd.Series") -> pd.DataFrame:
    return pd.get_dummies(column.astype(str), dtype=float)
