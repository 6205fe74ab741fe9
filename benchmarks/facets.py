"""How often `venire facets` has a planted severity within two standard errors, by simulation.

    python benchmarks/facets.py [--simulations 200] [--cases 100] [--missing 0.4] [--model rating-scale] [--assigned]

Five raters of planted severity rate two attributes on five points; ratings are missing at random, or, with `--assigned`, the harsh raters get the bad cases
more often.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np
import pandas as pd

from venire.evals.inference.many_facets import many_facets

SEVERITY = np.array([-0.8, -0.2, 0.0, 0.3, 0.7])
DIFFICULTY = np.array([-0.3, 0.3])
STEPS = np.array([-1.5, -0.5, 0.4, 1.6])


def simulate(rng: np.random.Generator, cases: int, missing: float, assigned: bool) -> pd.DataFrame:
    ability = rng.normal(0.5, 1.2, cases)
    at = np.array(list(itertools.product(range(cases), range(5), range(2))))
    ease = ability[at[:, 0]] - SEVERITY[at[:, 1]] - DIFFICULTY[at[:, 2]]
    logits = np.concatenate([np.zeros((len(at), 1)), np.cumsum(ease[:, None] - STEPS, axis=1)], axis=1)
    value = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1) + 1.0
    lean = np.outer(ability - 0.5, SEVERITY) if assigned else np.zeros((cases, 5))
    chance = (
        1 / (1 + np.exp(-(np.log((1 - missing) / missing) - 1.5 * lean))) if missing else np.ones((cases, 5))
    )
    kept = (rng.random((cases, 5)) < chance)[at[:, 0], at[:, 1]]
    table = pd.DataFrame(at, columns=["case", "rater", "attribute"]).assign(value=value)[kept]
    return table.assign(
        rater="r" + table["rater"].astype(str), attribute="a" + table["attribute"].astype(str)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--missing", type=float, default=0.4)
    parser.add_argument("--model", default="rating-scale", choices=["rating-scale", "partial-credit"])
    parser.add_argument("--assigned", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    told = parser.parse_args()
    rng = np.random.default_rng(told.seed)
    gaps, errors = [], []
    for _ in range(told.simulations):
        found = many_facets(simulate(rng, told.cases, told.missing, told.assigned), model=told.model).raters
        ordered = found.set_index("rater").loc[[f"r{number}" for number in range(5)]]
        gaps.append(ordered["severity"].to_numpy() - SEVERITY)
        errors.append(ordered["se"].to_numpy())
    within = np.abs(gaps) < 2 * np.array(errors)
    print(
        f"{told.simulations} simulations, {told.cases} cases, {told.missing:g} missing{' by quality' if told.assigned else ''}, {told.model}: "
        f"within two SE {within.mean():.3f}; mean error {np.round(np.mean(gaps, axis=0), 3).tolist()}"
    )


if __name__ == "__main__":
    main()
