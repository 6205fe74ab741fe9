"""Strengths of players from who beat whom, by the models of Bradley and Terry and of Davidson; and win rates at equal length."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, stdtr, stdtrit

from .estimate import Estimate, undefined
from .matrix import FloatArray, IntArray

METHOD = "Bradley-Terry model, in log-odds against the average system; the interval allows for correlated comparisons of the same case"
STEPS = 100


def bradley_terry(
    first: IntArray,
    second: IntArray,
    shares: FloatArray,
    cluster: IntArray,
    *,
    players: int,
    confidence: float = 0.95,
) -> list[Estimate]:
    """For each player, the log-odds of beating one of average strength: the odds of i over j are exp(i - j).

    A tie is half a win each, and a probability a share of one; so the likelihood is taken as a quasi-likelihood and
    the standard errors are sandwich estimates, comparisons of one case counting as one.

    Args:
        first: For each comparison, the number of one player, and `second` that of the other.
        shares: What the first won of each: 1, 0, or between.

    Returns:
        NaN with a note where no finite strengths exist: some players never lost to the others, or were never compared
        with them. No interval where every comparison came out as the strengths have it, ties alone for one, or all are of one case.

    References:
        Bradley and Terry (1952), Biometrika 39:324-345. Ford (1957), American Mathematical Monthly 64(8):28-33.
    """
    n = [int(((first == player) | (second == player)).sum()) for player in range(players)]
    beats = np.zeros((players, players))
    np.add.at(beats, (first, second), shares)
    np.add.at(beats, (second, first), 1 - shares)
    if connected_components(beats > 0, directed=True, connection="strong")[0] > 1:
        cause = "some systems never lost to the other systems, or were never compared with them, so strengths have no finite value"
        return [undefined(cause, method=METHOD, n=count, confidence=confidence) for count in n]
    design = np.zeros((len(shares), players))
    design[np.arange(len(shares)), first] += 1
    design[np.arange(len(shares)), second] -= 1
    strength = _maximum(design, shares)
    chance = expit(design @ strength)
    bread = _inverse(design, chance)
    score = np.zeros((int(cluster.max()) + 1, players))
    np.add.at(score, cluster, design * (shares - chance)[:, None])
    cases = len(score)
    spread = bread @ (score.T @ score) @ bread * (cases / max(cases - 1, 1))
    error = np.sqrt(np.maximum(np.diag(spread), 0.0))
    if cases < 2 or error.max() < 1e-9:
        cause = (
            "all comparisons are of one case"
            if cases < 2
            else "comparisons of the same two systems always have the same result"
        )
        return [
            Estimate(float(s), np.nan, np.nan, count, METHOD, confidence, f"no interval: {cause}")
            for s, count in zip(strength, n, strict=True)
        ]
    reach = float(stdtrit(cases - 1, (1 + confidence) / 2)) * error
    return [
        Estimate(float(s), float(s - r), float(s + r), count, METHOD, confidence, se=float(e))
        for s, r, e, count in zip(strength, reach, error, n, strict=True)
    ]


def _inverse(design: FloatArray, chance: FloatArray) -> FloatArray:
    """The generalised inverse of the information, which says nothing of all strengths rising together."""
    information = design.T @ (design * (chance * (1 - chance))[:, None])
    shift = np.full_like(information, 1 / len(information))
    # By singular values the direction of all together would be told from the others by rounding.
    return np.asarray(np.linalg.inv(information + shift) - shift)


def _maximum(design: FloatArray, shares: FloatArray) -> FloatArray:
    """Newton's method on strengths that add up to zero, steps halved until the likelihood rises."""
    strength = np.zeros(design.shape[1])

    def likelihood(at: FloatArray) -> float:
        gap = design @ at
        return float((shares * gap - np.logaddexp(0, gap)).sum())

    for _ in range(STEPS):
        chance = expit(design @ strength)
        slope = design.T @ (shares - chance)
        step = _inverse(design, chance) @ slope
        while likelihood(strength + step) < likelihood(strength) - 1e-12:
            step = step / 2
        strength = strength + step
        if np.abs(step).max() < 1e-10:
            break
    return strength - strength.mean()


DAVIDSON = (
    "Davidson (1970) model, in log-odds; the interval allows for correlated comparisons of the same case"
)
LENGTH_CONTROLLED = "logistic regression on tanh of the standardised difference in length, predicted for outputs of equal length"
_FURTHEST = 20.0
"""Log-odds beyond which an estimate is on its way to infinity."""


@dataclass(frozen=True, slots=True)
class Davidson:
    """Strengths, how readily ties are given, and what else moves a preference, all as log-odds."""

    strengths: list[Estimate]
    """By player, against one of average strength: the odds of i over j, where it is no tie, are exp(i - j)."""
    ties: Estimate
    """The logarithm of Davidson's nu: between equals a tie is exp(ties) times as likely as either winning."""
    effects: list[Estimate]
    """What each column of `effects` adds to the log-odds of the first."""


def davidson(
    first: IntArray,
    second: IntArray,
    outcome: IntArray,
    cluster: IntArray,
    *,
    players: int,
    effects: FloatArray | None = None,
    confidence: float = 0.95,
) -> Davidson:
    """Bradley and Terry's model with ties: the first wins, ties and loses in the proportions exp(d/2), nu and exp(-d/2).

    `d` is the difference of the strengths and whatever `effects` add to it: within-pair order, as Davidson and Beaver have it, and
    further columns in the same way. Standard errors are sandwich estimates, comparisons of one case counting as one.

    Args:
        outcome: 1 where the first won, 0 for a tie, -1 where the second did.
        effects: A row a comparison, a column an effect, from the first's side.

    Returns:
        NaN with a note for what has no finite value, and for an effect that these comparisons cannot tell from the rest.

    References:
        Davidson (1970), JASA 65:317-328. Davidson and Beaver (1977), Biometrics 33:693-702.
    """
    n = len(outcome)
    columns = np.zeros((n, 0)) if effects is None else effects
    design = np.zeros((n, players + columns.shape[1]))
    design[np.arange(n), first] += 1
    design[np.arange(n), second] -= 1
    design[:, players:] = columns
    known = _identifiable_effects(design, players)
    kept = np.array([*range(players), *_independent_effects(design, players)], dtype=int)
    cases = int(cluster.max()) + 1 if n else 0
    with_ties = bool((outcome == 0).any())
    fit = _davidson_fit(design[:, kept], outcome, cluster, players, with_ties) if n else None
    if fit is None:
        why = "no finite value: some systems never lost to the other systems or tied with them, or every comparison went one way"
        none = undefined(why, method=DAVIDSON, n=n, confidence=confidence)
        return Davidson([none] * players, none, [none] * columns.shape[1])
    values, errors = fit
    reach = float(stdtrit(cases - 1, (1 + confidence) / 2)) if cases > 1 else np.nan

    def estimate(place: int) -> Estimate:
        value, error = float(values[place]), float(errors[place])
        p = float(2 * stdtr(cases - 1, -abs(value / error))) if cases > 1 and error > 0 else np.nan
        note = "" if cases > 1 else "no interval: all comparisons are of one case"
        low, high = value - reach * error, value + reach * error
        return Estimate(value, low, high, n, DAVIDSON, confidence, note, error, p)

    places = {int(column): place for place, column in enumerate(kept)}
    aliased = undefined(
        "not identifiable: this effect never varies independently of the other effects",
        method=DAVIDSON,
        n=n,
        confidence=confidence,
    )
    tie = (
        estimate(len(kept))
        if with_ties
        else undefined("there is no tie", method=DAVIDSON, n=n, confidence=confidence)
    )
    return Davidson(
        [estimate(place) for place in range(players)],
        tie,
        [estimate(places[c]) if c in known else aliased for c in range(players, design.shape[1])],
    )


def _identifiable_effects(design: FloatArray, players: int) -> set[int]:
    """The effects that no combination of the other columns stands for."""
    rank = np.linalg.matrix_rank(design)
    return {
        column
        for column in range(players, design.shape[1])
        if np.linalg.matrix_rank(np.delete(design, column, axis=1)) < rank
    }


def _independent_effects(design: FloatArray, players: int) -> list[int]:
    """As many of the effects, from the first on, as add something to the columns before them."""
    kept = list(range(players))
    for column in range(players, design.shape[1]):
        if np.linalg.matrix_rank(design[:, [*kept, column]]) > np.linalg.matrix_rank(design[:, kept]):
            kept.append(column)
    return kept[players:]


def _davidson_fit(
    design: FloatArray, outcome: IntArray, cluster: IntArray, players: int, with_ties: bool
) -> tuple[FloatArray, FloatArray] | None:
    """The estimates and their robust errors, ties last where there are any; None where there are no finite ones."""
    tied = (outcome == 0).astype(float)
    size = design.shape[1]
    together = np.zeros((size + with_ties, size + with_ties))
    together[:players, :players] = 1 / players

    def shares(at: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        half = design @ at[:size] / 2
        tie = np.full(len(half), at[size] if with_ties else -np.inf)
        total = np.logaddexp(np.logaddexp(half, -half), tie)
        return half - total, tie - total, -half - total

    def likelihood(at: FloatArray) -> float:
        won, tie, lost = shares(at)
        return float(np.where(outcome > 0, won, np.where(outcome < 0, lost, tie)).sum())

    def derivatives(at: FloatArray) -> tuple[FloatArray, FloatArray]:
        won, tie, lost = (np.exp(each) for each in shares(at))
        mean = won - lost
        scores = design * ((outcome - mean) / 2)[:, None]
        inner = design.T @ (design * ((won + lost - mean**2) / 4)[:, None])
        if not with_ties:
            return scores, inner
        across = design.T @ (-mean * tie / 2)
        information = np.block(
            [[inner, across[:, None]], [across[None, :], np.array([[(tie * (1 - tie)).sum()]])]]
        )
        return np.column_stack([scores, tied - tie]), information

    at = np.zeros(size + with_ties)
    for _ in range(STEPS):
        scores, information = derivatives(at)
        try:
            step = np.linalg.solve(information + together, scores.sum(axis=0))
        except np.linalg.LinAlgError:
            return None
        while likelihood(at + step) < likelihood(at) - 1e-12:
            step = step / 2
        at = at + step
        if np.abs(at).max() > _FURTHEST:
            return None
        if np.abs(step).max() < 1e-10:
            break
    scores, information = derivatives(at)
    if np.linalg.eigvalsh(information + together)[0] < 1e-8:
        return None
    inverse = np.linalg.inv(information + together) - together
    cases = int(cluster.max()) + 1
    by_case = np.zeros((cases, len(at)))
    np.add.at(by_case, cluster, scores)
    spread = inverse @ (by_case.T @ by_case) @ inverse * (cases / max(cases - 1, 1))
    at[:players] -= at[:players].mean()
    return at, np.sqrt(np.maximum(np.diag(spread), 0.0))


def length_controlled(
    shares: FloatArray, difference: FloatArray, cluster: IntArray, *, confidence: float = 0.95
) -> Estimate:
    """The win rate that a logistic regression predicts for outputs of equal length, as AlpacaEval has it.

    `difference` is the length in characters of the system's output less that of the other's. AlpacaEval's regression has the same two
    terms and a third, the difficulty of each of its instructions, which is known of no others; it shrinks them by an L1 penalty,
    and this one does not.

    References:
        Dubois, Galambosi, Liang and Hashimoto (2024), "Length-Controlled AlpacaEval", arXiv:2404.04475.
    """
    n = len(shares)

    def none(why: str) -> Estimate:
        return undefined(why, method=LENGTH_CONTROLLED, n=n, confidence=confidence)

    usable = np.isfinite(difference)
    if n < 2 or not usable.all():
        return none("the lengths of the outputs are not known" if n >= 2 else "too few comparisons")
    apart = float(difference.std(ddof=1))
    if apart < 1e-12:
        return none(
            "length cannot be controlled for, because the lengths of the outputs always differ by the same amount"
        )
    design = np.column_stack([np.ones(n), np.tanh(difference / apart)])
    at = np.zeros(2)
    for _ in range(STEPS):
        chance = expit(design @ at)
        information = design.T @ (design * (chance * (1 - chance))[:, None])
        if np.abs(at).max() > _FURTHEST or np.linalg.cond(information) > 1e12:
            return none("no finite value: length or system alone decides every comparison")
        step = np.linalg.solve(information, design.T @ (shares - chance))
        at = at + np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-12:
            break
    chance = expit(design @ at)
    bread = np.linalg.inv(design.T @ (design * (chance * (1 - chance))[:, None]))
    cases = int(cluster.max()) + 1
    score = np.zeros((cases, 2))
    np.add.at(score, cluster, design * (shares - chance)[:, None])
    error = float(np.sqrt((bread @ (score.T @ score) @ bread)[0, 0] * cases / max(cases - 1, 1)))
    rate = float(expit(at[0]))
    if cases < 2:
        return Estimate(
            rate,
            np.nan,
            np.nan,
            n,
            LENGTH_CONTROLLED,
            confidence,
            "no interval: all comparisons are of one case",
        )
    reach = float(stdtrit(cases - 1, (1 + confidence) / 2)) * error
    low, high = float(expit(at[0] - reach)), float(expit(at[0] + reach))
    return Estimate(rate, low, high, n, LENGTH_CONTROLLED, confidence, se=error * rate * (1 - rate))
