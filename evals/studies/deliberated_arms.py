"""Which of the arms that deliberated to use, by the same rules as for juries made of recorded jurors."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd

from ...rubrics.errors import VenireError
from ..comparison.objectives import OBJECTIVES, AnswerScale, scored_votes
from ..ratings.folds import Fold, cluster_numbers, groups_in, held_rows, selection_folds, widening
from ..ratings.question import Question
from ..ratings.reference import KEYS, Rule, require_columns
from ..statistics.draws import Draws
from ..statistics.matrix import IntArray
from .advice import AdviceTables, advice, arm_methods, recommended_arm
from .attribute_choice import arms_as_given
from .candidates import (
    JURY,
    SINGLE,
    Candidate,
    Candidates,
    Composition,
    answers,
    chosen_credits,
    frontier,
    noise,
    price_tiers,
)
from .choices import Choices, Goal, Voters
from .juror_pool import PRICED
from .jury_search import mean_credit
from .paired_means import pairs_power, typical

UNPRICED = "(no cost was given: a single judge counts 1, a jury 2)"


def weigh(
    arms: pd.DataFrame,
    *,
    test: Collection[str] | None = None,
    folds: int = 5,
    rounds: int = 3,
    reference: Rule | None = None,
    seed: int = 0,
    resamples: int = 1000,
    unit: str | None = None,
    questions: Mapping[str, Question] | None = None,
    goal: Goal | None = None,
) -> Composition:
    """Which arm to use, from the credit that each earned.

    Args:
        arms: One row for each arm, case and attribute: `arm`, `kind` (jury or single judge), `case`, `attribute`,
            `credit` (0 to 1; NaN is left out), and as far as known `cost` (and its `unit`) and
            `seconds` of a case, `group`, `answered`.
        test: The cases to score on; the others choose. Without it each case is held out in turn.
        reference: How people's ratings became the value that credits agree with, for the methods.
        unit: What `cost` counts, where the table has no column `unit`.
        questions: What was asked. With them, and the columns `value` and `truth` of `arm_credits`, arms are also chosen for each
            attribute, and Spearman, ICC and kappa stand beside.
        goal: What to choose by; without it mean credit, and the advice says nothing of it.
    """
    require_columns(arms, ("arm", "kind", "case", "attribute", "credit"), "the arms")
    given = arms.astype({"arm": str, "case": str, "attribute": str})
    wide = given.pivot(index=KEYS, columns="arm", values="credit")[list(dict.fromkeys(given["arm"]))]
    if wide.notna().sum().min() == 0:
        idle = [str(name) for name in wide.columns[wide.notna().sum() == 0]]
        raise VenireError(
            f"nothing that {idle[0]} answered was rated by people",
            remedy="leave the arm out, or rate its cases",
        )
    draws = Draws(seed, resamples)
    cases = wide.index.to_frame(index=False)["case"]
    cluster = cluster_numbers(cases, groups_in(given))
    parts = selection_folds(cases, cluster, test, number=folds, rounds=rounds, rng=draws.rng())
    facts = given.drop_duplicates("arm").set_index("arm")
    cost, counted = _costs(facts, unit)
    candidates = _candidates(wide, given, facts, cost, parts, cluster)

    table = frontier(candidates)
    against = noise(candidates)
    said = answers(candidates)
    best = str(table.sort_values("score", ascending=False)["arm"].iloc[0])
    earned = {arm.name: arm.credits for arm in candidates.arms}
    pairs = {} if candidates.jury is None or candidates.single is None else {("the best jury", "the best single judge"): candidates.jury - candidates.single}  # fmt: skip
    others = {(best, name): earned[best] - credits for name, credits in earned.items() if name != best}
    power = pd.concat(
        [
            pairs_power(pairs, candidates.cluster, widening=candidates.widening),
            pairs_power(others, candidates.cluster),
        ],
        ignore_index=True,
    )
    chosen_by = _choices(
        given, wide, cost, facts, cluster, parts, questions or {}, goal, counted, draws.rng()
    )
    usual = typical(np.column_stack(list(earned.values())), candidates.cluster)
    empty = pd.DataFrame()
    return Composition(
        advice=(
            *(chosen_by.sentences() if goal else ()),
            *advice(AdviceTables(said, table, against, power, counted, empty, empty, empty, empty)),
        ),
        choices=chosen_by.table,
        measures=chosen_by.measures,
        notes=chosen_by.notes,
        recommended=recommended_arm(table, against),
        answers=said,
        frontier=table,
        noise=against,
        power=power,
        unit=counted,
        methods=arm_methods(wide.shape, parts, cluster, test is not None, reference, draws, usual),
    )


def _choices(
    given: pd.DataFrame,
    wide: pd.DataFrame,
    cost: pd.Series,
    facts: pd.DataFrame,
    cluster: IntArray,
    parts: Sequence[Fold],
    questions: Mapping[str, Question],
    goal: Goal | None,
    unit: str,
    rng: np.random.Generator,
) -> Choices:
    """Which arm to use for each attribute; none where the arms' own values, or a single judge, are not there."""
    names = [str(name) for name in wide.columns]
    kinds = [str(facts.loc[name, "kind"]) for name in names]
    wanted = goal or Goal(OBJECTIVES["credit"])
    choices = Choices(wanted, Voters(tuple(names), cost[names].to_numpy(float), unit))
    asked = list(dict.fromkeys(wide.index.get_level_values("attribute")))
    if (
        not {"value", "truth"} <= set(given.columns)
        or not set(asked) <= set(questions)
        or SINGLE not in kinds
    ):
        return choices
    values = given.pivot(index=KEYS, columns="arm", values="value").reindex(wide.index)[names]
    truth = given.drop_duplicates(KEYS).set_index(KEYS)["truth"].reindex(wide.index)
    scales = {name: AnswerScale.of(questions[name].scale) for name in asked}
    places = wide.index.get_level_values("attribute").tolist()
    votes = scored_votes(values.to_numpy(float), truth.to_numpy(float), places, cluster, scales)
    return choices.make(votes, asked, parts, arms_as_given(kinds, names, wanted.objective), rng)


def _costs(facts: pd.DataFrame, unit: str | None) -> tuple[pd.Series, str]:
    if "cost" in facts and facts["cost"].notna().all():
        given = str(facts["unit"].iloc[0]) if "unit" in facts else PRICED
        return facts["cost"].astype(float), unit or given
    return pd.Series(np.where(facts["kind"] == JURY, 2.0, 1.0), facts.index), UNPRICED


def _candidates(
    wide: pd.DataFrame,
    given: pd.DataFrame,
    facts: pd.DataFrame,
    cost: pd.Series,
    parts: Sequence[Fold],
    cluster: IntArray,
) -> Candidates:
    credits = wide.to_numpy(float)
    rows = held_rows(parts)
    kinds = np.array([facts.loc[name, "kind"] for name in wide.columns])
    answered = given.groupby("arm")["answered"].mean() if "answered" in given else wide.notna().mean()
    seconds = facts["seconds"] if "seconds" in facts else pd.Series(np.nan, facts.index)
    arms = tuple(
        Candidate(
            name=str(name),
            kind=str(kind),
            credits=credits[rows, at],
            cost=float(cost[name]),
            # Answers that were written down beforehand take no time: what they took is not known.
            seconds=float(seconds[name]) or np.nan,
            answered=float(answered[name]),
        )
        for at, (name, kind) in enumerate(zip(wide.columns, kinds, strict=True))
    )
    chosen_on = np.unique(np.concatenate([fold.chosen_on for fold in parts]))
    naive = mean_credit(credits[chosen_on].T)
    return Candidates(
        arms=arms,
        cluster=cluster[rows],
        tiers=tuple(
            price_tiers([arm.name for arm in arms], cost[wide.columns].to_numpy(float), credits, parts)
        ),
        best=chosen_credits(credits, parts),
        jury=chosen_credits(credits[:, kinds == JURY], parts) if (kinds == JURY).any() else None,
        single=chosen_credits(credits[:, kinds == SINGLE], parts) if (kinds == SINGLE).any() else None,
        chosen_on=len(chosen_on),
        widening=widening(parts),
        naive={str(kind): float(np.nanmax(naive[kinds == kind])) for kind in set(kinds)},
    )
