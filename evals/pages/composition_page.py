"""The report of a study of compositions: the advice, then what it rests on, then how it was done."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from ..selection import Composition
from .markup import Html, fragment
from .parts import figure, folded, items, page, paragraph, section, subheading, table

CAPTIONS = {
    "frontier": "Agreement with people against cost. Dashed: the front, where more agreement costs more. Intervals are 95%.",
    "growth": "Agreement against the size of the jury. Bands are 95% intervals for other cases.",
    "contributions": "What each juror adds on average over all juries that could be.",
}
HEADS: Mapping[str, Mapping[str, str]] = {
    "answers": {"what": "", "value": "value", "low": "low", "high": "high", "n": "n", "p": "p", "method": "", "note": ""},
    "frontier": {"arm": "arm", "kind": "kind", "front": "on the front", "score": "agreement", "low": "low", "high": "high",
                 "answered": "answered", "cost": "cost", "seconds": "seconds", "n": "n", "jurors": "who sits"},
    "noise": {"arm": "best at this cost", "arms": "arms at it", "cost": "cost", "value": "best minus it", "low": "low", "high": "high",
              "p": "p", "n": "n", "within": "within noise"},
    "selection": {"fold": "fold", "size": "size", "jurors": "jury", "chosen_on": "where chosen", "held_out": "held out",
                  "single": "single judge", "single_chosen_on": "where chosen", "single_held_out": "held out", "n": "n"},
    "jurors": {"juror": "juror", "in_jury": "in the jury", "score": "alone", "low": "low", "high": "high", "answered": "answered", "cost": "cost",
               "leave_one_out": "leave one out", "leave_one_out_low": "low", "leave_one_out_high": "high",
               "shapley": "Shapley", "shapley_low": "low", "shapley_high": "high", "shapley_se": "sampling error"},
    "independence": {"jury": "jury", "jurors": "jurors", "correlation": "mean correlation", "effective": "worth, in independent jurors",
                     "low": "low", "high": "high", "participation": "participation", "note": ""},
    "growth": {"how": "how", "size": "jurors", "score": "agreement", "low": "low", "high": "high", "weakest": "5th percentile",
               "strongest": "95th percentile", "juries": "juries", "n": "n"},
    "position": {"juror": "juror", "n": "pairs", "consistent": "same answer in both orders", "first": "first place twice",
                 "second": "second place twice", "lean": "first less second", "low": "low", "high": "high"},
    "power": {"first": "first", "second": "second", "difference": "difference", "sd": "sd by case", "n": "cases", "detectable": "detectable",
              "cases_for_0.05": "cases for 0.05", "cases_for_0.02": "cases for 0.02"},
}  # fmt: skip
PARTS = (
    ("What choosing is worth", (), ("answers",)),
    ("Cost against agreement", ("frontier",), ("noise", "frontier")),
    ("What each juror adds", ("contributions",), ("jurors",)),
    ("The size of the jury", ("growth",), ("growth",)),
    ("Erring together", (), ("independence",)),
    ("What each fold chose", (), ("selection",)),
    ("The order of two texts", (), ("position",)),
    ("How small a difference could be seen", (), ("power",)),
)
LONG = 20
"""From so many rows on, a table is folded."""
TOGETHER = 12
"""Pairs of jurors that are listed, those whose errors correlate most."""


def composition_page(composition: Composition, figures: Mapping[str, str]) -> str:
    """The whole page; `figures` are drawn SVG by name."""
    tables = composition.tables
    body = [section("What to do", items(composition.sentences(), "said"))]
    for title, drawn, listed in PARTS:
        parts = [figure(figures[name], CAPTIONS[name]) for name in drawn if name in figures]
        parts += [_listed(name, tables[name]) for name in listed if name in tables]
        if "independence" in listed and "correlations" in tables:
            parts.append(_closest(tables["correlations"]))
        if parts:
            body.append(section(title, *parts))
    body.append(section("Methods", paragraph(" ".join(composition.methods))))
    body.append(section("Notes", items(composition.notes, "notes") or paragraph("None.")))
    arms = composition.frontier
    under = f"{len(arms)} arms; agreement from 0 to 1; cost in {composition.unit}"
    return page("Which jury to use", under, body)


def _listed(name: str, found: pd.DataFrame) -> Html:
    """A table, folded where it is long."""
    told = found.copy()
    for column in found.select_dtypes(bool):
        told[column] = found[column].map({True: "yes", False: ""})
    whole = table(name, told, HEADS[name])
    return whole if len(found) <= LONG else folded(f"All {len(found)} rows", whole)


def _closest(correlations: pd.DataFrame) -> Html:
    most = correlations.dropna().sort_values("correlation", ascending=False).head(TOGETHER)
    heads = {"first": "juror", "second": "juror", "correlation": "correlation of errors", "n": "questions"}
    if most.empty:
        return fragment()
    return fragment(subheading("Who errs together most"), table("correlations", most, heads))
