"""Internal consistency: how an evaluator's attributes go together, and whether more so than people's."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..ratings.score_tables import Marks
from ..report.charts import add_correlation
from ..report.drawing import Figure, Picture, beside, clip, in_rows, text, text_width
from ..report.panel import Panel, Tick, level, name_axis
from ..report.section import Section
from ..statistics.contrast import paired_difference
from ..statistics.correlation import mean_ranks
from ..statistics.estimate import Estimate, undefined
from ..statistics.matrix import FloatArray
from ..statistics.significance import LEVEL, holm, interval_phrase, p_words
from ..statistics.weighted import Coefficient, OfSums
from .audit import Audit

PEOPLE = "people's reference"
CORRELATIONS = ["evaluator", "kind", "first", "second", "spearman", "n", "note"]
HALO = [
    *(
        "evaluator",
        "kind",
        "mean",
        "people",
        "answers",
        "people_answers",
        "difference",
        "low",
        "high",
        "p",
        "p_holm",
    ),
    *("apart", "n", "note"),
]
_NOT_TESTED = "not tested: "
METHOD = "mean Spearman's rho between attributes in the evaluator's scores, minus that in people's scores"
NEAR_ZERO = 0.1
"""A mean correlation below this is small by Cohen's convention, and no halo however far people's lies below it."""
LEAST = 3
"""Cases without which two attributes have no correlation worth the name."""
CELL = 36
WIDE = 940
"""How wide the figure may become."""
MOST = 12
"""Evaluators drawn; the table holds the rest."""
TITLE = "Internal consistency: how strongly attributes correlate"


def grids(marks: Marks) -> dict[str, tuple[str, pd.DataFrame]]:
    """By evaluator, its kind and its marks, cases by attributes; the people's reference first."""
    names = marks.attributes()
    columns = {PEOPLE: marks.reference()} if marks.people else {}
    columns |= {name: marks.table[name] for name in marks.kinds}
    grid_by_name = {}
    for name, column in columns.items():
        wide = column.unstack("attribute").reindex(columns=names)
        if wide.notna().any(axis=None):
            grid_by_name[name] = (marks.kinds.get(name, "people"), wide)
    return grid_by_name


def correlations(marks: Marks) -> pd.DataFrame:
    """One row for each evaluator and two attributes: Spearman's rho over the cases, with high as good on both."""
    rows = []
    for evaluator, (kind, wide) in grids(marks).items():
        values = wide.to_numpy(float)
        is_known = ~np.isnan(values)
        pairs = list(combinations(range(wide.shape[1]), 2))
        # Without gaps every pair has all cases, whose ranks and correlations are then taken at once.
        rhos = _table(_ranks(values)) if is_known.all() and pairs else None
        for place, (i, j) in enumerate(pairs):
            pair_values = values[is_known[:, i] & is_known[:, j]][:, [i, j]]
            rho, note = _spearman(pair_values, None if rhos is None else float(rhos[place]))
            rows.append((evaluator, kind, wide.columns[i], wide.columns[j], rho, len(pair_values), note))
    return pd.DataFrame(rows, columns=CORRELATIONS)


def halo(marks: Marks) -> pd.DataFrame:
    """One row for each evaluator: the mean correlation among its attributes, against the people's on the same cases.

    A positive `difference` is a halo: attributes that people tell apart go together. `apart` is the root mean
    squared distance between the two sets of correlations. Tested by swapping evaluator and people within cases or their
    groups; scores are ranked once. `p` is corrected by Holm's method over the evaluators. Noise lowers correlations and averaging
    lowers noise, so that there is no test where another number of answers is averaged than people's.
    """
    everyone = grids(marks)
    people = everyone.get(PEOPLE)
    rows: list[dict[str, object]] = []
    for evaluator, (kind, wide) in everyone.items():
        if evaluator == PEOPLE:
            continue
        row = {
            "evaluator": evaluator,
            "kind": kind,
            "p": np.nan,
            "people": np.nan,
            "apart": np.nan,
            "people_answers": np.nan,
        }
        row["answers"] = marks.answers.get(evaluator, 1.0)
        if people is None or wide.shape[1] < 2:
            reason = (
                "no person rated the cases"
                if people is None
                else "only one attribute, so there is nothing to correlate"
            )
            estimate: Estimate = undefined(reason, method=METHOD, n=len(wide))
            mean = _mean(_table(_ranks(wide.to_numpy(float)))) if wide.shape[1] > 1 else np.nan
            rows.append({**row, "mean": mean, **_cells(estimate)})
            continue
        reference = people[1]
        if kind == "person":
            reference = (
                marks.reference(without=[evaluator]).unstack("attribute").reindex(columns=wide.columns)
            )
        marked, others = wide.align(reference, join="inner", axis=0)
        both = marked.notna() & others.notna()
        rated = both.any(axis=1)
        marked, others = (marked.where(both)[rated], others.where(both)[rated])
        raters = [name for name in marks.people if name != evaluator]
        counts = marks.table[raters].notna().sum(axis=1).unstack("attribute").reindex_like(others)
        row["people_answers"] = float(np.nanmedian(counts.where(others.notna()))) if rated.any() else np.nan
        cluster, _ = pd.factorize(marks.clusters.reindex(marked.index))
        rank_pair = _ranks(marked.to_numpy(float)), _ranks(others.to_numpy(float))
        own_rhos, people_rhos = map(_table, rank_pair)
        gaps = own_rhos - people_rhos
        is_known = ~np.isnan(gaps)
        estimate, p = paired_difference(
            _mean_of_pairs(is_known),
            *rank_pair,
            cluster.astype(np.int64),
            method=METHOD,
            otherwise="too few cases or values to correlate"
            if rated.any()
            else "no other person rated these cases",
        )
        row |= {"p": p, "apart": float(np.sqrt((gaps[is_known] ** 2).mean())) if is_known.any() else np.nan}
        row |= {"mean": _mean(own_rhos), "people": _mean(people_rhos)}
        if estimate.defined and row["answers"] != row["people_answers"]:
            row["p"] = np.nan
            answers = "1 answer" if row["answers"] == 1 else f"{row['answers']:g} answers"
            unequal = (
                f"each score averages {answers}, but people's reference averages {row['people_answers']:g}"
            )
            estimate = replace(
                estimate,
                low=np.nan,
                high=np.nan,
                note=f"{_NOT_TESTED}{unequal}, and averaging more answers removes noise, which changes the correlation",
            )
        rows.append({**row, **_cells(estimate)})
    table = pd.DataFrame(rows, columns=[name for name in HALO if name != "p_holm"])
    return table.assign(p_holm=holm(table["p"].tolist()))[HALO]


def _cells(e: Estimate) -> dict[str, object]:
    return {"difference": e.value, "low": e.low, "high": e.high, "n": e.n, "note": e.note}


def _spearman(pair_values: FloatArray, known_rho: float | None) -> tuple[float, str]:
    """Spearman's rho of two columns, unless it is known, and why it is NaN."""
    if len(pair_values) < LEAST:
        return np.nan, f"{len(pair_values)} cases have both scores; {LEAST} cases are needed"
    if not np.ptp(pair_values, axis=0).all():
        return np.nan, "an attribute has the same value for every case, so there is nothing to correlate"
    return float(_table(_ranks(pair_values))[0]) if known_rho is None else known_rho, ""


def _ranks(values: FloatArray) -> FloatArray:
    """Ranks by column, centred on the middle one; NaN stays."""
    ranks = np.full(values.shape, np.nan)
    for column in range(values.shape[1]):
        is_known = ~np.isnan(values[:, column])
        ranks[is_known, column] = mean_ranks(values[is_known, column]) - (is_known.sum() + 1) / 2
    return ranks


def _table(ranks: FloatArray) -> FloatArray:
    """The correlations of every two columns of ranks."""
    statistic = _of_sums(ranks)
    return statistic.value(statistic.sums.sum(axis=0, keepdims=True))[0]


def _mean(correlations: FloatArray) -> float:
    numbers = correlations[~np.isnan(correlations)]
    return float(numbers.mean()) if len(numbers) else np.nan


def _mean_of_pairs(is_chosen: npt.NDArray[np.bool_]) -> Coefficient:
    """The mean correlation over the pairs of columns where `is_chosen`; after a swap, over those it leaves defined."""

    def coefficient(ranks: FloatArray) -> OfSums:
        statistic = _of_sums(ranks)

        def value(total: FloatArray) -> FloatArray:
            rhos = statistic.value(total).T if is_chosen.all() else statistic.value(total).T[is_chosen]
            summed = rhos.sum(axis=0)
            if len(rhos) and not np.isnan(summed).any():
                return summed / len(rhos)
            is_known = ~np.isnan(rhos)
            count = is_known.sum(axis=0)
            summed = np.where(is_known, rhos, 0.0).sum(axis=0)
            return np.divide(summed, count, out=np.full(len(count), np.nan), where=count > 0)

        return OfSums(statistic.sums, value)

    return coefficient


def _of_sums(ranks: FloatArray) -> OfSums:
    """Pearson's r of every two columns as a function of weighted sums, over the cases that have both."""
    pairs = list(combinations(range(ranks.shape[1]), 2))
    parts = []
    for i, j in pairs:
        has_both = ~np.isnan(ranks[:, i] + ranks[:, j])
        x, y = (np.where(has_both, ranks[:, column], 0.0) for column in (i, j))
        parts.append(np.column_stack([has_both, x, y, x * y, x * x, y * y]))
    every = np.hstack(parts) if parts else np.zeros((len(ranks), 0))
    # Without gaps most sums are the same for many pairs, and are taken once.
    places: dict[bytes, int] = {}
    at = np.array([places.setdefault(column.tobytes(), len(places)) for column in every.T], dtype=np.int64)
    _, distinct = np.unique(at, return_index=True)
    sums = every[:, distinct]

    n_, x_, y_, xy_, xx_, yy_ = (at[offset::6] for offset in range(6))
    # Each column's count, sum and sum of squares, once for all pairs that share them.
    sides, side = np.unique(
        np.concatenate([np.column_stack([n_, x_, xx_]), np.column_stack([n_, y_, yy_])]),
        axis=0,
        return_inverse=True,
    )
    left_at, right_at = side.reshape(2, -1)

    def value(total: FloatArray) -> FloatArray:
        # One row a pair, so that arithmetic runs along the many totals.
        rows = total.T
        n, x, squares = (rows[column] for column in sides.T)
        count = np.maximum(n, 1)
        mean = x / count
        spread = squares - x * mean
        spread[(n < LEAST) | (spread <= 1e-9 * count)] = np.nan
        rhos, bottom = rows[xy_], spread[left_at]
        rhos -= rows[x_] * mean[right_at]
        bottom *= spread[right_at]
        rhos /= np.sqrt(bottom, out=bottom)
        return np.clip(rhos, -1.0, 1.0, out=rhos).T

    return OfSums(sums, value)


def correlation_figure(correlations: pd.DataFrame, attributes: list[str]) -> Figure:
    """Below zero the shade is of another colour; attributes are numbered, their names stand in the margin."""
    side = (len(attributes) - 1) * CELL
    numbers = [Tick(0, str(number)) for number in range(1, len(attributes) + 1)]
    panels = []
    for evaluator, rhos in list(correlations.groupby("evaluator", sort=False))[:MOST]:
        panel = Panel(
            name_axis(numbers[:-1]), name_axis(numbers[1:]), side, side, title=clip(str(evaluator), 30)
        )
        for attribute, rival, rho in rhos[["first", "second", "spearman"]].itertuples(index=False):
            column, row = sorted((attributes.index(attribute), attributes.index(rival)))
            add_correlation(panel, column, row - 1, rho, size=11)
        panels.append(panel)
    names = _numbered_names(attributes)
    pictures = level(panels)
    rows = in_rows(pictures, max(1, int((WIDE - names.width) // (pictures[0].width + 24))))
    margin = Picture(names.width, 0, [])
    blocks = [beside([names if row is rows[0] else margin, row]) for row in rows]
    return Figure("Correlations among attributes", blocks)


def _numbered_names(attributes: list[str]) -> Picture:
    listed = [f"{number} {clip(name)}" for number, name in enumerate(attributes, 1)]
    words = [text(8, 44 + place * 18, name, soft=True) for place, name in enumerate(listed)]
    return Picture(max(map(text_width, listed)) + 16, 44 + len(words) * 18, words)


def consistency_section(marks: Marks) -> Section:
    """The correlations among attributes, evaluator by evaluator, and whether anyone's are a halo."""
    names = marks.attributes()
    if len(names) < 2:
        reason = "Internal consistency needs two or more attributes with ordered values."
        return Section("consistency", TITLE, (reason,))
    rho_table, summary = correlations(marks), halo(marks)
    arm_rows = summary[summary["kind"].isin(["jury", "single judge"])]
    sentences = [_sentence(row) for row in arm_rows.to_dict("records")]
    jurors = summary[(summary["kind"] == "juror") & (summary["p_holm"] < LEVEL)]
    sentences += [_sentence(row) for row in jurors.to_dict("records")]
    unrated = [name for name in names if marks.reference().xs(name, level="attribute").isna().all()]
    notes = (
        (f"attributes not compared, because no person rated them: {', '.join(unrated)}",) if unrated else ()
    )
    return Section(
        "consistency",
        TITLE,
        tuple(sentences)
        or (
            "Correlations between attributes cannot be computed: no arm scored two attributes of the same cases.",
        ),
        {"halo": summary, "correlations": rho_table},
        {
            "Spearman's rho between every two attributes, for each evaluator. Scores are reversed if needed, so that high is good.": correlation_figure(
                rho_table, names
            )
        },
        (
            "Internal consistency is Spearman's rho between every two attributes over an evaluator's cases. Attributes are reversed if needed, so that "
            "high is good. The summary is the mean of these correlations. It is compared with the same mean, computed from the people's reference on the same "
            "scores. Each person is compared with the other people. The test is a jackknife over cases or groups, and p is Holm-corrected over evaluators. "
            "There is no test if the evaluator's and the people's scores average different numbers of answers: averaging removes noise, which lowers correlations. "
            f"No halo is claimed if the mean rho is below {NEAR_ZERO}.",
        ),
        (*marks.notes, *notes),
    )


def _sentence(row: dict[Any, Any]) -> str:
    if math.isnan(row["difference"]):
        return f"{row['evaluator']}: internal consistency cannot be compared with people's ({row['note']})."
    if row["note"].startswith(_NOT_TESTED):
        reason = row["note"].removeprefix(_NOT_TESTED)
        return (
            f"It cannot be tested whether attributes correlate more in {row['evaluator']}'s scores than in people's: mean rho {row['mean']:.2f} "
            f"against {row['people']:.2f} in people's scores, but {reason}."
        )
    size = (
        f"mean rho {row['mean']:.2f} between attributes, against {row['people']:.2f} in people's scores (difference {row['difference']:+.2f}, "
        f"{interval_phrase(row['low'], row['high'], '+.2f')}"
    )
    size += f", Holm-corrected {p_words(row['p_holm'])})" if not math.isnan(row["p_holm"]) else ")"
    if not row["p_holm"] < LEVEL:
        return f"Attributes are not shown to correlate more or less in {row['evaluator']}'s scores than in people's scores: {size}."
    if row["difference"] > 0 and row["mean"] < NEAR_ZERO:
        return f"Attributes correlate slightly more in {row['evaluator']}'s scores than in people's, but too weakly for a halo effect: {size}."
    if row["difference"] > 0:
        return f"Attributes correlate more in {row['evaluator']}'s scores than in people's, which is what a halo effect looks like: {size}."
    return f"Attributes correlate less in {row['evaluator']}'s scores than in people's: {size}."


CONSISTENCY = Audit("consistency", lambda inputs, draws: consistency_section(inputs.marks), 50)
