"""For each attribute, or for all together: one judge, a jury or weights, chosen by an objective on other cases than those it is
scored on; and whether the jury pays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats
from scipy.optimize import nnls

from ..comparison.objectives import OBJECTIVES, Objective, ScoredVotes, equal_weights, seat_weights
from ..ratings.folds import Fold, folds, held_rows, widening
from ..statistics.correlation import mean_ranks
from ..statistics.estimate import Estimate
from ..statistics.matrix import FloatArray, IntArray
from .candidates import SINGLE

GRADIENT_STEPS = 300
TINY = 1e-12


def simplex_weights(votes: FloatArray, truth: FloatArray, *, ridge: float) -> FloatArray:
    """The weights whose mean of `votes` (one column a juror) comes nearest to `truth` in squares.

    Args:
        ridge: How strongly they are drawn towards equal ones; 1 counts as much as the votes themselves.
    """
    x, y, _ = _known_votes(votes, truth)
    jurors = votes.shape[1]
    equal = np.full(jurors, 1 / jurors)
    if len(y) < 3:
        return equal
    # On the simplex the error of a weighted mean is the weighted mean of the errors.
    errors = x - y[:, None]
    gram = errors.T @ errors / len(y)
    strength = ridge * float(np.trace(gram)) / jurors
    gram, target = gram + strength * np.eye(jurors), strength * equal
    step = 1 / max(float(np.linalg.eigvalsh(gram)[-1]), TINY)
    weights = equal
    for _ in range(GRADIENT_STEPS):
        moved = _onto_simplex(weights - step * (gram @ weights - target))
        if np.abs(moved - weights).max() < 1e-9:
            break
        weights = moved
    return weights


def ordering_weights(
    votes: FloatArray, truth: FloatArray, attribute: IntArray, *, ridge: float, ranked: bool
) -> FloatArray:
    """The weights whose mean of `votes` goes with `truth` most closely, whatever the offset and the unit of either.

    Args:
        attribute: What votes and truth are centred within.
        ridge: How strongly they are drawn towards equal ones; 1 counts as much as the votes themselves.
        ranked: Whether the ranks of `truth` stand for it.
    """
    x, y, kept = _known_votes(votes, truth)
    jurors = votes.shape[1]
    equal = np.full(jurors, 1 / jurors)
    if len(y) < 3:
        return equal
    for place in np.unique(attribute[kept]):
        rows = attribute[kept] == place
        x[rows] -= x[rows].mean(axis=0)
        goal = mean_ranks(y[rows]) / rows.sum() if ranked else y[rows]
        y[rows] = goal - goal.mean()
    mean = x.mean(axis=1)
    slope = float(mean @ y) / max(float(mean @ mean), TINY)
    gram = x.T @ x / len(y)
    strength = ridge * float(np.trace(gram)) / jurors
    root = np.linalg.cholesky(gram + (strength + TINY) * np.eye(jurors))
    pulled = x.T @ y / len(y) + strength * max(slope, 0.0) * equal
    weights, _ = nnls(root.T, np.linalg.solve(root, pulled))
    return weights / weights.sum() if weights.sum() > TINY else equal


def _known_votes(votes: FloatArray, truth: FloatArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """The questions with a truth and a vote: votes, those missing being the mean of the others', truth, and which they are."""
    given = ~np.isnan(votes)
    rows = np.flatnonzero(given.any(axis=1) & ~np.isnan(truth))
    votes, given = votes[rows], given[rows]
    mean = np.where(given, votes, 0.0).sum(axis=1) / given.sum(axis=1)
    return np.where(given, votes, mean[:, None]), truth[rows], rows


def _onto_simplex(point: FloatArray) -> FloatArray:
    """The nearest point whose coordinates are non-negative and add up to one.

    References:
        Duchi et al. (2008), "Efficient projections onto the l1-ball for learning in high dimensions".
    """
    ranked = np.sort(point)[::-1]
    over = (ranked.cumsum() - 1) / np.arange(1, len(point) + 1)
    last = int(np.flatnonzero(ranked > over)[-1])
    return np.maximum(point - over[last], 0.0)


INNER = 5
RIDGES = (0.1, 0.3)
"""How strongly weights are drawn towards equal ones: the strengths that inner folds choose among."""
SEATS = 9
"""How many seats a jury by steps is given, a juror as many of them as help."""
BLOCKS = 100
"""Delete-a-group jackknife: at the most so many groups of clusters."""
STEPS, EVERYONE = "jury by steps", "all jurors"
EQUAL = 1e-9

Arms = Mapping[str, FloatArray]
"""By name of an arm, the weights of its members."""
Fit = Callable[[ScoredVotes], Arms]
"""What the questions it is given make of each arm; `SINGLE` is one of them."""


@dataclass(frozen=True, slots=True)
class HeldArm:
    """An arm that other cases chose, on the cases that they did not choose it on."""

    name: str
    """What all cases to choose on choose now."""
    weights: FloatArray
    value: Estimate
    naive: float
    """On the cases that chose it."""
    measures: Mapping[str, float]
    """By objective, held out."""


@dataclass(frozen=True, slots=True)
class ArmChoice:
    """What to seat, and what that is worth against one judge."""

    best: HeldArm
    jury: HeldArm | None
    """The best of two or more."""
    single: HeldArm
    gain: Estimate
    """The jury's value less the single judge's, high being good; NaN where there is no jury."""
    p: float
    over_constant: Estimate
    """The jury's value less that of one answer to everything."""
    clusters: int
    error: float
    """The standard error of the gain, as the interval has it."""
    use: HeldArm | None = None
    """The arm to use, where all arms were compared; None where it is the cheaper of jury and judge that is not shown to be worse."""

    @property
    def pays(self) -> bool:
        """A jury pays that is shown to be better than the best judge, and than one constant answer."""
        return self.gain.low > 0 and not self.over_constant.low <= 0


def composed_arms(objective: Objective, largest: int) -> Fit:
    """The best judge, the jury that grows from it by the seat that helps most, everyone, and everyone by weights."""
    steps_by = OBJECTIVES[objective.stand_in] if objective.stand_in else objective

    def fit(votes: ScoredVotes) -> Arms:
        voters = votes.votes.shape[1]
        judge, jury = _by_steps(votes, steps_by, largest)
        arms = {SINGLE: judge, STEPS: jury, EVERYONE: equal_weights(range(voters), voters)}
        if all(scale.ordered for scale in votes.scales):
            for ridge in RIDGES:
                arms[f"weights (ridge {ridge:g})"] = (
                    simplex_weights(votes.votes, votes.truth, ridge=ridge)
                    if objective.absolute
                    else ordering_weights(
                        votes.votes, votes.truth, votes.attribute, ridge=ridge, ranked=objective.ranked
                    )
                )
        return arms

    return fit


def _by_steps(votes: ScoredVotes, objective: Objective, largest: int) -> tuple[FloatArray, FloatArray]:
    """The best judge, and the best jury on the way that each time gives a seat to the juror, in it or not, with whom it scores
    highest.

    References:
        Caruana et al. (2004), "Ensemble selection from libraries of models", ICML: forward steps with replacement.
    """
    voters = votes.votes.shape[1]
    alone = votes.scores(votes.votes.T, objective)
    first = int(np.argmax(np.where(np.isnan(alone), -np.inf, alone)))
    nearly = np.ones(SEATS) if all(scale.ordered for scale in votes.scales) else seat_weights(SEATS)
    seats = nearly[0] * np.eye(voters)[first]
    judge = best = seats
    highest = alone[first]
    for step in range(1, SEATS):
        members = np.flatnonzero(seats)
        joining = members if len(members) == largest else np.arange(voters)
        scores = votes.scores(votes.answers_with_a_seat(seats, joining, nearly[step]), objective)
        at = int(np.argmax(np.where(np.isnan(scores), -np.inf, scores)))
        seats = seats + nearly[step] * np.eye(voters)[joining[at]]
        if not scores[at] <= highest + EQUAL:
            best, highest = seats, scores[at]
    return judge / judge.sum(), best / best.sum()


def choose(
    votes: ScoredVotes,
    parts: Sequence[Fold],
    objective: Objective,
    fit: Fit,
    *,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> ArmChoice:
    """The judge, the jury and the better of them that each fold's other cases choose, on the cases it holds out.

    Args:
        parts: Folds over the questions that keep clusters whole: one for a test set, or several rounds of them.
    """
    held: dict[str, list[FloatArray]] = {"best": [], "jury": [], SINGLE: [], "constant": []}
    for fold in parts:
        train, test = votes.at(fold.chosen_on), votes.at(fold.held_out)
        arms, jury, best = _preferred_arms(train, objective, fit, rng)
        rows = np.array([arms[best], arms[jury or SINGLE], arms[SINGLE]])
        said = test.answers(rows)
        usual = usual_answers(train, test, objective)
        for name, answers in zip(held, (*said, usual), strict=True):
            held[name].append(answers)
    every = votes.at(np.unique(np.concatenate([fold.chosen_on for fold in parts])))
    arms, jury, best = _preferred_arms(every, objective, fit, rng)
    rounds = Rounds(votes, parts, objective, confidence)
    tables = {name: rounds.table(pieces) for name, pieces in held.items()}

    def arm(role: str, name: str) -> HeldArm:
        naive = float(_scores(every, arms[name][None, :], objective)[0]) * objective.better
        return HeldArm(name, arms[name], rounds.estimate(tables[role]), naive, rounds.measures(tables[role]))

    gain, p, error = rounds.difference(tables["jury"], tables[SINGLE])
    nothing = Estimate(
        np.nan,
        np.nan,
        np.nan,
        gain.n,
        gain.method,
        note="no jury is among the arms, so there is none to compare with the single judge",
    )
    return ArmChoice(
        best=arm("best", best),
        jury=arm("jury", jury) if jury else None,
        single=arm(SINGLE, SINGLE),
        gain=gain if jury else nothing,
        p=p if jury else np.nan,
        over_constant=rounds.difference(tables["jury"], tables["constant"])[0],
        clusters=rounds.clusters,
        error=error,
    )


def _preferred_arms(
    votes: ScoredVotes, objective: Objective, fit: Fit, rng: np.random.Generator
) -> tuple[Arms, str | None, str]:
    """The arms that all of `votes` make, and which jury and which of all that inner folds prefer.

    The jury by steps, which may be the best judge alone, gives way to an arm that beats it by more than a standard error:
    inner folds hold too few cases to tell more arms apart by less.
    """
    arms = fit(votes)
    names = list(arms)
    answers = np.full((len(names), len(votes.truth)), np.nan)
    parts = []
    for fold in folds(votes.cluster, INNER, rng):
        made, out = fit(votes.at(fold.chosen_on)), votes.at(fold.held_out)
        answers[:, fold.held_out] = out.answers(np.array([made[name] for name in names]))
        parts.append(out.scores(answers[:, fold.held_out], objective))
    by_fold = np.array(parts)
    scores = np.where(np.isnan(found := votes.scores(answers, objective)), -np.inf, found)

    def leading_arm(among: Sequence[str]) -> str:
        leader = max(among, key=lambda name: scores[names.index(name)])
        if STEPS not in among:
            return leader
        steps, ahead = names.index(STEPS), names.index(leader)
        apart = by_fold[:, ahead] - by_fold[:, steps]
        apart = apart[~np.isnan(apart)]
        error = apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else np.inf
        return leader if scores[ahead] - scores[steps] > error else STEPS

    several = {name: np.count_nonzero(weights) > 1 for name, weights in arms.items()}
    juries = [name for name in names if name != SINGLE and (several[name] or name != STEPS)]
    best = leading_arm(names)
    return arms, leading_arm(juries) if juries else None, best if best != STEPS or several[STEPS] else SINGLE


def _scores(votes: ScoredVotes, weights: FloatArray, objective: Objective) -> FloatArray:
    return votes.scores(votes.answers(weights), objective)


def usual_answers(train: ScoredVotes, test: ScoredVotes, objective: Objective) -> FloatArray:
    """For each question of `test`, the one answer that people mostly give to its attribute in `train`, or that earns most there."""
    usual = train.constant(objective)
    by_place = {int(place): usual[train.attribute == place][0] for place in np.unique(train.attribute)}
    return np.array([by_place.get(int(place), np.nan) for place in test.attribute])


class Rounds:
    """Held-out answers of each round of folds, and estimates from them: the mean over rounds, intervals by a jackknife."""

    def __init__(
        self, votes: ScoredVotes, parts: Sequence[Fold], objective: Objective, confidence: float = 0.95
    ) -> None:
        self._parts, self._objective, self._confidence = parts, objective, confidence
        self._rows = held_rows(parts)
        self._votes = votes.at(self._rows)
        self._widening = widening(parts)
        self.clusters = len(np.unique(self._votes.cluster))
        block = _blocks(self._votes.cluster)
        self._kept = np.asarray(block[None, :] != np.arange(block.max() + 1)[:, None], dtype=float)
        """By group of clusters, the questions that are left when it is left out."""

    def table(self, pieces: Sequence[FloatArray]) -> FloatArray:
        """One row a round, one column a held-out question."""
        rows: list[FloatArray] = []
        filled = np.zeros(len(self._rows), dtype=bool)
        for fold, piece in zip(self._parts, pieces, strict=True):
            at = np.searchsorted(self._rows, fold.held_out)
            if not rows or filled[at].any():
                rows.append(np.full(len(self._rows), np.nan))
                filled[:] = False
            rows[-1][at], filled[at] = piece, True
        return np.array(rows)

    def value(self, table: FloatArray, objective: Objective) -> float:
        """The mean over rounds, as it is reported."""
        return float(self._means(table, objective)[0]) * objective.better

    def measures(self, table: FloatArray) -> dict[str, float]:
        """The value of every objective that fits the scales."""
        fitting = (each for each in OBJECTIVES.values() if all(map(each.fits, self._votes.scales)))
        return {each.name: self.value(table, each) for each in fitting}

    def estimate(self, table: FloatArray) -> Estimate:
        found, _, _ = self._interval(self._means(table, self._objective), self._left_out(table))
        if self._objective.better < 0:
            found = replace(found, value=-found.value, low=-found.high, high=-found.low)
        low, high = max(found.low, self._objective.least), min(found.high, self._objective.most)
        return found if np.isnan(found.low) else replace(found, low=low, high=high)

    def difference(self, first: FloatArray, second: FloatArray) -> tuple[Estimate, float, float]:
        """The first's value less the second's, high being good; its p, and its standard error."""
        whole = self._means(first, self._objective) - self._means(second, self._objective)
        left_out = self._left_out(first) - self._left_out(second)
        found, p, error = self._interval(whole, left_out)
        if whole[0] == 0 and not left_out.any():
            return found, 1.0, 0.0
        return found, p, error

    def _means(self, table: FloatArray, objective: Objective) -> FloatArray:
        scores = self._votes.scores(table, objective)
        known = scores[~np.isnan(scores)]
        return np.array([known.mean() if len(known) else np.nan])

    def _left_out(self, table: FloatArray) -> FloatArray:
        """By group of clusters, the mean over rounds without it."""
        groups, rounds = len(self._kept), len(table)
        scores = self._votes.scores(
            np.tile(table, (groups, 1)), self._objective, np.repeat(self._kept, rounds, axis=0)
        ).reshape(groups, rounds)
        return np.asarray(scores.mean(axis=1))

    def _interval(self, whole: FloatArray, left_out: FloatArray) -> tuple[Estimate, float, float]:
        """A t interval from a delete-a-group jackknife, widened for folds that share cases."""
        value, groups = float(whole[0]), len(left_out)
        method = f"delete-a-group jackknife of {groups} groups"
        known = left_out[~np.isnan(left_out)]
        n = len(self._rows)
        if np.isnan(value) or len(known) < 3:
            return (
                Estimate(value, np.nan, np.nan, n, method, self._confidence, "undefined on these cases"),
                np.nan,
                np.nan,
            )
        if np.ptp(known) <= 1e-12 * max(1.0, abs(value)):
            why = "no interval: the value is the same whichever group is left out"
            return Estimate(value, np.nan, np.nan, n, method, self._confidence, why), np.nan, np.nan
        spread = float(((known - known.mean()) ** 2).sum()) * (len(known) - 1) / len(known)
        error = np.sqrt(spread) * self._widening
        free = len(known) - 1
        reach = float(stats.t.ppf((1 + self._confidence) / 2, free)) * error
        p = float(2 * stats.t.sf(abs(value) / error, free))
        return Estimate(value, value - reach, value + reach, n, method, self._confidence), p, float(error)


def _blocks(cluster: IntArray) -> IntArray:
    """Each question's group of clusters, at the most `BLOCKS` of about equal size."""
    _, number = np.unique(cluster, return_inverse=True)
    return np.asarray(number % min(BLOCKS, int(number.max()) + 1), dtype=np.int64)
