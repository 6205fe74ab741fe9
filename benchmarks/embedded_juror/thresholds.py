"""The odds at which the embedded juror may find fault, chosen on the dev set, and what they come to on both sets.

    python benchmarks/embedded_juror/thresholds.py alarms.csv --adapter wider --out thresholds.json

`alarms.csv` has, for each planted text and adapter, the odds of a fault in the first word of the reason on accuracy (`alarm` of `answer.py`: natural
logarithms) and the score that was written without a threshold, where answers were written. `write_adapter.py --thresholds thresholds.json` puts what is chosen into the adapter.
Only rows of the set `dev` are chosen by: the threshold by the share of clean notes that may be marked down, the other two by the
faulty notes above it, of which the less sure half come out one level milder, and the least sure tenth two.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
from score_answers import auc, interval

MILDER = (0.5, 0.1)
"""Shares of the faulty notes above the threshold that are marked down one level less, and two."""
CLEAN = ("clean", "machine-clean")
WORDS = {
    "fine": "Right",
    "faults": ["Wrong", "Invented"],
    "endings": [" A small error.", "", " A grave error.", " There is more."],
}
"""How reasons on accuracy begin and end (`right_ballots`): the endings go with 4, 3, 2 and 1 of five levels."""


def chosen_cuts(rows: pd.DataFrame, clean: float) -> list[float]:
    """The threshold, and the odds below which a reason is one level milder, and two."""
    faulty = ~rows["fault"].isin(CLEAN)
    threshold = np.quantile(rows["alarm"][~faulty], 1 - clean)
    found = rows["alarm"][faulty & (rows["alarm"] >= threshold)]
    return [round(float(cut), 1) for cut in (threshold, *np.quantile(found, MILDER))]


def moved_scores(rows: pd.DataFrame, cuts: list[float]) -> pd.Series:
    """The scores with the threshold: a reason is made milder, never graver."""
    threshold, *milder = cuts
    steps = sum((rows["alarm"] < cut).astype(int) for cut in milder)
    return (rows["accurate"] + steps).clip(upper=4).where(rows["alarm"] >= threshold, 5)


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
    cuts = chosen_cuts(rows[rows["set"] == "dev"], options.clean)
    print(f"{options.adapter}: cuts {cuts}")
    for name, part in rows.groupby("set"):
        clean = part["fault"].isin(CLEAN)
        print(f"{name} odds   AUC {auc(list(-part['alarm'][~clean]), list(-part['alarm'][clean])):.3f}")
        if part["accurate"].notna().all():
            print(f"{name} before {figures(part, part['accurate'])}")
            print(f"{name} after  {figures(part, moved_scores(part, cuts))}")
        else:
            marked = part["alarm"] >= cuts[0]
            print(
                f"{name} marked down: {marked[clean].mean():.1%} of the clean, {marked[~clean].mean():.1%} of the faulty"
            )
    if options.out:
        entry = {**WORDS, "odds": cuts[0], "milder_below": cuts[1:]}
        options.out.write_text(json.dumps([entry], indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
