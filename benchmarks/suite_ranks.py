"""How often the rank intervals of a suite's board hold the true ranks, by simulation.

    python benchmarks/suite_ranks.py --systems 9 --scenarios 5 12 35 --cases 0 60 --boards 500 --seed 777

Systems are equal, or differ by normal draws; each scenario shifts each system by noise of half that size. Without cases a scenario's score is
that sum; with them it is the share right of so many yes-or-no cases. Equal systems share all ranks, so an interval must hold the first and the last.
Prints one Markdown table: how often all intervals of a board held, how often a single one did, and how wide they are.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np

from venire.evals.statistics.draws import Draws
from venire.evals.suites.board import rank_intervals

SPREAD = {"equal": 0.0, "unequal": 0.5}
NOISE = 0.5
RESAMPLES = 500


def board_scores(
    rng: np.random.Generator, systems: int, scenarios: int, cases: int, spread: float
) -> tuple[np.ndarray, list[np.ndarray | None]]:
    """The scores of systems, best first in truth, and the cases behind them."""
    truth = np.sort(rng.normal(0, 1, systems))[::-1] * spread
    levels = truth[:, None] + rng.normal(0, NOISE, (systems, scenarios))
    if not cases:
        return levels, [None] * scenarios
    right = [(rng.random((cases, systems)) < 1 / (1 + np.exp(-levels[:, number]))).astype(float) for number in range(scenarios)]  # fmt: skip
    return np.column_stack([its.mean(axis=0) for its in right]), list(right)


def held(ranks: list[tuple[int, int]], kind: str) -> list[bool]:
    """Whether each system's interval holds its true rank, or all of those that equal systems share."""
    if kind == "equal":
        return [low == 1 and high == len(ranks) for low, high in ranks]
    return [low <= place <= high for place, (low, high) in enumerate(ranks, 1)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kinds", nargs="+", default=list(SPREAD), choices=list(SPREAD))
    parser.add_argument("--systems", nargs="+", type=int, default=[9])
    parser.add_argument("--scenarios", nargs="+", type=int, default=[5, 12, 35])
    parser.add_argument("--cases", nargs="+", type=int, default=[0])
    parser.add_argument("--boards", type=int, default=500)
    parser.add_argument("--seed", type=int, default=777)
    asked = parser.parse_args()
    print(
        "| systems are | systems | scenarios | cases | all hold | one holds | width |\n|---|---|---|---|---|---|---|"
    )
    for kind, systems, scenarios, cases in product(asked.kinds, asked.systems, asked.scenarios, asked.cases):
        whole, single, width = 0, 0.0, 0.0
        for number in range(asked.boards):
            rng = np.random.default_rng([asked.seed, number])
            scores, by_case = board_scores(rng, systems, scenarios, cases, SPREAD[kind])
            ranks = rank_intervals(scores, by_case, "half", Draws(number, RESAMPLES))
            right = held(ranks, kind)
            whole, single = whole + all(right), single + sum(right) / systems
            width += sum(high - low + 1 for low, high in ranks) / systems
        shown = (whole / asked.boards, single / asked.boards)
        print(f"| {kind} | {systems} | {scenarios} | {cases} | {shown[0]:.1%} | {shown[1]:.1%} | {width / asked.boards:.1f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
