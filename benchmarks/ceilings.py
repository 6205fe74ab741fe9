"""How often a nominal 95% interval holds the truth on short scales with most scores at one end, by simulation.

    python benchmarks/ceilings.py --cases 15 40 --raters 2 5 --ceiling 0 0.64 0.83 --missing 0 0.4 --groups 1 3

Cases have a latent quality, raters see it with noise, and what they see is cut so that the share `--ceiling` of all scores is
the top one. `--points` sets the length of the scale (2 with a ceiling of 0.05 is a binary attribute of 5% prevalence),
`--harshness` the distance between the mildest and the harshest rater, `--groups` how many cases share half of their
quality. The truth is integrated over the quality of cases. A cell says how often the interval held it and, in brackets, in
how many simulations one was given. Prints one Markdown table, and the cells outside 92 to 98% below it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from venire.evals.statistics.alpha import Level, alpha_coefficient, krippendorff_alpha
from venire.evals.statistics.bootstrap import Bootstrap
from venire.evals.statistics.correlation import (
    kendall,
    kendall_statistic,
    pearson,
    pearson_statistic,
    spearman,
    spearman_statistic,
)
from venire.evals.statistics.error import mae, mae_statistic, offset, offset_statistic, size_of_offset
from venire.evals.statistics.estimate import Estimate
from venire.evals.statistics.fleiss import fleiss_coefficient, fleiss_kappa
from venire.evals.statistics.gwet import ac_coefficient, gwet_ac
from venire.evals.statistics.icc import icc, icc_in_population
from venire.evals.statistics.kappa import cohen_kappa, kappa_statistic
from venire.evals.statistics.latent_trait import LatentTrait
from venire.evals.statistics.percent import percent_agreement

NOISE = 0.6
STEP = 0.55
"""Between two cuts below the highest, in standard deviations of what raters see."""
LEVELS: tuple[Level, ...] = ("interval", "ordinal", "nominal")
GIVEN = 10
"""Percent of simulations below which a cell counts as giving no interval."""
Measure = Callable[..., Estimate]


class Setting(NamedTuple):
    """One kind of ratings table."""

    cases: int
    raters: int
    ceiling: float
    missing: float
    group: int
    points: int
    harshness: float

    def cuts(self) -> np.ndarray:
        spread = np.sqrt(1 + NOISE**2)
        if self.ceiling == 0:
            return np.linspace(-1.5, 1.5, self.points - 1)
        return spread * (ndtri(1 - self.ceiling) - STEP * np.arange(self.points - 2, -1, -1))

    def draw(self, rng: np.random.Generator, cases: int) -> tuple[np.ndarray, np.ndarray]:
        """Scores by case and rater, NaN where missing, and each case's group."""
        group = np.arange(cases) // self.group
        share = 0.5 if self.group > 1 else 0.0
        quality = np.sqrt(share) * rng.normal(size=group[-1] + 1)[group] + np.sqrt(1 - share) * rng.normal(
            size=cases
        )
        seen = quality[:, None] + NOISE * rng.normal(size=(cases, self.raters))
        seen += self.harshness * np.linspace(-0.5, 0.5, self.raters)
        scores = 1.0 + np.searchsorted(self.cuts(), seen)
        scores[rng.random(scores.shape) < self.missing] = np.nan
        return scores, group


def measures(levels: tuple[float, ...]) -> dict[str, Measure]:
    """Every coefficient, as `agreement` asks for it."""
    return {
        "icc3k": icc,
        "icc3": partial(icc, form="icc3"),
        "alpha_interval": partial(krippendorff_alpha, level="interval"),
        "alpha_ordinal": partial(krippendorff_alpha, level="ordinal"),
        "alpha_nominal": partial(krippendorff_alpha, level="nominal"),
        "ac1": partial(gwet_ac, categories=levels),
        "ac2": partial(gwet_ac, weighting="quadratic", categories=levels),
        "fleiss": fleiss_kappa,
        "kappa": partial(cohen_kappa, categories=levels),
        "kappa_quadratic": partial(cohen_kappa, weighting="quadratic", categories=levels),
        "spearman": spearman,
        "kendall": kendall,
        "pearson": pearson,
        "percent": percent_agreement,
        "mae": mae,
        "offset": offset,
    }


@cache
def truths(raters: int, ceiling: float, points: int, harshness: float) -> dict[str, float]:
    """The coefficients of endlessly many complete cases that stand alone, by integration over their quality."""
    setting = Setting(0, raters, ceiling, 0.0, 1, points, harshness)
    quality = np.linspace(-7, 7, 561)
    weight = np.exp(-(quality**2) / 2)
    harsh = harshness * np.linspace(-0.5, 0.5, raters)
    reached = ndtr((setting.cuts() - harsh[:, None] - quality[:, None, None]) / NOISE)
    chance = np.diff(reached, axis=2, prepend=0.0, append=1.0)
    tables = [
        np.einsum("m,ma,mb->ab", weight / weight.sum(), chance[:, i], chance[:, j])
        for i, j in combinations(range(raters), 2)
    ]
    scale = np.arange(1.0, points + 1)
    known = LatentTrait(scale, np.array(tables)[None], np.ones(1), raters, lambda: True)
    offsets = known.mean_over_pairs(offset_statistic if raters == 2 else size_of_offset)
    found = {
        "icc3k": icc_in_population("icc3k", known),
        "icc3": icc_in_population("icc3", known),
        **{f"alpha_{level}": known.of_pairs(alpha_coefficient(scale, level)) for level in LEVELS},
        "ac1": known.of_pairs(ac_coefficient(scale, "identity")),
        "ac2": known.of_pairs(ac_coefficient(scale, "quadratic")),
        "fleiss": known.of_pairs(fleiss_coefficient(scale)),
        "kappa": known.mean_over_pairs(kappa_statistic(scale, "identity")),
        "kappa_quadratic": known.mean_over_pairs(kappa_statistic(scale, "quadratic")),
        "spearman": known.mean_over_pairs(spearman_statistic),
        "kendall": known.mean_over_pairs(kendall_statistic),
        "pearson": known.mean_over_pairs(pearson_statistic),
        "percent": known.mean_over_pairs(
            lambda x, y: lambda weights: weights @ (x == y) / weights.sum(axis=1)
        ),
        "mae": known.mean_over_pairs(mae_statistic),
        "offset": offsets,
    }
    return {name: float(value[0]) for name, value in found.items()}


def table(scores: np.ndarray, group: np.ndarray) -> pd.DataFrame:
    """The scores in long form."""
    cases, raters = scores.shape
    long = pd.DataFrame(
        {
            "case": np.repeat(np.arange(cases), raters),
            "rater": np.tile([f"r{number}" for number in range(raters)], cases),
            "value": scores.ravel(),
            "group": np.repeat(group, raters),
        }
    )
    return long.dropna(subset=["value"])


def coverage(setting: Setting, simulations: int, seed: int = 0) -> dict[str, tuple[float, float]]:
    """By coefficient: how often the interval held the truth where one was given, and how often one was; in percent."""
    known = truths(setting.raters, setting.ceiling, setting.points, setting.harshness)
    levels = tuple(float(value) for value in range(1, setting.points + 1))
    rng = np.random.default_rng([seed, *(int(1000 * part) for part in setting)])
    held, given = dict.fromkeys(known, 0), dict.fromkeys(known, 0)
    for number in range(simulations):
        ratings = table(*setting.draw(rng, setting.cases))
        for name, measure in measures(levels).items():
            boot = Bootstrap(
                np.random.default_rng(number), by="group" if setting.group > 1 else "case", levels=levels
            )
            if setting.group == 1 and name in ("icc3k", "icc3"):
                found = measure(ratings, levels=levels, seed=number)
            elif setting.group == 1 and name == "percent":
                found = measure(ratings)
            else:
                found = measure(ratings, bootstrap=boot)
            if np.isfinite(found.low) and np.isfinite(found.high):
                given[name] += 1
                held[name] += found.low <= known[name] + 1e-3 and found.high >= known[name] - 1e-3
    return {name: (100 * held[name] / max(given[name], 1), 100 * given[name] / simulations) for name in known}


def settings(chosen: argparse.Namespace) -> Iterator[Setting]:
    for each in product(
        chosen.cases,
        chosen.raters,
        chosen.ceiling,
        chosen.missing,
        chosen.groups,
        chosen.points,
        chosen.harshness,
    ):
        yield Setting(*each)


def main() -> None:
    """Print the coverage of every coefficient in every setting asked for."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--cases", type=int, nargs="+", default=[15, 40])
    options.add_argument("--raters", type=int, nargs="+", default=[2, 5])
    options.add_argument("--ceiling", type=float, nargs="+", default=[0.0, 0.64, 0.83])
    options.add_argument("--missing", type=float, nargs="+", default=[0.0])
    options.add_argument("--groups", type=int, nargs="+", default=[1])
    options.add_argument("--points", type=int, nargs="+", default=[5])
    options.add_argument("--harshness", type=float, nargs="+", default=[0.0])
    options.add_argument("--simulations", type=int, default=1000)
    options.add_argument("--processes", type=int, default=1)
    chosen = options.parse_args()
    names = list(measures((1.0, 2.0)))
    print("| n | k | ceiling | missing | group | points | harshness | " + " | ".join(names) + " |")
    print("|---" * (7 + len(names)) + "|", flush=True)
    outside = []
    every = list(settings(chosen))
    with ProcessPoolExecutor(chosen.processes) as pool:
        for setting, found in zip(
            every, pool.map(partial(coverage, simulations=chosen.simulations), every), strict=True
        ):
            cells = [
                "none" if given < GIVEN else f"{held:.1f} ({given:.0f})" for held, given in found.values()
            ]
            print("| " + " | ".join([*map(str, setting), *cells]) + " |", flush=True)
            outside += [
                f"{name} {held:.1f}% of {given:.0f}% given: {setting}"
                for name, (held, given) in found.items()
                if given >= GIVEN and not 92 <= held <= 98
            ]
    print(f"\n{len(outside)} cells outside 92 to 98%", *outside, sep="\n")


if __name__ == "__main__":
    main()
