"""Nested validation: what is chosen without a case owes nothing to it, in the outer folds and in the inner ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from juror_worlds import YES_OR_NO, clueless_votes, judgement_tables

from venire.evals.comparison.objectives import OBJECTIVES, AnswerScale, ScoredVotes
from venire.evals.ratings.folds import folds
from venire.evals.studies import jury_search
from venire.evals.studies.attribute_choice import choose, composed_arms
from venire.evals.studies.juror_pool import Pool, pool_of
from venire.evals.studies.jury_search import VoteCounter, best_juries, by_inner_folds, held_out

RNG = np.random.default_rng
SIZES = (1, 3, 5)


def guessing_pool(seed: int, n: int = 100) -> Pool:
    """Jurors who know nothing: no size is better than another, and what chooses one is noise."""
    votes, truth = clueless_votes(RNG(seed), n, jurors=7)
    return pool_of(*judgement_tables(votes, truth), YES_OR_NO, "median")


@pytest.mark.parametrize("seed", range(3))
def test_what_a_fold_chooses_does_not_change_with_the_labels_it_holds_out(seed: int) -> None:
    pool = guessing_pool(seed)
    outer = folds(pool.cluster, 4, RNG(seed))
    chosen = ["size", "jurors", "chosen_on", "single", "single_chosen_on"]
    before = held_out(pool, outer, sizes=SIZES, rng=RNG(1)).selection
    for number, fold in enumerate(outer):
        truth = pool.truth.copy()
        truth[fold.held_out] = 1 - truth[fold.held_out]
        after = held_out(replace(pool, truth=truth), outer, sizes=SIZES, rng=RNG(1)).selection
        assert after.loc[number, chosen].equals(before.loc[number, chosen])
        # The held-out labels are turned round, and with them what the choice earns there.
        assert after.loc[number, "held_out"] == pytest.approx(1 - before.loc[number, "held_out"])


def test_each_jury_of_the_inner_folds_is_scored_on_questions_that_did_not_choose_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pool = guessing_pool(0)
    chosen_on: list[set[int]] = []
    scored_on: list[set[int]] = []

    def choosing(some: Pool, sizes: tuple[int, ...]) -> np.ndarray:
        chosen_on.append(set(some.cluster))
        return best_juries(some, sizes)

    def crediting(counter: VoteCounter, members: np.ndarray) -> np.ndarray:
        scored_on.append(set(counter.pool.cluster))
        return credits(counter, members)

    credits = VoteCounter.credits
    monkeypatch.setattr(jury_search, "best_juries", choosing)
    monkeypatch.setattr(VoteCounter, "credits", crediting)
    scores = by_inner_folds(pool, SIZES, RNG(0))

    assert scores.shape == (3,)
    assert len(chosen_on) == len(scored_on) == 5
    for chosen, scored in zip(chosen_on, scored_on, strict=True):
        assert not chosen & scored and chosen | scored == set(pool.cluster)
    assert sorted(each for scored in scored_on for each in scored) == sorted(pool.cluster)


def guessing_votes(seed: int, n: int = 60) -> ScoredVotes:
    rng = RNG(seed)
    scale = AnswerScale(level="interval", steps=np.array([]), width=4.0)
    return ScoredVotes(
        votes=rng.normal(3, 1, (n, 6)),
        truth=rng.normal(3, 1, n),
        attribute=np.zeros(n, dtype=np.int64),
        cluster=np.arange(n),
        scales=(scale,),
    )


@pytest.mark.parametrize("objective", ["spearman", "mae"])
def test_arms_are_fitted_and_preferred_without_the_held_out_cases(objective: str) -> None:
    """Every fit is told which questions it may learn from; the answers to those held out must not be among them."""
    votes = guessing_votes(3)
    votes = replace(votes, truth=np.arange(60.0))
    learn = composed_arms(OBJECTIVES[objective], 3)
    seen: list[frozenset[float]] = []

    def fit(some: ScoredVotes) -> dict[str, np.ndarray]:
        seen.append(frozenset(some.truth))
        return dict(learn(some))

    outer = folds(votes.cluster, 3, RNG(0))
    choose(votes, outer, OBJECTIVES[objective], fit, rng=RNG(0))

    assert len(seen) == (len(outer) + 1) * 6
    for number, fold in enumerate(outer):
        inside, held = set(fold.chosen_on.astype(float)), set(fold.held_out.astype(float))
        whole, *inner = seen[6 * number : 6 * number + 6]
        assert whole == inside
        assert all(part < whole and not part & held for part in inner)
        # Each question is left out of one inner fit, and learned from in the other four.
        assert sorted(value for part in inner for value in part) == sorted([*inside] * 4)
