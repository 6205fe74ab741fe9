"""Is the embedded juror a verifier of claims? Its answers in runs of decompose-verify, beside `lens/claims` and people's factual recall.

    venire run CASES --rubric support.yaml --jury verifier.yaml -o RUN
    python benchmarks/embedded_juror/verifier.py human_scored_summaries.csv RUN [RUN ...]

CASES are the scored summaries (`output` the summary, `reference` the clinician's note); the jury takes `of: reference, against: output`, an extractor
`lens/claims` and one verifier `local`, a claim a call. A run that was stopped will do: every answer in its record counts. An answer's first
verdict is taken for the claim that was asked about, whether or not it names it.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np

from venire.agents.lenses.claims import check_claim

CLAIM = re.compile(r'\[\[words "(r\d+)" begins \w+\]\]\n(.*?)\n\[\[words', re.DOTALL)
AGAINST = re.compile(r'\[\[exhibit "output" begins \w+\]\]\n(.*?)\n\[\[exhibit', re.DOTALL)
DRAWS = 2000


def answers_in(run: Path) -> Iterator[tuple[str, str, str, dict[str, str]]]:
    """The summary, the claim's id and words, and the first check of each answer."""
    with closing(sqlite3.connect(run / "record.sqlite")) as record:
        texts = {key: json.loads(text) for key, text in record.execute("SELECT hash, text FROM texts")}
        for request, text in record.execute("SELECT request, text FROM calls"):
            asked = json.loads(request)
            if asked["model"] != "local":
                continue
            user = "".join(texts[key] for key in asked["parts"][1][1:] if key)
            claim, against = CLAIM.search(user), AGAINST.search(user)
            if claim and against:
                check = json.loads(json.loads(text))["checks"][0]
                yield against.group(1), claim.group(1), claim.group(2), check


def correlation(shares: list[float], recall: list[float]) -> float:
    return (
        float(np.corrcoef(shares, recall)[0, 1])
        if len(set(shares)) > 1 and len(set(recall)) > 1
        else float("nan")
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("summaries", type=Path)
    parser.add_argument("runs", type=Path, nargs="+")
    options = parser.parse_args()
    with options.summaries.open(encoding="utf-8", newline="") as file:
        scored = {" ".join(row["summary"].split()): row for row in csv.DictReader(file)}
    named = asked = 0
    verdicts: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for run in options.runs:
        for summary, claim, words, check in answers_in(run):
            asked += 1
            named += check["claim"] == claim
            counted = check_claim(words, summary).verdict == "supported"
            verdicts[" ".join(summary.split())].append((check["verdict"] == "supported", counted))
    print(f"{asked} claims asked about, {named} named by their id")
    cases = sorted(verdicts)
    dialogues: dict[str, list[str]] = defaultdict(list)
    for case in cases:
        dialogues[scored[case]["dialogue_id"]].append(case)
    for place, name in enumerate(("local", "lens/claims")):
        share = {case: float(np.mean([verdict[place] for verdict in verdicts[case]])) for case in cases}

        def measure(drawn: list[str], share: dict[str, float] = share) -> float:
            return correlation([share[c] for c in drawn], [float(scored[c]["factual_recall"]) for c in drawn])

        rng, names = np.random.default_rng(3), sorted(dialogues)
        resampled = [
            measure([c for d in rng.choice(names, len(names)) for c in dialogues[d]]) for _ in range(DRAWS)
        ]
        low, high = np.nanquantile(resampled, [0.025, 0.975])
        print(
            f"{name}: r = {measure(cases):.2f} ({low:.2f} to {high:.2f}), {len(cases)} summaries, {len(names)} dialogues"
        )


if __name__ == "__main__":
    main()
