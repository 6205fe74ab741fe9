"""How well held-out questions were answered: AUC of planted faults, clean texts marked down, forms, quotes, people's scores.

python benchmarks/embedded_juror/score_answers.py answers.jsonl.gz
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata, spearmanr

ASPECT = {"omission": "thorough"}


def auc(worse: list[float], better: list[float]) -> float:
    """The chance that a faulty text scores below a clean one; ties count half."""
    ranks = rankdata([*better, *worse])
    n, m = len(better), len(worse)
    return float((ranks[:n].sum() - n * (n + 1) / 2) / (n * m)) if n and m else float("nan")


def interval(
    worse: dict[str, list[float]], better: dict[str, list[float]], draws: int = 1000
) -> tuple[float, float]:
    """A bootstrap interval of the AUC over groups of cases."""
    rng = np.random.default_rng(5)
    groups = sorted({*worse, *better})
    found = []
    for _ in range(draws):
        drawn = rng.choice(groups, len(groups))
        value = auc(
            [v for g in drawn for v in worse.get(g, [])], [v for g in drawn for v in better.get(g, [])]
        )
        if value == value:
            found.append(value)
    return tuple(np.quantile(found, [0.025, 0.975])) if found else (float("nan"),) * 2  # type: ignore[return-value]


def scores_of(row: dict[str, Any]) -> dict[str, float] | None:
    try:
        filled = json.loads(row["answer"])
        return {name: float(filled[name]["score"]) for name in ("accurate", "thorough")}
    except (ValueError, KeyError, TypeError):
        return None


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("answers", type=Path)
    path = parser.parse_args().answers
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    results: dict[str, Any] = {
        "answers": len(rows),
        "forms filled": np.mean([scores_of(row) is not None for row in rows]),
    }
    quotes = found = 0
    for row in rows:
        if scores_of(row) is None:
            continue
        texts = [re.sub(r"\s+", " ", text).casefold() for text in row["texts"]]
        for part in json.loads(row["answer"]).values():
            for quote in part["evidence"]:
                wanted = re.sub(r"\s+", " ", quote).casefold().strip(" \"'.,;:")
                quotes += 1
                found += any(wanted in text for text in texts)
    results["quotes found"] = found / max(1, quotes)
    plain = [row for row in rows if row["persona"] == "plain-judge" and scores_of(row)]
    by: dict[str, dict[str, dict[str, list[float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for row in plain:
        for aspect, score in (scores_of(row) or {}).items():
            by[row["meta"]["fault"]][aspect][row["group"] or row["id"]].append(score)

    def flat(kind: str, aspect: str) -> list[float]:
        return [v for values in by[kind][aspect].values() for v in values]

    for kind in ("number", "negation", "term", "fabrication", "omission"):
        aspect = ASPECT.get(kind, "accurate")
        results[f"auc {kind}"] = auc(flat(kind, aspect), flat("clean", aspect)), len(flat(kind, aspect))
    worse: dict[str, list[float]] = defaultdict(list)
    for kind in ("number", "negation", "term", "fabrication"):
        for group, values in by[kind]["accurate"].items():
            worse[group] += values
    results["auc accuracy"] = auc([v for values in worse.values() for v in values], flat("clean", "accurate"))
    results["interval"] = interval(worse, by["clean"]["accurate"])
    results["clean marked down"] = {
        a: float(np.mean([v < 5 for v in flat("clean", a)])) for a in ("accurate", "thorough")
    }
    results["omission interval"] = interval(by["omission"]["thorough"], by["clean"]["thorough"])
    people = [(row["meta"], scores_of(row)) for row in plain if row["meta"]["fault"] == "people"]
    for aspect, truth in (("thorough", "factual_recall"), ("accurate", "factual_precision")):
        pairs = [(score[aspect], meta[truth]) for meta, score in people if score]
        if pairs:
            results[f"spearman {truth}"] = float(spearmanr(*zip(*pairs, strict=True)).statistic), len(pairs)
    for aspect in ("accurate", "thorough"):
        demo = [(scores_of(row), row["meta"]) for row in plain if row["meta"]["fault"] == "demo"]
        faulty = {
            str(i): [s[aspect]] for i, (s, meta) in enumerate(demo) if s and meta[f"right_{aspect}"] < 5
        }
        whole = {
            str(i): [s[aspect]] for i, (s, meta) in enumerate(demo) if s and meta[f"right_{aspect}"] == 5
        }
        if faulty and whole:
            results[f"demo auc {aspect}"] = (
                auc([v[0] for v in faulty.values()], [v[0] for v in whole.values()]),
                interval(faulty, whole),
                len(faulty),
                len(whole),
            )
    stance: dict[str, dict[str, dict[str, float]]] = defaultdict(dict)
    for row in rows:
        if row["persona"] in ("high-scoring", "low-scoring") and scores_of(row):
            stance[row["id"]][row["persona"]] = scores_of(row) or {}
    gaps = [
        s["high-scoring"][a] - s["low-scoring"][a]
        for s in stance.values()
        if len(s) == 2
        for a in ("accurate", "thorough")
    ]
    results["high minus low"] = (float(np.mean(gaps)), len(gaps)) if gaps else None
    for name, value in results.items():
        print(f"{name:24} {value}")


if __name__ == "__main__":
    main()
