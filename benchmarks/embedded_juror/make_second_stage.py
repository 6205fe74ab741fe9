"""Ballots for the second stage, on dialogues that the first never saw: each with its right answer at every level, and a wrong one.

    python benchmarks/embedded_juror/make_second_stage.py MTS-Dialog-TrainingSet.csv OUT.gz --count 6000 --seed 31

Half of the dialogues that `make_examples.py` keeps back are for this; the other half is for choosing between runs (`held_out.py --dev`).
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Any

from asked_rubrics import CLINICAL
from deliberations import Situation, filled
from make_examples import HELD_OUT, Maker, mts_cases, packed
from right_ballots import aspect_of

from venire import Rubric
from venire.evals.training.examples import PromptTooLong, juror_prompt, more_lenient
from venire.evals.training.planting import truth_of
from venire.personas.persona import load_persona
from venire.rubrics.ballot import Vote

JUDGE = load_persona("plain-judge")
POINTS = (1, 2, 3, 4)
TRIES = 8
"""Texts looked at for one with (or without) a fault of accuracy; half are to have one."""


class SecondStage(Maker):
    """Makes ballots that begin with a question of accuracy."""

    def rows(self, count: int) -> list[dict[str, Any]]:
        made: list[dict[str, Any]] = []
        while len(made) < count:
            try:
                made.append(self._row())
            except PromptTooLong:
                continue
        return made

    def _row(self) -> dict[str, Any]:
        rng = self.rng
        wanted = rng.random() < 0.5
        for _ in range(TRIES):
            case = self._dialogue()
            truth = truth_of(case)
            planted = self._plant(case, truth, self.anything, invented=False)
            if wanted == any(fault.attribute == "accurate" for fault in planted.faults):
                break
        rubric = CLINICAL if rng.random() < 0.6 else rng.choice(self.rubrics_on_accuracy)
        at = Situation.of(case, planted, truth, rubric)
        first, *others = rubric.names
        asked = [first, *(name for name in others if rng.random() < 0.5)]
        votes = {name: at.vote(name, rng, None) for name in asked}
        lost = sum(fault.points for fault in planted.faults if fault.attribute == "accurate")
        graded = [at.right.vote(first, lean=points - lost) for points in POINTS] if lost else [votes[first]]
        wrong = _lenient(rubric, votes) if lost else {**votes, first: at.false_alarm(first, rng)}
        prompt = juror_prompt("seat", rng.choice((None, JUDGE)), lambda juror: juror.cast(at.brief, asked))
        system, user = (message.content for message in prompt.messages)
        answers = [_text({**votes, first: vote}) for vote in graded if vote is not None]
        answer = {
            "first": first,
            "points": lost,
            "right": answers,
            "wrong": _text(wrong),
            "chosen": _text(votes),
        }
        return {"kind": "graded", "system": system, "user": user, "answer": answer, "marks": []}

    @property
    def rubrics_on_accuracy(self) -> list[Rubric]:
        return [r for r in self.rubrics if aspect_of(r.attributes[0]) == "accurate"]


def _lenient(rubric: Rubric, votes: dict[str, Vote]) -> dict[str, Vote]:
    better = more_lenient(rubric, {name: vote.value for name, vote in votes.items()})
    return {name: vote.model_copy(update={"value": better[name]}) for name, vote in votes.items()}


def _text(votes: dict[str, Vote]) -> str:
    return json.dumps({name: filled(vote) for name, vote in votes.items()}, ensure_ascii=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("notes", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=31)
    options = parser.parse_args()
    cases = [case for number, case in enumerate(mts_cases(options.notes)) if number % (2 * HELD_OUT) == 0]
    rows = SecondStage(cases, random.Random(options.seed).randrange(10**6)).rows(options.count)
    options.out.write_bytes(packed(rows))
    faulty = sum(row["answer"]["points"] > 0 for row in rows)
    print(json.dumps({"rows": len(rows), "with a fault of accuracy": faulty, "dialogues": len(cases)}))


if __name__ == "__main__":
    main()
