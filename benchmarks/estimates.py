"""Coverage of `venire estimate`'s 95% intervals, by simulation, and what a useless judge costs.

    python benchmarks/estimates.py [--simulations 1000] [--only ceiling83] [--judges good,useless] [--seed 0]

Cases have a latent quality; people see it as it is, the jury with noise, both on a five-point scale (or as a yes or no). Of 1,500
cases some are labelled: at random, by strata, actively, or as whole groups of three that share a part of their quality.
Prints one Markdown table: coverage with the jury and of labels alone, and the ratio of the intervals' widths.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

from venire.evals.inference.labelling import Labelling, draw_labels
from venire.evals.inference.prediction_powered import (
    Rectified,
    rectified_difference,
    rectified_mean,
    rectified_quantile,
    rectified_slopes,
)

CASES, MANY = 1500, 3_000_000
CUTS = {
    "plain": [-1.5, -0.5, 0.5, 1.5],
    "ceiling64": [-2.2, -1.6, -1.0, -0.36],
    "ceiling83": [-2.6, -2.1, -1.6, -0.95],
    "share": [0.85],
}
NOISE = {"good": 0.5, "weak": 1.2, "useless": np.inf}
DESIGNS = ("random", "difference", "stratified", "active", "clustered")


def scale(values: np.ndarray, cuts: list[float]) -> np.ndarray:
    """Latent values on the scale; of two values 0 and 1."""
    return np.digitize(values, cuts) + (1.0 if len(cuts) > 1 else 0.0)


def simulate(rng: np.random.Generator, cuts: list[float], noise: float, design: str, n: int) -> Rectified:
    ends = (1.0, 5.0) if len(cuts) > 1 else (0.0, 1.0)
    cluster = np.arange(CASES) // (3 if design == "clustered" else 2 if design == "difference" else 1)
    shared = rng.normal(size=cluster.max() + 1)[cluster]
    quality = np.sqrt(0.5) * shared + np.sqrt(0.5) * rng.normal(size=CASES)
    first = np.arange(CASES) % 2 == 0
    if design == "difference":
        quality = quality + 0.3 * first
    y = scale(quality, cuts)
    seen = rng.normal(size=CASES) if np.isinf(noise) else quality + noise * rng.normal(size=CASES)
    f = scale(seen, cuts)
    labelled = np.zeros(CASES, dtype=bool)
    if design in ("stratified", "active"):
        sure = np.clip(0.9 - 0.3 * np.exp(-(seen**2)) + 0.1 * rng.random(CASES), 0, 1)
        way = np.where(sure > 0.85, "unanimous at once", np.where(sure > 0.7, "converged", "split"))
        table = pd.DataFrame(
            {"case": np.arange(CASES), "arm": "a", "attribute": "x", "way": way, "confidence": sure}
        )
        drawn = draw_labels(table, n, design, rng)
        rows = drawn["case"].to_numpy()
        labelled[rows] = True
        weight = np.ones(CASES)
        weight[rows] = 1 / drawn["probability"].to_numpy()
        stratum = (
            np.unique(way, return_inverse=True)[1] if design == "stratified" else np.zeros(CASES, dtype=int)
        )
        labelling = Labelling(labelled, weight, stratum, cluster)
    else:
        groups = rng.permutation(cluster.max() + 1)[: max(1, n // round(CASES / (cluster.max() + 1)))]
        labelling = Labelling.random(np.isin(cluster, groups), cluster)
    known = np.where(labelling.labelled, y, np.nan)
    if design == "difference":
        return rectified_difference(known, f, labelling, first, ~first)
    return rectified_mean(known, f, labelling, ends=ends)


def truth(cuts: list[float], design: str) -> float:
    latent = np.random.default_rng(99).normal(size=MANY)
    middle = scale(latent, cuts).mean()
    return float(scale(latent + 0.3, cuts).mean() - middle if design == "difference" else middle)


def other_estimands(rng: np.random.Generator, n: int) -> dict[str, tuple[Rectified, float]]:
    """The median and a slope, continuous scores."""
    x = rng.normal(size=CASES)
    y = 0.5 * x + rng.standard_t(6, size=CASES)
    f = y + 0.7 * rng.normal(size=CASES) + 0.2
    labelling = Labelling.random(np.arange(CASES) < n)
    known = np.where(labelling.labelled, y, np.nan)
    columns = np.column_stack([np.ones(CASES), x])
    rounded = np.round(known * 4) / 4
    return {
        "slope": (rectified_slopes(known, f, columns, labelling)[1], 0.5),
        "median, steps of .25": (rectified_quantile(rounded, np.round(f * 4) / 4, labelling, 0.5), 0.0),
    }


def row(name: str, judge: str, n: int, found: list[Rectified], true: float) -> str:
    def held(estimates: list) -> float:
        return float(np.mean([each.low <= true <= each.high for each in estimates]))

    mine, alone = [each.estimate for each in found], [each.labels_alone for each in found]
    widths = [np.mean([each.high - each.low for each in side]) for side in (mine, alone)]
    return f"| {name} | {judge} | {n} | {held(mine):.3f} | {held(alone):.3f} | {widths[0] / widths[1]:.3f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--only", default="")
    parser.add_argument("--judges", default=",".join(NOISE))
    parser.add_argument("--seed", type=int, default=0)
    told = parser.parse_args()
    rng = np.random.default_rng(told.seed)
    print("| what | judge | labels | coverage | labels alone | width |\n|---|---|---|---|---|---|")
    for kind, cuts in CUTS.items():
        for design in DESIGNS:
            if told.only not in f"{kind} {design}":
                continue
            true = truth(cuts, design)
            for judge, noise in ((name, NOISE[name]) for name in told.judges.split(",")):
                for n in (30, 100, 300):
                    found = [simulate(rng, cuts, noise, design, n) for _ in range(told.simulations)]
                    print(row(f"{kind}, {design}", judge, n, found, true), flush=True)
    if told.only in "slope quantile":
        for n in (30, 100, 300):
            drawn = [other_estimands(rng, n) for _ in range(told.simulations)]
            for name in drawn[0]:
                print(row(name, "good", n, [each[name][0] for each in drawn], drawn[0][name][1]), flush=True)


if __name__ == "__main__":
    main()
