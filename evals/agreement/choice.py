"""Which coefficient to report for a design: how many raters, whether all rated everything, what the scale is."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from ..statistics.estimate import Estimate
from .coefficient import is_text

DOMINANT = 0.75
"""From this share of all ratings on, one value leaves so little to agree on beyond chance that kappa and alpha collapse."""
SHORT = 12
"""Numbers of so few distinct values are taken for an ordinal scale where no level is declared."""


STANDS_IN = {"ac2": "AC2", "ac1": "AC1", "percent": "percent agreement", "exact": "exact agreement"}
"""What is told beside a coefficient that has no interval, the first that has one."""


class Choice(NamedTuple):
    """The coefficient to report, and why this one; no coefficient where there is nothing to report."""

    coefficient: str | None
    why: str


def assumed_level(values: pd.Series) -> str:
    """The level of values whose scale nobody declared: words are nominal, a few numbers ordinal, others an interval."""
    if is_text(values.dropna()):
        return "nominal"
    return "ordinal" if values.nunique() <= SHORT else "interval"


def coefficient_choice(ratings: pd.DataFrame, level: str | None, found: dict[str, Estimate]) -> Choice:
    """The coefficient that fits the design, of those that are defined.

    Args:
        ratings: Columns `case`, `rater`, `value`, of one attribute.
        level: As declared; None where it is not.
        found: The coefficients of these ratings.
    """
    known = ratings.dropna(subset=["value"])
    raters, cases = known["rater"].nunique(), known["case"].nunique()
    if raters < 2 or not known["case"].duplicated().any():
        return Choice(None, "no case has the ratings of two raters")
    share = float(known["value"].value_counts(normalize=True).iloc[0])
    if share == 1:
        return Choice(None, "everyone gave one value throughout: say that, for no coefficient can")
    whole = len(known) == raters * cases
    words = is_text(known["value"])
    unordered = level in ("nominal", "binary") or (level is None and words)
    short = level == "ordinal" or (level is None and known["value"].nunique() <= SHORT)
    who = f"{raters} raters of {cases} cases" + ("" if whole else ", not all of whom rated every case")
    for name, why in _candidates(unordered, short, whole, raters, share):
        if name in found and found[name].defined:
            return Choice(name, f"{who}; {why}")
    return Choice(None, "no coefficient that fits the design is defined; the table says why")


def beside_refused(estimates: dict[str, Estimate]) -> dict[str, Estimate]:
    """The estimates, those whose raters depart together too seldom for an interval with one beside them that has its own."""
    sure = next(
        (name for name in STANDS_IN if name in estimates and estimates[name].low < estimates[name].high), None
    )
    if sure is None:
        return estimates
    beside = estimates[sure]
    words = f"{STANDS_IN[sure]} is {beside.value:.2f} [{beside.low:.2f}, {beside.high:.2f}]"
    return {
        name: replace(each, note=f"{each.note}; {words}") if "depart together" in each.note else each
        for name, each in estimates.items()
    }


def _candidates(
    unordered: bool, short: bool, whole: bool, raters: int, share: float
) -> list[tuple[str, str]]:
    """Coefficients that fit, best first, each with the reason."""
    ranked: list[tuple[str, str]] = []
    if share >= DOMINANT and (unordered or short):
        name = "ac1" if unordered else "ac2"
        ranked.append((name, f"one value is {share:.0%} of all ratings, where kappa and alpha collapse and {name.upper()} does not"))  # fmt: skip
    if unordered:
        if whole and raters == 2:
            ranked.append(("kappa", "categories without an order, beyond what both raters' habits give by chance"))  # fmt: skip
        if whole and raters > 2:
            ranked.append(("fleiss", "categories without an order, more than two raters"))
        return [*ranked, ("alpha_nominal", "alpha takes any number of raters and missing ratings")]
    if short:
        if whole and raters == 2:
            ranked.append(("kappa_quadratic", "an ordered scale: a miss by two counts four times a miss by one"))  # fmt: skip
        return [*ranked, ("alpha_ordinal", "an ordered scale whose steps need not be equal; alpha takes any number of raters and missing ratings")]  # fmt: skip
    if whole:
        ranked.append(("icc2", "numbers with equal steps, absolute agreement of one rating by raters who stand for others like them; where their mean is used, report icc2k too"))  # fmt: skip
    return [*ranked, ("alpha_interval", "numbers with equal steps; alpha takes missing ratings")]
