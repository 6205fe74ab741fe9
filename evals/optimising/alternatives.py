"""Choosing without a reflecting model: among words that somebody wrote, or among worked examples drawn from the training cases."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...personas.options import Shots
from ...personas.persona import load_persona
from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from .guards import Guard
from .schema import OptimisationFile
from .search import Scene, SearchResult, Validated, WordingTrial
from .wording import Judge, Target

NUMBER = 1_000_003
"""Parts the seeds of two draws."""


@dataclass(frozen=True, slots=True)
class OtherJudge:
    """Another judge to try, and what is other about it."""

    label: str
    judge: Judge
    text: str


def written_alternatives(
    file: OptimisationFile, beside: Path, judge: Judge, places: Mapping[str, Target], guard: Guard
) -> list[OtherJudge]:
    """The judge with each of the file's candidates in its place.

    Raises:
        VenireError: A candidate is no text that may stand there.
    """
    found: list[OtherJudge] = []
    for name, texts in file.candidates.items():
        for number, written in enumerate(texts, 1):
            text = _text(written, name, beside)
            if problem := guard.refusal(text, places[name].text(judge)):
                raise VenireError(
                    f"candidate {number} of {name!r} may not be used: {problem}",
                    remedy="rewrite it, or leave it out",
                )
            found.append(OtherJudge(f"{name} {number}", places[name].put(judge, text), text))
    return found


def shot_alternatives(
    file: OptimisationFile, beside: Path, judge: Judge, pool: Sequence[Case], *, seed: int
) -> list[OtherJudge]:
    """The judge with worked examples before its first ballot: so many draws of each size from the labelled training cases."""
    return [
        OtherJudge(
            f"examples {', '.join(ids)}",
            Judge(
                judge.jury.model_copy(
                    update={
                        "shots": Shots(
                            ids=ids,
                            n=len(ids),
                            cases=beside / file.cases,
                            ratings=beside / file.ratings,
                            wide=file.wide,
                        )
                    }
                ),
                judge.rubric,
            ),
            ", ".join(ids),
        )
        for ids in _drawn_examples(file, pool, seed)
    ]


def _drawn_examples(file: OptimisationFile, pool: Sequence[Case], seed: int) -> Iterator[tuple[str, ...]]:
    assert file.shots is not None
    seen: set[frozenset[str]] = set()
    for size in file.shots.k:
        if size > len(pool):
            raise VenireError(
                f"{size} examples are wanted; {len(pool)} training cases have a rating of every attribute",
                remedy="label more cases, keep fewer for validation and test, or ask for fewer examples",
            )
        for draw in range(file.shots.draws):
            ids = tuple(
                case.id for case in random.Random(seed * NUMBER + size * 1000 + draw).sample(list(pool), size)
            )
            if frozenset(ids) not in seen:
                seen.add(frozenset(ids))
                yield ids


async def try_alternatives(scene: Scene, alternatives: Sequence[OtherJudge]) -> SearchResult:
    """The first judge and every alternative, each heard on all validation cases."""
    found = SearchResult()
    for number, (label, judge, text) in enumerate(
        [("the first words", scene.judge, ""), *((a.label, a.judge, a.text) for a in alternatives)]
    ):
        verdicts = await scene.room.verdicts(judge, scene.validation)
        trial = WordingTrial(
            number,
            label,
            None if number == 0 else 0,
            "first" if number == 0 else "accepted",
            text=text,
            validation=scene.mean_reward(verdicts),
            calls=scene.room.calls.used.calls,
        )
        found.trials.append(trial)
        found.validated.append(Validated(trial, judge, verdicts))
        shown = "undefined" if trial.validation is None else f"{trial.validation:.3f}"
        scene.tell(f"{number}. {label}: validation {shown} ({trial.calls} calls)")
    return found


def _text(written: str, name: str, beside: Path) -> str:
    """The candidate's words; for a persona, those of a file that it names."""
    if name.startswith("persona:") and written.endswith((".yaml", ".yml")):
        return load_persona(beside / written).voice
    return written
