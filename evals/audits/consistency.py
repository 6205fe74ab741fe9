"""Internal consistency: how an evaluator's attributes go together, and whether more so than people's."""

from __future__ import annotations

import math
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
        "difference",
        "low",
        "high",
        "p",
        "p_holm",
        "apart",
        "n",
        "note",
    ),
]
METHOD = "mean Spearman's rho among attributes, minus people's"
LEAST = 3
"""Cases without which two attributes have no correlation worth the name."""
CELL = 36
WIDE = 940
"""How wide the figure may become."""
MOST = 12
"""Evaluators drawn; the table holds the rest."""
TITLE = "Internal consistency: which attributes go together"


def grids(marks: Marks) -> dict[str, tuple[str, pd.DataFrame]]:
    """By evaluator, its kind and its marks, cases by attributes; the people's reference first."""
    names = marks.attributes()
    columns = {PEOPLE: marks.reference()} if marks.people else {}
    columns |= {name: marks.table[name] for name in marks.kinds}
    found = {}
    for name, column in columns.items():
        wide = column.unstack("attribute").reindex(columns=names)
        if wide.notna().any(axis=None):
            found[name] = (marks.kinds.get(name, "people"), wide)
    return found


def correlations(marks: Marks) -> pd.DataFrame:
    """One row for each evaluator and two attributes: Spearman's rho over the cases, good being high on both."""
    rows = []
    for evaluator, (kind, wide) in grids(marks).items():
        values = wide.to_numpy(float)
        known = ~np.isnan(values)
        pairs = list(combinations(range(wide.shape[1]), 2))
        # Without gaps every pair has all cases, whose ranks and correlations are then taken at once.
        whole = _table(_ranks(values)) if known.all() and pairs else None
        for place, (i, j) in enumerate(pairs):
            both = values[known[:, i] & known[:, j]][:, [i, j]]
            rho, note = _spearman(both, None if whole is None else float(whole[place]))
            rows.append((evaluator, kind, wide.columns[i], wide.columns[j], rho, len(both), note))
    return pd.DataFrame(rows, columns=CORRELATIONS)


def halo(marks: Marks) -> pd.DataFrame:
    """One row for each evaluator: the mean correlation among its attributes, against the people's on the same cases.

    A positive `difference` is a halo: attributes that people tell apart go together. `apart` is the root mean
    squared distance between the two sets of correlations. Tested by swapping evaluator and people within cases or their
    groups; scores are ranked once. `p` is corrected by Holm's method over the evaluators.
    """
    everyone = grids(marks)
    people = everyone.get(PEOPLE)
    rows: list[dict[str, object]] = []
    for evaluator, (kind, wide) in everyone.items():
        if evaluator == PEOPLE:
            continue
        row = {"evaluator": evaluator, "kind": kind, "p": np.nan, "people": np.nan, "apart": np.nan}
        if people is None or wide.shape[1] < 2:
            why = "nobody rated the cases" if people is None else "one attribute correlates with nothing"
            each: Estimate = undefined(why, method=METHOD, n=len(wide))
            mean = _mean(_table(_ranks(wide.to_numpy(float)))) if wide.shape[1] > 1 else np.nan
            rows.append({**row, "mean": mean, **_cells(each)})
            continue
        reference = people[1]
        if kind == "person":
            reference = (
                marks.reference(without=[evaluator]).unstack("attribute").reindex(columns=wide.columns)
            )
        mine, theirs = wide.align(reference, join="inner", axis=0)
        both = mine.notna() & theirs.notna()
        held = both.any(axis=1)
        mine, theirs = mine.where(both)[held], theirs.where(both)[held]
        cluster, _ = pd.factorize(marks.clusters.reindex(mine.index))
        ranked = _ranks(mine.to_numpy(float)), _ranks(theirs.to_numpy(float))
        own, others = map(_table, ranked)
        apart = own - others
        known = ~np.isnan(apart)
        each, p = paired_difference(
            _mean_of_pairs(known),
            *ranked,
            cluster.astype(np.int64),
            method=METHOD,
            otherwise="too few cases or values to correlate"
            if held.any()
            else "nobody else rated these cases",
        )
        row |= {"p": p, "apart": float(np.sqrt((apart[known] ** 2).mean())) if known.any() else np.nan}
        row |= {"mean": _mean(own), "people": _mean(others)}
        rows.append({**row, **_cells(each)})
    table = pd.DataFrame(rows, columns=[name for name in HALO if name != "p_holm"])
    return table.assign(p_holm=holm(table["p"].tolist()))[HALO]


def _cells(each: Estimate) -> dict[str, object]:
    return {"difference": each.value, "low": each.low, "high": each.high, "n": each.n, "note": each.note}


def _spearman(both: FloatArray, known: float | None) -> tuple[float, str]:
    """Spearman's rho of two columns, unless it is known, and why it is NaN."""
    if len(both) < LEAST:
        return np.nan, f"{len(both)} cases have both; {LEAST} are needed"
    if not np.ptp(both, axis=0).all():
        return np.nan, "one value throughout, so there is nothing to correlate"
    return float(_table(_ranks(both))[0]) if known is None else known, ""


def _ranks(values: FloatArray) -> FloatArray:
    """Ranks by column, centred on the middle one; NaN stays."""
    ranked = np.full(values.shape, np.nan)
    for column in range(values.shape[1]):
        known = ~np.isnan(values[:, column])
        ranked[known, column] = mean_ranks(values[known, column]) - (known.sum() + 1) / 2
    return ranked


def _table(ranked: FloatArray) -> FloatArray:
    """The correlations of every two columns of ranks."""
    each = _of_sums(ranked)
    return each.value(each.sums.sum(axis=0, keepdims=True))[0]


def _mean(correlations: FloatArray) -> float:
    known = correlations[~np.isnan(correlations)]
    return float(known.mean()) if len(known) else np.nan


def _mean_of_pairs(chosen: npt.NDArray[np.bool_]) -> Coefficient:
    """The mean correlation over the `chosen` pairs of columns; after a swap, over those it leaves defined."""

    def coefficient(ranked: FloatArray) -> OfSums:
        each = _of_sums(ranked)

        def value(total: FloatArray) -> FloatArray:
            found = each.value(total).T if chosen.all() else each.value(total).T[chosen]
            summed = found.sum(axis=0)
            if len(found) and not np.isnan(summed).any():
                return summed / len(found)
            known = ~np.isnan(found)
            count = known.sum(axis=0)
            summed = np.where(known, found, 0.0).sum(axis=0)
            return np.divide(summed, count, out=np.full(len(count), np.nan), where=count > 0)

        return OfSums(each.sums, value)

    return coefficient


def _of_sums(ranked: FloatArray) -> OfSums:
    """Pearson's r of every two columns as a function of weighted sums, over the cases that have both."""
    pairs = list(combinations(range(ranked.shape[1]), 2))
    parts = []
    for i, j in pairs:
        both = ~np.isnan(ranked[:, i] + ranked[:, j])
        x, y = (np.where(both, ranked[:, column], 0.0) for column in (i, j))
        parts.append(np.column_stack([both, x, y, x * y, x * x, y * y]))
    every = np.hstack(parts) if parts else np.zeros((len(ranked), 0))
    # Without gaps most sums are the same for many pairs, and are taken once.
    places: dict[bytes, int] = {}
    where = np.array([places.setdefault(column.tobytes(), len(places)) for column in every.T], dtype=np.int64)
    _, first = np.unique(where, return_index=True)
    sums = every[:, first]

    n_, x_, y_, xy_, xx_, yy_ = (where[offset::6] for offset in range(6))
    # Each column's count, sum and sum of squares, once for all pairs that share them.
    sides, side = np.unique(
        np.concatenate([np.column_stack([n_, x_, xx_]), np.column_stack([n_, y_, yy_])]),
        axis=0,
        return_inverse=True,
    )
    left, right = side.reshape(2, -1)

    def value(total: FloatArray) -> FloatArray:
        # One row a pair, so that arithmetic runs along the many totals.
        rows = total.T
        n, x, squares = (rows[column] for column in sides.T)
        count = np.maximum(n, 1)
        mean = x / count
        spread = squares - x * mean
        spread[(n < LEAST) | (spread <= 1e-9 * count)] = np.nan
        found, bottom = rows[xy_], spread[left]
        found -= rows[x_] * mean[right]
        bottom *= spread[right]
        found /= np.sqrt(bottom, out=bottom)
        return np.clip(found, -1.0, 1.0, out=found).T

    return OfSums(sums, value)


def correlation_figure(correlations: pd.DataFrame, attributes: list[str]) -> Figure:
    """Below zero the shade is of another colour; attributes are numbered, their names stand in the margin."""
    side = (len(attributes) - 1) * CELL
    numbers = [Tick(0, str(number)) for number in range(1, len(attributes) + 1)]
    panels = []
    for evaluator, mine in list(correlations.groupby("evaluator", sort=False))[:MOST]:
        panel = Panel(
            name_axis(numbers[:-1]), name_axis(numbers[1:]), side, side, title=clip(str(evaluator), 30)
        )
        for first, second, rho in mine[["first", "second", "spearman"]].itertuples(index=False):
            column, row = sorted((attributes.index(first), attributes.index(second)))
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
    words = [text(8, 44 + place * 18, each, soft=True) for place, each in enumerate(listed)]
    return Picture(max(map(text_width, listed)) + 16, 44 + len(words) * 18, words)


def consistency_section(marks: Marks) -> Section:
    """The correlations among attributes, evaluator by evaluator, and whether anyone's are a halo."""
    names = marks.attributes()
    if len(names) < 2:
        why = "One attribute with an order correlates with nothing: internal consistency needs two."
        return Section("consistency", TITLE, (why,))
    found, summary = correlations(marks), halo(marks)
    said = summary[summary["kind"].isin(["jury", "single judge"])]
    sentences = [_sentence(row) for row in said.to_dict("records")]
    jurors = summary[(summary["kind"] == "juror") & (summary["p_holm"] < LEVEL)]
    sentences += [_sentence(row) for row in jurors.to_dict("records")]
    unrated = [name for name in names if marks.reference().xs(name, level="attribute").isna().all()]
    notes = (f"rated by no person, so not compared: {', '.join(unrated)}",) if unrated else ()
    return Section(
        "consistency",
        TITLE,
        tuple(sentences) or ("No arm has marks on two attributes of the same cases.",),
        {"halo": summary, "correlations": found},
        {
            "Spearman's rho between every two attributes, evaluator by evaluator, good being high on both.": correlation_figure(
                found, names
            )
        },
        (
            "Internal consistency is Spearman's rho between every two attributes over the cases an evaluator judged, each "
            "attribute turned so that good is high; its summary is their mean, set against that of the people's reference on "
            "the same scores (a person's against the others'), ranked once, tested by the jackknife over cases or their "
            "groups, and p corrected by Holm's method over the evaluators.",
        ),
        (*marks.notes, *notes),
    )


def _sentence(row: dict[Any, Any]) -> str:
    if math.isnan(row["difference"]):
        return f"{row['evaluator']}: internal consistency cannot be set against people's ({row['note']})."
    size = (
        f"mean rho {row['mean']:.2f} against people's {row['people']:.2f} (difference {row['difference']:+.2f}, "
        f"{interval_phrase(row['low'], row['high'], '+.2f')}"
    )
    size += f", Holm-corrected {p_words(row['p_holm'])})" if not math.isnan(row["p_holm"]) else ")"
    if not row["p_holm"] < LEVEL:
        return f"{row['evaluator']}'s attributes are not shown to go together more or less than people's: {size}."
    if row["difference"] > 0:
        return f"{row['evaluator']}'s attributes go together more than people's, as under a halo: {size}."
    return f"{row['evaluator']}'s attributes go together less than people's: {size}."


CONSISTENCY = Audit("consistency", lambda given, draws: consistency_section(given.marks), 50)
