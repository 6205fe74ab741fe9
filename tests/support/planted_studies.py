"""The shipped studies over cases of a planted truth, heard by a local server's judges whose faults are known."""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from openai_server import Call, filled

from venire.evals.studies.study_files import LIBRARY

Fault = Callable[["PlantedCase", str, random.Random], float]
"""What a judge adds to the true score of a case's attribute."""


@dataclass(frozen=True)
class PlantedCase:
    """A case whose number stands in its text, so that a judge behind a server can know it."""

    number: int
    patient: int
    system: str
    specialty: str
    notes: int
    truth: Mapping[str, int]

    @property
    def text(self) -> str:
        return f"Summary {self.number:03d} of the patient's notes, as the system wrote it."

    def row(self) -> dict[str, Any]:
        return {
            "id": f"c{self.number:03d}",
            "output": self.text,
            "source": [f"Notes {self.number:03d}."],
            "reference": f"What the panel held in case {self.number:03d}.",
            "group": f"p{self.patient:02d}",
            "system": self.system,
            "metadata": {
                "specialty": self.specialty,
                "notes": self.notes,
                "ward_case": f"w{self.patient:02d}",
                "panel_disagrees": int(self.patient % 4 == 0),
            },
        }


def planted_cases(
    number: int, attributes: Sequence[str], systems: Sequence[str], seed: int
) -> list[PlantedCase]:
    """Cases of two a patient, with true scores from 2 to 4: room for a fault on either side."""
    rng = random.Random(seed)
    specialties = ("Primary Care", "Surgical Care", "Emergency Care")
    return [
        PlantedCase(
            each,
            each // 2,
            systems[each % len(systems)],
            specialties[each // 2 % 3],
            rng.randint(1, 3),
            {name: rng.randint(2, 4) for name in attributes},
        )
        for each in range(number)
    ]


def write_study(
    folder: Path, shipped: str, cases: Sequence[PlantedCase], raters: Sequence[str], url: str, **changes: Any
) -> Path:
    """The shipped study with every judge behind the server at `url`, on these cases and people who are nearly right."""
    rng = random.Random(f"people of {shipped}")
    attributes = list(cases[0].truth)
    (folder / "cases.jsonl").write_text("".join(json.dumps(case.row()) + "\n" for case in cases))
    with (folder / "people.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["case", "rater", *attributes])
        for rater in raters:
            for case in cases:
                said = [_near(case.truth[name], rng) if name != "stigmatizing" else 0 for name in attributes]
                rows.writerow([f"c{case.number:03d}", rater, *said])
    text = (LIBRARY / shipped).read_text()
    document = yaml.safe_load(re.sub(r'"recorded/[^#"]*#([^"]*)"', rf'"server/\1", base_url: "{url}"', text))
    document |= {"cases": "cases.jsonl", "ratings": "people.csv", **changes}
    path = folder / shipped
    path.write_text(yaml.safe_dump({key: value for key, value in document.items() if value is not None}))
    return path


def _near(truth: int, rng: random.Random) -> int:
    return truth + rng.choice([-1, 0, 0, 0, 0, 1])


def judges(cases: Sequence[PlantedCase], faults: Mapping[str, Fault]) -> Callable[[Call], Any]:
    """A server's answer: each model's true score of the case it reads, with its fault, rounded onto 1 to 5."""

    def answer(call: Call) -> Any:
        assert call.schema is not None
        # Worked examples and other jurors' words come after the case that is judged.
        case = cases[int(re.findall(r"Summary (\d{3})", call.prompt)[0])]
        rng = random.Random(f"{call.model} {case.number} {call.number}")
        fault = faults[call.model]

        def score(name: str) -> int:
            if name == "stigmatizing":
                return 0
            return min(5, max(1, round(case.truth[name] + fault(case, name, rng))))

        return filled(call.schema, score, rationale="As the notes have it.", moved_by="it")

    return answer
