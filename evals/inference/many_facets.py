"""How harsh each rater is, how hard each attribute and how good each case, in one model: many-facet Rasch measurement.

The log-odds of one category over the one below are the case's measure, less the rater's severity, the attribute's difficulty and
the step's threshold. Cases are drawn from a normal distribution and integrated out (marginal maximum likelihood). Its mean
depends on who rated the case, so that a rater who was given bad cases is not taken for a harsh one: severities come from what
raters say of the same cases.

References:
    Linacre (1989), Many-Facet Rasch Measurement. MESA Press.
    Andrich (1978), Psychometrika 43:561-573: the rating scale model. Masters (1982), Psychometrika 47:149-174: partial credit.
    Warm (1989), Psychometrika 54:427-450: the measures of cases.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from ...rubrics.errors import VenireError
from ..statistics.matrix import FloatArray, IntArray

Steps = Literal["rating-scale", "partial-credit"]
NODES = np.linspace(-9, 9, 91)
"""Measures, in logits, at which cases are summed over."""
SPREADS = (math.log(0.25), math.log(4.0))
"""Between which the spread of cases is looked for, in logits: the nodes would be too far apart below, and too near above."""
RIDGE = 0.005
"""How firmly parameters are held near 0: enough for a rater who always gives one end, next to nothing for others."""
GRID = np.linspace(-9, 9, 181)
MOST_CATEGORIES = 12


@dataclass(frozen=True, slots=True)
class Facets:
    """Raters, attributes and cases on one scale of logits."""

    raters: pd.DataFrame
    """`rater`, `severity` (above 0: harsher), `se`, `infit`, `outfit`, `fair` (what it would give the mean case), `n`, `mean`."""
    attributes: pd.DataFrame
    """`attribute`, `difficulty`, `se`, `infit`, `outfit`, `n`."""
    cases: pd.DataFrame
    """`case`, `measure`, `se`, `fair` (by a rater of mean severity), `infit`, `outfit`, `n`, `mean`."""
    steps: pd.DataFrame
    """`attributes`, `category`, `threshold`."""
    spread: float
    """The standard deviation of cases that the same raters rated, in logits."""
    separation: Mapping[str, float]
    """By facet: how many times the spread of measures exceeds their error; and as `reliability of ...` a share."""
    model: Steps
    notes: tuple[str, ...]


def many_facets(ratings: pd.DataFrame, *, model: Steps = "rating-scale") -> Facets:
    """The model fitted to `ratings`: `case`, `rater`, `attribute`, `value` (higher is better), none of them blank.

    Raises:
        VenireError: Raters share no cases, so that harshness and cases cannot be told apart; or there is too little.
    """
    table = ratings.astype({"case": str, "rater": str, "attribute": str})
    refuse_disconnected(table)
    fit = _Fit(table, model)
    return fit.facets()


def refuse_disconnected(table: pd.DataFrame) -> None:
    """An error where raters fall into sets that share no case: their severities have nothing in common to be measured by."""
    if table["rater"].nunique() < 2 or table["case"].nunique() < 2:
        raise VenireError(
            "to estimate how harsh raters are, two raters and two cases or more are needed",
            remedy="give ratings by more raters, or of more cases",
        )
    case, _ = pd.factorize(table["case"])
    rater, names = pd.factorize(table["rater"])
    size = case.max() + 1 + len(names)
    links = csr_matrix((np.ones(len(case)), (case, case.max() + 1 + rater)), shape=(size, size))
    number, part = connected_components(links, directed=False)
    if number > 1:
        parts = [
            ", ".join(str(name) for name, at in zip(names, part[case.max() + 1 :], strict=True) if at == i)
            for i in range(number)
        ]
        raise VenireError(
            f"the raters form {number} sets that have no case in common: {' | '.join(parts[:6])}",
            remedy="have some cases rated by people of different sets, or analyse each set separately",
        )


class _Fit:
    """Ratings as counts of categories by case and cell (a rater on an attribute), and the likelihood of parameters."""

    def __init__(self, table: pd.DataFrame, model: Steps) -> None:
        self._table, self._model = table, model
        self._case, self._cases = pd.factorize(table["case"])
        self._rater, self._raters = pd.factorize(table["rater"])
        self._attribute, self._attributes = pd.factorize(table["attribute"])
        self._notes: list[str] = []
        self._group, self._values = self._step_groups()
        self._code = np.array(
            [
                np.searchsorted(self._values[self._group[a]], v)
                for a, v in zip(self._attribute, table["value"], strict=True)
            ],
            dtype=np.int64,
        )
        cell, pairs = pd.factorize(pd.MultiIndex.from_arrays([self._rater, self._attribute]))
        self._cell_rater = np.array([pair[0] for pair in pairs])
        self._cell_attribute = np.array([pair[1] for pair in pairs])
        self._cell_group = self._group[self._cell_attribute]
        self._widest = max(len(values) for values in self._values)
        self._legal = np.array([np.arange(self._widest) < len(self._values[g]) for g in self._cell_group])
        shape = (len(self._cases), len(pairs) * self._widest)
        self._said = csr_matrix(
            (np.ones(len(cell)), (self._case, cell * self._widest + self._code)), shape=shape
        )
        has_rated = np.zeros((len(self._cases), len(self._raters)))
        has_rated[self._case, self._rater] = 1
        self._given = (has_rated - has_rated.mean(axis=0))[:, np.ptp(has_rated, axis=0) > 0]
        steps = [len(values) - 1 for values in self._values]
        self._sizes = (
            2 + self._given.shape[1],
            len(self._raters) - 1,
            len(self._attributes) - 1,
            *(max(0, size - 1) for size in steps),
        )

    def _step_groups(self) -> tuple[IntArray, list[FloatArray]]:
        """By attribute its set of steps, and by set the categories that were used."""
        used = [np.unique(part["value"].to_numpy(float)) for _, part in self._table.groupby(self._attribute)]
        if self._model == "partial-credit":
            group, values = np.arange(len(used)), used
        else:
            group, values = (np.zeros(len(used), dtype=np.int64), [np.unique(np.concatenate(used))])
        for categories in values:
            if len(categories) < 2:
                raise VenireError(
                    "an attribute has the same value for every case",
                    remedy="leave this attribute out",
                )
            if len(categories) > MOST_CATEGORIES:
                raise VenireError(
                    f"the ratings have {len(categories)} different values, too many for the steps of a scale",
                    remedy="rate on a scale of fewer points",
                )
            gaps = np.diff(categories)
            if np.ptp(gaps) > 1e-9:
                self._notes.append("no step is estimated for values of the scale that nobody used")
        return group, values

    def _parts(self, free: FloatArray) -> tuple[FloatArray, float, FloatArray, FloatArray, list[FloatArray]]:
        """By case the mean it is drawn about, the log of the spread, severities, difficulties and thresholds summing to 0."""
        pieces = np.split(free, np.cumsum(self._sizes)[:-1])
        return (
            pieces[0][0] + self._given @ pieces[0][2:],
            pieces[0][1],
            _summing_to_zero(pieces[1]),
            _summing_to_zero(pieces[2]),
            [_summing_to_zero(piece) if len(values) > 2 else np.zeros(len(values) - 1) for piece, values in zip(pieces[3:], self._values, strict=True)],
        )  # fmt: skip

    def _chances(self, measure: FloatArray, severity: FloatArray, difficulty: FloatArray, steps: list[FloatArray]) -> FloatArray:  # fmt: skip
        """By cell, category and measure: how likely the category is."""
        reach = np.zeros((len(self._cell_group), self._widest))
        for at, group in enumerate(self._cell_group):
            reach[at, 1 : len(steps[group]) + 1] = np.cumsum(steps[group])
        ease = measure - (severity[self._cell_rater] + difficulty[self._cell_attribute])[:, None]
        logits = np.arange(self._widest)[None, :, None] * ease[:, None, :] - reach[:, :, None]
        logits[~self._legal] = -np.inf
        logits -= logits.max(axis=1, keepdims=True)
        chance = np.exp(logits)
        return np.asarray(chance / chance.sum(axis=1, keepdims=True))

    def _posterior(self, chance: FloatArray, means: FloatArray, spread: float) -> tuple[FloatArray, float]:
        """By case and node, where the case may lie given what was said of it; and the log-likelihood."""
        logs = np.log(np.maximum(chance, 1e-300)).reshape(-1, chance.shape[2])
        distances = (NODES - means[:, None]) / spread
        density = -(distances**2) / 2 - math.log(spread * math.sqrt(2 * math.pi) / (NODES[1] - NODES[0]))
        by_node = self._said @ logs + density
        top = by_node.max(axis=1, keepdims=True)
        weight = np.exp(by_node - top)
        total = weight.sum(axis=1, keepdims=True)
        return weight / total, float((top + np.log(total)).sum())

    def loss(self, free: FloatArray) -> tuple[float, FloatArray]:
        """Minus the log-likelihood, held near 0 by the ridge, and its slope."""
        means, log_spread, severity, difficulty, steps = self._parts(free)
        spread = math.exp(log_spread)
        chance = self._chances(NODES, severity, difficulty, steps)
        posterior, height = self._posterior(chance, means, spread)
        distances = (NODES - means[:, None]) / spread
        mean_pull = (posterior * distances).sum(axis=1) / spread
        widened = float((posterior * distances**2).sum() - len(means))
        counts = (self._said.T @ posterior).reshape(chance.shape)
        answer_counts = counts.sum(axis=1)
        residuals = counts - answer_counts[:, None, :] * chance
        pushed = np.einsum("ckq,k->cq", residuals, np.arange(self._widest))
        of_cell = pushed.sum(axis=1)
        slope = [
            np.concatenate([[mean_pull.sum(), widened], self._given.T @ mean_pull]),
            _free_slope(-np.bincount(self._cell_rater, weights=of_cell, minlength=len(self._raters))),
            _free_slope(-np.bincount(self._cell_attribute, weights=of_cell, minlength=len(self._attributes))),
        ]
        beyond = residuals.sum(axis=2)[:, ::-1].cumsum(axis=1)[:, ::-1]
        for group, values in enumerate(self._values):
            step_slope = -beyond[self._cell_group == group, 1 : len(values)].sum(axis=0)
            slope.append(_free_slope(step_slope) if len(values) > 2 else np.zeros(0))
        flat = np.concatenate(slope)
        penalised = free.copy()
        penalised[:2] = 0
        return -height + RIDGE * float(penalised @ penalised) / 2, -flat + RIDGE * penalised

    def facets(self) -> Facets:
        start = np.zeros(sum(self._sizes))
        fit = minimize(
            self.loss,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=self._bounds(),
            options={"maxiter": 500, "ftol": 1e-12, "gtol": 1e-6},
        )
        at = fit.x
        if not fit.success and np.abs(fit.jac).max() > 1e-2:
            self._notes.append(
                "the fit of the many-facet model did not converge, so its estimates may be wrong"
            )
        covariance = _inverse_curvature(self.loss, at)
        means, log_spread, severity, difficulty, steps = self._parts(at)
        spread, mean = math.exp(log_spread), float(at[0])
        chance = self._chances(NODES, severity, difficulty, steps)
        posterior, _ = self._posterior(chance, means, spread)
        start_of = self._sizes[0]
        attributes_at = start_of + len(self._raters) - 1
        severity_se = _centred_errors(covariance[start_of:attributes_at, start_of:attributes_at])
        difficulty_se = _centred_errors(covariance[attributes_at : attributes_at + len(self._attributes) - 1, attributes_at : attributes_at + len(self._attributes) - 1])  # fmt: skip
        fits = self._fit_statistics(chance, posterior)
        raters = pd.DataFrame({"rater": self._raters, "severity": severity, "se": severity_se}).join(
            fits["rater"]
        )
        raters["fair"] = [self._fair(mean, value, difficulty, steps) for value in severity]
        raters = raters.join(self._plain_means(self._rater))
        attributes = pd.DataFrame({"attribute": self._attributes, "difficulty": difficulty, "se": difficulty_se}).join(fits["attribute"])  # fmt: skip
        attributes = attributes.join(self._plain_means(self._attribute))
        measure, error = self._measures(severity, difficulty, steps)
        cases = pd.DataFrame({"case": self._cases, "measure": measure, "se": error}).join(fits["case"])
        cases["fair"] = [self._fair(value, 0.0, difficulty, steps) for value in measure]
        cases = cases.join(self._plain_means(self._case))
        stuck = raters["rater"][[self._code[self._rater == r].min() == self._code[self._rater == r].max() for r in range(len(self._raters))]]  # fmt: skip
        if len(stuck):
            self._notes.append(
                f"raters whose severity cannot be estimated, because they gave every case the same value: {', '.join(stuck)}"
            )
        return Facets(
            raters,
            attributes,
            cases,
            pd.DataFrame(
                [
                    (
                        ", ".join(self._attributes[self._group == group]),
                        float(self._values[group][step + 1]),
                        float(threshold),
                    )
                    for group in range(len(self._values))
                    for step, threshold in enumerate(steps[group])
                ],
                columns=["attributes", "category", "threshold"],
            ),
            spread,
            {**_separation("raters", severity, severity_se), **_separation("cases", measure, error)},
            self._model,
            tuple(dict.fromkeys(self._notes)),
        )

    def _bounds(self) -> list[tuple[float, float]]:
        """Between which each parameter is looked for."""
        bounds: list[tuple[float, float]] = [(-7.0, 7.0)] * sum(self._sizes)
        bounds[1] = SPREADS
        return bounds

    def _measures(self, severity: FloatArray, difficulty: FloatArray, steps: list[FloatArray]) -> tuple[FloatArray, FloatArray]:  # fmt: skip
        """Warm's weighted likelihood estimates, which are finite for a case that got one end throughout, and their errors."""
        chance = self._chances(GRID, severity, difficulty, steps)
        score = np.arange(self._widest)[None, :, None]
        means = (chance * score).sum(axis=1)
        variance = (chance * score**2).sum(axis=1) - means**2
        logs = np.log(np.maximum(chance, 1e-300)).reshape(-1, len(GRID))
        rating_counts = self._rating_counts()
        information = np.maximum(rating_counts @ variance, 1e-12)
        height = self._said @ logs + np.log(information) / 2
        peaks = height.argmax(axis=1).clip(1, len(GRID) - 2)
        rows = np.arange(len(peaks))
        left_height, top, right_height = (height[rows, peaks + side] for side in (-1, 0, 1))
        bend = np.minimum(left_height - 2 * top + right_height, -1e-12)
        shift = np.clip((left_height - right_height) / (2 * bend), -1, 1) * (GRID[1] - GRID[0])
        return GRID[peaks] + shift, 1 / np.sqrt(information[rows, peaks])

    def _rating_counts(self) -> csr_matrix:
        """By case and cell, how often it was rated."""
        rows, columns = self._said.nonzero()
        shape = (self._said.shape[0], self._said.shape[1] // self._widest)
        return csr_matrix((np.ones(len(rows)), (rows, columns // self._widest)), shape=shape)

    def _fit_statistics(self, chance: FloatArray, posterior: FloatArray) -> dict[str, pd.DataFrame]:
        """Infit and outfit, expected over where each case may lie: 1 where ratings vary as the model says."""
        score = np.arange(self._widest)[None, :, None]
        means = (chance * score).sum(axis=1)
        variance = np.maximum((chance * score**2).sum(axis=1) - means**2, 1e-9)
        squared = (score - means[:, None, :]) ** 2
        counts = (self._said.T @ posterior).reshape(chance.shape)
        answer_counts = counts.sum(axis=1)
        statistics: dict[str, pd.DataFrame] = {}
        for name, index, size in (
            ("rater", self._cell_rater, len(self._raters)),
            ("attribute", self._cell_attribute, len(self._attributes)),
        ):
            sums = [
                np.bincount(index, weights=part, minlength=size)
                for part in (
                    (counts * squared).sum(axis=(1, 2)),
                    (answer_counts * variance).sum(axis=1),
                    (counts * squared / variance[:, None, :]).sum(axis=(1, 2)),
                    answer_counts.sum(axis=1),
                )
            ]
            statistics[name] = pd.DataFrame({"infit": sums[0] / sums[1], "outfit": sums[2] / sums[3]})
        flat = squared.reshape(-1, squared.shape[2])
        standard = (squared / variance[:, None, :]).reshape(-1, squared.shape[2])
        links = self._rating_counts()
        number = np.asarray(links.sum(axis=1)).ravel()
        statistics["case"] = pd.DataFrame(
            {
                "infit": (posterior * (self._said @ flat)).sum(axis=1)
                / (posterior * (links @ variance)).sum(axis=1),
                "outfit": (posterior * (self._said @ standard)).sum(axis=1) / number,
            }
        )
        return statistics

    def _fair(
        self, measure: float, severity: float, difficulty: FloatArray, steps: list[FloatArray]
    ) -> float:
        """The expected value, over attributes, of a rater of this severity on a case of this measure."""
        total = 0.0
        for at, hard in enumerate(difficulty):
            group = self._group[at]
            logits = np.arange(len(self._values[group])) * (measure - severity - hard)
            logits = logits - np.concatenate([[0.0], np.cumsum(steps[group])])
            chance = np.exp(logits - logits.max())
            total += float(chance @ self._values[group] / chance.sum())
        return total / len(difficulty)

    def _plain_means(self, index: IntArray) -> pd.DataFrame:
        by = self._table["value"].astype(float).groupby(index)
        return pd.DataFrame({"n": by.size().to_numpy(), "mean": by.mean().to_numpy()})


def _summing_to_zero(free: FloatArray) -> FloatArray:
    return np.append(free, -free.sum())


def _free_slope(slope: npt.NDArray[Any]) -> FloatArray:
    """The slope by the free parameters, of which the last is minus the sum."""
    return np.asarray(slope[:-1] - slope[-1])


def _centred_errors(covariance: FloatArray) -> FloatArray:
    if not covariance.size:
        return np.zeros(1)
    return np.sqrt(np.append(np.diag(covariance), covariance.sum()).clip(min=0))


def _inverse_curvature(loss: object, at: FloatArray, step: float = 1e-4) -> FloatArray:
    """The covariance of the parameters, by central differences of the slope."""
    moves = step * np.eye(len(at))
    curve = np.stack([(loss(at + move)[1] - loss(at - move)[1]) / (2 * step) for move in moves])  # type: ignore[operator]
    values, vectors = np.linalg.eigh((curve + curve.T) / 2)
    return np.asarray((vectors / np.maximum(values, 1e-6)) @ vectors.T)


def _separation(name: str, measures: FloatArray, errors: FloatArray) -> dict[str, float]:
    """The spread beyond error over the error, and as a share of the spread seen."""
    observed, noise = (
        float(np.var(measures, ddof=1)) if len(measures) > 1 else math.nan,
        float((errors**2).mean()),
    )
    true = max(0.0, observed - noise)
    return {
        f"separation of {name}": math.sqrt(true / noise) if noise > 0 else math.nan,
        f"reliability of {name}": true / observed if observed > 0 else math.nan,
    }
