"""Arms on texts with planted faults: adapters, a jury of them, lenses, ROUGE-L, a constant; and whether the jury beats the best single one.

    python benchmarks/embedded_juror/arms.py held_out.gz shipped=shipped-held_out.jsonl.gz dpo=... --jury shipped,dpo,first

Answers are those of `answer.py`, or a CSV like that of `venire export RUN --to csv`; `scores-dev.csv` and `scores-test.csv` hold those that the docs
speak of, without the texts. Everything is resampled by dialogue: the texts made of one belong together.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import pickle
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from score_answers import auc, scores_of

from venire.agents.lenses.coverage import coverage
from venire.agents.lenses.numbers import numbers
from venire.agents.lenses.support import support
from venire.evals.metrics.overlap import rouge_l
from venire.evals.statistics.icc import icc

Scores = dict[str, dict[str, float]]
"""By case, then by attribute."""
DRAWS, HALVES = 1000, 400


def planted_questions(path: Path) -> dict[str, dict[str, Any]]:
    """The questions with planted truth, one a case, as the plain judge is asked them."""
    asked = pickle.loads(gzip.decompress(path.read_bytes()))
    return {q["id"]: q for q in asked if q["persona"] == "plain-judge" and "points" in q["meta"]}


def answered(path: Path, arm: str) -> Scores:
    """An arm's scores; a CSV may hold several arms'."""
    if path.suffix == ".csv":
        table = pd.read_csv(path)
        mine = table[(table["status"] == "reached") & ((table["arm"] == arm) | (table["arm"].nunique() == 1))]
        found: Scores = {}
        for case, attribute, value in zip(mine["case"], mine["attribute"], mine["value"], strict=True):
            found.setdefault(case, {})[attribute] = float(value)
        return found
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return {
        row["id"]: scores for row in rows if row["persona"] == "plain-judge" and (scores := scores_of(row))
    }


def counted(read: Callable[[Sequence[str], str], Mapping[str, float]], asked: Mapping[str, Any]) -> Scores:
    """An arm that is no model: what `read` makes of source and output."""
    return {case: dict(read(q["texts"][:-1], q["texts"][-1])) for case, q in asked.items()}


def lenses(source: Sequence[str], output: str) -> dict[str, float]:
    merits = [r.merit for lens in (support, numbers) if (r := lens(source, output))]
    whole = coverage(source, output)
    found = {"accurate": float(np.mean(merits))} if merits else {}
    return found | ({"thorough": whole.merit} if whole else {})


def overlap(source: Sequence[str], output: str) -> dict[str, float]:
    value = rouge_l(output, "\n".join(source))
    return {"accurate": value, "thorough": value}


def constant(source: Sequence[str], output: str) -> dict[str, float]:
    return {"accurate": 5.0, "thorough": 5.0}


class Texts:
    """What is asked about: the fault, the right score and the dialogue of each case."""

    def __init__(self, asked: Mapping[str, dict[str, Any]]) -> None:
        self.fault = {case: q["meta"]["fault"] for case, q in asked.items()}
        self.right = {case: max(1, 5 - q["meta"]["points"]) if q["meta"]["fault"] != "omission" else 5 for case, q in asked.items()}  # fmt: skip
        self.of: dict[str, list[str]] = {}
        for case in asked:
            dialogue = re.match(r"mts-\d+", case)
            self.of.setdefault(dialogue.group() if dialogue else case, []).append(case)

    def auc(self, scores: Scores, attribute: str, dialogues: Sequence[str] | None = None) -> float:
        """Faulty against clean texts; of accuracy, or of thoroughness with omissions."""
        cases = [c for d in (self.of if dialogues is None else dialogues) for c in self.of[d] if attribute in scores.get(c, {})]  # fmt: skip
        omitted = attribute == "thorough"
        worse = [scores[c][attribute] for c in cases if self.fault[c] != "clean" and (self.fault[c] == "omission") == omitted]  # fmt: skip
        return auc(worse, [scores[c][attribute] for c in cases if self.fault[c] == "clean"])

    def interval(self, measure: Callable[[Sequence[str]], float]) -> tuple[float, float]:
        rng, names = np.random.default_rng(5), sorted(self.of)
        drawn = [measure(list(rng.choice(names, len(names)))) for _ in range(DRAWS)]
        low, high = np.nanquantile(drawn, [0.025, 0.975])
        return float(low), float(high)


def row(texts: Texts, scores: Scores, *, levels: bool = True) -> dict[str, Any]:
    """One arm's line of the table."""
    low, high = texts.interval(lambda drawn: texts.auc(scores, "accurate", drawn))
    found: dict[str, Any] = {
        "texts": sum(case in scores for case in texts.fault),
        "AUC accurate": f"{texts.auc(scores, 'accurate'):.3f} ({low:.2f} to {high:.2f})",
        "AUC thorough": round(texts.auc(scores, "thorough"), 3),
    }
    if not levels:
        return found
    given = {case: values["accurate"] for case, values in scores.items() if "accurate" in values and case in texts.fault}  # fmt: skip
    clean = [value for case, value in given.items() if texts.fault[case] == "clean"]
    long = pd.DataFrame(
        [(case, rater, value) for case in given for rater, value in (("arm", given[case]), ("right", texts.right[case]))],
        columns=["case", "rater", "value"],
    )  # fmt: skip
    used = Counter(round(value) for value in given.values())
    return found | {
        "clean marked down": f"{np.mean([value < 5 for value in clean]):.1%}",
        "ICC(3,1) with the right score": round(icc(long, form="icc3").value, 3),
        "levels 1 to 5": "/".join(f"{used[level] / len(given):.0%}" for level in range(1, 6)),
    }


def jury_of(arms: Mapping[str, Scores], names: Sequence[str], rule: Callable[[list[float]], Any]) -> Scores:
    """The panel of some arms, counted by `rule`, on what all of them answered."""
    cases = set.intersection(*(set(arms[name]) for name in names))
    return {case: {a: float(rule([arms[name][case][a] for name in names])) for a in ("accurate", "thorough")} for case in cases}  # fmt: skip


def against_best_single(texts: Texts, arms: Mapping[str, Scores], names: Sequence[str], jury: Scores) -> dict[str, Any]:  # fmt: skip
    """The jury's AUC less that of the single arm which was best on other dialogues: halves drawn many times."""
    rng, dialogues = np.random.default_rng(7), np.array(sorted(texts.of))
    gains, chosen = [], Counter[str]()
    for _ in range(HALVES):
        rng.shuffle(dialogues)
        one, other = list(dialogues[: len(dialogues) // 2]), list(dialogues[len(dialogues) // 2 :])
        best = max(names, key=lambda name: texts.auc(arms[name], "accurate", one))
        chosen[best] += 1
        gain = texts.auc(jury, "accurate", other) - texts.auc(arms[best], "accurate", other)
        gains += [] if math.isnan(gain) else [gain]
    first = chosen.most_common(1)[0][0]
    low, high = texts.interval(
        lambda d: texts.auc(jury, "accurate", d) - texts.auc(arms[first], "accurate", d)
    )
    return {"out of sample": round(float(np.mean(gains)), 3), "chosen": dict(chosen), f"against {first}": f"{texts.auc(jury, 'accurate') - texts.auc(arms[first], 'accurate'):+.3f} ({low:+.3f} to {high:+.3f})"}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("questions", type=Path)
    parser.add_argument("answers", nargs="*", help="NAME=FILE")
    parser.add_argument("--jury", help="NAME,NAME,NAME")
    options = parser.parse_args()
    asked = planted_questions(options.questions)
    texts = Texts(asked)
    arms = {
        name: answered(Path(path), name)
        for name, _, path in (each.partition("=") for each in options.answers)
    }
    for name, scores in arms.items():
        print(name, json.dumps(row(texts, scores)), flush=True)
    for name, read in (("lenses", lenses), ("ROUGE-L", overlap), ("constant", constant)):
        print(name, json.dumps(row(texts, counted(read, asked), levels=False)), flush=True)
    if options.jury:
        names = options.jury.split(",")
        for title, rule in (("mean", np.mean), ("median", np.median)):
            jury = jury_of(arms, names, rule)
            print(f"jury, {title}", json.dumps(row(texts, jury)))
            print("  ", json.dumps(against_best_single(texts, arms, names, jury)), flush=True)


if __name__ == "__main__":
    main()
