"""The choice of a token: never one that is not allowed, and the others as often as their likelihoods say."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from venire.agents.embedded.sampling import Sampler

LOGITS = np.log(np.array([0.5, 0.3, 0.15, 0.05], np.float32))


def test_the_likeliest_that_is_allowed() -> None:
    assert Sampler().choose(LOGITS, [], lambda token: True) == 0
    assert Sampler().choose(LOGITS, [], lambda token: token > 1) == 2
    assert Sampler().choose(LOGITS, [], lambda token: False) is None


def test_the_first_of_equals() -> None:
    assert Sampler().choose(np.zeros(500, np.float32), [], lambda token: token > 70) == 71


def test_every_token_of_many_is_tried() -> None:
    logits = np.random.default_rng(1).normal(size=5000).astype(np.float32)
    tried: list[int] = []

    assert Sampler().choose(logits, [], lambda token: tried.append(token) or False) is None  # type: ignore[func-returns-value]
    assert sorted(tried) == list(range(5000))
    assert np.all(np.diff(logits[tried]) <= 0)


def draws(count: int = 2000, **settings: float) -> dict[int, float]:
    """How often each token is drawn where the likeliest is not allowed."""
    sampler = Sampler(seed=5, **settings)  # type: ignore[arg-type]
    found = Counter(sampler.choose(LOGITS, [], lambda token: token != 0) for _ in range(count))
    return {int(token): number / count for token, number in found.items() if token is not None}


def test_others_are_drawn_by_their_likelihood_among_the_allowed() -> None:
    assert draws(temperature=1.0) == pytest.approx({1: 0.6, 2: 0.3, 3: 0.1}, abs=0.04)


def test_a_high_temperature_makes_them_more_alike_and_a_low_one_less() -> None:
    assert draws(temperature=2.0) == pytest.approx({1: 0.473, 2: 0.334, 3: 0.193}, abs=0.04)
    assert draws(temperature=0.5)[1] == pytest.approx(0.783, abs=0.04)


def test_top_p_keeps_the_likeliest_that_reach_it() -> None:
    assert draws(temperature=1.0, top_p=0.85) == pytest.approx({1: 2 / 3, 2: 1 / 3}, abs=0.04)
    assert draws(temperature=1.0, top_p=0.1) == {1: 1.0}


def test_it_is_drawn_from_few_however_many_are_alike() -> None:
    sampler = Sampler(temperature=1.0)

    assert {sampler.choose(np.zeros(300, np.float32), [], bool) for _ in range(500)} == set(range(1, 41))


def test_a_seed_draws_the_same_again() -> None:
    def first_draws(seed: int) -> list[int | None]:
        sampler = Sampler(temperature=1.0, seed=seed)
        return [sampler.choose(LOGITS, [], lambda token: True) for _ in range(20)]

    assert first_draws(1) == first_draws(1) != first_draws(2)


def test_repeats_are_penalised_where_asked_for_and_the_logits_stay_as_they_are() -> None:
    logits = np.array([2.0, 1.9, -1.0], np.float32)
    before = logits.copy()

    assert Sampler(repeat_penalty=1.1).choose(logits, [0, 0], lambda token: True) == 1
    assert Sampler(repeat_penalty=1.1).choose(logits, [0] + [2] * 64, lambda token: True) == 0
    assert np.array_equal(logits, before)
