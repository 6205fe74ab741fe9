"""What the odds of `odds.py` are worth: AUC of planted faults, of machines' and hospital notes, people's precision and recall, claims.

python benchmarks/embedded_juror/score_odds.py ODDS.json
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from score_answers import auc

ACCURACY = ("number", "negation", "term", "fabrication", "machine")
CLEAN = ("clean", "machine-clean")
DRAWS = 2000
Rows = list[dict[str, Any]]


def planted(rows: Rows) -> str:
    """How well the odds tell faulty texts from clean ones."""
    parts = []
    for aspect, kinds in (("accurate", ACCURACY), ("thorough", ("omission",))):
        worse, better = (
            [-r[aspect] for r in rows if r["meta"]["fault"] in wanted] for wanted in (kinds, CLEAN)
        )
        if worse and better:
            parts.append(f"{aspect} AUC {auc(worse, better):.3f} ({len(worse)}, {len(better)} clean)")
    return "; ".join(parts)


def people(rows: Rows) -> str:
    parts = []
    for aspect, truth in (("accurate", "factual_precision"), ("thorough", "factual_recall")):
        pairs = [(-r[aspect], r["meta"][truth]) for r in rows if r["meta"]["fault"] == "people"]
        if pairs:
            parts.append(f"{aspect} and {truth} rho {spearmanr(*zip(*pairs, strict=True)).statistic:.3f}")
    return "; ".join(parts)


def checks(rows: Rows) -> str:
    """How the share of claims that are supported goes with people's recall, by the adapter and by counting words."""
    cases: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        cases[row["meta"]["case"]].append(row)
    dialogues: dict[str, list[str]] = defaultdict(list)
    for name, found in cases.items():
        dialogues[found[0]["group"]].append(name)
    recall = {name: found[0]["meta"]["recall"] for name, found in cases.items()}
    parts = []
    for who, supported in (
        ("adapter", lambda row: row["verdicts"][0] == max(row["verdicts"])),
        ("lens/claims", lambda row: row["meta"]["lens"] == "supported"),
    ):
        share = {name: float(np.mean([supported(row) for row in found])) for name, found in cases.items()}

        def measure(chosen: list[str], share: dict[str, float] = share) -> float:
            return float(np.corrcoef([share[c] for c in chosen], [recall[c] for c in chosen])[0, 1])

        rng, names = np.random.default_rng(3), sorted(dialogues)
        drawn = [
            measure([c for d in rng.choice(names, len(names)) for c in dialogues[d]]) for _ in range(DRAWS)
        ]
        low, high = np.quantile(drawn, [0.025, 0.975])
        parts.append(f"{who} r {measure(list(cases)):.3f} ({low:.2f} to {high:.2f})")
    return f"{len(rows)} claims: " + "; ".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("odds", type=Path)
    for name, rows in json.loads(parser.parse_args().odds.read_text(encoding="utf-8")).items():
        plain = [row for row in rows if row["persona"] in (None, "plain-judge")]
        told = [checks(plain)] if "verdicts" in rows[0] else [planted(plain), people(plain)]
        print(f"{name}: {'; '.join(part for part in told if part)}")


if __name__ == "__main__":
    main()
