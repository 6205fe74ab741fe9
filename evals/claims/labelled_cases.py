"""A run's scores beside people's yes or no: what a threshold is chosen on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...orchestration.claim_counts import MEASURES, SHARE_NAMES
from ...orchestration.reading.export import verdicts
from ...orchestration.record import Arm, Store
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ...rubrics.scale import Scale
from ..ratings.clusters import cluster_numbers
from ..ratings.question import Question, rubric_questions
from ..ratings.rating_check import check_ratings, without_stray_words
from ..ratings.reference import reference
from ..statistics.matrix import FloatArray, IntArray
from .run_claims import cards, case_groups

_ZERO_OR_ONE = Question(Scale(level="binary", anchors={0: "No", 1: "Yes"}), "high")


class LabelledCases(NamedTuple):
    """Cases that have both a score and a majority of people, in order."""

    cases: list[str]
    scores: FloatArray
    truth: npt.NDArray[np.bool_]
    cluster: IntArray
    arm: str
    attribute: str
    fixed: float
    """The threshold in the jury file; of a score that is no share of claims, the middle of its scale."""
    notes: tuple[str, ...]


def labelled_cases(
    store: Store, human: pd.DataFrame, score: str, *, arm: str | None = None, attribute: str | None = None
) -> LabelledCases:
    """The run's `score` of each case, and what most people say of its yes-or-no `attribute`.

    Args:
        score: An attribute of the rubric; of a run that checked claims also any measure or share of them.
        attribute: People's question; the only one of two values, unless it is named.

    Raises:
        VenireError: There is no such arm, score or question, or nothing in common.
    """
    chosen = _arm(store, arm, score)
    scores = _scores(store, chosen, score)
    name, question = _yes_no_question(human, attribute, chosen)
    heard = list(dict.fromkeys(verdict.case for _, verdict in verdicts(store, arm=chosen.name)))
    kept, check = check_ratings(human, {**rubric_questions(chosen.rubric), name: question}, cases=heard)
    answers = reference(kept[kept["attribute"].astype(str) == name], {name: question})
    high = question.scale.ends[1]
    truth = {
        str(case): str(value) == str(high) if isinstance(high, str) else float(value) == float(high)
        for case, value in zip(answers.table["case"], answers.table["value"], strict=True)
    }
    both = [case for case in scores if case in truth]
    if not both:
        raise VenireError(
            f"no case has both {score!r} of {chosen.name} and people's {name!r}",
            remedy="check that the ratings name the run's cases",
        )
    notes = [*check.notes, *answers.notes]
    if missing := len(set(heard) - scores.keys()):
        notes.append(f"{_cases(missing)} hung or without {score}: left out")
    if missing := len(scores.keys() - truth.keys()):
        notes.append(f"{_cases(missing)} with a score and without a majority of people: left out")
    return LabelledCases(
        both,
        np.array([scores[case] for case in both]),
        np.array([truth[case] for case in both]),
        cluster_numbers(pd.Series(both, dtype=object), case_groups(store)),
        chosen.name,
        name,
        _fixed_threshold(chosen, score),
        tuple(notes),
    )


def _cases(many: int) -> str:
    return "1 case" if many == 1 else f"{many} cases"


def _arm(store: Store, arm: str | None, score: str) -> Arm:
    arms = store.arms()
    if arm is not None and arm not in [each.name for each in arms]:
        raise VenireError(
            f"no arm named {arm!r} in this run", remedy=nearest(arm, [each.name for each in arms])
        )
    wanted = [each for each in arms if arm in (None, each.name)]
    found = next((each for each in wanted if score in _known_scores(each)), None)
    if found is None:
        known = dict.fromkeys(name for each in wanted for name in _known_scores(each))
        raise VenireError(f"no score named {score!r} in this run", remedy=nearest(score, known))
    return found


def _known_scores(arm: Arm) -> list[str]:
    claims = (*MEASURES, *SHARE_NAMES) if arm.jury.protocol == "decompose-verify" else ()
    ordered = [name for name in arm.rubric.names if arm.rubric.scale_of(name).ordered]
    return list(dict.fromkeys((*ordered, *arm.rubric.composites, *arm.rubric.reversed_names, *claims)))


def _scores(store: Store, arm: Arm, score: str) -> dict[str, float]:
    """By case; a case without the score is not there."""
    if arm.jury.protocol == "decompose-verify" and score in (*MEASURES, *SHARE_NAMES):
        found: dict[str, object] = {}
        for verdict, card in cards(store, arm, arm.jury.claims):
            shares = card.findings
            if score in MEASURES:
                found[verdict.case] = shares.measure(score).value
            elif shares.measure("precision").value is not None:
                found[verdict.case] = getattr(shares.of, score)
    else:
        found = {}
        for _, verdict in verdicts(store, arm=arm.name):
            outcome = verdict.outcomes.get(score)
            found[verdict.case] = outcome.value if outcome else verdict.derived.get(score)
    return {case: float(value) for case, value in found.items() if isinstance(value, int | float)}


def _fixed_threshold(arm: Arm, score: str) -> float:
    if arm.jury.protocol == "decompose-verify" or score not in arm.rubric.names:
        return arm.jury.claims.threshold
    low, high = map(float, arm.rubric.scale_of(score).ends)
    return (low + high) / 2


def _yes_no_question(human: pd.DataFrame, attribute: str | None, arm: Arm) -> tuple[str, Question]:
    """The question of two values that people answered: as the rubric has it, else answered by 0 and 1."""
    names = human["attribute"].astype(str)
    if attribute is not None and attribute not in set(names):
        raise VenireError(f"people did not rate {attribute!r}", remedy=nearest(attribute, sorted(set(names))))
    asked = rubric_questions(arm.rubric)
    found: dict[str, Question] = {}
    for name in dict.fromkeys(names) if attribute is None else [attribute]:
        if name in asked:
            question: Question | None = asked[name]
        else:
            numbers = pd.to_numeric(without_stray_words(human[names == name])[0]["value"], errors="coerce")
            question = _ZERO_OR_ONE if numbers.isin([0, 1]).all() else None
        if question is not None and question.scale.level == "binary":
            found[name] = question
    if len(found) != 1:
        several = (
            f"{len(found)} of people's questions are answered by two values, 0 and 1 or the rubric's own"
        )
        raise VenireError(
            f"{attribute!r} is not answered by 0 and 1" if attribute else several,
            remedy="name the one that tells yes from no with --attribute",
        )
    return next(iter(found.items()))
