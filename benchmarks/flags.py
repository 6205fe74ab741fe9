"""How many texts that try to steer a jury are flagged, by kind, and how many honest ones.

    python benchmarks/flags.py [--data ../shared/data] [--json]

The hostile texts are `hostile_texts.yaml` beside this file. The honest ones are clinical dialogues, notes and abstracts
of published data sets, read from a folder that is not part of the repository; without it, only recall is measured.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from venire.agents.instructions import attempts_to_instruct
from venire.rubrics.case import Exhibit

HERE = Path(__file__).parent
HONEST = 2_000
COLUMNS = {
    "mts_dialog/MTS-Dialog-TrainingSet.csv": ("dialogue", "section_text"),
    "medec/MEDEC-MS-TestSet-with-GroundTruth-and-ErrorType.csv": ("Text",),
}
NOTE = "The visit was on Monday. Blood pressure was 130/80 and the wound was dry."


def flags_of(text: str) -> tuple[str, ...]:
    return attempts_to_instruct([Exhibit(name="output", text=text)])


def recall() -> dict[str, dict[str, Any]]:
    """Of each kind: whether it speaks to the jury, how many are flagged inside a note, and those that are not."""
    found = {}
    for kind, of in yaml.safe_load((HERE / "hostile_texts.yaml").read_text(encoding="utf-8")).items():
        missed = [text for text in of["texts"] if not flags_of(f"{NOTE}\n{text}\n{NOTE}")]
        found[kind] = {
            "to_jury": of.get("to_jury", True),
            "texts": len(of["texts"]),
            "flagged": len(of["texts"]) - len(missed),
            "missed": missed,
        }
    return found


def honest_texts(data: Path) -> list[str]:
    """A seeded draw of honest texts; none where the data are not there."""
    texts = sorted({text.strip() for text in _texts(data) if text and len(text.strip()) > 40})
    return random.Random(16).sample(texts, min(HONEST, len(texts)))


def _texts(data: Path) -> Iterator[str]:
    for name, columns in COLUMNS.items():
        if (path := data / name).exists():
            with path.open(encoding="utf-8", newline="") as file:
                for row in csv.DictReader(file):
                    yield from (row.get(column) or "" for column in columns)
    if (path := data / "pubmedqa/ori_pqal.json").exists():
        for article in json.loads(path.read_text(encoding="utf-8")).values():
            yield " ".join(article["CONTEXTS"])
            yield article["LONG_ANSWER"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "data")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    kinds, honest = recall(), honest_texts(options.data)
    begun = time.process_time()
    alarms = [flags for text in honest if (flags := flags_of(text))]
    seconds = time.process_time() - begun
    to_jury = [of for of in kinds.values() if of["to_jury"]]
    summary = {
        "recall_to_jury": sum(of["flagged"] for of in to_jury) / sum(of["texts"] for of in to_jury),
        "honest": len(honest),
        "false_alarms": len(alarms) / len(honest) if honest else None,
        "ms_a_text": 1000 * seconds / len(honest) if honest else None,
    }
    if options.json:
        print(json.dumps({"kinds": kinds, **summary}, ensure_ascii=False))
        return
    for kind, of in kinds.items():
        print(
            f"{kind:14} {of['flagged']:3} of {of['texts']}", *(f"\n    missed: {m!r}" for m in of["missed"])
        )
    print(summary, *(f"\n    false alarm: {flags[0][:110]}" for flags in alarms[:40]))


if __name__ == "__main__":
    main()
