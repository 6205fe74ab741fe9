"""Detecting wrong cases: do low scores find the cases that a label from outside calls wrong, and how much review does that save?

The label is no rating: a panel that disagreed with the ward's diagnosis, a correction made later. Several systems' outputs for
one case are pooled: where every system's answer scores badly against what the ward wrote, the ward may be the one that is wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ...rubrics.errors import VenireError
from ..ratings.score_tables import Marks
from ..report.section import Section
from ..statistics.draws import Draws
from ..statistics.jackknife import Jackknife
from ..statistics.matrix import FloatArray, Matrix
from ..statistics.significance import LEVEL, interval_phrase, p_words
from ..statistics.weighted import Statistic
from .triage_review import (
    area_and_bounds,
    area_statistic,
    by_score,
    found_curve,
    score_and_error,
    triage_figure,
)

TITLE = "Do low scores find the cases that an external label marks as wrong?"
RECALLS = (0.5, 0.8, 0.9, 0.95, 1.0)
AREAS = ["arm", "area", "low", "high", "p", "rho", "rho_low", "rho_high", "wrong", "n", "outputs", "note"]
SAVED = ["arm", "found", "reviewed", "low", "high", "saved", "random"]
SCORES = ["arm", "label", "n", "mean", "median", "lowest", "highest"]


@dataclass(frozen=True, slots=True)
class OutsideLabel:
    """Which cases are wrong, and which outputs belong to one case."""

    wrong: pd.Series
    """By case of the run, 1 or 0; NaN where it is not known."""
    pooled: pd.Series
    """By case of the run, the case that its output belongs to."""
    attributes: tuple[str, ...] = ()
    """Whose marks order the cases; all without any."""
    name: str = "label"


def outside_label(
    cases: pd.DataFrame,
    column: str,
    *,
    wrong: Collection[object],
    pool: str | None = None,
    attributes: Sequence[str] = (),
) -> OutsideLabel:
    """The label in a column of the cases.

    Args:
        cases: One row a case: `case`, `column` and `pool`.
        wrong: The values that mean wrong.
        pool: The column whose equal values are one case; a case without a value is its own.

    Raises:
        VenireError: Outputs of one case have different labels.
    """
    index = cases["case"].astype(str)
    words = {_plain(value) for value in wrong}
    labels = cases[column].map(lambda value: np.nan if pd.isna(value) else float(_plain(value) in words))
    label = pd.Series(labels.to_numpy(float), index)
    ids = pd.Series(index.to_numpy(), index)
    pooled = ids if pool is None else pd.Series(cases[pool].to_numpy(object), index).map(_name).fillna(ids)
    torn = label.groupby(pooled).nunique()
    if (torn > 1).any():
        raise VenireError(
            f"{column}: cases that belong together ({torn.idxmax()}) have different labels",
            remedy=f"give every case of one {pool or 'case'} the same {column}",
        )
    return OutsideLabel(label, pooled, tuple(attributes), column)


def detection_section(marks: Marks, label: OutsideLabel, draws: Draws) -> Section:
    """By arm: the detection curve, its area, the chance of a wrong case by score, and the share of the experts' work saved."""
    pooled, wrong, outputs = _pooled_marks(marks, label)
    labelled = wrong.dropna()
    if not 0 < labelled.sum() < len(labelled):
        wrong_count = int(labelled.sum())
        sentence = f"Detection cannot be tested: the label marks {wrong_count} of {len(labelled)} labelled cases as wrong, and both wrong and right cases are needed."
        return Section("detection", TITLE, (sentence,))
    areas, saved_rows, curves, levels, shapes, sentences = [], [], [], [], [], list[str]()
    for arm in marks.arms:
        mean = pooled.table[arm].groupby(level="case").mean()
        mark = mean[mean.notna() & wrong.reindex(mean.index).notna()]
        error = wrong.reindex(mark.index).to_numpy(float)
        keys = -mark.to_numpy(float)
        cluster, _ = pd.factorize(pooled.clusters.reindex(mark.index))
        grid = Matrix(np.column_stack([keys, error]), tuple(mark.index), (), cluster.astype(np.int64))
        reason = "all labelled cases that the arm scored are wrong, or none is"
        estimate = Jackknife().estimate(
            area_statistic, grid, method="area under the curve of wrong cases found", otherwise=reason
        )
        rho = score_and_error(pooled, arm, wrong)
        bounds = (*area_and_bounds(estimate), estimate.p)
        areas.append(
            (
                arm,
                *bounds,
                rho.value,
                rho.low,
                rho.high,
                int(error.sum()),
                len(error),
                _outputs(marks, label, arm),
                estimate.note,
            )
        )
        if not estimate.defined:
            sentences.append(f"{arm}: detection cannot be tested ({estimate.note}).")
            continue
        rows = _saved_rows(arm, keys, error, grid, draws)
        saved_rows += rows
        reviewed, found_share = found_curve(keys, error)
        curves.append(pd.DataFrame({"arm": arm, "reviewed": reviewed, "found": found_share}))
        levels.append(by_score(pooled, arm, wrong))
        shapes += _by_label(arm, mark, error)
        sentences += [_area_sentence(arm, *bounds, len(error), int(error.sum())), _saved_sentence(arm, rows)]
    tables = {
        "areas": pd.DataFrame(areas, columns=AREAS),
        "saved": pd.DataFrame(saved_rows, columns=SAVED),
        "by_score": pd.concat(levels, ignore_index=True) if levels else pd.DataFrame(),
        "by_label": pd.DataFrame(shapes, columns=SCORES),
        "curve": pd.concat(curves, ignore_index=True) if curves else pd.DataFrame(),
    }
    caption = (
        "Left: the share of wrong cases found, against the share of cases reviewed from the lowest score up (dashed: random order). Right: the "
        "probability that a case is wrong, by its mean score, with Wilson intervals."
    )
    figures = {caption: triage_figure(tables["curve"], tables["by_score"])} if curves else {}
    attribute_words = ", ".join(label.attributes) or "all attributes whose values have an order"
    methods = (
        f"A case's score is the mean of {attribute_words} over its outputs ({outputs} outputs of {len(labelled)} labelled cases), scaled so that 1 is good. "
        "Cases are reviewed from the lowest score up, tied cases together. `area` is the area under the curve of wrong cases found against cases "
        "reviewed. It is 0.5 in random order, and at most 1 minus half the share of wrong cases. It is not the area under a ROC curve. "
        "The work saved at a recall of 90% is the share of all cases that still need no review when 90% of the wrong cases are found. In random order the work saved is one minus the recall. "
        f"Intervals: jackknife over cases or groups; for the share reviewed, percentiles of {draws.resamples} resamples, seed {draws.seed}.",
    )
    return Section("detection", TITLE, tuple(sentences), tables, figures, methods)


def _plain(value: object) -> str:
    """A label as it is compared: 1, 1.0, true and True are the same."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int | float):
        return f"{value:g}"
    text = str(value).strip().lower()
    return {"true": "1", "false": "0"}.get(text, text)


def _name(value: Any) -> Any:
    return value if pd.isna(value) else f"{value:g}" if isinstance(value, float) else str(value)


def _pooled_marks(marks: Marks, label: OutsideLabel) -> tuple[Marks, pd.Series, int]:
    """The marks with outputs of one case averaged, by such a case whether it is wrong, and how many outputs had a label."""
    table = _ordering_marks(marks, label)
    cases = table.index.get_level_values("case")
    ids = pd.Series(cases, index=cases)
    belongs = label.pooled.reindex(cases).fillna(ids)
    attribute = table.index.get_level_values("attribute")
    pooled = table.groupby([pd.Index(belongs.to_numpy(), name="case"), attribute]).mean()
    wrong = label.wrong.groupby(label.pooled).first()
    cluster = marks.clusters.groupby(label.pooled.reindex(marks.clusters.index).to_numpy()).first()
    outputs = int(label.wrong.reindex(cases.unique()).notna().sum())
    return replace(marks, table=pooled, clusters=cluster), wrong, outputs


def _ordering_marks(marks: Marks, label: OutsideLabel) -> pd.DataFrame:
    """The marks of the attributes that order the cases."""
    names = marks.table.index.get_level_values("attribute")
    return marks.table[names.isin(list(label.attributes))] if label.attributes else marks.table


def _outputs(marks: Marks, label: OutsideLabel, arm: str) -> int:
    """How many outputs with a label the arm scored."""
    scored_cases = _ordering_marks(marks, label)[arm].dropna().index.get_level_values("case").unique()
    return int(label.wrong.reindex(scored_cases).notna().sum())


def _saved_rows(
    arm: str, keys: FloatArray, error: FloatArray, grid: Matrix, draws: Draws
) -> list[tuple[object, ...]]:
    """For each recall, the share of cases reviewed to reach it, with its interval, and what that saves."""
    rows: list[tuple[object, ...]] = []
    reviewed, found_share = found_curve(keys, error)
    for recall in RECALLS:
        at = _first_share(reviewed, found_share, recall)
        estimate = draws.bootstrap().estimate(
            partial(_review_share, recall=recall), grid, method="share reviewed", otherwise="no wrong case"
        )  # fmt: skip
        rows.append((arm, recall, at, estimate.low, estimate.high, 1 - at, 1 - recall))
    return rows


def _review_share(values: FloatArray, recall: float) -> Statistic:
    """The share of cases reviewed when so many of the wrong ones are found, as a function of the weights of cases."""

    def share(weights: FloatArray) -> FloatArray:
        shares = np.full(len(weights), np.nan)
        for row, weight in enumerate(weights):
            if (weight * values[:, 1]).sum() > 0:
                sample = np.repeat(np.arange(len(values)), np.rint(weight).astype(int))
                reviewed, found_share = found_curve(values[sample, 0], values[sample, 1])
                shares[row] = _first_share(reviewed, found_share, recall)
        return shares

    return share


def _first_share(reviewed: FloatArray, found_share: FloatArray, recall: float) -> float:
    """The least share reviewed at which so many are found; within a tie, in proportion."""
    at = int(np.searchsorted(found_share, recall - 1e-12))
    return float(np.interp(recall, found_share[at - 1 : at + 1], reviewed[at - 1 : at + 1]))


def _by_label(arm: str, mark: pd.Series, error: FloatArray) -> list[tuple[object, ...]]:
    """How scores lie among right and among wrong cases."""
    parts = {"right": mark[error == 0], "wrong": mark[error == 1]}
    return [
        (arm, name, len(part), part.mean(), part.median(), part.min(), part.max())
        for name, part in parts.items()
    ]


def _area_sentence(arm: str, area: float, low: float, high: float, p: float, n: int, wrong: int) -> str:
    size = f"the area under the curve of wrong cases found against cases reviewed is {area:.2f} ({interval_phrase(low, high)}; 0.50 in random order; {wrong} of {n} cases are wrong, {p_words(p)})"
    if not p < LEVEL:
        return f"Reviewing cases from {arm}'s lowest score up is not shown to find wrong cases sooner than random order: {size}."
    return f"Reviewing cases from {arm}'s lowest score up finds wrong cases {'sooner' if area > 0.5 else 'later'} than random order: {size}."


def _saved_sentence(arm: str, rows: list[tuple[object, ...]]) -> str:
    row_by_recall = {float(str(row[1])): row for row in rows}
    _, _, reviewed, low, high, saved, _ = row_by_recall[0.9]
    between = interval_phrase(float(str(low)), float(str(high)), ".0%")
    return (
        f"If cases are reviewed from {arm}'s lowest score up, nine in ten of the wrong cases are found in the first {reviewed:.0%} of cases ({between}). "
        f"Stopping there saves {saved:.0%} of the review work; in random order, finding nine in ten saves 10%."
    )
