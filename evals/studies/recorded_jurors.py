"""Juries made of recorded jurors: the best of them, what each juror adds, and whether a jury is worth its price."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from ...rubrics.errors import VenireError
from ..comparison.objectives import OBJECTIVES, AnswerScale, scored_votes
from ..ratings.folds import Fold, held_rows, selection_folds, widening
from ..ratings.question import Question
from ..ratings.reference import Rule
from ..statistics.draws import Draws
from ..statistics.significance import shown_sign
from .advice import AdviceTables, advice, juries_pay, pool_methods, recommended_arm
from .attribute_choice import ArmChoice, composed_arms
from .candidates import (
    DIFFERENCE,
    JURY,
    SINGLE,
    Candidate,
    Candidates,
    Composition,
    Tier,
    answers,
    frontier,
    interval_cells,
    noise,
    pareto,
    price_tiers,
)
from .choices import SEATED, Choices, Goal, Voters
from .juror_pool import Pool, pool_of
from .juror_tables import error_correlations, growth, independence, jurors_table, position_bias, shapley
from .jury_search import HeldOut, Members, VoteCounter, held_out, jury_label, sizes_of
from .paired_means import HeldObjective, MeanCredit, pairs_power, typical

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
        raise VenireError(
            "there is only one juror, so there is nothing to choose",
            remedy="give the judgements of two jurors or more",
        )
    if largest < 2:
        raise VenireError(
            f"a jury needs two jurors or more, but the largest allowed number is {largest}",
            remedy="allow juries of two jurors or more",
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
    if goal and chosen_by.pooled is not None:
        table, against, said = _goal_tables(pool, questions, parts, chosen_by, chosen_by.pooled)
        recommended = chosen_by.who(chosen_by.arm_to_use(chosen_by.pooled))
    else:
        table, against, said = frontier(candidates), noise(candidates), answers(candidates)
        recommended = recommended_arm(table, against, said)
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
        power=pairs_power(pairs, candidates.measure.cluster, widening=candidates.widening),
        unit=pool.unit,
        growth=growth(counter, chosen, widening=candidates.widening, rng=rng),
        independence=independence(pool, _benches(pool, chosen)),
        jurors=jurors_table(counter, shares, chosen),
        position=position_bias(judgements),
        recommended=recommended,
        measure=goal.objective.words if goal else "mean credit",
        choices=chosen_by if goal else None,
    )
    return Composition(
        advice=advice(grounds),
        chosen_apart=goal is not None,
        pays=chosen_by.pooled.pays if goal and chosen_by.pooled is not None else juries_pay(grounds),
        choices=chosen_by.table,
        measures=chosen_by.measures,
        recommended=recommended,
        measure=f"{goal.objective.words} with people" if goal else "agreement with people",
        selection=chosen.selection,
        correlations=error_correlations(pool),
        methods=pool_methods(
            pool, parts, counting, shares, largest=chosen.sizes[-1], tested=test is not None, rule=reference,
            draws=draws, usual=typical(counter.credits(np.eye(len(pool.jurors), dtype=bool)).T, pool.cluster),
        ),
        notes=(*pool.notes, *chosen_by.notes),
        **{name: getattr(grounds, name) for name in ("answers", "frontier", "noise", "power", "unit", "growth", "independence", "jurors", "position")},
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


def _goal_tables(
    pool: Pool, questions: Mapping[str, Question], parts: Sequence[Fold], choices: Choices, pooled: ArmChoice
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Frontier, noise and answers by the goal's objective: every juror alone, and the jury that other cases chose for all attributes."""
    objective, better = choices.goal.objective, choices.goal.objective.better
    scales = {name: AnswerScale.of(questions[name].scale) for name in dict.fromkeys(pool.questions["attribute"])}  # fmt: skip
    places = pool.questions["attribute"].tolist()
    kept = np.flatnonzero([objective.fits(scales[name]) for name in places])
    fitting = {name: scale for name, scale in scales.items() if objective.fits(scale)}
    votes = scored_votes(pool.votes[kept], pool.truth[kept], [places[at] for at in kept], pool.cluster[kept], fitting)  # fmt: skip
    held = np.flatnonzero(np.isin(kept, held_rows(parts)))
    measure = HeldObjective(votes, held, objective)
    rows = []
    for at, name in enumerate(pool.jurors):
        found = measure.estimate(votes.votes[held, at], method=objective.words)
        answered = float((~np.isnan(votes.votes[held, at])).mean())
        rows.append((name, SINGLE, 1, found, answered, float(pool.cost[at]), float(pool.seconds[at]), ""))
    jury, gain, p = pooled.jury, pooled.gain, pooled.p
    if jury is not None:
        members = np.flatnonzero(jury.weights > SEATED)
        seconds = float(pool.seconds[members].max())
        rows.append((choices.who(jury), JURY, len(members), jury.value, np.nan, choices.cost(jury), seconds, choices.who(jury)))  # fmt: skip
    table = pd.DataFrame(
        [(name, kind, size, each.value, each.low, each.high, answered, cost, seconds, jurors, np.nan, each.n) for name, kind, size, each, answered, cost, seconds, jurors in rows],
        columns=["arm", "kind", "size", "score", "low", "high", "answered", "cost", "seconds", "jurors", "selection", "n"],
    )  # fmt: skip
    table.insert(2, "front", pareto(better * table["score"].to_numpy(float), table["cost"].to_numpy(float)))
    worse = shown_sign(gain.value, p)
    sides = [(choices.who(pooled.single), choices.cost(pooled.single), 1.0)]
    sides += [] if jury is None else [(choices.who(jury), choices.cost(jury), -1.0)]
    against = pd.DataFrame(
        [
            {"arm": name, "arms": 1, "cost": cost, "value": sign * gain.value, "low": sign * (gain.low if sign > 0 else gain.high),
             "high": sign * (gain.high if sign > 0 else gain.low), "n": gain.n, "p": p, "within": worse != sign, "note": gain.note}
            for name, cost, sign in sorted(sides, key=lambda each: each[1])
        ]
    )  # fmt: skip
    said = []
    for kind, arm in ((JURY, jury), (SINGLE, pooled.single)):
        if arm is not None:
            said += [
                {"what": f"best {kind}, held out", **interval_cells(arm.value), "method": arm.value.method},
                {"what": f"best {kind}, naive", "value": arm.naive, "n": gain.n, "method": "the cases that it was chosen on"},
                {"what": f"optimism of the {kind}'s naive figure", "value": better * (arm.naive - arm.value.value), "n": gain.n},
            ]  # fmt: skip
    said += [] if jury is None else [{"what": DIFFERENCE, **interval_cells(gain), "p": p, "method": gain.method, "note": gain.note}]  # fmt: skip
    blank = {"what": "", "value": np.nan, "low": np.nan, "high": np.nan, "n": 0, "p": np.nan, "method": "", "note": ""}  # fmt: skip
    ordered = table.sort_values(["cost", "score"], ascending=[True, better < 0], ignore_index=True)
    return ordered, against, pd.DataFrame([{**blank, **row} for row in said])


def _candidates(counter: VoteCounter, chosen: HeldOut, parts: Sequence[Fold]) -> Candidates:
    """Every juror alone, and the best jury of each size, on the questions held out."""
    pool, rows = counter.pool, chosen.rows
    alone = counter.credits(np.eye(len(pool.jurors), dtype=bool))
    measure = MeanCredit(pool.cluster[rows])
    answered = (~np.isnan(pool.votes[rows])).mean(axis=0)
    singles = [
        Candidate(name, SINGLE, alone[at, rows], pool.cost[at], pool.seconds[at], answered=answered[at])
        for at, name in enumerate(pool.jurors)
    ]
    juries = [
        Candidate(
            name=f"jury of {size}",
            kind=JURY,
            answers=credits,
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
        *price_tiers(pool.jurors, pool.cost, alone.T, parts, measure),
        *(Tier(jury.name, 1, jury.cost, jury.answers) for jury in juries),
    ]
    return Candidates(
        arms=(*singles, *juries),
        tiers=tuple(sorted(tiers, key=lambda tier: tier.cost)),
        measure=measure,
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
