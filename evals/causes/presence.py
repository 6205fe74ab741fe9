"""What each seat's presence did to the verdicts, from replays without it, beside the moves that flags had credited it with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

from ...orchestration.reading.analysis.movement import influence
from ...orchestration.reading.side_by_side import SideBySide
from ..report.section import estimate_json
from ..report.terminal import estimate_words, plain_table
from ..statistics.estimate import Estimate, undefined
from ..statistics.jackknife import RAW, jackknife_spread


class Presence(NamedTuple):
    """One seat, and one attribute."""

    arm: str
    seat: str
    attribute: str
    effect: Estimate
    """The mean of the verdicts with it less those without it, over cases with a number in both."""
    changed: int
    """Cases whose verdict is another one without it, hung ones included."""
    cases: int
    credited: float
    """The moves towards it after reading it, each shared among all whom it brought nearer."""

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "effect": estimate_json(self.effect)}


def presences(pairs: Sequence[SideBySide]) -> list[Presence]:
    """For every seat that a replay strikes and every attribute, what its presence did."""
    struck: dict[tuple[str, str], list[SideBySide]] = {}
    for pair in pairs:
        gone = set(pair.before.transcript.seats) - set(pair.after.transcript.seats)
        for seat in gone if len(gone) == 1 else ():
            struck.setdefault((pair.arm, seat), []).append(pair)
    return [
        _presence(arm, seat, attribute, group)
        for (arm, seat), group in struck.items()
        for attribute in group[0].before.outcomes
    ]


def _presence(arm: str, seat: str, attribute: str, pairs: Sequence[SideBySide]) -> Presence:
    values = [(pair.before[attribute].value, pair.after[attribute].value) for pair in pairs]
    gaps = np.array(
        [float(b) - float(a) for b, a in values if isinstance(b, int | float) and isinstance(a, int | float)]
    )
    credited = sum(
        drawn.credit
        for pair in pairs
        for drawn in influence(pair.before.transcript)
        if drawn.source == seat and drawn.move.attribute == attribute
    )
    changed = sum(attribute in pair.changed_outcomes() for pair in pairs)
    return Presence(arm, seat, attribute, _mean(gaps), changed, len(pairs), credited)


def _mean(gaps: np.ndarray) -> Estimate:
    method, cases = "mean difference of verdicts", len(gaps)
    if not cases:
        return undefined("no case has a numeric verdict both with and without the juror", method=method)
    value = float(gaps.mean())
    if cases < 2:
        return Estimate(
            value, np.nan, np.nan, cases, method, note="no interval: there is only one case or group"
        )
    spread = jackknife_spread(value, (gaps.sum() - gaps) / (cases - 1), RAW)
    if isinstance(spread, str):
        return Estimate(value, np.nan, np.nan, cases, method, note=f"no interval: {spread}")
    low, high = spread.bounds()
    return Estimate(value, low, high, cases, f"{method}; jackknife of {cases} cases", se=spread.se)


def show_presences(found: Sequence[Presence], console: Console) -> None:
    """Print a row for each seat and attribute."""
    table = plain_table(
        "seat", "attribute", "with the juror minus without", "verdicts changed", "moves towards the juror"
    )
    for each in found:
        changed = f"{each.changed} of {each.cases}"
        row = (each.attribute, estimate_words(each.effect), changed, f"{each.credited:.1f}")
        table.add_row(f"{each.arm}, {each.seat}", *row)
    console.print(table)
    for note in dict.fromkeys(each.effect.note for each in found if each.effect.note):
        console.print(note, soft_wrap=True)
