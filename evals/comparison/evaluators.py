"""Every evaluator by itself: jurors, juries and panels against people, and each against each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from ..agreement.against_people import AGAINST_PEOPLE
from ..ratings.pooling import OVERALL, pooling
from ..ratings.score_tables import ARM, PEOPLE, SECOND, Marks, pairs
from ..report.drawing import INK, Figure, below, beside, legend, series_colour
from ..report.panel import DASHED, Panel, number_axis, padded_range
from ..report.section import Section
from ..statistics.chance import cohen_kappa
from ..statistics.correlation import spearman
from ..statistics.error import offset, rmse
from ..statistics.estimate import Estimate
from ..statistics.matrix import IntArray

SIDE = 200
ACROSS = 3


def evaluators_figure(pairs: pd.DataFrame) -> Figure:
    """One panel an attribute, kinds of pairs by colour; on the dashed line rho and kappa are equal.

    Args:
        pairs: Columns `group`, `attribute`, `spearman`, `kappa_quadratic`.
    """
    known = pairs.dropna(subset=["spearman", "kappa_quadratic"])
    groups = list(dict.fromkeys(known["group"]))
    low, high = padded_range([*known["spearman"], *known["kappa_quadratic"]])
    panels = []
    for attribute, rows in known.groupby("attribute", sort=False):
        x = number_axis(low, high, about=4, title="quadratic kappa")
        panel = Panel(
            x, number_axis(low, high, about=4, title="Spearman", lines=True), SIDE, SIDE, title=str(attribute)
        )
        panel.line([(low, low), (high, high)], INK, width=1, dashes=DASHED)
        for row in rows.to_dict("records"):
            panel.point(
                row["kappa_quadratic"], row["spearman"], series_colour(groups.index(row["group"])), radius=4
            )
        panels.append(panel.picture())
    blocks = [beside(panels[at : at + ACROSS]) for at in range(0, len(panels), ACROSS)]
    return Figure(
        "Who agrees with whom",
        [*blocks, below([legend(groups, [series_colour(n) for n in range(len(groups))])])],
    )


TITLE = "Each evaluator: offset, error and agreement, and who agrees with whom"
FIRST = "people"
COLUMNS = ["evaluator", "kind", "attribute", "measure", "value", "low", "high", "n", "note"]
PAIRS = ["first", "second", "group", "attribute", "spearman", "kappa_quadratic", "n", "note"]
JURORS, PANELS, BETWEEN = "jurors", "panels", "panel and juror"
MEASURES: Mapping[str, Callable[..., Estimate]] = {
    "offset": offset,
    "rmse": rmse,
    "spearman": spearman,
    "kappa_quadratic": lambda table, **how: cohen_kappa(table, weighting="quadratic", **how),
}


def evaluators_section(marks: Marks) -> Section:
    """Offset, RMSE, Spearman and quadratic kappa of every juror, arm and second panel with people; and of every two of them."""
    points = _points(marks)
    table, among = _against_people(points, marks), _among(points, marks)
    whole = table[(table["attribute"] == OVERALL) & (table["measure"] == "offset")]
    sentences = [_offset_sentence(row) for row in whole.to_dict("records") if row["kind"] != "person"]
    sentences += _worst_juror(table)
    figures = {
        "Spearman's rho against quadratic kappa, for every two evaluators. Above the diagonal, two evaluators agree more on the order of cases "
        "than on their scores.": evaluators_figure(among)
    } if among["spearman"].notna().any() else {}  # fmt: skip
    methods = (
        "Evaluators are the arms, each juror of a jury (the median of its repeats), and panels of people: the reference, and the second panel if there is one. Scores are "
        f"reversed where needed, so that high is good. 'Overall' pools the attributes that share a scale ({', '.join(_pooled_names(marks))}). Intervals are by the jackknife over cases or "
        "groups.",
    )
    return Section(
        "evaluators",
        TITLE,
        tuple(sentences),
        {"against_people": table, "pairs": among},
        figures,
        methods,
        marks.notes,
    )


def _pooled_names(marks: Marks) -> tuple[str, ...]:
    return pooling(marks.questions, set(marks.attributes())).names


def _points(marks: Marks) -> pd.DataFrame:
    """Every evaluator's scores in points of its scale, high being good, with people's reference as one more."""
    table = marks.table.assign(**{FIRST: marks.reference()})
    names = table.index.get_level_values("attribute")
    ends = np.array(
        [tuple(map(float, marks.questions[name].scale.ends)) for name in names], dtype=float
    ).reshape(-1, 2)
    return table.mul(ends[:, 1] - ends[:, 0], axis=0).add(ends[:, 0], axis=0)


def _parts(points: pd.DataFrame, marks: Marks) -> dict[str, pd.DataFrame]:
    """By attribute its rows, under `overall` those of the attributes that share a scale."""
    names = points.index.get_level_values("attribute")
    whole = {OVERALL: points[names.isin(_pooled_names(marks))]}
    return whole | {name: points[names == name] for name in marks.attributes()}


def _clusters(part: pd.DataFrame, marks: Marks) -> IntArray:
    """For each row what is resampled with it."""
    return pd.factorize(marks.clusters.reindex(part.index.get_level_values("case")))[0].astype(np.int64)


def _against_people(points: pd.DataFrame, marks: Marks) -> pd.DataFrame:
    found = []
    parts = _parts(points, marks)
    clusters = {attribute: _clusters(part, marks) for attribute, part in parts.items()}
    for name, kind in marks.kinds.items():
        if kind == "person":
            continue
        for attribute, part in parts.items():
            grid = pairs(clusters[attribute], part[name], part[FIRST])
            for measure, estimate in MEASURES.items() if grid.cases else ():
                each = estimate(grid, jackknife=AGAINST_PEOPLE, raters=(ARM, PEOPLE))
                found.append(
                    (name, kind, attribute, measure, each.value, each.low, each.high, each.n, each.note)
                )
    return pd.DataFrame(found, columns=COLUMNS)


def _among(points: pd.DataFrame, marks: Marks) -> pd.DataFrame:
    """One row for each two jurors or panels and attribute; arms of several seats are not among them, for they are their jurors'."""
    seats = [name for name, kind in marks.kinds.items() if kind == "juror"]
    alone = [name for name in marks.arms if name not in marks.jurors]
    panels = [FIRST, *([SECOND] if SECOND in points else [])]
    found = []
    parts = _parts(points, marks)
    clusters = {attribute: _clusters(part, marks) for attribute, part in parts.items()}
    for first, second in combinations([*panels, *seats, *alone], 2):
        group = PANELS if second in panels else BETWEEN if first in panels else JURORS
        for attribute, part in parts.items():
            grid = pairs(clusters[attribute], part[first], part[second])
            n = len(grid.cases)
            if n < 2:
                found.append(
                    (
                        first,
                        second,
                        group,
                        attribute,
                        np.nan,
                        np.nan,
                        n,
                        "the two evaluators have fewer than two scores in common",
                    )
                )
                continue
            rho = spearman(grid, jackknife=AGAINST_PEOPLE, raters=(ARM, PEOPLE))
            kappa = cohen_kappa(grid, weighting="quadratic", jackknife=AGAINST_PEOPLE, raters=(ARM, PEOPLE))
            told = "" if rho.defined else rho.note
            found.append((first, second, group, attribute, rho.value, kappa.value, n, told))
    return pd.DataFrame(found, columns=PAIRS)


def _offset_sentence(row: dict[object, object]) -> str:
    value, low, high = (float(str(row[name])) for name in ("value", "low", "high"))
    name = row["evaluator"]
    if np.isnan(low):
        return f"{name}'s scores differ from people's by {value:+.2f} points on average ({row['note'] or 'no interval'})."
    size = f"mean difference {value:+.2f} points (95% interval {low:+.2f} to {high:+.2f}, n = {row['n']})"
    if low <= 0 <= high:
        return f"{name} is not shown to score higher or lower than people: {size}."
    return f"{name} scores {'higher' if value > 0 else 'lower'} than people: {size}."


def _worst_juror(table: pd.DataFrame) -> list[str]:
    """The juror that agrees least with people, where its interval lies below every other juror's value."""
    rows = table[
        (table["kind"] == "juror") & (table["attribute"] == OVERALL) & (table["measure"] == "spearman")
    ].dropna(subset=["value"])
    if len(rows) < 2:
        return []
    ordered = rows.sort_values("value", kind="stable").to_dict("records")
    last, least = ordered[0], ordered[1]["value"]
    if not last["high"] < least:
        return ["No juror is shown to agree worse with people than all other jurors do."]
    return [
        f"{last['evaluator']} agrees worst with people: Spearman's rho {last['value']:.2f} (95% interval {last['low']:.2f} to {last['high']:.2f}); "
        f"all other jurors have a rho of {least:.2f} or more."
    ]
