"""Stability: how far one judge's scores of one case scatter when nothing is changed, against people's scatter."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ..ratings.evidence import Evidence
from ..ratings.folds import cluster_numbers
from ..ratings.pooling import OVERALL, pooling
from ..report.drawing import Figure, below, clip, in_rows, legend, series_colour
from ..report.panel import Axis, Panel, Tick, level, number_axis
from ..report.section import Section
from ..statistics.contrast import Contrast, paired_difference
from ..statistics.draws import Draws
from ..statistics.estimate import undefined
from ..statistics.jackknife import LOG, Jackknife
from ..statistics.matrix import FloatArray, Matrix
from ..statistics.significance import LEVEL, holm, interval_phrase, p_words
from ..statistics.weighted import OfSums
from .audit import Audit

PEOPLE = "people"
BY_CASE = ["judge", "attribute", "case", "repeats", "mean", "sd", "cv"]
BY_JUDGE = ["judge", "attribute", "cases", "repeats", "sd", "low", "high", "mean_sd", "mean_cv", "note"]
STEADIER = ["first", "second", "attribute", "difference", "low", "high", "p", "p_holm", "n", "note"]
METHOD = "difference of the square roots of the mean variances within a case"
RELIABLE = 0.9
"""The mean of enough repeats keeps this share of its variance for differences between cases."""
DRAWS = 200
CELLS = 4_000_000
"""Scores shuffled for one judge and attribute at most."""
COLUMNS = ["judge", "attribute", "repeats", "sd", "low", "high", "standard_error", "reliability"]
ENOUGH = ["judge", "attribute", "repeats", "enough", "note"]
ACROSS = 3
MOST = 6
"""Judges drawn; the table holds the rest."""
TITLE = "Stability: repeated scores of the same case"


def scatter(evidence: Evidence) -> pd.DataFrame:
    """One row for each judge, attribute and case with two scores or more: their mean, SD and CV.

    A judge is a seat with its arm, its scores the repeats it was asked for; `people` is everyone who rated the case.
    SD has n - 1 below; CV is SD over mean, NaN where the mean is 0. Points of the scale, not turned.
    """
    numeric = [name for name, question in evidence.questions.items() if question.scale.numeric]
    votes = evidence.ballots
    parts = []
    if len(votes):
        parts.append(votes.assign(judge=votes["arm"] + ": " + votes["seat"]))
    parts.append(evidence.people.assign(judge=PEOPLE))
    rows = pd.concat([part[["judge", "attribute", "case", "value"]] for part in parts], ignore_index=True)
    rows = rows[rows["attribute"].isin(numeric)]
    rows = rows.assign(value=pd.to_numeric(rows["value"], errors="coerce").astype(float))
    spreads = rows.groupby(["judge", "attribute", "case"], sort=False)["value"].agg(["count", "mean", "std"])
    spreads = spreads[spreads["count"] > 1].reset_index()
    spreads.columns = pd.Index(["judge", "attribute", "case", "repeats", "mean", "sd"])
    mean = spreads["mean"].abs().to_numpy(float)
    cv = np.divide(spreads["sd"], mean, out=np.full(len(spreads), np.nan), where=mean > 0)
    return spreads.assign(cv=cv)[BY_CASE]


def judges_scatter(by_case: pd.DataFrame, groups: pd.Series) -> pd.DataFrame:
    """One row for each judge and attribute: `sd` is the root of the mean variance, with the jackknife's interval over cases."""
    rows_found = []
    for (judge, attribute), rows in by_case.groupby(["judge", "attribute"], sort=False):
        grid = _grid(rows[["case"]].assign(one=rows["sd"] ** 2), groups)
        estimate = Jackknife().estimate(
            _root, grid, method="SD within a case", otherwise="no repeats", transform=LOG
        )
        numbers = [estimate.value, estimate.low, estimate.high, rows["sd"].mean(), rows["cv"].mean()]
        rows_found.append((judge, attribute, len(rows), rows["repeats"].median(), *numbers, estimate.note))
    return pd.DataFrame(rows_found, columns=BY_JUDGE)


def steadier(by_case: pd.DataFrame, groups: pd.Series, pooled: Sequence[str]) -> pd.DataFrame:
    """One row for each two judges and attribute: the first's SD minus the second's, on the cases both scored twice or more.

    Tested by the jackknife over cases. `overall` takes the variances of the `pooled` attributes, which share a scale, together. `p` is corrected by Holm's method over the pairs,
    `overall` being one family and the attributes another.
    """
    judges = list(dict.fromkeys(by_case["judge"]))
    variance = by_case.assign(variance=by_case["sd"] ** 2)
    rows_found = []
    for judge, rival in combinations(judges, 2):
        sides = [variance[variance["judge"] == name] for name in (judge, rival)]
        merged = sides[0].merge(sides[1], on=["case", "attribute"], suffixes=("_one", "_two"))
        for attribute in (OVERALL, *dict.fromkeys(merged["attribute"])):
            names = pooled if attribute == OVERALL else (attribute,)
            rows = merged[merged["attribute"].isin(names)]
            estimate, p = _difference(rows, groups)
            numbers = (estimate.value, estimate.low, estimate.high, p, rows["case"].nunique(), estimate.note)
            rows_found.append((judge, rival, attribute, *numbers))
    table = pd.DataFrame(rows_found, columns=[name for name in STEADIER if name != "p_holm"])
    family = table["attribute"] == OVERALL
    table["p_holm"] = table.groupby(family)["p"].transform(lambda p: holm(p.tolist())) if len(table) else []
    return table[STEADIER]


def _difference(rows: pd.DataFrame, groups: pd.Series) -> Contrast:
    if rows["case"].nunique() < 2:
        problem = f"cases that both scored twice or more: {rows['case'].nunique()}; two are needed"
        return Contrast(undefined(problem, method=METHOD), np.nan)
    variances = rows.rename(columns={"variance_one": "one", "variance_two": "two"})[["case", "one", "two"]]
    grid = _grid(variances, groups)
    return paired_difference(
        _root, grid.values[:, :1], grid.values[:, 1:], grid.cluster, method=METHOD, otherwise="no repeats"
    )


def _grid(rows: pd.DataFrame, groups: pd.Series) -> Matrix:
    """Variances as columns; rows of one case or group are left out together."""
    cluster = cluster_numbers(rows["case"], groups)
    values = rows.drop(columns="case").to_numpy(float)
    return Matrix(values, tuple(range(len(rows))), tuple(rows.columns[1:]), cluster)


def _root(values: FloatArray) -> OfSums:
    sums = np.column_stack([values[:, 0], np.ones(len(values))])
    return OfSums(sums, lambda total: np.sqrt(total[:, 0] / np.maximum(total[:, 1], 1)))


def convergence(evidence: Evidence, *, seed: int) -> pd.DataFrame:
    """One row for each judge, attribute and number of repeats from two to all that were made.

    `sd` is the scatter within a case as that many repeats, chosen at random, would show it, with the range of 95% of
    such choices; `standard_error` that of their mean; `reliability` the share of the variance of those means that
    is between cases (Spearman and Brown).
    """
    rows = []
    for judge, attribute, grid in _grids(evidence):
        repeat_variance, between = _components(grid)
        k = grid.shape[1]
        middle, low, high = _choices(grid, np.random.default_rng(seed))
        for m in range(2, k + 1):
            stable = between / (between + repeat_variance / m) if between + repeat_variance > 0 else np.nan
            numbers = (middle[m - 2], low[m - 2], high[m - 2], np.sqrt(repeat_variance / m), stable)
            rows.append((judge, attribute, m, *map(float, numbers)))
    return pd.DataFrame(rows, columns=COLUMNS)


def enough_repeats(evidence: Evidence) -> pd.DataFrame:
    """One row for each judge and attribute: the fewest repeats whose mean is reliable to 0.9."""
    rows: list[tuple[object, ...]] = []
    for judge, attribute, grid in _grids(evidence):
        repeat_variance, between = _components(grid)
        k = grid.shape[1]
        if repeat_variance == 0:
            rows.append((judge, attribute, k, 1.0, "all repeats gave the same score"))
        elif between == 0:
            rows.append(
                (
                    judge,
                    attribute,
                    k,
                    np.nan,
                    "scores of different cases differ no more than repeated scores of one case",
                )
            )
        else:
            fewest = max(1, int(np.ceil(RELIABLE / (1 - RELIABLE) * repeat_variance / between - 1e-9)))
            rows.append(
                (
                    judge,
                    attribute,
                    k,
                    float(fewest),
                    "an extrapolation: more repeats are needed than were made" if fewest > k else "",
                )
            )
    return pd.DataFrame(rows, columns=ENOUGH)


def _grids(evidence: Evidence) -> list[tuple[str, str, FloatArray]]:
    """Each judge and attribute with its scores, cases by repeats; cases with fewer repeats than most are left out."""
    votes = evidence.ballots
    if votes.empty:
        return []
    numeric = [name for name, question in evidence.questions.items() if question.scale.numeric]
    votes = votes[votes["attribute"].isin(numeric)]
    votes = votes.assign(judge=votes["arm"] + ": " + votes["seat"])
    grids = []
    for (judge, attribute), rows in votes.groupby(["judge", "attribute"], sort=False):
        size = rows.groupby("case")["value"].transform("size")
        k = int(size.mode().iloc[-1])
        complete = rows[size == k].sort_values("case", kind="stable")
        if k > 1 and len(complete) // k > 1:
            values = pd.to_numeric(complete["value"]).to_numpy(float).reshape(-1, k)
            grids.append((str(judge), str(attribute), values))
    return grids


def _components(grid: FloatArray) -> tuple[float, float]:
    """The variance within cases, and that between them, which is never below 0."""
    k = grid.shape[1]
    repeat_variance = float(grid.var(axis=1, ddof=1).mean())
    return repeat_variance, max(0.0, float(grid.mean(axis=1).var(ddof=1)) - repeat_variance / k)


def _choices(grid: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The SD that two repeats show, three, and so on: its mean over random choices, and the range of 95% of them."""
    k = grid.shape[1]
    draws = int(np.clip(CELLS // grid.size, 20, DRAWS))
    m = np.arange(2, k + 1)
    deviations = np.empty((draws, k - 1))
    for draw in range(draws):
        shuffled = rng.permuted(grid, axis=1)
        total, squares = shuffled.cumsum(axis=1)[:, 1:], (shuffled**2).cumsum(axis=1)[:, 1:]
        variance = np.maximum(squares - total**2 / m, 0.0) / (m - 1)
        deviations[draw] = np.sqrt(variance.mean(axis=0))
    low, high = np.quantile(deviations, [0.025, 0.975], axis=0)
    return deviations.mean(axis=0), low, high


def convergence_figure(curves: pd.DataFrame) -> Figure:
    """SD within a case against the number of repeats it is read from."""
    judges = list(dict.fromkeys(curves["judge"]))[:MOST]
    attributes = list(dict.fromkeys(curves["attribute"]))
    y = number_axis(0.0, max(0.1, float(curves["high"].max())) * 1.1, about=4, lines=True)
    panels = []
    for judge in judges:
        judge_curves = curves[curves["judge"] == judge]
        repeats = int(judge_curves["repeats"].max())
        ticks = tuple(Tick(m, str(m)) for m in range(2, repeats + 1, max(1, repeats // 8)))
        x = Axis(2.0, max(3.0, float(repeats)), ticks, "number of repeats (vertical axis: SD within a case)")
        panel = Panel(x, y, 300, 180, title=clip(judge, 40))
        for number, attribute in enumerate(attributes):
            _add_scatter(panel, judge_curves[judge_curves["attribute"] == attribute], number)
        panels.append(panel)
    rows = in_rows(level(panels), ACROSS)
    last_row = below([*rows[-1:], legend(attributes, lines=True)])
    return Figure("Spread of scores by number of repeats", [*rows[:-1], last_row])


def _add_scatter(panel: Panel, rows: pd.DataFrame, number: int) -> None:
    """A line in its band; a point where there is one number of repeats only."""
    panel.band(list(zip(rows["repeats"], rows["low"], rows["high"], strict=True)), series_colour(number))
    panel.curve(zip(rows["repeats"], rows["sd"], strict=True), number)
    if len(rows) == 1:
        panel.point(float(rows["repeats"].iloc[0]), float(rows["sd"].iloc[0]), series_colour(number))


def stability_section(evidence: Evidence, draws: Draws) -> Section:
    """How far repeats scatter, against people's scatter, and how many repeats are enough."""
    by_case = scatter(evidence)
    if set(by_case["judge"]) <= {PEOPLE}:
        reason = "No juror judged a case twice, so stability cannot be measured: run a single judge with `repeats` of 2 or more."
        return Section("stability", TITLE, (reason,))
    pooled = pooling(evidence.questions).names
    judges = judges_scatter(by_case, evidence.groups)
    against = steadier(by_case, evidence.groups, pooled)
    curve, enough = convergence(evidence, seed=draws.seed), enough_repeats(evidence)
    overall = against[against["attribute"] == OVERALL]
    sentences = [
        *(_judge(str(judge), rows) for judge, rows in judges.groupby("judge", sort=False)),
        *(_steadier(row) for row in overall.to_dict("records")),
        *(_enough(str(judge), rows) for judge, rows in enough.groupby("judge", sort=False)),
    ]
    figures = {
        "SD of the scores of one case, by number of repeats. The band holds 95% of the SDs that different choices of that many repeats give. If the line is flat and the "
        "band narrow, more repeats would not change the SD.": convergence_figure(curve)
    }
    tables = {"judges": judges, "steadier": against, "convergence": curve, "enough": enough, "cases": by_case}
    methods = (
        "Stability is measured on repeats: the same judge scores the same case again under the same settings. A judge's SD is the square root of its mean variance within a case (n - 1), "
        "with a jackknife interval over cases or groups. Two judges are compared by the jackknife of the difference between their SDs. The table also has the "
        "mean SD and the mean CV (SD divided by mean) of the cases. For people, the SD is the spread among those who rated the same case. "
        f"Enough repeats are the fewest whose mean has a reliability of {RELIABLE:g} by the Spearman-Brown formula. 'Overall' pools "
        f"the attributes that share a scale ({', '.join(pooled)}).",
    )
    return Section("stability", TITLE, tuple(sentences), tables, figures, methods)


def _judge(judge: str, rows: Any) -> str:
    widest = rows.loc[rows["sd"].idxmax()]
    subject = (
        "People's scores of the same case"
        if judge == PEOPLE
        else f"When the same case was judged again, {judge}'s scores"
    )
    return (
        f"{subject} varied with an SD of {rows['sd'].median():.2f} points (median over attributes). They varied most on "
        f"{widest['attribute']}: SD {widest['sd']:.2f}, mean CV {widest['mean_cv']:.2f}."
    )


def _steadier(row: dict[Any, Any]) -> str:
    if row["difference"] != row["difference"]:
        return f"{row['first']} and {row['second']} cannot be compared by stability: {row['note']}."
    size = f"difference in SD {row['difference']:+.2f} ({interval_phrase(row['low'], row['high'], '+.2f')}, n = {row['n']} cases"
    size += f", Holm-corrected {p_words(row['p_holm'])})" if row["p_holm"] == row["p_holm"] else ")"
    if not row["p_holm"] < LEVEL:
        return f"{row['first']}'s scores of the same case are not shown to vary more or less than {row['second']}'s: {size}."
    less_or_more = "less" if row["difference"] < 0 else "more"
    return f"{row['first']}'s scores of the same case vary {less_or_more} than {row['second']}'s: {size}."


def _enough(judge: str, rows: Any) -> str:
    answered = rows.dropna(subset=["enough"])
    repeats_made = int(rows["repeats"].max())
    if answered.empty:
        return f"No number of repeats of {judge} would give a reliable mean score: scores of different cases differ no more than repeated scores of one case."
    neediest = answered.loc[answered["enough"].idxmax()]
    repeat_words = "1 repeat is" if neediest["enough"] == 1 else f"{neediest['enough']:.0f} repeats are"
    sentence = f"{repeat_words} enough for a reliable mean score of {judge} on every attribute"
    beyond = (
        f"; {repeats_made} repeats were made, so the number needed is an extrapolation"
        if neediest["enough"] > repeats_made
        else f" ({repeats_made} repeats were made)"
    )
    needing = f", {neediest['attribute']} needing the most" if answered["enough"].nunique() > 1 else ""
    return f"{sentence}{needing}{beyond}."


STABILITY = Audit("stability", lambda inputs, draws: stability_section(inputs.evidence, draws), 60)
