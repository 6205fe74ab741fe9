"""Which of the arms that deliberated to use, by the same rules as for juries made of recorded jurors."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from ...rubrics.errors import VenireError
from ..comparison.objectives import OBJECTIVES, AnswerScale, ScoredVotes, scored_votes
from ..ratings.folds import (
    Fold,
    cluster_numbers,
    groups_in,
    held_rows,
    held_values,
    selection_folds,
    widening,
)
from ..ratings.question import Question
from ..ratings.reference import KEYS, Rule, require_columns
from ..statistics.draws import Draws
from ..statistics.estimate import undefined
from ..statistics.matrix import FloatArray
from .advice import AdviceTables, advice, arm_methods, juries_pay, recommended_arm
from .attribute_choice import ArmChoice, HeldArm, Rounds, usual_answers
from .candidates import (
    JURY,
    SINGLE,
    Candidate,
    Candidates,
    Composition,
    answers,
    chosen_answers,
    frontier,
    gain,
    noise,
    preferred_column,
    preferred_columns,
    price_tiers,
)
from .choices import POOLED, Choices, Goal, Voters
from .juror_pool import PRICED
from .jury_search import credit
from .paired_means import HeldObjective, MeanCredit, Measure, contrast_power, typical

UNPRICED = "(no cost was given: a single judge is taken to cost 1, a jury 2)"


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
    wanted = goal or Goal(OBJECTIVES["credit"])
    asked = list(dict.fromkeys(given["attribute"]))
    known = {"value", "truth"} <= set(given.columns) and set(asked) <= set(questions or {})
    scales = {name: AnswerScale.of((questions or {})[name].scale) for name in asked} if known else {}
    by_credit = wanted.objective.name == "credit" or not known
    unfit = [] if by_credit else [name for name in asked if not wanted.objective.fits(scales[name])]
    if len(unfit) == len(asked):
        raise VenireError(
            f"no attribute can be scored by {wanted.objective.words}, which {wanted.objective.need}",
            remedy="choose another objective, for example credit",
        )
    given = given[~given["attribute"].isin(unfit)]
    scales = {name: scale for name, scale in scales.items() if name not in unfit}
    wide = given.pivot(index=KEYS, columns="arm", values="credit")[list(dict.fromkeys(given["arm"]))]
    if wide.notna().sum().min() == 0:
        idle = [str(name) for name in wide.columns[wide.notna().sum() == 0]]
        raise VenireError(
            f"nothing that {idle[0]} answered was rated by people",
            remedy="leave the arm out, or have people rate its cases",
        )
    draws = Draws(seed, resamples)
    cases = wide.index.to_frame(index=False)["case"]
    cluster = cluster_numbers(cases, groups_in(given))
    # Credits of several rounds of folds have a mean; answers have none.
    times = rounds if by_credit else 1
    parts = selection_folds(cases, cluster, test, number=folds, rounds=times, rng=draws.rng())
    facts = given.drop_duplicates("arm").set_index("arm")
    cost, counted = _costs(facts, unit)
    names = [str(name) for name in wide.columns]
    places = wide.index.get_level_values("attribute").to_numpy(str)
    votes = None
    if known:
        values = given.pivot(index=KEYS, columns="arm", values="value").reindex(wide.index)[names]
        truth = given.drop_duplicates(KEYS).set_index(KEYS)["truth"].reindex(wide.index)
        votes = scored_votes(values.to_numpy(float), truth.to_numpy(float), places.tolist(), cluster, scales)
    room = _Room(names, facts, cost[names].to_numpy(float), given, wide.to_numpy(float), votes, wanted, by_credit)  # fmt: skip
    choices = Choices(wanted, Voters(tuple(names), room.cost, counted))
    whole = room.candidates(np.arange(len(wide)), parts, cluster)
    table, against, said = frontier(whole), noise(whole), answers(whole)
    recommended = recommended_arm(table, against, said, whole.measure.better)
    pooled = room.choice(whole, recommended)
    apart = wanted.choosing != "pooled" and len(set(places)) > 1
    skipped = [f"{name}: {wanted.objective.words} {wanted.objective.need}" for name in unfit]
    if apart:
        for name, rows in _by_attribute(places):
            inner = [_fold_among(fold, rows) for fold in parts]
            inner = [fold for fold in inner if len(fold.chosen_on) and len(fold.held_out)]
            if len(np.unique(cluster[rows])) < 4 or not inner:
                skipped.append(
                    f"{name}: there are too few cases to choose an arm on some and score it on others"
                )
                continue
            part = room.candidates(rows, inner, cluster)
            used = recommended_arm(frontier(part), noise(part), answers(part), part.measure.better)
            if (choice := room.choice(part, used)) is not None:
                choices.add(name, choice)
    elif pooled is not None:
        choices.add(POOLED if wanted.choosing == "pooled" else asked[0], pooled)
    ordered = table.sort_values("score", ascending=whole.measure.better < 0, kind="stable")
    best = str(ordered["arm"].iloc[0])
    earned = {arm.name: arm.answers for arm in whole.arms}
    paired = {
        (best, name): whole.measure.difference(earned[best], other, method="paired")
        for name, other in earned.items()
        if name != best
    }
    both = {("the best jury", "the best single judge"): gain(whole)} if whole.jury is not None and whole.single is not None else {}  # fmt: skip
    power = contrast_power({**both, **paired}, whole.clusters)
    usual = typical(np.column_stack(list(earned.values())), whole.measure.cluster) if by_credit else (np.nan, np.nan)  # fmt: skip
    empty = pd.DataFrame()
    grounds = AdviceTables(
        said, table, against, power, counted, empty, empty, empty, empty, recommended, whole.measure.words,
        choices if goal and apart else None, pooled.over_constant.low if pooled is not None else np.nan,
    )  # fmt: skip
    return Composition(
        advice=advice(grounds),
        chosen_apart=grounds.choices is not None,
        pays=juries_pay(grounds),
        choices=choices.table,
        measures=choices.measures,
        notes=tuple(f"No arm was chosen for {note}." for note in skipped),
        recommended=recommended,
        answers=said,
        frontier=table,
        noise=against,
        power=power,
        unit=counted,
        measure="agreement with people" if by_credit else f"{wanted.objective.words} with people",
        methods=arm_methods(wide.shape, parts, cluster, test is not None, reference, draws, usual, None if by_credit else wanted.objective.words),
    )  # fmt: skip


def _by_attribute(places: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    for name in dict.fromkeys(places.tolist()):
        yield str(name), np.flatnonzero(places == name)


def _fold_among(fold: Fold, rows: np.ndarray) -> Fold:
    """The fold among some of the questions, numbered as they are there."""
    return Fold(*(np.flatnonzero(np.isin(rows, side)) for side in fold))


class _Room:
    """The arms with what they answered, and what a choice among them is worth on any of the questions."""

    def __init__(
        self,
        names: Sequence[str],
        facts: pd.DataFrame,
        cost: FloatArray,
        given: pd.DataFrame,
        credits: FloatArray,
        votes: ScoredVotes | None,
        goal: Goal,
        by_credit: bool,
    ) -> None:
        self.cost = cost
        self._names, self._credits, self._votes, self._goal = names, credits, votes, goal
        self._by_credit = by_credit
        self._kinds = np.array([str(facts.loc[name, "kind"]) for name in names])
        self._seconds = facts["seconds"] if "seconds" in facts else pd.Series(np.nan, facts.index)
        self._answered = given.groupby("arm")["answered"].mean() if "answered" in given else None

    def candidates(self, rows: np.ndarray, parts: Sequence[Fold], cluster: np.ndarray) -> Candidates:
        """The arms on the questions `rows`, of which `parts` are folds."""
        held = held_rows(parts)
        votes = None if self._votes is None else _only(self._votes.at(rows))
        measure: Measure
        if self._by_credit or votes is None:
            measure, table = MeanCredit(cluster[rows][held]), self._credits[rows]
        else:
            measure, table = HeldObjective(votes, held, self._goal.objective), votes.votes
        chosen_on = np.unique(np.concatenate([fold.chosen_on for fold in parts]))
        selection = measure.better * measure.scores(table[chosen_on].T, chosen_on)
        answered = (~np.isnan(table)).mean(axis=0)
        arms = tuple(
            Candidate(
                name=name,
                kind=str(kind),
                answers=table[held, at],
                cost=float(self.cost[at]),
                # Answers that were written down beforehand take no time: what they took is not known.
                seconds=float(self._seconds[name]) or np.nan,
                answered=float(answered[at] if self._answered is None else self._answered[name]),
                selection=float(selection[at]),
            )
            for at, (name, kind) in enumerate(zip(self._names, self._kinds, strict=True))
        )
        by_kind = {kind: table[:, self._kinds == kind] for kind in (JURY, SINGLE) if (self._kinds == kind).any()}  # fmt: skip
        chosen = {kind: chosen_answers(mine, parts, measure) for kind, mine in by_kind.items()}
        return Candidates(
            arms=arms,
            measure=measure,
            tiers=tuple(price_tiers(self._names, self.cost, table, parts, measure)),
            best=chosen_answers(table, parts, measure),
            jury=chosen.get(JURY),
            single=chosen.get(SINGLE),
            chosen_on=len(chosen_on),
            widening=widening(parts),
            naive={kind: preferred_column(mine, parts, measure)[1] for kind, mine in by_kind.items()},
            names={kind: self._names[int(np.flatnonzero(self._kinds == kind)[preferred_column(mine, parts, measure)[0]])] for kind, mine in by_kind.items()}
            | {"best": self._names[preferred_column(table, parts, measure)[0]]},
            constant=None if votes is None else self._constant(votes, parts),
            measures={} if votes is None else self._measures(votes, table, parts, measure),
        )  # fmt: skip

    def _constant(self, votes: ScoredVotes, parts: Sequence[Fold]) -> FloatArray:
        """The one answer to each attribute that people mostly give on other cases: its answers to questions held out, or their credits."""
        objective = self._goal.objective
        pieces = []
        for fold in parts:
            test = votes.at(fold.held_out)
            said = usual_answers(votes.at(fold.chosen_on), test, objective)
            pieces.append(_credits(said, test) if self._by_credit else said)
        return held_values(parts, pieces)

    def _measures(
        self, votes: ScoredVotes, table: FloatArray, parts: Sequence[Fold], measure: Measure
    ) -> dict[str, dict[str, float]]:
        """By kind, and under `best`, the coefficients of the answers of whichever arm each fold's other cases preferred."""
        rounds = Rounds(votes, parts, self._goal.objective)
        among = {kind: self._kinds == kind for kind in (JURY, SINGLE)}
        found = {}
        for name, mine in {**among, "best": np.ones(len(self._kinds), dtype=bool)}.items():
            if mine.any():
                chosen = np.flatnonzero(mine)[preferred_columns(table[:, mine], parts, measure)]
                said = [votes.votes[fold.held_out, at] for fold, at in zip(parts, chosen, strict=True)]
                found[name] = rounds.measures(rounds.table(said))
        return found

    def choice(self, candidates: Candidates, recommended: str) -> ArmChoice | None:
        """What is chosen, the best jury and judge, and the arm to use; None where there is no single judge or no value to tell."""
        if candidates.single is None or not candidates.measures:
            return None
        measure, by_name = candidates.measure, {arm.name: arm for arm in candidates.arms}

        def held_arm(name: str, said: FloatArray, widened: float, role: str = "") -> HeldArm:
            own = by_name[name]
            weights = np.eye(len(self._names))[self._names.index(name)]
            value = measure.estimate(said, method="held out", widening=widened)
            kind = SINGLE if own.kind == SINGLE else name
            return HeldArm(kind, weights, value, own.selection, candidates.measures.get(role, {}))

        jury = None if candidates.jury is None else held_arm(candidates.names[JURY], candidates.jury, candidates.widening_of(JURY), JURY)  # fmt: skip
        nothing = undefined(
            "no jury is among the arms, so there is none to compare with the single judge",
            method="paired, both held out",
        )
        found = gain(candidates) if jury is not None else None
        over = undefined("", method="")
        if candidates.jury is not None and candidates.constant is not None:
            over = measure.difference(candidates.jury, candidates.constant, method="jury minus constant", widening=candidates.widening).difference  # fmt: skip
        return ArmChoice(
            best=held_arm(candidates.names["best"], candidates.best, candidates.widening, "best"),
            jury=jury,
            single=held_arm(
                candidates.names[SINGLE], candidates.single, candidates.widening_of(SINGLE), SINGLE
            ),
            gain=nothing if found is None else found.difference,
            p=np.nan if found is None else found.p,
            over_constant=over,
            clusters=candidates.clusters,
            error=np.nan if found is None else found.difference.se,
            use=held_arm(recommended, by_name[recommended].answers, 1.0),
        )


def _only(votes: ScoredVotes) -> ScoredVotes:
    """The votes with the scales of their own attributes alone, numbered from 0."""
    places = np.unique(votes.attribute)
    return ScoredVotes(
        votes.votes,
        votes.truth,
        np.searchsorted(places, votes.attribute).astype(np.int64),
        votes.cluster,
        tuple(votes.scales[place] for place in places),
    )


def _credits(said: FloatArray, votes: ScoredVotes) -> FloatArray:
    """The credit of each answer."""
    ordered = np.array([scale.ordered for scale in votes.scales], dtype=bool)[votes.attribute]
    width = np.array([scale.width for scale in votes.scales])[votes.attribute]
    return credit(said, votes.truth, exact=~ordered, width=width)


def _costs(facts: pd.DataFrame, unit: str | None) -> tuple[pd.Series, str]:
    if "cost" in facts and facts["cost"].notna().all():
        given = str(facts["unit"].iloc[0]) if "unit" in facts else PRICED
        return facts["cost"].astype(float), unit or given
    return pd.Series(np.where(facts["kind"] == JURY, 2.0, 1.0), facts.index), UNPRICED
