"""Worked examples: cases that people scored, drawn by seed, never one being judged nor another of its group."""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ..agents.prompting import fence, nonce
from ..personas.options import Options, Shots
from ..rubrics.case import Case, load_cases
from ..rubrics.errors import VenireError
from ..rubrics.files import nearest
from ..rubrics.rubric import Rubric
from ..rubrics.scale import NOT_APPLICABLE, Scale, Value
from .counting import mode


class ShotOptions(Options):
    """What a protocol is told whose jurors may be shown examples before their first ballot."""

    shots: Shots | None = None
    """The worked examples that every seat is shown."""


@dataclass(frozen=True, slots=True)
class ScoredCases:
    """The cases that a run judges, and their groups: none of them may serve as an example."""

    ids: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()

    @classmethod
    def of(cls, cases: Iterable[Case]) -> ScoredCases:
        every = list(cases)
        groups = frozenset(case.group for case in every if case.group is not None)
        return cls(frozenset(case.id for case in every), groups)

    def __contains__(self, case: Case) -> bool:
        return case.id in self.ids or case.group in self.groups


def worked_examples(shots: Shots | None, rubric: Rubric, scored: ScoredCases, *, case: str = "") -> str:
    """The examples in words; empty without shots. No case that the run scores, nor one of its group, is among them.

    Where the shots name cases to draw `among`, these may be cases that the run scores: `case`, the one being judged, is
    shown none of its own group.
    """
    if shots is None:
        return ""
    if shots.among:
        drawn = _others_examples(shots, rubric, case)
    elif shots.ids:
        drawn = _named_examples(shots, rubric, scored)
    else:
        drawn = _drawn_examples(shots, rubric, scored)
    return (
        "\n# Worked examples\nCases that people scored before, with the middle of their scores.\n\n"
        + "\n\n".join(
            _example(number, case, scores, rubric) for number, (case, scores) in enumerate(drawn, 1)
        )
        + "\n"
    )


Labelled = tuple[Case, Mapping[str, Value]]
"""A case, and by attribute the score that people gave it."""


def _drawn_examples(shots: Shots, rubric: Rubric, scored: ScoredCases) -> Sequence[Labelled]:
    pool = [each for each in _labelled_cases(shots, rubric) if each[0] not in scored]
    if len(pool) < shots.n:
        raise VenireError(
            f"{shots.n} examples were requested, but {shots.cases} has only {len(pool)} labelled cases that are neither "
            "judged nor in the group of a judged case",
            remedy="label more cases, or ask for fewer examples",
        )
    return random.Random(shots.seed).sample(pool, shots.n)


def _others_examples(shots: Shots, rubric: Rubric, case: str) -> Sequence[Labelled]:
    """The first examples, in an order that the seed draws, that are neither `case` nor of its group: most cases see the same."""
    own, allowed = _groups(shots).get(case), frozenset(shots.among)
    order = [each for each in _labelled_cases(shots, rubric) if each[0].id in allowed]
    random.Random(shots.seed).shuffle(order)
    pool = [each for each in order if each[0].id != case and (own is None or each[0].group != own)]
    if len(pool) < shots.n:
        raise VenireError(
            f"{shots.n} examples were requested, but only {len(pool)} labelled cases of other groups may be shown"
            + (f" with {case}" if case else ""),
            remedy="label more cases, or ask for fewer examples",
        )
    return pool[: shots.n]


def _named_examples(shots: Shots, rubric: Rubric, scored: ScoredCases) -> Sequence[Labelled]:
    labelled = {case.id: (case, scores) for case, scores in _labelled_cases(shots, rubric)}
    for name in shots.ids:
        if name not in labelled:
            raise VenireError(
                f"{shots.cases} has no case {name!r} with a score for every attribute",
                remedy=nearest(name, sorted(labelled)),
            )
        if labelled[name][0] in scored:
            raise VenireError(
                f"the example {name!r} is one of the cases to be judged, or in the same group as one of them",
                remedy="name another example, or leave its group out of the cases",
            )
    return [labelled[name] for name in shots.ids]


def _example(number: int, case: Case, scores: Mapping[str, Value], rubric: Rubric) -> str:
    exhibits = rubric.exhibits(case)
    code = nonce(exhibit.text for exhibit in exhibits)
    texts = "\n".join(fence("exhibit", f"example {number}: {e.name}", e.text, code) for e in exhibits)
    if case.swapped:
        # People's preferences are between the row's outputs, what is shown here is under the jury's labels.
        scores = {
            n: score if isinstance(score, str) else case.under_labels(score) for n, score in scores.items()
        }
    given = ", ".join(f"{name} {_plain(scores[name])}" for name in rubric.names)
    return f"## Example {number}\n{texts}\nScores: {given}"


@lru_cache(maxsize=16)
def _groups(shots: Shots) -> Mapping[str, str | None]:
    """By case of the pool, its group."""
    return {case.id: case.group for case in load_cases(shots.cases)}


@lru_cache(maxsize=16)
def _labelled_cases(shots: Shots, rubric: Rubric) -> list[Labelled]:
    """Each case of the pool that has a score for every attribute, with the score that people gave it."""
    from ..rubrics.ratings import read_ratings

    votes: dict[str, dict[str, dict[str, Value]]] = {}
    """By case, attribute and rater: of several rounds, the last one's."""
    for rating in sorted(read_ratings(shots.ratings), key=lambda each: each.round or 0):
        if rating.rater in shots.without:
            continue
        if rating.attribute in rubric.names and rating.value is not None:
            value = _legal_value(rating.value, rubric, rating.attribute)
            if value is not None:
                votes.setdefault(rating.case, {}).setdefault(rating.attribute, {})[rating.rater] = value
    return [
        (
            case,
            {name: label([*votes[case.id][name].values()], rubric.scale_of(name)) for name in rubric.names},
        )
        for case in load_cases(shots.cases)
        if set(rubric.names) <= votes.get(case.id, {}).keys()
    ]


def label(votes: Sequence[Value], scale: Scale) -> Value:
    """One legal value for people's scores of an attribute: of ordered numbers the middle, of an even number the lower of
    the two in the middle; of words, and where most say that it does not apply, the commonest."""
    applying = [vote for vote in votes if vote != NOT_APPLICABLE]
    if 2 * len(applying) < len(votes):
        return NOT_APPLICABLE
    if not scale.ordered:
        return mode(applying)
    return statistics.median_low([vote for vote in applying if not isinstance(vote, str)])


def _legal_value(value: Value, rubric: Rubric, attribute: str) -> Value | None:
    """The value as the scale writes it: between two steps the nearer, in the middle the lower; None off the scale."""
    if value == NOT_APPLICABLE:
        return value if rubric.by_name[attribute].optional else None
    scale = rubric.scale_of(attribute)
    if not scale.numeric or isinstance(value, str):
        return next((legal for legal in scale.values if str(legal) == str(value)), None)
    low, high = scale.ends
    if not float(low) <= value <= float(high):
        return None
    return min(scale.values, key=lambda legal: abs(float(legal) - value), default=value)


def _plain(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:g}"
