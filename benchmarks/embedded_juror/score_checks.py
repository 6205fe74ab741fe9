"""How well claims were checked: verdicts known by construction, and coverage against people's factual recall.

python benchmarks/embedded_juror/score_checks.py answers.jsonl.gz
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from venire.agents.lenses.claims import check_claim

DRAWS = 2000


def check_in(row: dict[str, Any]) -> dict[str, str] | None:
    """The check of the claim that was asked about; None where the answer has none."""
    try:
        checks = json.loads(row["answer"])["checks"]
        return next(check for check in checks if check["claim"] == row["meta"]["claim"])
    except (ValueError, KeyError, TypeError, StopIteration):
        return None


def recall_correlation(shares: dict[str, float], rows: list[dict[str, Any]]) -> tuple[float, float, float]:
    """Pearson's r of each case's share with people's recall, and its interval over dialogues."""
    recall = {row["meta"]["case"]: row["meta"]["recall"] for row in rows}
    dialogues: dict[str, list[str]] = defaultdict(list)
    for case, group in sorted({(row["meta"]["case"], row["group"]) for row in rows}):
        dialogues[group].append(case)

    def r(cases: list[str]) -> float:
        return float(np.corrcoef([shares[c] for c in cases], [recall[c] for c in cases])[0, 1])

    rng, names = np.random.default_rng(3), sorted(dialogues)
    drawn = [r([c for d in rng.choice(names, len(names)) for c in dialogues[d]]) for _ in range(DRAWS)]
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return r(sorted(recall)), float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("answers", type=Path)
    with gzip.open(parser.parse_args().answers, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    found = [check_in(row) for row in rows]
    print(f"{len(rows)} claims asked about, {sum(check is not None for check in found)} checked by their id")
    quoted = [(check["evidence"], row["texts"][0]) for check, row in zip(found, rows, strict=True) if check and check["evidence"]]  # fmt: skip
    stand = [
        " ".join(quote.split()).casefold() in " ".join(text.split()).casefold() for quote, text in quoted
    ]
    print(f"quotes found in the text: {np.mean(stand):.3f} of {len(stand)}")
    if "verdict" in rows[0]["meta"]:
        for kind in ("source", "note", "retold"):
            pairs = Counter(
                (row["meta"]["verdict"], check["verdict"] if check else "none")
                for row, check in zip(rows, found, strict=True)
                if row["meta"]["kind"] == kind
            )
            lens = np.mean(
                [
                    check_claim(row["meta"]["words"], row["texts"][0]).verdict == row["meta"]["verdict"]
                    for row in rows
                    if row["meta"]["kind"] == kind
                ]
            )
            right = sum(count for (truth, said), count in pairs.items() if truth == said)
            print(f"{kind}: right {right / pairs.total():.3f} of {pairs.total()} (lens/claims {lens:.3f})")
            for (truth, said), count in sorted(pairs.items()):
                print(f"    {truth} -> {said}: {count}")
        return
    for name in ("local", "lens/claims"):
        each: dict[str, list[bool]] = defaultdict(list)
        for row, check in zip(rows, found, strict=True):
            said = check["verdict"] if check and name == "local" else ""
            if name != "local":
                said = check_claim(row["meta"]["words"], row["texts"][0]).verdict
            each[row["meta"]["case"]].append(said == "supported")
        r, low, high = recall_correlation({case: float(np.mean(v)) for case, v in each.items()}, rows)
        print(f"{name}: coverage and people's factual recall, r = {r:.3f} ({low:.2f} to {high:.2f}), {len(each)} summaries")  # fmt: skip


if __name__ == "__main__":
    main()
