"""Arms, persons and text baselines beside people's reference, as tables: coefficients, ICC(3,k), levels, gaps, confusion, kappa of every two raters, an arm among people, and two arms against the same people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ...rubrics.errors import MissingExtra, count_words
from ..agreement.against_people import AGAINST_PEOPLE, ICC_COLUMNS, coefficients, icc3k_cells, nothing
from ..metrics.metric import Progress, chosen_metrics, registered_metrics
from ..metrics.normalisation import Normalisation
from ..ratings.pooling import OVERALL, pooling
from ..ratings.question import nearest_legal
from ..ratings.score_tables import ARM, CONSTANT, PEOPLE, TIE, Scores, Sheet, pairs, scores
from ..statistics.chance import cohen_kappa
from ..statistics.classical_tests import differences, wilcoxon_signed_rank
from ..statistics.contrast import Contrast, IccChange, as_extra_rater, as_substitute, paired_difference
from ..statistics.correlation import spearman
from ..statistics.error import mae_statistic
from ..statistics.estimate import Estimate, undefined
from ..statistics.gate import OPEN, SQUARED, Gate
from ..statistics.icc import Interval, icc_coefficient
from ..statistics.matrix import Matrix
from ..statistics.significance import LEVEL, holm, p_words, signed_number
from ..statistics.weighted import Coefficient


def arm_agreement(sheet: Sheet, arm: str, kind: str) -> dict[str, dict[str, Estimate]]:
    """By attribute, `overall` first, every coefficient of one arm, person or baseline with the people's reference."""
    found = {}
    for attribute in (OVERALL, *sheet.questions):
        rows, asked = sheet.of(attribute), sheet.scale_question(attribute)
        if asked is None or rows.empty:
            found[attribute] = nothing("no person rated it")
        elif kind == "text overlap":
            found[attribute] = _by_overlap(sheet, arm, rows, attribute)
        else:
            people = sheet.reference(attribute, without=arm if kind == "person" else None)
            estimates = coefficients(pairs(rows["cluster"], rows[arm], people), asked.scale)
            rated, unit = int(people.notna().sum()), "scores" if attribute == OVERALL else "cases"
            found[attribute] = {name: each.out_of(rated, unit) for name, each in estimates.items()}
    return found


def _by_overlap(sheet: Sheet, arm: str, rows: pd.DataFrame, attribute: str) -> dict[str, Estimate]:
    """Overlap gives an order and no scores: of cases by an attribute, or by the mean of all, good being high."""
    found = nothing(
        "not available for text overlap: it puts cases in an order, but gives no scores on the rubric's scale"
    )
    people = pd.to_numeric(sheet.references[None].loc[rows.index], errors="coerce")
    if attribute == OVERALL:
        upright = pooling(sheet.questions, sheet.pooling.names, good_is_high=True)
        people = upright.turn(people, rows["attribute"])
        mean = people.groupby(rows["case"]).mean()
        rows = rows.drop_duplicates("case").set_index("case", drop=False)
        people = mean.reindex(rows.index)
    overlap = rows["case"].map(sheet.overlap[arm])
    grid = pairs(rows["cluster"], overlap, people)
    if not grid.cases:
        return nothing("no case has both a reference text and people's scores")
    return found | {"spearman": spearman(grid, jackknife=AGAINST_PEOPLE, raters=(ARM, PEOPLE))}


Numeric = list[tuple[str, str, Matrix]]
"""Arm, attribute, and the two raters `arm` and `people`."""


def numeric_pairs(sheet: Sheet) -> Numeric:
    """Each arm of the run with each attribute that holds numbers, and their pairs with people."""
    numbers = {attribute: scores(sheet, attribute) for attribute in (OVERALL, *sheet.questions)}
    return [
        (arm, attribute, given.pairs(arm))
        for arm in (*sheet.arms, sheet.floor)
        for attribute, given in numbers.items()
        if given is not None
    ]


def icc3k_table(numeric: Numeric, interval: Interval) -> pd.DataFrame:
    """By arm and attribute: ICC(3,k) with its interval, by the jackknife or the published F."""
    rows = [
        {"arm": arm, "attribute": attribute, **icc3k_cells(grid, interval)}
        for arm, attribute, grid in numeric
        if arm not in (CONSTANT, TIE)
    ]
    return pd.DataFrame(rows, columns=["arm", "attribute", *ICC_COLUMNS])


def signed_ranks_table(numeric: Numeric) -> pd.DataFrame:
    """By arm and attribute: Wilcoxon's test, the median difference from people and its quartiles."""
    columns = ["arm", "attribute", "median", "q1", "q3", "statistic", "p", "n", "note"]
    rows: list[tuple[object, ...]] = []
    for arm, attribute, grid in numeric:
        if not grid.cases:
            rows.append((arm, attribute, *[np.nan] * 5, 0, "no case was scored by both the arm and people"))
            continue
        found = wilcoxon_signed_rank(grid, raters=(ARM, PEOPLE))
        tested = (found.median.value, *found.quartiles, found.statistic, found.p)
        rows.append((arm, attribute, *tested, found.n, found.note))
    return pd.DataFrame(rows, columns=columns)


def gaps_table(numeric: Numeric) -> pd.DataFrame:
    """By arm and attribute: how often the arm stood how far above people."""
    parts = [
        differences(grid, raters=(ARM, PEOPLE)).assign(arm=arm, attribute=attribute)
        for arm, attribute, grid in numeric
        if grid.cases
    ]
    columns = ["arm", "attribute", "difference", "count", "share"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def confusion_table(sheet: Sheet, numeric: Numeric) -> pd.DataFrame:
    """By arm and attribute: how often each value met each of people's; a score between two values counts as the nearest."""
    parts = []
    for arm, attribute, grid in numeric:
        asked = sheet.scale_question(attribute)
        if asked is None or not asked.scale.values or not grid.cases:
            continue
        legal = [float(value) for value in asked.scale.values]
        met = Counter(map(tuple, nearest_legal(grid.values, legal).tolist()))
        parts += [(arm, attribute, mine, theirs, met[mine, theirs]) for mine in legal for theirs in legal]
    columns = ["arm", "attribute", "arm_value", "people_value", "count"]
    return pd.DataFrame(parts, columns=columns)


def kappa_table(sheet: Sheet) -> pd.DataFrame:
    """Quadratic and plain kappa of every two raters, people and arms, on the attributes that `overall` pools."""
    rows = sheet.of(OVERALL)
    raters = (*sheet.people, *sheet.arms)
    numbers = {name: pd.to_numeric(rows[name], errors="coerce") for name in raters}
    found = []
    for first, second in combinations(raters, 2):
        grid = pairs(rows["cluster"], numbers[first], numbers[second])
        how: dict[str, Any] = {"jackknife": AGAINST_PEOPLE, "raters": (ARM, PEOPLE)}
        kappa = cohen_kappa(grid, weighting="quadratic", **how) if grid.cases else None
        plain = cohen_kappa(grid, **how) if grid.cases else None
        found.append(
            {
                "first": first,
                "second": second,
                "kappa_quadratic": kappa.value if kappa else np.nan,
                "kappa": plain.value if plain else np.nan,
                "n": len(grid.cases),
                "note": kappa.note if kappa and not kappa.defined else "" if kappa else "no score in common",
            }
        )
    return pd.DataFrame(found, columns=["first", "second", "kappa_quadratic", "kappa", "n", "note"])


COLUMNS = ["arm", "role", "before", "after", "change", "low", "high", "p", "n", "note"]
EXTRA = "extra rater"


def panels(sheet: Sheet) -> tuple[pd.DataFrame, str]:
    """One row for each arm and seat: the people's ICC(3,k) before and after, the change and its two-sided p.

    Only scores that everyone gave, the arm among them, on the attributes that `overall` pools. The second
    value says why the table is empty, should it be.
    """
    if len(sheet.people) < 2:
        return pd.DataFrame(
            columns=COLUMNS
        ), "an arm can be compared with people as one more rater only if two or more people rated"
    rows = sheet.of(OVERALL)
    unit, cluster = np.arange(len(rows)), pd.factorize(rows["cluster"])[0]
    found = []
    for arm in sheet.arms:
        table = pd.concat(
            [
                pd.DataFrame(
                    {
                        "case": unit,
                        "cluster": cluster,
                        "rater": rater,
                        "value": pd.to_numeric(rows[rater], errors="coerce").to_numpy(),
                    }
                )
                for rater in (*sheet.people, arm)
            ],
            ignore_index=True,
        )
        if table[table["rater"] == arm]["value"].notna().sum() == 0:
            continue
        table = table[table["rater"].isin(table[table["value"].notna()]["rater"].unique())]
        extra = as_extra_rater(table, jury=arm, by="cluster")
        found.append(_row(arm, EXTRA, extra))
        swaps = as_substitute(table, jury=arm, by="cluster")
        found += [_row(arm, f"in place of {person}", change) for person, change in swaps.items()]
    return pd.DataFrame(found, columns=COLUMNS), ""


def _row(arm: str, role: str, change: IccChange) -> dict[str, object]:
    return {
        "arm": arm,
        "role": role,
        "before": change.before,
        "after": change.after,
        "change": change.change.value,
        "low": change.change.low,
        "high": change.change.high,
        "p": change.p,
        "n": change.change.n,
        "note": change.change.note,
    }


def text_baselines(
    pairs: Sequence[tuple[str, str]],
    *,
    progress: Progress | None = None,
    more: Sequence[str] = (),
    normal: Normalisation | None = None,
) -> tuple[pd.DataFrame, list[str]]:
    """Every registered baseline of each output beside its reference, a column for each, and what is left out.

    An error rate is turned (one minus the rate), so that high is good in every column.

    Args:
        progress: Told how many tokens were read, of how many, by a metric that takes its time.
        more: Names of further metrics, which both texts are normalised for.
        normal: How; without it they are taken as they are.
    """
    measured, notes = pd.DataFrame(index=range(len(pairs))), []
    for metric in registered_metrics():
        if metric.baseline:
            try:
                found = pd.DataFrame(metric.measure(pairs, progress), dtype=float)
            except MissingExtra as absent:
                notes.append(
                    f"text overlap by {metric.title} is left out: {absent.problem} ({absent.remedy})"
                )
            else:
                measured = measured.join(found.add_prefix("text overlap (").add_suffix(")"))
    for metric in chosen_metrics(more) if more else ():
        given = [(normal(output), normal(reference)) for output, reference in pairs] if normal else pairs
        try:
            columns = metric.measure(given, progress)
        except MissingExtra as absent:
            notes.append(f"the metric {metric.name} is left out: {absent.problem} ({absent.remedy})")
            continue
        values = pd.Series(
            columns[metric.value] if metric.value else next(iter(columns.values())), dtype=float
        )
        if metric.direction == "low":
            measured[f"metric (1 - {metric.name})"] = 1 - values
        else:
            measured[f"metric ({metric.name})"] = values
    return measured, notes


WORDS = {"absolute error": "mean absolute error", "icc3k": "ICC(3,k)"}
MEASURES: Mapping[str, tuple[Coefficient, Gate]] = {
    "absolute error": (lambda rows: mae_statistic(rows[:, 0], rows[:, 1]), OPEN),
    "icc3k": (icc_coefficient("icc3k"), SQUARED),
}
"""Each measure of an arm's scores beside the people's, and what it needs for an interval."""


def contrasts(sheet: Sheet) -> pd.DataFrame:
    """One row for each two arms, attribute and measure: the first's minus the second's.

    A negative difference in absolute error, or a positive one in ICC(3,k), says that the first agrees better.
    Both arms are judged on the cases both scored. `p` is corrected by Holm's method into `p_holm` over all pairs of
    arms and both measures; `overall` is one family, the attributes another. Interval and p are of one
    jackknife over cases or their groups.
    """
    rows = []
    numbers = {attribute: scores(sheet, attribute) for attribute in (OVERALL, *sheet.questions)}
    for first, second in combinations((*sheet.arms, sheet.floor), 2):
        for attribute, each in numbers.items():
            for measure in MEASURES:
                found, p = _difference(each, first, second, measure)
                rows.append(
                    {
                        "first": first,
                        "second": second,
                        "attribute": attribute,
                        "measure": measure,
                        "value": found.value,
                        "low": found.low,
                        "high": found.high,
                        "n": found.n,
                        "p": p,
                        "method": found.method,
                        "note": found.note,
                    }
                )
    table = pd.DataFrame(rows)
    family = table["attribute"] == OVERALL
    corrected = table.groupby(family)["p"].transform(lambda p: holm(p.tolist()))
    table.insert(list(table.columns).index("p") + 1, "p_holm", corrected)
    return table


def sentences(table: pd.DataFrame) -> list[str]:
    """What the overall contrasts allow to be said, and what they do not."""
    overall = table[table["attribute"] == OVERALL]
    tests = int(overall["p"].notna().sum())
    return [_sentence(row, tests) for row in overall.to_dict("records")]


def _difference(given: Scores | None, first: str, second: str, measure: str) -> Contrast:
    """The measure of the first arm minus that of the second, on the questions that both and people answered."""
    method = f"difference in {WORDS[measure]}"
    if given is None:
        return Contrast(
            undefined("this measure needs numbers, but the values are words", method=method), np.nan
        )
    one, other, people = given.by_rater[first], given.by_rater[second], given.people
    whole = ~np.isnan(one + other + people)
    if whole.sum() < 2:
        few = f"{count_words(int(whole.sum()), 'score')} that both arms and people gave; two are needed"
        return Contrast(undefined(few, method=method, n=int(whole.sum())), np.nan)
    coefficient, gate = MEASURES[measure]
    return paired_difference(
        coefficient,
        np.column_stack([one[whole], people[whole]]),
        np.column_stack([other[whole], people[whole]]),
        np.unique(given.cluster[whole], return_inverse=True)[1].astype(np.int64),
        method=method,
        otherwise="not computed: people gave every case the same value",
        gate=gate,
    )


def _sentence(row: Mapping[Hashable, Any], tests: int) -> str:
    """What interval and p of one contrast say; where only the correction for many tests forbids a claim, that too."""
    first, second, measure = row["first"], row["second"], row["measure"]
    value, low, high, p, corrected = (float(row[name]) for name in ("value", "low", "high", "p", "p_holm"))
    if np.isnan(p):
        return f"{first} and {second} cannot be compared by {WORDS[measure]}: {row['note']}."
    if np.isnan(low) and p == 1:
        return f"{first} and {second} have the same {WORDS[measure]} against people on every case, n = {row['n']} scores."
    interval = (
        "both are the same on every case"
        if np.isnan(low)
        else f"95% interval {signed_number(low)} to {signed_number(high)}"
    )
    size = (
        f"difference in {WORDS[measure]} {signed_number(value)} ({interval}, n = {row['n']} scores, "
        f"{p_words(p)}, Holm-corrected {p_words(corrected)})"
    )
    if p >= LEVEL:
        return f"{first} is not shown to differ from {second}: {size}."
    nearer = (value < 0) == (measure == "absolute error")
    agrees_better_or_worse = "agrees better" if nearer else "agrees worse"
    if corrected >= LEVEL:
        return (
            f"{first} {agrees_better_or_worse} with people than {second} as a single comparison, but not after correction for "
            f"{tests} comparisons: {size}."
        )
    return f"{first} {agrees_better_or_worse} with people than {second}: {size}."
