"""Claims to be checked in cases that played no part in training, each in a call of its own, and what is known of the right verdicts.

    python benchmarks/embedded_juror/held_out_checks.py human_scored_summaries.csv OUT.gz
    python benchmarks/embedded_juror/held_out_checks.py MTS-Dialog-TrainingSet.csv OUT.gz --dev

The first asks of each clause of the clinician's note whether the automatic summary says it, as a jury with `claims: {of: reference, against: output}`
and the extractor `lens/claims` does; the share that it says is held against the factual recall that people found. `--dev` makes the set by which
runs are chosen: statements whose verdict is known by construction, in the training file's dialogues that no run has seen.
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

from checks import RUBRIC, Pair, against_source, told_by_the_patient, two_texts
from held_out import dev_cases

from venire import Case
from venire.agents.brief import brief
from venire.agents.claims import Direction, NamedText, verify_claims
from venire.agents.lenses.claims import clauses
from venire.evals.training.captured_prompts import juror_prompt
from venire.evals.training.passages import passages
from venire.evals.training.planting import truth_of
from venire.rubrics.claim import Claim

A_PAIR = 3
"""Claims asked of each pair of texts in the set for choosing."""


def question(case: Case, of: str, against: str, spans: list[tuple[int, int]], at: int) -> dict[str, Any]:
    """The call that asks about one claim of several."""
    put = brief(case, RUBRIC)
    direction = Direction(put, NamedText.of(put, of), NamedText.of(put, against))
    start, end = spans[at]
    words = direction.of.text[start:end]
    claim = Claim(id=f"{'c' if of == 'output' else of[0]}{at + 1}", of=of, text=words, quote=words, start=start, end=end)  # fmt: skip
    prompt = juror_prompt(
        "local", None, lambda juror: verify_claims(juror, direction, [claim], require_evidence=False)
    )
    system, user = (message.content for message in prompt.messages)
    return {
        "id": f"{case.id}~{claim.id}", "group": case.group, "persona": None, "system": system, "user": user,
        "texts": [direction.against.text], "meta": {"claim": claim.id, "words": words},
    }  # fmt: skip


def people_questions(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if not row["summary"].strip():
                continue
            case = Case(
                id=f"people-{row['dialogue_id']}-{row['system']}", output=row["summary"], reference=row["reference"],
                group=row["dialogue_id"],
            )  # fmt: skip
            spans = clauses(case.reference or "")
            for at in range(len(spans)):
                asked = question(case, "reference", "output", spans, at)
                asked["meta"] |= {"case": case.id, "recall": float(row["factual_recall"])}
                yield asked


def dev_questions(path: Path, seed: int = 29) -> Iterator[dict[str, Any]]:
    rng = random.Random(seed)
    cases = dev_cases(path)
    foreign = [p.text for case in cases for p in passages(case.output)]
    for number, case in enumerate(cases):
        truth = truth_of(case)
        pairs: list[tuple[str, Pair | None]] = [
            ("source", against_source(case, truth, foreign, rng)),
            ("note", two_texts(case, foreign, rng)),
            ("retold", told_by_the_patient(case, truth, rng)),
        ]
        for kind, pair in pairs:
            if pair is None:
                continue
            known = rng.sample(pair.known, min(A_PAIR, len(pair.known)))
            for each in known:
                shown = pair.case.model_copy(update={"id": f"{case.id}-{number}-{kind}"})
                asked = question(shown, pair.of, pair.against, [(each.start, each.end)], 0)
                asked["meta"] |= {"kind": kind, "verdict": each.verdict}
                yield asked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("file", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--dev", action="store_true")
    options = parser.parse_args()
    found = list(dev_questions(options.file) if options.dev else people_questions(options.file))
    options.out.write_bytes(gzip.compress(pickle.dumps(found)))
    print(json.dumps({"questions": len(found)}))


if __name__ == "__main__":
    main()
