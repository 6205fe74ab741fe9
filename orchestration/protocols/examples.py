"""Worked examples for a single judge: cases that people scored, drawn by seed, never one being judged."""

from __future__ import annotations

import random
from functools import lru_cache

from ...agents.prompting import fence, nonce
from ...personas.options import Shots
from ...rubrics.case import Case, load_cases
from ...rubrics.errors import VenireError
from ...rubrics.ratings import read_ratings
from ...rubrics.rubric import Rubric
from .. import counting


def worked_examples(shots: Shots | None, rubric: Rubric, scored: frozenset[str]) -> str:
    """The examples in words; empty without shots. No case that the run scores is among them."""
    if shots is None:
        return ""
    pool = [(case, scores) for case, scores in _labelled_cases(shots, rubric.names) if case.id not in scored]
    if len(pool) < shots.n:
        raise VenireError(
            f"{shots.n} examples are wanted; {shots.cases} has {len(pool)} labelled cases outside those scored",
            remedy="label more cases, or ask for fewer examples",
        )
    drawn = random.Random(shots.seed).sample(pool, shots.n)
    return (
        "\n# Worked examples\nCases that people scored before, with the middle of their scores.\n\n"
        + "\n\n".join(
            _example(number, case, scores, rubric) for number, (case, scores) in enumerate(drawn, 1)
        )
        + "\n"
    )


def _example(number: int, case: Case, scores: dict[str, float], rubric: Rubric) -> str:
    exhibits = rubric.exhibits(case)
    code = nonce(exhibit.text for exhibit in exhibits)
    texts = "\n".join(fence("exhibit", f"example {number}: {e.name}", e.text, code) for e in exhibits)
    given = ", ".join(f"{name} {scores[name]:g}" for name in rubric.names)
    return f"## Example {number}\n{texts}\nScores: {given}"


@lru_cache(maxsize=4)
def _labelled_cases(shots: Shots, names: tuple[str, ...]) -> list[tuple[Case, dict[str, float]]]:
    """Each case of the pool that has a score for every attribute, with the median of its scores."""
    votes: dict[str, dict[str, list[float]]] = {}
    for rating in read_ratings(shots.ratings):
        if isinstance(rating.value, float):
            votes.setdefault(rating.case, {}).setdefault(rating.attribute, []).append(rating.value)
    return [
        (case, {name: counting.median(votes[case.id][name]) for name in names})
        for case in load_cases(shots.cases)
        if set(names) <= votes.get(case.id, {}).keys()
    ]
