"""Questions of three kinds beside those of `held_out.py`: about machines' notes, about hospital notes, and about single claims.

    python benchmarks/embedded_juror/wider_questions.py MTS-Dialog-TrainingSet.csv NOTES.jsonl.gz human_scored_summaries.csv OUT_FOLDER

`machine.gz`: notes of `summarise.py` on the dialogues that no stage has seen, where `machine_notes.py` can tell right from wrong. `hospital.gz`: the 54 texts of
`hospital.jsonl` (18 invented cases of a kind that no example is of; clean, with a fault of accuracy, with an omission). `checks.gz`: each claim of the
clinicians' notes against the summaries that people scored. `odds.py` and `score_odds.py` go on from here.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from held_out import question
from machine_notes import NoteReader, machine_notes
from make_examples import HELD_OUT, mts_cases

from venire import Case
from venire.agents.claims import Direction, NamedText, verify_claims
from venire.agents.lenses.claims import check_claim, clauses
from venire.agents.prompting import brief
from venire.evals.training.examples import juror_prompt
from venire.rubrics.claim import Claim
from venire.rubrics.rubric import load_rubric

HOSPITAL = Path(__file__).with_name("hospital.jsonl")


def about_machine_notes(path: Path, cases: list[Case]) -> Iterator[dict[str, Any]]:
    taught = [case for number, case in enumerate(cases) if number % HELD_OUT]
    unseen = [case for number, case in enumerate(cases) if number % (2 * HELD_OUT) == HELD_OUT]
    for number, note in enumerate(machine_notes(path, unseen, NoteReader(taught))):
        if note.accuracy_known:
            points = sum(f.points for f in note.planted.faults if f.attribute == "accurate")
            update = {
                "id": f"{note.case.id}-m{number}",
                "group": note.case.id,
                "output": note.planted.output,
                "metadata": {"fault": "machine" if points else "machine-clean", "points": points},
            }
            yield question(note.case.model_copy(update=update), "plain-judge")


def about_hospital_notes() -> Iterator[dict[str, Any]]:
    for line in HOSPITAL.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        known = {name: row[name] for name in ("fault", "accurate", "thorough")}
        case = Case(
            id=row["id"], source=row["source"], output=row["output"], group=row["group"], metadata=known
        )
        yield question(case, "plain-judge")


def about_claims(path: Path) -> Iterator[dict[str, Any]]:
    rubric = load_rubric("claims")
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            name = f"people-{row['dialogue_id']}-{row['system']}"
            case = Case(id=name, output=row["summary"], reference=row["reference"], group=row["dialogue_id"])
            put = brief(case, rubric)
            way = Direction(put, NamedText.of(put, "reference"), NamedText.of(put, "output"))
            text = way.of.text
            for number, (start, end) in enumerate(clauses(text), 1):
                words = text[start:end]
                claim = Claim(
                    id=f"r{number}",
                    of="reference",
                    text=words,
                    quote=words,
                    start=start,
                    end=end,
                    central=False,
                )
                prompt = juror_prompt("verifier", None, _asking(way, claim))
                system, user = (message.content for message in prompt.messages)
                meta = {
                    "case": name,
                    "claim": claim.id,
                    "recall": float(row["factual_recall"]),
                    "lens": check_claim(words, row["summary"]).verdict,
                }
                yield {"id": f"{name}#{number}", "group": case.group, "persona": None, "meta": meta, "system": system, "user": user, "texts": [row["summary"]]}  # fmt: skip


def _asking(way: Direction, claim: Claim) -> Any:
    return lambda juror: verify_claims(juror, way, [claim], require_evidence=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    for name in ("dialogues", "machine_notes", "summaries", "out"):
        parser.add_argument(name, type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    made = {
        "machine": about_machine_notes(options.machine_notes, mts_cases(options.dialogues)),
        "hospital": about_hospital_notes(),
        "checks": about_claims(options.summaries),
    }
    for name, questions in made.items():
        asked = list(questions)
        (options.out / f"{name}.gz").write_bytes(gzip.compress(pickle.dumps(asked)))
        print(name, len(asked))


if __name__ == "__main__":
    main()
