"""How fast the embedded juror is on this machine: two ballots, two attributes each, on one case of 300 words.

    python benchmarks/embedded_juror/pace.py

The first is cold: the model is loaded in it, and all of the prompt read. The second, of another seat, finds the case already read. On a machine with
other work compare the processor time, of both together.
"""

from __future__ import annotations

import time

from venire import Jury, Rubric, deliberate_sync, load_cases
from venire.commands.demonstration import FOLDER

CASE = "demo-12"
RUBRIC = {
    "name": "pace",
    "version": 1,
    "scales": {
        "agree5": {
            "level": "ordinal",
            "anchors": {1: "Not at all", 2: "Slightly", 3: "Partly", 4: "Mostly", 5: "Completely"},
        }
    },
    "attributes": [
        {
            "name": "accurate",
            "question": "Is every statement in the output supported by the source?",
            "scale": "agree5",
        },
        {
            "name": "thorough",
            "question": "Does the output have everything from the source that matters?",
            "scale": "agree5",
        },
    ],
}
JURY = {
    "name": "pace",
    "protocol": "panel",
    "seats": [
        {"name": "plain", "persona": "plain-judge", "model": "local", "timeout": 600},
        {"name": "low", "persona": "low-scoring", "model": "local", "timeout": 600},
    ],
}


def main() -> None:
    case = next(case for case in load_cases(FOLDER / "cases.jsonl") if case.id == CASE)
    verdict = deliberate_sync(case, Rubric.model_validate(RUBRIC), Jury.model_validate(JURY))
    for entry in sorted(verdict.transcript.entries, key=lambda entry: entry.spent.cached):
        spent = entry.spent
        print(
            f"{spent.prompt} tokens of prompt, {spent.cached} of them already read; {spent.completion} written: {spent.seconds:.1f} s"
        )
    print(f"{time.process_time():.1f} s of processor time, venire's own start included")


if __name__ == "__main__":
    main()
