"""The graded response model behind intervals on ceiling scales: its slope, its sums over quality, what it recovers."""

from __future__ import annotations

import numpy as np
import pytest

from venire.evals.statistics import graded_response
from venire.evals.statistics import latent_trait as module
from venire.evals.statistics.graded_response import FEW_RATERS, GradedResponseModel
from venire.evals.statistics.holding import SQUARES, holding
from venire.evals.statistics.jackknife import CORRELATION
from venire.evals.statistics.latent_trait import LatentTrait, latent_trait
from venire.evals.statistics.matrix import FloatArray, Matrix

SCALE = np.arange(1.0, 6.0)


def ceiling_scores(cases: int, raters: int, seed: int, noise: float = 0.6) -> FloatArray:
    """Scores of 1-5, two thirds of them fives, of which one in ten is missing; the latent correlation is 0.74, or 0.92 with
    half the noise."""
    rng = np.random.default_rng(seed)
    seen = rng.normal(size=(cases, 1)) + noise * rng.normal(size=(cases, raters))
    scores = 1.0 + np.searchsorted([-2.4, -1.7, -1.1, -0.5], seen)
    scores[rng.random(scores.shape) < 0.1] = np.nan
    return scores


def model(raters: int, effect: float = 1.0, noise: float = 0.6) -> GradedResponseModel:
    scores = ceiling_scores(40, raters, 1, noise)
    codes = np.where(np.isnan(scores), len(SCALE), scores - 1).astype(np.int64)
    return GradedResponseModel(codes, len(SCALE), effect)


@pytest.mark.parametrize(("raters", "effect"), [(2, 1.0), (7, 1.4), (12, 1.0)])
def test_the_slope_is_that_of_differences(raters: int, effect: float) -> None:
    fitted = model(raters, effect)
    free = len(SCALE) + 1 + (raters if raters <= FEW_RATERS else 0)
    at = np.random.default_rng(0).normal(0, 0.5, free)
    steps = 1e-5 * np.eye(free)

    by_differences = (fitted._log_posterior(at + steps) - fitted._log_posterior(at - steps)) / 2e-5

    assert fitted.slope(at[None])[0] == pytest.approx(by_differences, abs=1e-6)


@pytest.mark.parametrize("raters", [3, 5, 7])
def test_the_sum_over_quality_is_fine_enough_for_raters_who_see_nearly_the_same(
    raters: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    coarse = model(raters, noise=0.3)
    mode = coarse.mode()
    close = np.repeat(mode[None], 4, axis=0)
    close[:, 0] = mode[0] + np.array([-0.5, 0.0, 0.5, 1.0])
    found = coarse._log_likelihood(coarse._answers(close))
    monkeypatch.setattr(graded_response, "NODES", 200)
    fine = model(raters, noise=0.3)

    assert found == pytest.approx(fine._log_likelihood(fine._answers(close)), abs=0.1)


@pytest.mark.parametrize("power", [1, 2])
def test_the_design_effect_of_many_groups_is_that_of_their_correlation(power: int) -> None:
    rng = np.random.default_rng(3)
    cluster = np.repeat(np.arange(2_000), 3)
    scores = rng.normal(size=2_000)[cluster] + rng.normal(size=6_000)

    assert module._design_effect(scores[:, None], cluster, power) == pytest.approx(
        1 + 2 * 0.5**power, abs=0.05
    )
    assert module._design_effect(scores[:, None], np.arange(6_000), power) == 1


def test_a_handful_of_groups_cannot_exclude_that_their_cases_are_alike() -> None:
    cluster = np.repeat(np.arange(5), 3)
    unlike = np.tile([1.0, 3.0, 5.0], 5)
    alike = np.repeat([1.0, 2.0, 3.0, 4.0, 5.0], 3)

    assert 1.05 < module._design_effect(unlike[:, None], cluster, 1) < 1.5
    assert module._design_effect(alike[:, None], cluster, 1) == pytest.approx(3, abs=0.05)
    assert module._design_effect(np.full((15, 1), 5.0), cluster, 1) < 3


def test_draws_of_agreement_lie_about_the_truth() -> None:
    def share_equal(trait: LatentTrait) -> FloatArray:
        return np.trace(trait.tables.mean(axis=1), axis1=1, axis2=2)

    scores = ceiling_scores(140, 4, 3)
    trait = latent_trait(scores, np.arange(140), SCALE, seed=0)
    many = ceiling_scores(20_000, 4, 4)
    truth = np.mean(
        [many[both, 0] == many[both, 1] for both in [~np.isnan(many[:, 0] + many[:, 1])]], dtype=float
    )

    assert trait is not None
    low, high = trait.quantiles(share_equal(trait), np.array([0.025, 0.975]))
    assert low < truth < high and high - low < 0.2


def test_a_posterior_without_a_shape_gives_no_interval_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def singular(*_: object) -> FloatArray:
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr(module, "_students", singular)
    module._posterior.cache_clear()
    scores = ceiling_scores(30, 3, 9)
    grid = Matrix(scores, tuple(range(30)), ("a", "b", "c"), np.arange(30))
    found = holding(
        0.5,
        np.linspace(0.45, 0.55, 30),
        np.ones(30, dtype=np.int64),
        grid=grid,
        everyone=grid,
        link=CORRELATION,
        population=lambda trait: trait.of_pairs(lambda values: lambda weights: weights[:, 0]),
        levels=tuple(SCALE),
        method="any",
        confidence=0.95,
        seed=0,
        used=30,
        basis=SQUARES,
    )

    assert found.value == 0.5 and np.isnan(found.low) and "does not fit" in found.note
