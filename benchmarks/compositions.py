"""Recorded jurors of a published data set: how long the study takes, and what it finds.

    python benchmarks/compositions.py llmbar FOLDER [-o REPORT] [--seed N]
    python benchmarks/compositions.py pandalm FOLDER [-o REPORT] [--seed N]

FOLDER holds the published judgements. Prints the advice, the headline figures and the seconds; with -o it writes the
whole report.
"""

import argparse
import time
from pathlib import Path

from venire.evals.ratings.published_data import llmbar, pandalm
from venire.evals.studies.recorded_jurors import analyse
from venire.evals.studies.study_report import write_composition

READERS = {"llmbar": llmbar, "pandalm": pandalm}


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("name", choices=READERS)
    asked.add_argument("folder", type=Path)
    asked.add_argument("-o", "--output", type=Path)
    asked.add_argument("--seed", type=int, default=0)
    given = asked.parse_args()
    start = time.perf_counter()
    recording = READERS[given.name](given.folder)
    found = analyse(recording.judgements, recording.people, questions=recording.questions, seed=given.seed)
    seconds = time.perf_counter() - start
    for sentence in found.sentences():
        print(f"- {sentence}")
    print(found.answers[["what", "value", "low", "high", "n", "p"]].to_string(index=False))
    print(f"{seconds:.1f} s ({time.process_time():.1f} s of processor)")
    if given.output is not None:
        print(write_composition(found, given.output))


if __name__ == "__main__":
    main()
