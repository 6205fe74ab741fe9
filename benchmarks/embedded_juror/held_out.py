"""Questions about cases that played no part in training, and what is known of the right answers.

    python benchmarks/embedded_juror/held_out.py MTS-Dialog-TestSet-2-MEDIQA-Sum-2023.csv human_scored_summaries.csv OUT.gz

`--dev` makes the set by which runs are chosen instead, from the training file's dialogues that no run has seen:

    python benchmarks/embedded_juror/held_out.py MTS-Dialog-TrainingSet.csv OUT.gz --dev

Planted faults in other dialogues than those trained on, 200 automatic summaries that people checked fact by fact, and the 24 invented
cases of the demonstration; nothing is chosen by them. `--cases FOLDER` also writes them as case files for `venire run`.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import pickle
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from make_examples import HELD_OUT, mts_cases
from variation import varied

from venire import Case
from venire.agents.prompting import brief
from venire.evals.training.examples import juror_prompt
from venire.evals.training.passages import passages
from venire.evals.training.planting import plant, truth_of
from venire.personas.persona import load_persona
from venire.rubrics.case import load_cases
from venire.rubrics.rubric import load_rubric

KINDS = ("number", "negation", "term", "fabrication", "omission")
FEWEST_WORDS = 8
ASKED = ("accurate", "thorough")


VERSIONS = 3
"""Other versions of each dialogue in the set for choosing."""


def planted_cases(cases: list[Case], seed: int = 11) -> Iterator[Case]:
    """Each note once as it is and once with each kind of fault that finds a place in it."""
    rng = random.Random(seed)
    cases = [case for case in cases if len(case.output.split()) >= FEWEST_WORDS]
    foreign = [p.text for case in cases for p in passages(case.output)]
    for case in cases:
        yield case.model_copy(update={"group": case.id, "metadata": {"fault": "clean", "points": 0}})
        truth = truth_of(case)
        for kind in KINDS:
            if planted := plant(case.output, truth, [kind], rng, foreign=foreign):
                update: dict[str, Any] = {
                    "id": f"{case.id}~{kind}",
                    "group": case.id,
                    "output": planted.output,
                    "metadata": {"fault": kind, "points": sum(fault.points for fault in planted.faults)},
                }
                yield case.model_copy(update=update)


def scored_summaries(path: Path) -> Iterator[Case]:
    """Automatic summaries with the factual recall and precision that people found."""
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["summary"].strip():
                scores = {name: float(row[name]) for name in ("factual_recall", "factual_precision")}
                yield Case(
                    id=f"people-{row['dialogue_id']}-{row['system']}", source=row["dialogue"], output=row["summary"],
                    group=row["dialogue_id"], metadata={"fault": "people", **scores},
                )  # fmt: skip


def dev_cases(path: Path, seed: int = 12) -> list[Case]:
    """The dialogues that neither stage of training has seen, each as it is and in other versions of it."""
    rng = random.Random(seed)
    kept = [case for number, case in enumerate(mts_cases(path)) if number % (2 * HELD_OUT) == HELD_OUT]
    versions = [
        varied(case, rng).model_copy(update={"id": f"{case.id}-{version}"})
        for case in kept
        for version in range(VERSIONS)
    ]
    return [*kept, *versions]


def question(case: Case, persona: str | None) -> dict[str, Any]:
    """A ballot on accuracy and thoroughness, as the seat is sent it."""
    put = brief(case, load_rubric("clinical-note"))
    prompt = juror_prompt(
        "judge", load_persona(persona) if persona else None, lambda juror: juror.cast(put, ASKED)
    )
    system, user = (message.content for message in prompt.messages)
    texts = [exhibit.text for exhibit in put.exhibits]
    return {
        "id": case.id,
        "group": case.group,
        "persona": persona,
        "meta": case.metadata,
        "system": system,
        "user": user,
        "texts": texts,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("notes", type=Path)
    parser.add_argument("summaries", type=Path, nargs="?")
    parser.add_argument("out", type=Path)
    parser.add_argument("--demo", type=Path, default=Path(__file__).parents[2] / "evals" / "demo")
    parser.add_argument("--cases", type=Path)
    parser.add_argument("--dev", action="store_true")
    options = parser.parse_args()
    if options.dev:
        chosen_by = [
            question(case, "plain-judge") for case in planted_cases(dev_cases(options.notes), seed=23)
        ]
        options.out.write_bytes(gzip.compress(pickle.dumps(chosen_by)))
        print(json.dumps({"questions": len(chosen_by)}))
        return
    if options.summaries is None:
        parser.error("the scored summaries are needed")
    planted, people = list(planted_cases(mts_cases(options.notes))), list(scored_summaries(options.summaries))
    labels: dict[str, dict[str, float]] = {}
    with (options.demo / "labels.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            labels.setdefault(row["case"], {})[row["attribute"]] = float(row["value"])
    demo = [
        case.model_copy(
            update={"metadata": {"fault": "demo", **{f"right_{a}": labels[case.id][a] for a in ASKED}}}
        )
        for case in load_cases(options.demo / "cases.jsonl")
    ]
    questions = [question(case, "plain-judge") for case in [*planted, *people]]
    questions += [
        question(case, persona) for case in demo for persona in ("plain-judge", "high-scoring", "low-scoring")
    ]
    stances = [case for case in planted if case.metadata["fault"] != "clean"][::5]
    questions += [question(case, persona) for case in stances for persona in ("high-scoring", "low-scoring")]
    options.out.write_bytes(gzip.compress(pickle.dumps(questions)))
    if options.cases:
        options.cases.mkdir(parents=True, exist_ok=True)
        for name, cases in (("planted", planted), ("people", people), ("demo", demo)):
            lines = [json.dumps(case.model_dump(mode="json", exclude_none=True)) for case in cases]
            (options.cases / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(json.dumps({"questions": len(questions), "planted": len(planted), "people": len(people)}))


if __name__ == "__main__":
    main()
