"""Choosing by Spearman on recorded scores that people scored too: `python benchmarks/ordinal_sets.py DATA [--splits 20]`, or on simulated ones:
`python benchmarks/ordinal_sets.py --simulated 30 --items 200 600 1200`.

DATA has the folders `mts_dialog` (200 summaries of 50 dialogues, four facts-based scores by people) and `wer-is-unaware` (175 utterances, the mean of two
clinicians' 0 to 2). The judges are what can be counted without a model: overlaps with the reference and the source, error counts. For each attribute and split into
halves (dialogues and consultations whole) the chosen arm's Spearman on the other half stands beside the best single judge's and the greedy jury of three's.

Simulated: nine judges of unequal skill whose errors are correlated score 1 to 5, three people too, whose mean is the truth; items stand in groups of four.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import rankdata, spearmanr

from venire.evals.comparison.objectives import objective
from venire.evals.ratings.question import Question
from venire.evals.studies.choices import Goal
from venire.evals.studies.recorded_jurors import analyse
from venire.rubrics.scale import Scale

UNIT = Question(Scale(level="interval", minimum=0, maximum=1), "high")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("data", type=Path, nargs="?")
    options.add_argument("--splits", type=int, default=20)
    options.add_argument("--simulated", type=int, default=0, metavar="SETS")
    options.add_argument("--items", type=int, nargs="+", default=[200, 600, 1200])
    given = options.parse_args()
    for items in given.items if given.simulated else ():
        _show_simulated(items, given.simulated)
    if given.data is None:
        return
    for name, (judges, truth, groups) in {
        "mts_dialog": _summaries(given.data),
        "wer-is-unaware": _utterances(given.data),
    }.items():
        print(name, judges.shape)
        for attribute in truth:
            _show(attribute, judges, truth[attribute], groups, given.splits)


def _show(attribute: str, judges: pd.DataFrame, truth: pd.Series, groups: pd.Series, splits: int) -> None:
    found = np.array([_held_out(attribute, judges, truth, groups, seed) for seed in range(splits)])
    value, single, three, pays = found.mean(axis=0)
    print(
        f"  {attribute:20} chosen {value:+.3f}  single {single:+.3f}  greedy three {three:+.3f}  a jury pays in {pays * splits:.0f} of {splits}"
    )


def _show_simulated(items: int, sets: int) -> None:
    """How far the chosen arm is above the better of the two others, over many sets with one split each."""
    above = []
    for seed in range(sets):
        value, single, three, _ = _held_out("quality", *_simulated(items, seed), seed)
        above.append(value - max(single, three))
    short = np.mean(np.array(above) < -0.01)
    print(
        f"{items} items: {np.mean(above):+.3f} on average, lowest {min(above):+.3f}, short by more than .01 in {short:.0%} of {sets} sets",
        flush=True,
    )


def _held_out(
    attribute: str, judges: pd.DataFrame, truth: pd.Series, groups: pd.Series, seed: int
) -> tuple[float, float, float, bool]:
    """Spearman on one half of what was chosen on the other: the chosen arm, the best judge, the greedy jury of three; whether a jury pays."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(groups.unique())
    test = groups.isin(names[: len(names) // 2])
    known = truth.notna()
    train, held = known & ~test, known & test
    long = judges[known].stack().rename_axis(["case", "juror"]).rename("value").reset_index()
    long = long.assign(attribute=attribute, group=long["case"].map(groups))
    people = pd.DataFrame(
        {"case": truth[known].index, "rater": "people", "attribute": attribute, "value": truth[known]}
    )
    found = analyse(
        long, people, questions={attribute: UNIT}, goal=Goal(objective("spearman")), reference="mean",
        test=list(truth[held].index), resamples=20, largest=5,
    )  # fmt: skip
    row = found.choices.iloc[0]
    chosen = _greedy(judges[train], truth[train])
    single, three = (
        spearmanr(judges.loc[held, chosen[:size]].mean(axis=1), truth[held]).statistic for size in (1, 3)
    )
    return float(row["value"]), float(single), float(three), bool(row["pays"])


def _simulated(items: int, seed: int) -> tuple[pd.DataFrame, pd.Series, pd.Series]:
    rng = np.random.default_rng([items, seed])
    quality, shared, alike = rng.normal(size=items), rng.normal(size=items), rng.uniform(0, 0.5)
    skill = rng.uniform(0.25, 0.75, 9)
    errors = np.sqrt(alike) * shared[:, None] + np.sqrt(1 - alike) * rng.normal(size=(items, 9))
    seen = skill * quality[:, None] + np.sqrt(1 - skill**2) * errors
    scores = np.clip(np.round(3.6 + seen * rng.uniform(0.5, 1.2, 9) + rng.normal(0, 0.5, 9)), 1, 5)
    people = np.clip(np.round(3 + quality[:, None] + rng.normal(0, 0.8, (items, 3))), 1, 5).mean(axis=1)
    index = [f"i{number}" for number in range(items)]
    judges = pd.DataFrame((scores - 1) / 4, index, [f"judge {number}" for number in range(9)])
    groups = pd.Series([f"g{number // 4}" for number in range(items)], index)
    return judges, pd.Series((people - 1) / 4, index), groups


def _greedy(judges: pd.DataFrame, truth: pd.Series) -> list[str]:
    members: list[str] = []
    while len(members) < 3:
        rest = [name for name in judges if name not in members]
        members.append(max(rest, key=lambda name: _rho(judges[[*members, name]].mean(axis=1), truth)))
    return members


def _rho(scores: pd.Series, truth: pd.Series) -> float:
    """Spearman's rho; of scores that are all the same, less than any other."""
    return float(spearmanr(scores, truth).statistic) if np.ptp(scores) > 1e-9 else -2.0


def _ranks(table: pd.DataFrame) -> pd.DataFrame:
    """Every judge on one footing: the share of cases it scores lower."""
    return table.apply(lambda column: (rankdata(column) - 1) / (len(column) - 1))


def _summaries(data: Path) -> tuple[pd.DataFrame, dict[str, pd.Series], pd.Series]:
    with (data / "mts_dialog" / "human_scored_summaries.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    index = [f"{row['dialogue_id']}-{row['system']}" for row in rows]
    judges = pd.DataFrame(
        [_overlaps(row["summary"], row["reference"], row["dialogue"]) for row in rows], index=index
    )
    names = ("factual_precision", "factual_recall", "factual_f1", "hallucination_rate")
    truth = {
        name: pd.Series([float(row[name]) if row[name] else np.nan for row in rows], index) for name in names
    }
    truth["hallucination_rate"] = 1 - truth["hallucination_rate"]
    return (
        _ranks(judges),
        {name: each.clip(0, 1) for name, each in truth.items()},
        pd.Series([row["dialogue_id"] for row in rows], index),
    )


def _overlaps(text: str, reference: str, source: str) -> dict[str, float]:
    mine, good, said = (re.findall(r"[a-z0-9]+", words.lower()) for words in (text, reference, source))
    pairs, good_pairs = Counter(pairwise(mine)), Counter(pairwise(good))
    shared = sum((Counter(mine) & Counter(good)).values())
    both = sum((pairs & good_pairs).values())
    return {
        "recall": shared / max(1, len(good)), "precision": shared / max(1, len(mine)), "bigram recall": both / max(1, len(good)),
        "bigram precision": both / max(1, len(mine)), "in the source": sum(word in set(said) for word in mine) / max(1, len(mine)),
        "length": min(len(mine), 200.0), "brevity": -float(len(mine)),
    }  # fmt: skip


def _utterances(data: Path) -> tuple[pd.DataFrame, dict[str, pd.Series], pd.Series]:
    with (data / "wer-is-unaware" / "primock_data_final_outcomes.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    index = [f"u{number}" for number in range(len(rows))]
    counts = (
        "substitutions_count",
        "insertions_count",
        "deletions_count",
        "boundary_errors_count",
        "polarity_errors_count",
        "old_wer",
    )
    judges = pd.DataFrame([{name: float(row[name] or 0) for name in counts} for row in rows], index=index)
    judges["similarity"] = [-float(row["alignment_similarity_score"] or 0) for row in rows]
    judges["guess"] = [float(row["ze_clinical_guess"] or 0) for row in rows]
    truth = pd.Series([(float(row["clinician_a"]) + float(row["clinician_b"])) / 4 for row in rows], index)
    return (
        _ranks(judges),
        {"clinical impact": truth},
        pd.Series([row["call_id"] or row["composite_key"] for row in rows], index),
    )


if __name__ == "__main__":
    main()
