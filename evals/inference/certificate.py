"""Which verdicts may be accepted unseen, with a bound on the error among them.

Verdicts are ordered by a confidence that no label had a part in. From the surest ones downwards, the claim "of the verdicts
at least this sure, a share of at most `risk` is wrong" is tested at one threshold after another, by an exact binomial
test, and the first that cannot be shown ends it. The chance that any claim so made is false is at most `delta`.

References:
    Angelopoulos, Bates, Candes, Jordan and Lei (2021), "Learn then Test", arXiv:2110.01052: fixed-sequence testing.
    Wiens and Dmitrienko (2005), Journal of Biopharmaceutical Statistics 15:929-942: several starting points.
    Waudby-Smith and Ramdas (2024), JRSS B 86:1-27: the betting test for whole groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, bdtri

from ..statistics.matrix import FloatArray, IntArray

BoolArray = npt.NDArray[np.bool_]
STEPS = 40
"""Thresholds that are tried, at the most."""
BOLDEST = 0.75
"""Of what it has, the most that the betting test stakes on one group."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """From which confidence on verdicts may stand unseen, and what that rests on."""

    threshold: float | None
    """None where nothing could be shown."""
    risk: float
    delta: float
    labels: int
    """Labelled verdicts that were reached."""
    accepted: int
    """Those of them at or above the threshold; where nothing could be shown, at the first one tried."""
    errors: int
    bound: float
    """The upper bound on the error among accepted verdicts, at 1 - delta: exact, or `risk` where cases are grouped; NaN
    where nothing is accepted."""
    grouped: bool
    needed: int | None
    """Labels that would be enough at the error rate seen; None where no number would."""

    @property
    def fewest(self) -> int:
        """Labels without a single error that are the fewest to show anything."""
        return fewest_labels(self.risk, self.delta)


def fewest_labels(risk: float, delta: float) -> int:
    """How many accepted verdicts, all of them right, show an error of at most `risk` with probability 1 - `delta`."""
    return math.ceil(round(math.log(delta) / math.log1p(-risk), 9))


def certificate(
    confidence: FloatArray,
    wrong: BoolArray,
    cluster: IntArray,
    *,
    risk: float,
    delta: float,
    rng: np.random.Generator,
) -> Certificate:
    """The lowest threshold on `confidence` at which the error among accepted verdicts is shown to be at most `risk`.

    Labels are taken as drawn at random among the cases (or groups) that the rule will be used on.

    Args:
        confidence: Of each labelled verdict that was reached, made without its label.
        wrong: Whether people's reference is another.
        cluster: Verdicts of one cluster are not independent: the test then is of whole clusters.
        rng: The order in which the betting test meets the clusters.
    """
    grouped = len(np.unique(cluster)) < len(cluster)
    total = len(confidence)
    levels = _thresholds(confidence)
    counts = np.array([(confidence >= level).sum() for level in levels])
    test = (
        _GroupTest(confidence, wrong, cluster, risk, delta, rng).p
        if grouped
        else lambda level: _binomial_p(wrong[confidence >= level], risk)
    )
    starts = _starting_points(counts, total, fewest_labels(risk, delta))
    shown_from = _lowest_shown(levels, starts, delta, test)
    threshold = None if shown_from is None else float(levels[shown_from])
    tried = levels[starts[0]] if threshold is None and len(starts) else threshold
    accepted = confidence >= tried if tried is not None else np.zeros(total, dtype=bool)
    n, errors = int(accepted.sum()), int(wrong[accepted].sum())
    return Certificate(
        threshold,
        risk,
        delta,
        total,
        n,
        errors,
        math.nan if threshold is None else risk if grouped else _upper_bound(errors, n, delta),
        grouped,
        None
        if threshold is not None
        else labels_needed(errors / n if n else 0.0, risk, delta, total / n if n else 1.0),
    )


def _lowest_shown(
    levels: FloatArray, starts: list[int], delta: float, test: Callable[[float], float]
) -> int | None:
    """The last threshold that is shown, each start having its part of `delta`, which it hands on to a start that it reaches."""
    lowest: int | None = None
    for place, start in enumerate(starts):
        if lowest is not None and lowest >= start:
            continue
        level_delta = delta / len(starts)
        for step in range(start, len(levels)):
            if step in starts[place + 1 :]:
                level_delta += delta / len(starts)
            if test(float(levels[step])) > level_delta:
                break
            lowest = step
    return lowest


def labels_needed(rate: float, risk: float, delta: float, share: float = 1.0) -> int | None:
    """How many labels would show it if `rate` of the accepted are wrong and one in `share` is accepted; None: no number."""
    if rate >= risk:
        return None
    n = fewest_labels(risk, delta)
    while bdtr(math.ceil(rate * n), n, risk) > delta:
        n = math.ceil(n * 1.02) + 1
    return math.ceil(n * share)


def _thresholds(confidence: FloatArray) -> FloatArray:
    """Distinct confidences from the highest down, thinned by how many verdicts lie between them."""
    descending = np.sort(confidence)[::-1]
    levels = np.unique(confidence)[::-1]
    if len(levels) <= STEPS:
        return levels
    return np.unique(descending[np.linspace(0, len(descending) - 1, STEPS + 1).astype(int)])[::-1]


def _starting_points(counts: IntArray, total: int, fewest: int) -> list[int]:
    """The thresholds at which testing starts, chosen by how many labels lie above them and by nothing else.

    Half of the labels, or as few as could show anything; where there are plenty, a quarter of them as well.
    """
    sizes = [max(fewest, total // 2)]
    if total >= 4 * fewest:
        sizes.insert(0, total // 4)
    starts = [int(np.argmax(counts >= number)) for number in sizes if len(counts) and counts[-1] >= number]
    return list(dict.fromkeys(starts))


def _binomial_p(errors: BoolArray, risk: float) -> float:
    """The chance of so few errors if a share of `risk` were wrong."""
    return float(bdtr(int(errors.sum()), len(errors), risk))


def _upper_bound(errors: int, n: int, delta: float) -> float:
    """Clopper and Pearson's upper bound on a share, one-sided."""
    return 1.0 if errors == n else float(bdtri(errors, n, delta))


class _GroupTest:
    """Tests that count whole groups, whatever goes on within them: money is bet on there being fewer errors than `risk`.

    If a share of `risk` or more were wrong, no way of betting would be expected to win; so what is won at the most,
    at any time, is at least 1/p with a chance of at most p.
    """

    def __init__(self, confidence: FloatArray, wrong: BoolArray, cluster: IntArray, risk: float, delta: float, rng: np.random.Generator) -> None:  # fmt: skip
        code = np.unique(cluster, return_inverse=True)[1]
        self._order = rng.permutation(code.max() + 1)[code]
        self._confidence, self._wrong, self._risk = confidence, wrong, risk
        self._largest = int(np.bincount(code).max())
        self._aim = 2 * math.log(1 / delta)

    def p(self, level: float) -> float:
        accepted = self._confidence >= level
        won = np.bincount(
            self._order[accepted], weights=self._risk - self._wrong[accepted], minlength=self._order.max() + 1
        )
        gains = won / self._largest
        n = len(gains)
        rounds = np.arange(1, n + 1)
        mean = (np.cumsum(gains)) / (rounds + 1)
        spread = (self._risk / 4 + np.cumsum((gains - mean) ** 2)) / (rounds + 1)
        past_spread = np.concatenate([[self._risk / 4], spread[:-1]])
        stake = np.minimum(np.sqrt(self._aim / (n * past_spread)), BOLDEST / (1 - self._risk))
        wealth = np.cumsum(np.log1p(stake * gains))
        return float(min(1.0, math.exp(-max(0.0, wealth.max(initial=0.0)))))
