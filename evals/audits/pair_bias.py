"""What preferences between two outputs lean on besides their worth: the order shown, the label, the length; and circles among three systems."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit

from ...orchestration.record import Location, Store
from ..ratings.preferences import VERDICT, Heard, pair_votes
from ..report.section import Section, estimate_json
from ..report.terminal import interval_words
from ..statistics.bradley_terry import DAVIDSON, davidson
from ..statistics.estimate import Estimate, undefined
from ..statistics.significance import LEVEL, holm
from .win_rates import STRENGTHS, Record, Ties, WinRates, win_rates, win_rates_answer, win_rates_json

EFFECTS = ("position", "label", "length")
SEATS = "all seats"
_FIXED = "not identifiable: output A was always shown first, so position and label cannot be separated"
_NOBODY = "not identifiable: the jurors were shown the outputs in different orders"


@dataclass(frozen=True, slots=True)
class Bias:
    """What moves the preferences of one seat, of all, or of the verdict, at one stage: log-odds, the systems' strengths held fixed."""

    who: str
    stage: str
    position: Estimate
    """Of the output that is shown first over the other."""
    label: Estimate
    """Of output A over output B."""
    length: Estimate
    """Of an output that is longer by the standard deviation of the differences, under tanh as in AlpacaEval's regression."""
    ties: Estimate
    contradictions: int
    """Ballots of seats that were asked in both orders and preferred different outputs."""
    strengths: Mapping[str, Estimate]
    """Of each system against the average one, with position, label and length held fixed."""
    p_holm: dict[str, float] = field(default_factory=dict)
    """By effect, its p corrected by Holm's method over everybody and both stages."""


@dataclass(frozen=True, slots=True)
class Circles:
    """How often of three systems that were compared with each other on one question, each was preferred to the next all round."""

    circles: int
    triples: int
    """Triples of which all three comparisons were decided."""


def biases(votes: pd.DataFrame) -> list[Bias]:
    """The biases of every seat, of all of them and of the verdict, before deliberation and at the end.

    `votes` are those of one arm on one attribute, as `pair_votes` gives them.
    """
    found = []
    seats = [name for name in dict.fromkeys(votes["who"]) if name != VERDICT]
    groups = {name: votes[votes["who"] == name] for name in (*seats, VERDICT)}
    if len(seats) > 1:
        groups = {**{name: groups[name] for name in seats}, SEATS: votes[votes["who"] != VERDICT], VERDICT: groups[VERDICT]}  # fmt: skip
    for who, rows in groups.items():
        for stage, mine in rows.groupby("stage", sort=False):
            found.append(_bias(who, str(stage), mine))
    for effect in EFFECTS:
        corrected = holm([getattr(bias, effect).p for bias in found])
        for bias, p in zip(found, corrected, strict=True):
            bias.p_holm[effect] = float(p)
    return found


def _bias(who: str, stage: str, rows: pd.DataFrame) -> Bias:
    systems = sorted({*rows["a"], *rows["b"]})
    number = {name: place for place, name in enumerate(systems)}
    length = rows["length"].to_numpy(float)
    spread = float(np.std(length, ddof=1)) if len(length) > 1 else math.nan
    scaled = np.tanh(length / spread) if spread > 0 else np.zeros(len(rows))
    shown = rows["shown"].to_numpy(float)
    fit = davidson(
        rows["a"].map(number).to_numpy(np.int64),
        rows["b"].map(number).to_numpy(np.int64),
        rows["outcome"].to_numpy(np.int64),
        pd.factorize(rows["cluster"])[0].astype(np.int64),
        players=len(systems),
        effects=np.column_stack([shown, np.ones(len(rows)), scaled]),
    )
    position, label, longer = fit.effects
    if not shown.any():
        position = undefined(_NOBODY, method=DAVIDSON, n=len(rows))
    elif abs(shown.sum()) == len(rows):
        position = label = undefined(_FIXED, method=DAVIDSON, n=len(rows))
    if not spread > 0:
        longer = undefined(
            "an effect of length cannot be estimated: the outputs' lengths are unknown or never differ",
            method=DAVIDSON,
            n=len(rows),
        )
    strengths = dict(zip(systems, fit.strengths, strict=True))
    return Bias(who, stage, position, label, longer, fit.ties, int(rows["contradicts"].sum()), strengths)


def circles(votes: pd.DataFrame) -> Circles:
    """The circles in the verdicts of one arm on one attribute, as `pair_votes` gives them.

    References:
        Kendall and Babington Smith (1940), Biometrika 31:324-345.
    """
    final = votes[(votes["who"] == VERDICT) & (votes["stage"] == "final")]
    total = whole = 0
    for _, rows in final.groupby("question", sort=False):
        beats: dict[frozenset[str], str] = {}
        for a, b, outcome in zip(rows["a"], rows["b"], rows["outcome"], strict=True):
            if outcome:
                beats[frozenset((a, b))] = a if outcome > 0 else b
        systems = sorted({*rows["a"], *rows["b"]})
        for triple in combinations(systems, 3):
            pairs = [frozenset(pair) for pair in combinations(triple, 2)]
            if all(pair in beats for pair in pairs):
                whole += 1
                total += len({beats[pair] for pair in pairs}) == 3
    return Circles(total, whole)


def run_preferences(votes: pd.DataFrame) -> pd.DataFrame:
    """The verdicts of one arm on one attribute as the table that `win_rates` counts."""
    final = votes[(votes["who"] == VERDICT) & (votes["stage"] == "final")]
    return pd.DataFrame(
        {
            "case": final["case"],
            "judge": final["arm"],
            "first": final["a"],
            "second": final["b"],
            "swapped": False,
            "share": (final["outcome"] + 1) / 2,
            "length": final["length"],
            "cluster": final["cluster"],
        }
    )


@dataclass(frozen=True, slots=True)
class PairReport:
    """What one arm's preferences on one attribute come to, and what they lean on."""

    arm: str
    attribute: str
    rates: WinRates
    biases: list[Bias]
    circles: Circles
    hung: int
    """Pairs without a verdict."""
    equal: int
    """Pairs of two outputs that are the same text."""


def pair_reports(votes: pd.DataFrame, heard: Heard, *, ties: Ties = "half") -> Iterator[PairReport]:
    """One report for each arm and attribute of a run of pairs; none where no verdict holds a preference."""
    for (arm, attribute), mine in votes.groupby(["arm", "attribute"], sort=False):
        preferences = run_preferences(mine)
        if len(preferences):
            yield PairReport(
                str(arm),
                str(attribute),
                win_rates(preferences, ties=ties),
                biases(mine),
                circles(mine),
                heard[str(arm), str(attribute)] - len(preferences),
                mine[mine["same"]]["case"].nunique(),
            )


class HungArm(NamedTuple):
    """An arm that heard pairs and reached no preference on an attribute."""

    arm: str
    attribute: str
    pairs: int


def compared_systems(run: Location, *, ties: Ties = "half") -> tuple[list[PairReport], list[HungArm]]:
    """The reports of a run of pairs, and the arms and attributes that there is none of.

    Raises:
        VenireError: No outputs were compared in it.
    """
    store = Store.read(run)
    try:
        votes, heard = pair_votes(store)
    finally:
        store.release()
    reports = list(pair_reports(votes, heard, ties=ties))
    counted = {(report.arm, report.attribute) for report in reports}
    return reports, [HungArm(*key, pairs) for key, pairs in heard.items() if key not in counted]


def system_matrix(report: PairReport) -> pd.DataFrame:
    """Systems by systems, the strongest first: what the row's won of its comparisons with the column's."""
    names = [record.system for record in report.rates.systems]
    records = {(record.system, record.against or "all others"): record for record in (*report.rates.systems, *report.rates.pairs)}  # fmt: skip

    def cell(record: Record | None) -> str:
        if record is None or not record.rate.defined:
            return ""
        return f"{record.rate.value:.0%} of {record.wins + record.ties + record.losses}"

    return pd.DataFrame(
        [
            {"system": name, **{other: cell(records.get((name, other))) for other in ("all others", *names)}}
            for name in names
        ]
    )


def pair_section(report: PairReport) -> Section:
    """Win rates, then what moves them, as the terminal shows it."""
    rates = win_rates_answer(report.rates, report.hung)
    rows = [
        [
            bias.who,
            bias.stage,
            *(_cell(getattr(bias, effect), bias.p_holm[effect]) for effect in EFFECTS),
            bias.contradictions or "",
        ]
        for bias in report.biases
    ]
    heads = ["who", "stage", "shown first", "output A", "longer", "contradictions"]
    table = pd.DataFrame(rows, columns=heads)
    if not table["contradictions"].any():
        table = table.drop(columns="contradictions")
    title = f"{report.arm}: {report.attribute}"
    strengths = rates.tables[STRENGTHS]
    seats = next((bias for bias in report.biases if bias.who == SEATS), report.biases[0])
    fixed = [seats.strengths[system] for system in strengths["system"]]
    held_fixed = {
        f"{seats.who}, adjusted for biases": [interval_words(e.value, e.low, e.high) for e in fixed]
    }
    tables = {
        title: rates.tables[""],
        f"{title}: {STRENGTHS}": strengths.assign(**held_fixed),
        f"{title}: what influences preferences besides the system, in log-odds": table,
    }
    return Section(
        f"winrate-{report.arm}-{report.attribute}", title, (*rates.sentences, *pair_sentences(report)), tables
    )


def pair_sentences(report: PairReport) -> list[str]:
    """What a reader must know of the biases and circles."""
    told = ["In the table of biases, the p values of each column are Holm-corrected over its rows."]
    seats = [bias for bias in report.biases if bias.who == SEATS]
    # A line for all seats together and one for the verdict; seat by seat they are in the table.
    for bias in [*(seats or report.biases), *(b for b in report.biases if seats and b.who == VERDICT)]:
        for effect in ("position", "label"):
            each: Estimate = getattr(bias, effect)
            if each.defined and bias.p_holm[effect] < LEVEL:
                what = "the output shown first" if effect == "position" else "the output called A"
                told.append(
                    f"{bias.who} ({bias.stage}): between two equally good outputs, {what} is preferred in {expit(each.value):.0%} of the judgements that are not ties (p = {bias.p_holm[effect]:.3g})."
                )
    reasons = {
        getattr(bias, effect).note: f"{bias.who}, {effect}"
        for bias in report.biases
        for effect in EFFECTS
        if not getattr(bias, effect).defined
    }
    told += [f"{where}: {note}." for note, where in reasons.items()]
    if report.circles.triples:
        told.append(
            f"{report.circles.circles} of {report.circles.triples} triples of systems are circular (a beats b, b beats c, and c beats a). If preferences were random, a quarter of them would be."
        )
    if report.equal:
        told.append(
            f"{report.equal} {'pair consists' if report.equal == 1 else 'pairs consist'} of two identical outputs. A preference between identical outputs can only come from their order or their labels."
        )
    return told


def pair_json(report: PairReport, run: str) -> dict[str, Any]:
    """As `venire winrate RUN --json` prints it."""
    return win_rates_json(run, report.rates, report.hung) | {
        "arm": report.arm,
        "attribute": report.attribute,
        "bias": [
            {"who": bias.who, "stage": bias.stage, "contradictions": bias.contradictions}
            | {"strengths": {name: estimate_json(each) for name, each in bias.strengths.items()}}
            | {f"{name}_p_holm": None if math.isnan(p) else p for name, p in bias.p_holm.items()}
            | {
                name: estimate_json(each) | {"p": None if math.isnan(each.p) else each.p}
                for name, each in (*((e, getattr(bias, e)) for e in EFFECTS), ("log_nu", bias.ties))
            }
            for bias in report.biases
        ],
        "circles": report.circles.circles,
        "triples": report.circles.triples,
        "equal_outputs": report.equal,
    }


def _cell(estimate: Estimate, p: float) -> str:
    if not estimate.defined:
        return "-"
    mark = "" if math.isnan(p) else f", p {p:.3f}"
    return f"{interval_words(estimate.value, estimate.low, estimate.high)}{mark}"
