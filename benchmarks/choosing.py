"""How often a study of compositions claims a difference where there is none, by simulation.

    python benchmarks/choosing.py [--studies 200] [--cases 200] [--jurors 8] [--rounds 3] [--test]

Every juror tosses a coin, so that no jury is better than any judge. Prints how often the best jury is called different from
the best single judge (with intervals widened for choices in folds, and without), and how often the cheapest juror is passed over.
"""

import argparse

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from venire.evals.ratings.folds import selection_folds, widening
from venire.evals.ratings.question import Question
from venire.evals.studies.juror_pool import Pool, pool_of
from venire.evals.studies.jury_search import VoteCounter, held_out, sizes_of
from venire.evals.studies.paired_means import mean_difference
from venire.rubrics.scale import Scale

COIN = {"a": Question(Scale.model_validate({"level": "binary", "anchors": {0: "", 1: ""}}), "high")}


def coins(rng: np.random.Generator, cases: int, jurors: int) -> Pool:
    """Jurors who know nothing."""
    names = [f"c{number}" for number in range(cases)]
    judged = [
        pd.DataFrame(
            {"case": names, "juror": f"j{juror}", "attribute": "a", "value": rng.integers(0, 2, cases)}
        )
        for juror in range(jurors)
    ]
    people = pd.DataFrame({"case": names, "attribute": "a", "value": rng.integers(0, 2, cases)})
    return pool_of(pd.concat(judged), people, COIN, "median")


def claims(seed: int, cases: int, jurors: int, rounds: int, test: bool) -> tuple[bool, bool, bool]:
    """Whether one study claims a difference, would claim one unwidened, and passes the cheapest juror over."""
    rng = np.random.default_rng(seed)
    pool = coins(rng, cases, jurors)
    kept = [f"c{number}" for number in range(cases // 2)] if test else None
    parts = selection_folds(pool.questions["case"], pool.cluster, kept, number=5, rounds=rounds, rng=rng)
    found = held_out(pool, parts, sizes=sizes_of(pool, 7), rng=rng)
    cheapest = VoteCounter(pool).credits(np.eye(jurors, dtype=bool))[0, found.rows]
    told = []
    for difference in (found.jury - found.single, found.best - cheapest):
        cluster = pool.cluster[found.rows]
        plain = mean_difference(difference, cluster, method="")
        told.append((plain.p, *mean_difference(difference, cluster, method="", widening=widening(parts))))
    (unwidened, _, p), (_, missed, chance) = told
    return p < 0.05, unwidened < 0.05, chance < 0.05 and missed.value > 0


def main() -> None:
    asked = argparse.ArgumentParser()
    for name, usual in (("studies", 200), ("cases", 200), ("jurors", 8), ("rounds", 3)):
        asked.add_argument(f"--{name}", type=int, default=usual)
    asked.add_argument("--test", action="store_true", help="Hold out half of the cases instead of folds.")
    given = asked.parse_args()
    with threadpool_limits(limits=1, user_api="blas"):
        found = [
            claims(seed, given.cases, given.jurors, given.rounds, given.test) for seed in range(given.studies)
        ]
    for words, share in zip(
        ("differs", "differs, unwidened", "cheapest passed over"), np.mean(found, axis=0), strict=True
    ):
        print(f"{words}: {share:.3f}")


if __name__ == "__main__":
    main()
