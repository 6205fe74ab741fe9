"""Juries made of recorded jurors: the best of them, what each juror adds, and whether a jury is worth its price."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from ...rubrics.errors import VenireError
from ..comparison.objectives import OBJECTIVES, AnswerScale, scored_votes
from ..ratings.folds import Fold, selection_folds, widening
from ..ratings.question import Question
from ..ratings.reference import Rule
from ..statistics.draws import Draws
from .advice import AdviceTables, advice, pool_methods, recommended_arm
from .attribute_choice import composed_arms
from .candidates import (
    JURY,
    SINGLE,
    Candidate,
    Candidates,
    Composition,
    Tier,
    answers,
    frontier,
    noise,
    price_tiers,
)
from .choices import Choices, Goal, Voters
from .juror_pool import Pool, pool_of
from .juror_tables import error_correlations, growth, independence, jurors_table, position_bias, shapley
from .jury_search import HeldOut, Members, VoteCounter, held_out, jury_label, sizes_of
from .paired_means import pairs_power, typical

LARGEST = 7
"""The largest jury searched for, unless told otherwise."""


def analyse(
    judgements: pd.DataFrame,
    people: pd.DataFrame,
    *,
    questions: Mapping[str, Question],
    counting: str = "median",
    test: Collection[str] | None = None,
    largest: int = LARGEST,
    folds: int = 5,
    rounds: int = 3,
    orders: int = 200,
    reference: Rule | None = None,
    seed: int = 0,
    resamples: int = 1000,
    goal: Goal | None = None,
) -> Composition:
    """Which of the jurors in `judgements` to seat, judged on cases that did not choose them.

    Args:
        judgements: `case`, `juror`, `attribute`, `value` (blank where the juror abstained); optional `repeat`,
            `order` (given or swapped), `cost`, `seconds`, `group`.
        people: `case`, `attribute`, `value`, one row a rating.
        counting: How a jury's votes become its answer: median, mean or mode, as panels count them.
        test: The cases to score on; the others choose. Without it each case is held out in turn.
        largest: The largest jury to search for.
        folds: How many parts the cases are held out in, and `rounds` how often they are parted anew.
        orders: How many orders of arrival Shapley values are sampled over, beyond ten jurors.
        reference: How people's ratings become the value that is agreed with; without it as `ratings/reference.py` says.
        goal: What to choose by, for each attribute or all; without it mean credit, and the advice says nothing of it.

    Raises:
        InvalidRatings: A table cannot be read.
        VenireError: There is too little to choose from or to score on.
    """
    pool = pool_of(judgements, people, questions, counting, rule=reference)
    if len(pool.jurors) < 2:
        raise VenireError("one juror is no choice", remedy="give the judgements of two jurors or more")
    if largest < 2:
        raise VenireError(
            f"a largest jury of {largest} leaves no jury to find", remedy="allow two jurors or more"
        )
    draws = Draws(seed, resamples)
    rng = draws.rng()
    parts = selection_folds(pool.questions["case"], pool.cluster, test, number=folds, rounds=rounds, rng=rng)
    # Many small matrix products: on a busy machine sharing each out among threads costs ten times what it gives.
    with threadpool_limits(limits=1, user_api="blas"):
        chosen = held_out(pool, parts, sizes=sizes_of(pool, largest), rng=rng)

        # Asked for, what is chosen is held out in every round of folds; as a supplement, in one.
        some = parts if goal else parts[:folds]
        chosen_by = _choices(pool, questions, some, goal or Goal(OBJECTIVES["credit"]), largest, rng)
    counter = VoteCounter(pool)
    candidates = _candidates(counter, chosen, parts)
    table = frontier(candidates)
    against, said = noise(candidates), answers(candidates)
    with threadpool_limits(limits=1, user_api="blas"):
        shares = shapley(counter, rng=rng, orders=orders)
    pairs = {
        ("the best jury", "the best single judge"): chosen.jury - chosen.single,
        **{
            (f"jury of {size}", "the best single judge"): credits - chosen.single
            for size, credits in zip(chosen.sizes[1:], chosen.by_size[1:], strict=True)
        },
    }
    grounds = AdviceTables(
        answers=said,
        frontier=table,
        noise=against,
        power=pairs_power(pairs, candidates.cluster, widening=candidates.widening),
        unit=pool.unit,
        growth=growth(counter, chosen, widening=candidates.widening, rng=rng),
        independence=independence(pool, _benches(pool, chosen)),
        jurors=jurors_table(counter, shares, chosen),
        position=position_bias(judgements),
    )
    return Composition(
        advice=(*(chosen_by.sentences() if goal else ()), *advice(grounds)),
        choices=chosen_by.table,
        measures=chosen_by.measures,
        recommended=recommended_arm(table, against),
        selection=chosen.selection,
        correlations=error_correlations(pool),
        methods=pool_methods(
            pool, parts, counting, shares, largest=chosen.sizes[-1], tested=test is not None, rule=reference,
            draws=draws, usual=typical(counter.credits(np.eye(len(pool.jurors), dtype=bool)).T, pool.cluster),
        ),
        notes=(*pool.notes, *chosen_by.notes),
        **grounds._asdict(),
    )  # fmt: skip


def _choices(
    pool: Pool,
    questions: Mapping[str, Question],
    parts: Sequence[Fold],
    goal: Goal,
    largest: int,
    rng: np.random.Generator,
) -> Choices:
    """What to seat for each attribute by the goal's objective, juries being counted by the mean of those who answered."""
    asked = list(dict.fromkeys(pool.questions["attribute"]))
    scales = {name: AnswerScale.of(questions[name].scale) for name in asked}
    votes = scored_votes(pool.votes, pool.truth, pool.questions["attribute"].tolist(), pool.cluster, scales)
    voters = Voters(pool.jurors, pool.cost, pool.unit)
    fit = composed_arms(goal.objective, largest)
    return Choices(goal, voters).make(votes, asked, parts, fit, rng)


def _candidates(counter: VoteCounter, chosen: HeldOut, parts: Sequence[Fold]) -> Candidates:
    """Every juror alone, and the best jury of each size, on the questions held out."""
    pool, rows = counter.pool, chosen.rows
    alone = counter.credits(np.eye(len(pool.jurors), dtype=bool))
    answered = (~np.isnan(pool.votes[rows])).mean(axis=0)
    singles = [
        Candidate(name, SINGLE, alone[at, rows], pool.cost[at], pool.seconds[at], answered=answered[at])
        for at, name in enumerate(pool.jurors)
    ]
    juries = [
        Candidate(
            name=f"jury of {size}",
            kind=JURY,
            credits=credits,
            cost=float(pool.cost[jury].sum()),
            seconds=float(pool.seconds[jury].max()),
            size=size,
            jurors=jury_label(pool, jury),
            answered=float((~np.isnan(counter.answers(jury[None, :])[0, rows])).mean()),
            chosen=True,
        )
        for size, jury, credits in list(zip(chosen.sizes, chosen.juries, chosen.by_size, strict=True))[1:]
    ]
    tiers = [
        *price_tiers(pool.jurors, pool.cost, alone.T, parts),
        *(Tier(jury.name, 1, jury.cost, jury.credits) for jury in juries),
    ]
    return Candidates(
        arms=(*singles, *juries),
        tiers=tuple(sorted(tiers, key=lambda tier: tier.cost)),
        cluster=pool.cluster[rows],
        best=chosen.best,
        jury=chosen.jury,
        single=chosen.single,
        naive={JURY: chosen.naive_jury, SINGLE: chosen.naive_single},
        chosen_on=len(np.unique(np.concatenate([fold.chosen_on for fold in parts]))),
        widening=widening(parts),
    )


def _benches(pool: Pool, chosen: HeldOut) -> dict[str, Members]:
    every = np.ones(len(pool.jurors), dtype=bool)
    juries = zip(chosen.sizes[1:], chosen.juries[1:], strict=True)
    return {"all jurors": every, **{f"jury of {size}": jury for size, jury in juries}}
