"""Where scores' variance comes from, and how many jurors and repeats make them dependable: generalisability theory.

A score is the sum of its case's level, its juror's harshness, how this juror takes this case, and chance. Of a balanced table
the variances come from mean squares; of a ragged one from restricted maximum likelihood.

References:
    Brennan (2001), Generalizability Theory. Springer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..statistics.crossed import mixed_model
from ..statistics.matrix import FloatArray


@dataclass(frozen=True, slots=True)
class Components:
    """Variances of cases, jurors, and what is left; a negative one is shown as it came out, and counts as 0."""

    case: float
    juror: float
    interaction: float
    """Of how jurors take cases; without repeats it is not told apart from chance, and holds both."""
    repeat: float
    """Of one juror's answers to the same case; NaN without repeats."""
    cases: int
    jurors: int
    repeats: float
    """Answers of a juror to a case; the harmonic mean where they differ."""
    method: str
    note: str = ""

    def relative_error(self, jurors: float, repeats: float = 1.0) -> float:
        """The variance of a mean over so many jurors that moves cases against each other."""
        again = 0.0 if math.isnan(self.repeat) else max(0.0, self.repeat) / (jurors * repeats)
        return max(0.0, self.interaction) / jurors + again

    def absolute_error(self, jurors: float, repeats: float = 1.0) -> float:
        """The variance of a mean over so many jurors about the case's own level: harshness counts too."""
        return self.relative_error(jurors, repeats) + max(0.0, self.juror) / jurors

    def relative(self, jurors: float, repeats: float = 1.0) -> float:
        """The generalisability coefficient: how far the order of cases would be the same with other jurors."""
        return _share(max(0.0, self.case), self.relative_error(jurors, repeats))

    def absolute(self, jurors: float, repeats: float = 1.0) -> float:
        """The index of dependability: how far the scores themselves would be the same."""
        return _share(max(0.0, self.case), self.absolute_error(jurors, repeats))

    def round_robin(self, repeats: float = 1.0) -> float:
        """The coefficient where each case is judged by one juror in turn: harshness moves cases against each other."""
        return self.absolute(1, repeats)


def variance_components(votes: pd.DataFrame) -> Components:
    """The components of `votes`: one row each, with `case`, `juror`, `repeat` and a numeric `value`, none of them blank.

    Returns:
        NaN throughout, with a note, where there are not two cases and two jurors who share some.
    """
    cells = votes.groupby(["case", "juror"])["value"].agg(["mean", "var", "count"])
    wide = cells["mean"].unstack("juror")
    n, k = wide.shape
    counts = cells["count"]
    again = float(len(counts) / (1 / counts).sum()) if len(counts) else math.nan
    within = _within(cells)
    if n < 2 or k < 2 or wide.notna().sum(axis=1).max() < 2:
        why = "two cases and two jurors are needed, with cases that both judged"
        return Components(math.nan, math.nan, math.nan, math.nan, n, k, again, "none", why)
    complete = not wide.isna().to_numpy().any() and counts.nunique() == 1
    if complete:
        case, juror, rest = _mean_squares(wide.to_numpy(float))
        method = "analysis of variance"
        note = ""
    else:
        case, juror, rest, note = _likelihood_components(wide)
        method = "restricted maximum likelihood"
    interaction = rest if math.isnan(within) else rest - within / again
    return Components(case, juror, interaction, within, n, k, again, method, note)


def _mean_squares(values: FloatArray) -> tuple[float, float, float]:
    """By mean squares: cases, jurors, and both together."""
    n, k = values.shape
    grand = values.mean()
    by_case, by_juror = values.mean(axis=1), values.mean(axis=0)
    left = values - by_case[:, None] - by_juror + grand
    of_case = k * ((by_case - grand) ** 2).sum() / (n - 1)
    of_juror = n * ((by_juror - grand) ** 2).sum() / (k - 1)
    rest = (left**2).sum() / ((n - 1) * (k - 1))
    return float((of_case - rest) / k), float((of_juror - rest) / n), float(rest)


def _likelihood_components(wide: pd.DataFrame) -> tuple[float, float, float, str]:
    rows = wide.rename_axis("juror", axis=1).reset_index().melt("case", value_name="value").dropna()
    fit = mixed_model(
        rows["value"].to_numpy(float),
        pd.DataFrame({"intercept": np.ones(len(rows))}),
        by=rows["case"].astype(str).rename("case"),
        also=[rows["juror"].astype(str).rename("juror")],
    )
    if not fit.spread:
        return math.nan, math.nan, math.nan, fit.note
    return fit.spread["case"] ** 2, fit.spread["juror"] ** 2, fit.spread["residual"] ** 2, fit.note


def _within(cells: pd.DataFrame) -> float:
    """The variance of a juror's answers to the same case, over all that were given more than once."""
    several = cells[cells["count"] > 1]
    freedom = float((several["count"] - 1).sum())
    return float((several["var"] * (several["count"] - 1)).sum() / freedom) if freedom else math.nan


def _share(signal: float, error: float) -> float:
    return signal / (signal + error) if signal + error > 0 else math.nan
