"""The odds at which the embedded juror may find fault, chosen on the dev set, and what they come to on both sets.

    python benchmarks/embedded_juror/thresholds.py alarms.csv --adapter wider --out thresholds.json

`alarms.csv` has, for each planted text and adapter, the odds of a fault in the first word of the reason on accuracy (`alarm` of `answer.py`: natural
logarithms) and the score that was written without a threshold, where answers were written. `write_adapter.py --thresholds thresholds.json` puts what is chosen into the adapter.
Only rows of the set `dev` are chosen by: the threshold by the share of clean notes that may be marked down.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
from score_answers import auc, interval

CLEAN = ("clean", "machine-clean")
WORDS = {"fine": "Right", "faults": ["Wrong", "Invented"]}
"""How reasons on accuracy begin (`right_ballots`)."""


def chosen_threshold(rows: pd.DataFrame, clean: float) -> float:
    """The odds above which so large a share of the clean notes is marked down."""
    return round(float(np.quantile(rows["alarm"][rows["fault"].isin(CLEAN)], 1 - clean)), 1)


def moved_scores(rows: pd.DataFrame, threshold: float) -> pd.Series:
    """The scores with the threshold: below it no fault is found."""
    return rows["accurate"].where(rows["alarm"] >= threshold, 5)


def figures(rows: pd.DataFrame, scores: pd.Series) -> str:
    clean = rows["fault"].isin(CLEAN)
    dialogues = rows["case"].map(lambda case: re.match(r"mts-\d+", case).group())
    groups = [
        {name: list(part) for name, part in scores[chosen].groupby(dialogues[chosen])}
        for chosen in (~clean, clean)
    ]
    low, high = interval(*groups)
    levels = "/".join(str(int((scores[~clean] == level).sum())) for level in range(1, 6))
    return (
        f"AUC {auc(list(scores[~clean]), list(scores[clean])):.3f} ({low:.3f} to {high:.3f}); "
        f"clean marked down {(scores[clean] < 5).mean():.1%} of {clean.sum()}; levels of {(~clean).sum()} faulty {levels}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("alarms", type=Path)
    parser.add_argument("--adapter", default="wider")
    parser.add_argument("--clean", type=float, default=0.15, help="share of clean dev notes marked down")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = pd.read_csv(options.alarms)
    # A text that only leaves something out is neither clean nor faulty here.
    rows = rows[(rows["adapter"] == options.adapter) & (rows["fault"] != "omission")]
    threshold = chosen_threshold(rows[rows["set"] == "dev"], options.clean)
    print(f"{options.adapter}: threshold {threshold}")
    for name, part in rows.groupby("set"):
        clean = part["fault"].isin(CLEAN)
        print(f"{name} odds   AUC {auc(list(-part['alarm'][~clean]), list(-part['alarm'][clean])):.3f}")
        if part["accurate"].notna().all():
            print(f"{name} before {figures(part, part['accurate'])}")
            print(f"{name} after  {figures(part, moved_scores(part, threshold))}")
        else:
            marked = part["alarm"] >= threshold
            print(
                f"{name} marked down: {marked[clean].mean():.1%} of the clean, {marked[~clean].mean():.1%} of the faulty"
            )
    if options.out:
        entry = {**WORDS, "odds": threshold}
        options.out.write_text(json.dumps([entry], indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
