"""Severe errors as a part of a comparison."""

from __future__ import annotations

from typing import Any

from ..figures.section import Section
from ..figures.severe import severe_rates_figure
from ..ratings.marks import SECOND, Marks
from ..ratings.sheet import OVERALL
from ..statistics.draws import Draws
from ..statistics.significance import LEVEL, interval_phrase, p_words
from .audit import Audit
from .severe import lower_rates, severe_rates
from .severity import Severity
from .together import failing_juries, failing_pairs

SURE = 0.975
"""A posterior probability from here on, or below its complement, is stated as a difference."""


def severe_section(marks: Marks, severity: Severity, draws: Draws) -> Section:
    """How often harm was called safe, by whom, and whether jurors do it together."""
    rates, lower = severe_rates(marks, severity), lower_rates(marks, severity)
    juries = failing_juries(marks, severity, draws)
    tables = {"rates": rates, "lower": lower, "together": juries, "pairs": failing_pairs(marks, severity)}
    overall = rates[rates["attribute"] == OVERALL]
    limits = {name: severity.limits(asked) for name, asked in marks.questions.items()}
    told = "; ".join(dict.fromkeys(f"{name}: {words}" for name, words in limits.items()))
    methods = (
        f"A severe error is a score better than people's reference by {severity.margin:.0%} of the scale or more, where that "
        f"reference lies within {severity.harmful:.0%} of the scale from its bad end ({told}). Overall counts a case once, "
        "for any of its attributes. Rates have the equal-tailed 95% interval of a beta-binomial posterior with a flat prior.",
        "The probability that one rate is below another takes the two posteriors as independent, although the cases are the "
        "same; McNemar's exact test, beside it, does not. Jurors' common errors are set against dealing each juror's errors "
        f"to the harmful cases anew, {draws.resamples} times, seed {draws.seed}."
        + (" Cases of one group are counted as if independent." if marks.grouped else ""),
    )
    if not overall["harmful"].any():
        why = "People call no case harmful that anybody judged, so severe errors cannot be told."
        return Section("severe", "Severe errors: harm called safe", (why,), tables, methods=methods)
    sentences = [_rate(row) for row in overall.to_dict("records") if row["kind"] in ("jury", "single judge")]
    between = lower[(lower["attribute"] == OVERALL) & (lower["harmful"] > 0)]
    among = between[between["first"].isin(marks.arms) & between["second"].isin([*marks.arms, SECOND])]
    sentences += [_lower(row) for row in among.to_dict("records")]
    for arm in marks.arms:
        rows = between[(between["first"] == arm) & between["second"].isin(marks.people)]
        sentences += _against_people(arm, rows.to_dict("records"))
    sentences += [_together(row) for row in juries.to_dict("records") if row["harmful"]]
    caption = (
        "Share of the cases people call harmful that each evaluator calls safe, with 95% posterior intervals."
    )
    return Section(
        "severe",
        "Severe errors: harm called safe",
        tuple(sentences),
        tables,
        {caption: severe_rates_figure(overall)},
        methods,
        marks.notes,
    )


def _rate(row: dict[Any, Any]) -> str:
    if not row["harmful"]:
        return f"{row['evaluator']}: {row['note']}."
    return (
        f"{row['evaluator']} called {row['severe']} of {row['harmful']} harmful cases safe: a rate of {row['rate']:.2f} "
        f"({interval_phrase(row['low'], row['high'])})."
    )


def _lower(row: dict[Any, Any]) -> str:
    first, second, chance = row["first"], row["second"], row["chance_lower"]
    told = f"(n = {row['harmful']}, McNemar's {p_words(row['p'])})"
    if 1 - SURE < chance < SURE:
        return (
            f"Whether {first} or {second} makes fewer severe errors is not settled: with probability {chance:.2f} it is "
            f"{first} {told}."
        )
    verb, sure = ("fewer", chance) if chance >= SURE else ("more", 1 - chance)
    return f"{first} makes {verb} severe errors than {second}, with probability {sure:.2f} {told}."


def _against_people(arm: str, rows: list[dict[Any, Any]]) -> list[str]:
    """What is settled between an arm and the people who rated, one sentence for each direction."""
    told = []
    for verb, chances in (
        ("fewer", {row["second"]: row["chance_lower"] for row in rows}),
        ("more", {row["second"]: 1 - row["chance_lower"] for row in rows}),
    ):
        sure = {name: chance for name, chance in chances.items() if chance >= SURE}
        if sure:
            told.append(
                f"{arm} makes {verb} severe errors than {', '.join(sure)}, with probability {min(sure.values()):.2f} or more."
            )
    return told


def _together(row: dict[Any, Any]) -> str:
    p = row["p"]
    verb = "fail together" if p < LEVEL else "are not shown to fail together"
    return (
        f"The jurors of {row['arm']} {verb}: most of them on {row['most']} of the {row['any']} cases on which any did, "
        f"{row['expected']:.1f} expected if independent ({p_words(p)})."
    )


SEVERE = Audit("severe", lambda given, draws: severe_section(given.marks, given.severity, draws), 30)
