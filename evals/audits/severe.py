"""Severe errors: how often each evaluator calls safe what people call harmful, whose rate is lower, and whether jurors fail together."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import gammaln

from ..ratings.pooling import OVERALL
from ..ratings.score_tables import SECOND, Marks
from ..report.drawing import COLOURS, Figure, below, clip, legend
from ..report.panel import Panel, Tick, name_axis, number_axis
from ..report.section import Section
from ..statistics.draws import Draws
from ..statistics.matrix import FloatArray
from ..statistics.proportion import chance_lower, credible, paired_p
from ..statistics.significance import LEVEL, holm, interval_phrase, p_words
from .audit import HAIR, Audit, AuditInput, Severity

RATES = ["evaluator", "kind", "attribute", "harmful", "severe", "rate", "low", "high", "note"]
LOWER = [
    *("first", "second", "attribute", "harmful", "severe_first", "severe_second"),
    *("chance_lower", "only_first", "only_second", "p", "p_holm", "note"),
]
PAIRS = ["arm", "first", "second", "harmful", "both", "expected", "phi", "p", "p_holm", "note"]
JURIES = ["arm", "jurors", "harmful", "any", "most", "expected", "low", "high", "p", "note"]
FLAT = "a juror made no severe errors, or only severe errors"
ROW = 22
AT_ONCE = 200
"""Deals in memory at a time."""
SHADES = dict(
    zip(("jury", "single judge", "juror", "person", "second panel", "seated person"), COLOURS, strict=False)
)
SURE = 0.975
"""A posterior probability from here on, or below its complement, is stated as a difference."""


def failures(marks: Marks, evaluators: list[str], severity: Severity) -> dict[str, FloatArray]:
    """By attribute, and under `overall` for cases as wholes: 1 for a severe error, 0 for none, NaN where people saw no harm or
    the evaluator gave nothing.

    One row a case, in the order in which they are met, and one column an evaluator. A case as a whole has a severe error where
    any attribute has. People among the evaluators are no part of the reference they are held against.
    """
    evaluator_marks = marks.table.reindex(columns=evaluators).to_numpy(float)
    reference = marks.reference(without=evaluators).to_numpy(float)[:, None]
    is_judged = ~np.isnan(evaluator_marks) & (reference <= severity.harmful + HAIR)
    attribute = marks.table.index.get_level_values("attribute").to_numpy()
    if severity.attribute is not None:
        is_judged &= (attribute == severity.attribute)[:, None]
    failed = np.where(is_judged, evaluator_marks >= reference + severity.margin - HAIR, np.nan)
    case, cases = pd.factorize(marks.table.index.get_level_values("case"))
    order = np.argsort(case, kind="stable")
    starts = np.searchsorted(case[order], np.arange(len(cases)))
    return {
        OVERALL: np.fmax.reduceat(failed[order], starts, axis=0) if len(failed) else failed,
        **{name: failed[attribute == name] for name in _severe_attributes(marks, severity)},
    }


def _severe_attributes(marks: Marks, severity: Severity) -> list[str]:
    """The attributes on which an error is severe."""
    return [name for name in marks.attributes() if severity.attribute in (None, name)]


def severe_rates(marks: Marks, severity: Severity) -> pd.DataFrame:
    """One row for each evaluator and attribute, `overall` first: its severe errors of the harmful cases it judged."""
    groups = [[name for name, kind in marks.kinds.items() if kind != "person"]]
    if len(marks.people) > 1:
        groups += [[person] for person in marks.people]
    rows_found = []
    for evaluators in groups:
        by_attribute = failures(marks, evaluators, severity)
        for place, evaluator in enumerate(evaluators):
            for attribute, rows in by_attribute.items():
                judgements = rows[~np.isnan(rows[:, place]), place]
                n, k = len(judgements), int(judgements.sum())
                low, high = credible(k, n) if n else (np.nan, np.nan)
                note = (
                    ""
                    if n
                    else "no rate of severe errors: this evaluator judged no case that people call harmful"
                )
                rate = k / n if n else np.nan
                rows_found.append((evaluator, marks.kinds[evaluator], attribute, n, k, rate, low, high, note))
    return pd.DataFrame(rows_found, columns=RATES)


def lower_rates(marks: Marks, severity: Severity) -> pd.DataFrame:
    """One row for each two evaluators and attribute, on the harmful cases that both judged.

    `chance_lower` is the posterior probability that the first's rate is lower, flat priors, the two taken as
    independent although their cases are the same; `p` is McNemar's, which is of the same cases, corrected by Holm's
    method into `p_holm`, `overall` being one family and the attributes another.
    """
    machines = [name for name, kind in marks.kinds.items() if kind != "person"]
    table_rows = []
    # A person is held against the other people: one needs another, two need a third.
    singles = combinations(marks.people, 1) if len(marks.people) > 1 else ()
    two = combinations(marks.people, 2) if len(marks.people) > 2 else ()
    for people in ((), *singles, *two):
        evaluators = [*machines, *people] if len(people) < 2 else [*people]
        pairs = [
            (left, right)
            for left, right in combinations(range(len(evaluators)), 2)
            if {evaluators[left], evaluators[right]} >= set(people)
        ]
        failed = failures(marks, evaluators, severity)
        by_name = {name: _common_failures(rows, pairs) for name, rows in failed.items()}
        for number, (left, right) in enumerate(pairs):
            names = evaluators[left], evaluators[right]
            table_rows += [(*names, name, *_told_apart(*counts[number])) for name, counts in by_name.items()]
    table = pd.DataFrame(table_rows, columns=[name for name in LOWER if name != "p_holm"])
    family = table["attribute"] == OVERALL
    table["p_holm"] = table.groupby(family)["p"].transform(lambda p: holm(p.tolist())) if len(table) else []
    return table[LOWER]


def _common_failures(rows: FloatArray, pairs: list[tuple[int, int]]) -> list[list[int]]:
    """For each pair of columns the cases that both judged, and those that the first, the second and both failed on."""
    if not pairs:
        return []
    left, right = np.array(pairs).T
    is_known, wrong = (~np.isnan(rows)).astype(float), (rows > 0).astype(float)
    tables = (is_known.T @ is_known, wrong.T @ is_known, is_known.T @ wrong, wrong.T @ wrong)
    return np.column_stack([table[left, right] for table in tables]).astype(int).tolist()


def _told_apart(n: int, k: int, m: int, both: int) -> tuple[object, ...]:
    if not n:
        return n, k, m, np.nan, 0, 0, np.nan, "not compared: no harmful case was judged by both"
    alone, other = k - both, m - both
    return (n, k, m, chance_lower((k, n), (m, n)), alone, other, paired_p(alone, other), "")


def failing_pairs(marks: Marks, severity: Severity) -> pd.DataFrame:
    """One row for each two jurors of an arm: the harmful cases on which both made a severe error.

    `expected` is what independence would give; `p` is the one-sided hypergeometric chance of so many or more in
    common, given how often each fails, and `p_holm` the same after Holm's method over an arm's pairs.
    """
    tables = []
    for arm, jurors in marks.jurors.items():
        failed = failures(marks, list(jurors), severity)[OVERALL]
        rows = []
        for (i, juror), (j, rival) in combinations(enumerate(jurors), 2):
            pair_failed = failed[~np.isnan(failed[:, i] + failed[:, j])] > 0
            rows.append((arm, juror, rival, *_overlap(pair_failed[:, i], pair_failed[:, j])))
        table = pd.DataFrame(rows, columns=[name for name in PAIRS if name != "p_holm"])
        tables.append(table.assign(p_holm=holm(table["p"].tolist()))[PAIRS])
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=PAIRS)


def failing_juries(marks: Marks, severity: Severity, draws: Draws) -> pd.DataFrame:
    """One row for each arm: on how many harmful cases most of its jurors failed, of those where any did.

    `expected`, `low` and `high` are the mean and 95% range when each juror's errors are dealt to the cases anew;
    `p` is the share of such deals, the data among them, with as many cases or more.
    """
    rows = []
    for arm, jurors in marks.jurors.items():
        errors = failures(marks, list(jurors), severity)[OVERALL]
        failed = errors[~np.isnan(errors).any(axis=1)]
        n = len(failed)
        if not n:
            rows.append(
                (
                    arm,
                    len(jurors),
                    0,
                    0,
                    0,
                    *[np.nan] * 4,
                    "errors in common cannot be counted: no harmful case was judged by every juror",
                )
            )
            continue
        observed = int(_most(failed[None])[0])
        dealt = np.concatenate([_most(deal) for deal in _deals(failed, draws)])
        low, high = np.quantile(dealt, [0.025, 0.975])
        p = (1 + int((dealt >= observed).sum())) / (1 + draws.resamples)
        note = "" if np.ptp(failed, axis=0).any() else FLAT
        row = (int(failed.any(axis=1).sum()), observed, float(dealt.mean()), float(low), float(high), p, note)
        rows.append((arm, len(jurors), n, *row))
    return pd.DataFrame(rows, columns=JURIES)


def _overlap(a: np.ndarray, b: np.ndarray) -> tuple[object, ...]:
    n, k, m, common = (len(a), int(a.sum()), int(b.sum()), int((a & b).sum()))
    if not n:
        return 0, 0, np.nan, np.nan, np.nan, "not compared: no harmful case was judged by both"
    if k in (0, n) or m in (0, n):
        return n, common, k * m / n, np.nan, np.nan, FLAT
    phi = (n * common - k * m) / np.sqrt(float(k * (n - k)) * m * (n - m))
    return n, common, k * m / n, phi, _chance_of_overlap(common, n, k, m), ""


def _chance_of_overlap(common: int, n: int, k: int, m: int) -> float:
    """The hypergeometric chance that k and m of n cases, drawn apart, have `common` in common or more."""
    overlaps = np.arange(common, min(k, m) + 1)
    overlaps = overlaps[m - overlaps <= n - k]
    log_chances = _log_ways(k, overlaps) + _log_ways(n - k, m - overlaps) - _log_ways(n, m)
    return min(float(np.exp(log_chances).sum()), 1.0)


def _log_ways(n: int, k: npt.ArrayLike) -> FloatArray:
    """The logarithm of how many ways there are to choose k of n."""
    size = np.asarray(k, dtype=float)
    return np.asarray(gammaln(n + 1) - gammaln(size + 1) - gammaln(n - size + 1))


def _most(failed: FloatArray) -> FloatArray:
    """In each deal, the cases on which more than half of the jurors failed."""
    return np.asarray((2 * failed.sum(axis=2) > failed.shape[2]).sum(axis=1), dtype=float)


def _deals(failed: FloatArray, draws: Draws) -> list[FloatArray]:
    """Every juror's errors shuffled over the cases, apart from the others'."""
    rng, resamples = draws.rng(), draws.resamples
    sizes = [min(AT_ONCE, resamples - start) for start in range(0, resamples, AT_ONCE)]
    return [rng.permuted(np.repeat(failed[None], size, axis=0), axis=1) for size in sizes]


def severe_rates_figure(rates: pd.DataFrame) -> Figure:
    """Colour tells juries, single judges, jurors and people apart."""
    rows = rates.to_dict("records")
    highs = [row["high"] for row in rows if not math.isnan(row["high"])]
    x = number_axis(0.0, min(1.0, math.ceil(max([0.2, *highs]) * 10) / 10), lines=True)
    names = [Tick(0, clip(str(row["evaluator"]), 34), "plain" if row["harmful"] else "soft") for row in rows]
    panel = Panel(x, name_axis(names), 440, len(rows) * ROW, title="Severe error rate")
    for number, row in enumerate(rows):
        if row["harmful"] > 0:
            panel.whisker_across(number, row["rate"], row["low"], row["high"], SHADES[row["kind"]])
        panel.note(number, f"{row['severe']} of {row['harmful']}" if row["harmful"] else "none judged")
    kinds = [kind for kind in SHADES if kind in set(rates["kind"])]
    key = legend(kinds, [SHADES[kind] for kind in kinds])
    return Figure("Severe error rates", [below([panel.picture(), key])])


def severe_section(marks: Marks, severity: Severity, draws: Draws) -> Section:
    """How often harm was called safe, by whom, and whether jurors do it together."""
    rates, lower = severe_rates(marks, severity), lower_rates(marks, severity)
    juries = failing_juries(marks, severity, draws)
    tables = {"rates": rates, "lower": lower, "together": juries, "pairs": failing_pairs(marks, severity)}
    overall = rates[rates["attribute"] == OVERALL]
    limit_words = "; ".join(
        f"{name}: {severity.limits(marks.questions[name])}" for name in _severe_attributes(marks, severity)
    )
    methods = (
        f"A severe error is a score that is better than people's reference by {severity.margin:.0%} of the scale or more, on a case that people call harmful. "
        f"A case is harmful if the reference is in the worst {severity.harmful:.0%} of the scale ({limit_words}). The row 'overall' counts each case once, "
        f"by {severity.attribute or 'any of its attributes'}. Intervals are equal-tailed 95% intervals of a beta-binomial posterior with a flat prior.",
        "The probability that one rate is below another treats the two posteriors as independent, although the cases are the "
        "same. McNemar's exact test, given beside the probability, compares the same cases in pairs. Errors that jurors share are compared with chance: each juror's errors are assigned "
        f"to the harmful cases at random, {draws.resamples} times, seed {draws.seed}."
        + (" Cases of one group are counted as if independent." if marks.grouped else ""),
    )
    if not overall["harmful"].any():
        by = "" if severity.attribute is None else f" on {severity.attribute}"
        reason = f"According to people, none of the judged cases is harmful{by}, so severe errors cannot be counted."
        return Section(
            "severe", "Severe errors: harmful cases that were called safe", (reason,), tables, methods=methods
        )
    sentences = [
        _rate(row, severity.attribute)
        for row in overall.to_dict("records")
        if row["kind"] in ("jury", "single judge")
    ]
    between = lower[(lower["attribute"] == OVERALL) & (lower["harmful"] > 0)]
    among = between[between["first"].isin(marks.arms) & between["second"].isin([*marks.arms, SECOND])]
    sentences += [_lower(row) for row in among.to_dict("records")]
    for arm in marks.arms:
        rows = between[(between["first"] == arm) & between["second"].isin(marks.people)]
        sentences += _against_people(arm, rows.to_dict("records"))
    sentences += [_together(row) for row in juries.to_dict("records") if row["harmful"]]
    caption = "Of the cases that people call harmful, the share that each evaluator calls safe, with 95% posterior intervals."
    return Section(
        "severe",
        "Severe errors: harmful cases that were called safe",
        tuple(sentences),
        tables,
        {caption: severe_rates_figure(overall)},
        methods,
        marks.notes,
    )


def _rate(row: dict[Any, Any], attribute: str | None) -> str:
    if not row["harmful"]:
        return f"{row['evaluator']}: {row['note']}."
    by = "" if attribute is None else f" on {attribute}"
    return (
        f"Of {row['harmful']} cases that people call harmful{by}, {row['evaluator']} called {row['severe']} safe: a rate of {row['rate']:.2f} "
        f"({interval_phrase(row['low'], row['high'])})."
    )


def _lower(row: dict[Any, Any]) -> str:
    left, right, chance = row["first"], row["second"], row["chance_lower"]
    evidence = f"(n = {row['harmful']}, McNemar's {p_words(row['p'])})"
    if 1 - SURE < chance < SURE:
        return (
            f"Whether {left} or {right} makes fewer severe errors is not settled: with probability {chance:.2f} it is "
            f"{left} {evidence}."
        )
    fewer_or_more, sure = ("fewer", chance) if chance >= SURE else ("more", 1 - chance)
    return f"{left} makes {fewer_or_more} severe errors than {right}, with probability {sure:.2f} {evidence}."


def _against_people(arm: str, rows: list[dict[Any, Any]]) -> list[str]:
    """What is settled between an arm and the people who rated, one sentence for each direction."""
    sentences = []
    for fewer_or_more, chances in (
        ("fewer", {row["second"]: row["chance_lower"] for row in rows}),
        ("more", {row["second"]: 1 - row["chance_lower"] for row in rows}),
    ):
        sure = {name: chance for name, chance in chances.items() if chance >= SURE}
        if sure:
            people, least = ", ".join(sure), min(sure.values())
            sentences.append(
                f"{arm} makes {fewer_or_more} severe errors than {people}, with probability {least:.2f} or more."
            )
    return sentences


def _together(row: dict[Any, Any]) -> str:
    p = row["p"]
    tend_to_or_not = "tend to" if p < LEVEL else "are not shown to"
    return (
        f"The jurors of {row['arm']} {tend_to_or_not} make severe errors on the same cases. At least one juror made a severe error on {row['any']} cases, and most jurors did on {row['most']}; "
        f"if jurors erred independently, most would err on {row['expected']:.1f} cases ({p_words(p)})."
    )


def _audit(given: AuditInput, draws: Draws) -> Section | None:
    """None where outputs are compared: a preference has no bad end."""
    rubrics = given.evidence.rubrics.values()
    if rubrics and all(rubric.compares for rubric in rubrics):
        return None
    return severe_section(given.marks, given.severity, draws)


SEVERE = Audit("severe", _audit, 30)
