"""How often "a jury is worth using" is said where none can: `python benchmarks/null_choices.py [--studies 200] [--items 60 300] [--judges 5]`.

Judges are exchangeable and know nothing of people's values, 1 to 5, which they answer at random: no jury is better than the best of them, though a mean of guesses has
a smaller error than a guess. Each study is put through the choice that an objective makes, in five folds. Prints a row for each objective and number of items.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from venire.evals.comparison.objectives import OBJECTIVES, AnswerScale, ScoredVotes
from venire.evals.ratings.folds import selection_folds
from venire.evals.studies.attribute_choice import choose, composed_arms
from venire.rubrics.scale import CostMatrix, Scale

WORTH = {true: {given: -abs(true - given) for given in range(1, 6)} for true in range(1, 6)}
SCALE = AnswerScale.of(
    Scale(
        level="ordinal",
        anchors={n: str(n) for n in range(1, 6)},
        costs=CostMatrix.model_validate({**WORTH, "abstention": -2}),
    )
)


def pays(name: str, items: int, judges: int, seed: int) -> bool:
    """Whether one study says that a jury pays."""
    rng = np.random.default_rng(seed)
    votes = ScoredVotes(
        rng.integers(1, 6, (items, judges)).astype(float),
        rng.integers(1, 6, items).astype(float),
        np.zeros(items, dtype=np.int64),
        np.arange(items),
        (SCALE,),
    )
    cases = pd.Series([f"c{number}" for number in range(items)])
    parts = selection_folds(cases, votes.cluster, None, number=5, rounds=1, rng=rng)
    wanted = OBJECTIVES[name]
    return choose(votes, parts, wanted, composed_arms(wanted, 4), rng=rng).pays


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--studies", type=int, default=200)
    asked.add_argument("--items", type=int, nargs="+", default=[60, 300])
    asked.add_argument("--judges", type=int, default=5)
    asked.add_argument("--objectives", nargs="+", default=list(OBJECTIVES))
    given = asked.parse_args()
    with threadpool_limits(limits=1, user_api="blas"):
        for name in given.objectives:
            for items in given.items:
                found = [pays(name, items, given.judges, seed) for seed in range(given.studies)]
                print(f"{name:16} {items:4} items: {np.mean(found):.3f} of {given.studies}", flush=True)


if __name__ == "__main__":
    main()
