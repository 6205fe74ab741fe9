"""How often the paired test claims a difference between two arms, where there is none and where there is one.

    python benchmarks/paired_tests.py [--simulations 1000] [--draws 199] [--cases 15 24 48 96] [--ties 0 0.4 0.7]
        [--groups 1 3] [--measures "absolute error" ICC kappa rho] [--ceiling 0] [--noise 0.7] [--first 0]

Cases have a latent quality, which two arms and people see with noise; arms repeat the first's score on the share of
cases given as ties, and scores of one group share an error of each arm. `--ceiling` cuts all to 1-5 with about that
percentage of fives (0 spreads them, none leaves scores continuous). `--noise` is the second arm's; the first's is
0.7, so that any other value plants a difference. `--first` is the seed of the first simulation. Beside each measure stands how often an interval was given at
all; the last column is the paired t-test of absolute errors (of group means, in groups). Prints a Markdown table.
"""

import argparse

import numpy as np
from scipy.stats import norm, ttest_1samp

from venire.evals.statistics.bootstrap import Coefficient
from venire.evals.statistics.concordance import concordance_statistic
from venire.evals.statistics.correlation import spearman_statistic
from venire.evals.statistics.draws import Draws
from venire.evals.statistics.error import mae_statistic
from venire.evals.statistics.icc import icc_coefficient
from venire.evals.statistics.paired_test import swap_test

MEASURES: dict[str, Coefficient] = {
    "absolute error": lambda rows: mae_statistic(rows[:, 0], rows[:, 1]),
    "ICC": icc_coefficient("icc3k"),
    "kappa": lambda rows: concordance_statistic(rows[:, 0], rows[:, 1]),
    "rho": lambda rows: spearman_statistic(rows[:, 0], rows[:, 1]),
}
NOISE = 0.7
APART = 10_000_000
"""Swaps are drawn from other seeds than scores: from the same one they would go with them."""
SPREAD = [0.1, 0.3, 0.6, 0.85]
"""The shares of scores up to 1, 2, 3 and 4 without a ceiling."""


def main() -> None:
    """Print one row for each setting."""
    options = argparse.ArgumentParser(description="Level and power of the paired test.")
    options.add_argument("--simulations", type=int, default=1000)
    options.add_argument("--draws", type=int, default=199)
    options.add_argument("--cases", type=int, nargs="+", default=[15, 24, 48, 96])
    options.add_argument("--ties", type=float, nargs="+", default=[0, 0.4, 0.7])
    options.add_argument("--groups", type=int, nargs="+", default=[1, 3])
    options.add_argument("--measures", nargs="+", choices=list(MEASURES), default=list(MEASURES)[:3])
    options.add_argument("--ceiling", type=float, default=None)
    options.add_argument("--noise", type=float, default=NOISE)
    options.add_argument("--first", type=int, default=0)
    chosen = options.parse_args()
    print(f"| n | groups of | ties | {' | '.join(chosen.measures)} | paired t |")
    print("|---" * (len(chosen.measures) + 4) + "|", flush=True)
    for group in chosen.groups:
        for n in chosen.cases:
            for ties in chosen.ties:
                setting = (n, ties, group, chosen.ceiling, chosen.noise)
                seeds = range(chosen.first, chosen.first + chosen.simulations)
                cells = claims(setting, chosen.measures, seeds, chosen.draws)
                print(f"| {n} | {group} | {ties:.0%} | {' | '.join(cells)} |", flush=True)


def claims(
    setting: tuple[int, float, int, float | None, float], measures: list[str], seeds: range, draws: int
) -> list[str]:
    """For each measure the share of simulations with a claim, and in brackets with an interval; then the t-test's."""
    claimed = np.zeros(len(measures) + 1)
    given = np.zeros(len(measures))
    for seed in seeds:
        scores, cluster = draw(np.random.default_rng(seed), *setting)
        for place, name in enumerate(measures):
            tested = swap_test(
                MEASURES[name],
                scores[:, [0, 2]],
                scores[:, [1, 2]],
                cluster,
                draws=Draws(APART + seed, draws),
                method=name,
                otherwise="flat",
            )
            given[place] += not np.isnan(tested.difference.low)
            claimed[place] += tested.p < 0.05
        gap = np.abs(scores[:, 0] - scores[:, 2]) - np.abs(scores[:, 1] - scores[:, 2])
        mean = np.bincount(cluster, gap) / np.bincount(cluster)
        claimed[-1] += np.ptp(mean) > 0 and ttest_1samp(mean, 0).pvalue < 0.05
    rates = claimed / len(seeds)
    cells = [
        f"{rate:.1%}" + (f" ({share:.0%})" if share < 1 else "")
        for rate, share in zip(rates, given / len(seeds), strict=False)
    ]
    return [*cells, f"{rates[-1]:.1%}"]


def draw(
    rng: np.random.Generator, n: int, ties: float, group: int, ceiling: float | None, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    """Scores of two arms and people, and the group of each case."""
    cluster = np.arange(n) // group
    own, shared = (1.0, 0.0) if group == 1 else (0.7, 0.7)
    quality = own * rng.normal(0, 1, n) + shared * rng.normal(0, 1, cluster[-1] + 1)[cluster]
    scores = quality[:, None] + rng.normal(0, 1, (n, 3)) * [NOISE, noise, NOISE]
    scores[:, :2] += (shared / NOISE) * 0.5 * rng.normal(0, 1, (cluster[-1] + 1, 2))[cluster]
    same = rng.random(n) < ties
    scores[same, 1] = scores[same, 0]
    if ceiling is None:
        return scores, cluster
    below = np.array(SPREAD) if not ceiling else np.array(SPREAD) / SPREAD[-1] * (1 - ceiling / 100)
    return np.searchsorted(norm.ppf(below), scores / np.sqrt(1 + NOISE**2)) + 1.0, cluster


if __name__ == "__main__":
    main()
