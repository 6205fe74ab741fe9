"""Win rates: how often each system was preferred, with errors; and strengths from all pairs together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from ...rubrics.errors import count_words
from ..report.section import Section, estimate_json, estimate_phrase
from ..report.terminal import interval_words
from ..statistics.bradley_terry import DAVIDSON, Davidson, bradley_terry, davidson, length_controlled
from ..statistics.estimate import Estimate, undefined
from ..statistics.matrix import FloatArray, IntArray
from ..statistics.proportion import win_rate

Ties = Literal["half", "drop", "separate"]
LENGTH = "at equal length"
STRENGTHS = "strengths of systems, as log-odds against an average system"


@dataclass(frozen=True, slots=True)
class Record:
    """What one side won of its comparisons."""

    system: str
    against: str
    """The other system, or nothing for all others together."""
    rate: Estimate
    wins: int
    ties: int
    losses: int
    controlled: Estimate
    """The win rate at equal length, where lengths are known."""


@dataclass(frozen=True, slots=True)
class WinRates:
    """Every system against all others and against each, and strengths that explain all pairs at once."""

    systems: tuple[Record, ...]
    """The strongest first."""
    pairs: tuple[Record, ...]
    strengths: dict[str, Estimate]
    """Bradley and Terry's, by system; ties count half whatever was asked for."""
    davidson: Mapping[str, Estimate]
    """Davidson's, by system: ties are an outcome of their own."""
    tie_odds: Estimate
    """The logarithm of Davidson's nu."""
    ties: Ties
    comparisons: int
    merged: int
    """Pairs of judgements with the order swapped, each of which became one comparison."""
    dropped: int
    """Comparisons left out as ties."""


def win_rates(preferences: pd.DataFrame, *, ties: Ties = "half") -> WinRates:
    """The win rates of a table with columns `case`, `judge`, `first`, `second`, `swapped`, `share`.

    Args:
        ties: `half` counts a tie as half a win, as AlpacaEval does; `drop` leaves ties out; `separate` counts wins alone
            over everything, as MT-bench's `win_rate` does. A probability other than a half is a win or a loss only
            where ties are `separate`.
    """
    compared, merged = merge_swapped(preferences)
    names = sorted({*compared["first"], *compared["second"]})
    number = {name: place for place, name in enumerate(names)}
    tied = (compared["share"] - 0.5).abs() < 1e-12
    counted = compared[~tied] if ties == "drop" else compared
    both = _both_sides(counted)
    systems = [_record(name, "", both[both["system"] == name], ties) for name in names]
    pairs = [
        _record(str(system), str(against), mine, ties)
        for (system, against), mine in both.groupby(["system", "against"])
    ]
    first, second = (compared[side].map(number).to_numpy(np.int64) for side in ("first", "second"))
    shares = compared["share"].to_numpy(float)
    strengths = bradley_terry(first, second, shares, _cases(compared), players=len(names))
    with_ties = _davidson(first, second, shares, _cases(compared), len(names))
    ordered = sorted(systems, key=lambda each: -each.rate.value if each.rate.defined else np.inf)
    return WinRates(
        tuple(ordered),
        tuple(pairs),
        dict(zip(names, strengths, strict=True)),
        dict(zip(names, with_ties.strengths, strict=True)),
        with_ties.ties,
        ties,
        len(compared),
        merged,
        int(tied.sum()) if ties == "drop" else 0,
    )


def _davidson(
    first: IntArray, second: IntArray, shares: FloatArray, cluster: IntArray, players: int
) -> Davidson:
    if not np.isin(shares, (0.0, 0.5, 1.0)).all():
        none = undefined(
            "preferences given as probabilities have no ties to model", method=DAVIDSON, n=len(shares)
        )
        return Davidson([none] * players, none, [])
    return davidson(first, second, np.rint(2 * shares - 1).astype(np.int64), cluster, players=players)


def merge_swapped(preferences: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """One row for each comparison, and how many are of two judgements with the order swapped.

    As in MT-bench, a win must hold in both orders: two verdicts that differ are a tie. Probabilities are averaged.
    """
    turned = preferences["first"] > preferences["second"]
    rows = preferences.assign(
        first=preferences["first"].where(~turned, preferences["second"]),
        second=preferences["second"].where(~turned, preferences["first"]),
        share=preferences["share"].where(~turned, 1 - preferences["share"]),
        swapped=preferences["swapped"] ^ turned,
        length=preferences["length"].where(~turned, -preferences["length"])
        if "length" in preferences
        else np.nan,
        cluster=preferences["cluster" if "cluster" in preferences else "case"],
    )
    keys = ["case", "judge", "first", "second"]
    rows["repeat"] = rows.groupby([*keys, "swapped"]).cumcount()
    grouped = rows.groupby([*keys, "repeat"], sort=False)
    found = grouped.agg(
        low=("share", "min"),
        high=("share", "max"),
        mean=("share", "mean"),
        orders=("share", "count"),
        length=("length", "mean"),
        cluster=("cluster", "first"),
    ).reset_index()
    verdicts = found["low"].isin([0.0, 0.5, 1.0]) & found["high"].isin([0.0, 0.5, 1.0])
    apart = verdicts & (found["low"] != found["high"])
    share = found["mean"].where(~apart, 0.5)
    return found[[*keys, "length", "cluster"]].assign(share=share), int((found["orders"] > 1).sum())


def _both_sides(compared: pd.DataFrame) -> pd.DataFrame:
    """Each comparison twice, as either system sees it."""
    names = {"first": "system", "second": "against"}
    other = {"second": "system", "first": "against"}
    mirrored = compared.assign(share=1 - compared["share"], length=-compared["length"]).rename(columns=other)
    return pd.concat([compared.rename(columns=names), mirrored], ignore_index=True)


def _record(system: str, against: str, mine: pd.DataFrame, ties: Ties) -> Record:
    share = mine["share"].to_numpy(float)
    won, tied = share > 0.5 + 1e-12, np.abs(share - 0.5) <= 1e-12
    rate = win_rate(won.astype(float) if ties == "separate" else share, _cases(mine))
    controlled = length_controlled(share, mine["length"].to_numpy(float), _cases(mine))
    counts = int(won.sum()), int(tied.sum()), int((~won & ~tied).sum())
    return Record(system, against, rate, *counts, controlled)


def _cases(rows: pd.DataFrame) -> IntArray:
    return pd.factorize(rows["cluster"])[0].astype(np.int64)


def win_rates_answer(found: WinRates, lost: int) -> Section:
    """Systems as rows, best first: against all others, then against each where there are more than two; and their strengths."""
    rows = [
        _cells(record)
        for system in found.systems
        for record in (system, *found.pairs)
        if record is system or (len(found.systems) > 2 and record.system == system.system)
    ]
    heads = ("system", "against", "win rate", "SE", "95% interval", "won", "tied", "lost", LENGTH)
    table = pd.DataFrame(rows, columns=list(heads))
    if not table[LENGTH].any():
        table = table.drop(columns=LENGTH)
    names = [record.system for record in found.systems]
    models = {"Bradley-Terry": found.strengths, "Davidson": found.davidson}
    strengths = pd.DataFrame({
        "system": names,
        **{
            model: [interval_words(each.value, each.low, each.high) for each in map(of_system.__getitem__, names)]
            for model, of_system in models.items()
        },
    })  # fmt: skip
    tables = {"": table, STRENGTHS: strengths}
    return Section("winrate", "Win rates", tuple(win_rates_sentences(found, lost)), tables)


def win_rates_sentences(found: WinRates, lost: int) -> list[str]:
    """What a reader must know of the count."""
    tie_rule = {
        "half": "a tie counts as half a win",
        "drop": f"left out: {count_words(found.dropped, 'tie')}",
        "separate": "a tie is neither won nor lost",
    }[found.ties]
    told = [f"{found.comparisons} comparisons; {tie_rule}."]
    if found.merged:
        told.append(
            f"{found.merged} of these comparisons combine two judgements of the same pair, made with the two outputs in either order. If the two judgements prefer different outputs, the comparison is a tie; if the judgements are probabilities, they are averaged."
        )
    if lost:
        told.append(
            f"Judgements left out, because no preference was recorded: {count_words(lost, 'judgement')}."
        )
    if found.tie_odds.defined:
        even = math.exp(found.tie_odds.value)
        told.append(
            f"In Davidson's model, the tie parameter log nu is {estimate_phrase(found.tie_odds)}: two systems of equal strength tie {even / (2 + even):.0%} of the time."
        )
    notes = {each.note for each in (*found.strengths.values(), *(r.rate for r in found.systems)) if each.note}
    if all(each.defined for each in found.strengths.values()):
        notes |= {f"Davidson's model: {each.note}" for each in found.davidson.values() if each.note}
    return [*told, *(f"{note[0].upper()}{note[1:]}." for note in sorted(notes))]


def win_rates_json(file: str, found: WinRates, lost: int) -> dict[str, Any]:
    """Rates as shares from 0 to 1, with their standard errors."""
    return {
        "file": file,
        "ties": found.ties,
        "comparisons": found.comparisons,
        "merged": found.merged,
        "dropped": found.dropped,
        "without_preference": lost,
        "log_nu": _estimate_json(found.tie_odds),
        "systems": {
            record.system: _record_json(record)
            | {
                "bradley_terry": _estimate_json(found.strengths[record.system]),
                "davidson": _estimate_json(found.davidson[record.system]),
            }
            for record in found.systems
        },
        "pairs": [
            {"system": pair.system, "against": pair.against} | _record_json(pair) for pair in found.pairs
        ],
    }


def _record_json(record: Record) -> dict[str, Any]:
    return {
        "win_rate": _estimate_json(record.rate),
        "length_controlled": _estimate_json(record.controlled),
        "wins": record.wins,
        "ties": record.ties,
        "losses": record.losses,
    }


def _estimate_json(estimate: Estimate) -> dict[str, Any]:
    return estimate_json(estimate) | {"se": None if math.isnan(estimate.se) else estimate.se}


def _cells(record: Record) -> list[str]:
    rate = record.rate
    shown = ["" if math.isnan(x) else f"{100 * x:.2f}" for x in (rate.value, rate.se, rate.low, rate.high)]
    interval = f"{shown[2]} to {shown[3]}" if shown[2] else ""
    counts = [str(count) for count in (record.wins, record.ties, record.losses)]
    equal = f"{100 * record.controlled.value:.2f}%" if record.controlled.defined else ""
    return [record.system, record.against or "all", f"{shown[0]}%", shown[1], interval, *counts, equal]
