"""How often a nominal 95% interval holds the truth on short scales with most scores at one end, by simulation.

    python benchmarks/ceilings.py --cases 15 40 --raters 2 5 --ceiling 0 0.64 0.83 --missing 0 0.4 --groups 1 3

Cases have a latent quality, raters see it with noise, and what they see is cut so that the share `--ceiling` of all scores is
the top one. `--points` sets the length of the scale (2 with a ceiling of 0.05 is a binary attribute of 5% prevalence),
`--harshness` the distance between the mildest and the harshest rater, `--groups` how many cases share half of their
quality. `--world close` has raters with half the noise and `apart` with twice. Others leave the normal distribution: `slopes` (raters
see with unequal noise), `skewed` (poor cases as rare as an exponential distribution makes them), `heavy` (Student's t with four degrees
of freedom, quality and noise), `binomial` (no thresholds: a case has a chance of its own, beta-distributed, and scores are binomial). The truth is integrated over the
quality of cases or, in other worlds, counted in 600,000 cases. A cell says how often the interval held it and, in brackets,
in how many simulations one was given. Prints one Markdown table, and the cells outside 92 to 98% below it, or `--summary`.
`--out FILE` keeps the counts and `--read FILE...` adds up what several runs kept.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from itertools import combinations, product
from pathlib import Path

import numpy as np
from rated_worlds import MANY, NOISE, WORLDS, Setting
from scipy.special import ndtr

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
from venire.evals.statistics.error import (
    mae,
    mae_statistic,
    offset,
    offset_statistic,
    rmse,
    rmse_statistic,
    size_of_offset,
)
from venire.evals.statistics.estimate import Estimate
from venire.evals.statistics.fleiss import fleiss_coefficient, fleiss_kappa
from venire.evals.statistics.gwet import ac_coefficient, gwet_ac
from venire.evals.statistics.icc import icc, icc_in_population
from venire.evals.statistics.kappa import cohen_kappa, kappa_statistic
from venire.evals.statistics.latent_trait import LatentTrait
from venire.evals.statistics.matrix import Matrix
from venire.evals.statistics.percent import percent_agreement

LEVELS: tuple[Level, ...] = ("interval", "ordinal", "nominal")
GIVEN = 10
"""Percent of simulations below which a cell counts as giving no interval."""
Measure = Callable[..., Estimate]
Counts = dict[str, list[int]]


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
        "rmse": rmse,
        "offset": offset,
    }


@cache
def truths(
    raters: int, ceiling: float, points: int, harshness: float, world: str = "normal"
) -> dict[str, float]:
    """The coefficients of endlessly many complete cases that stand alone."""
    setting = Setting(0, raters, ceiling, 0.0, 1, points, harshness, world)
    tables = integrated_tables(setting) if world == "normal" else counted_tables(setting)
    scale = np.arange(1.0, points + 1)
    known = LatentTrait(scale, tables[None], raters, lambda: True)
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
        "rmse": known.mean_over_pairs(rmse_statistic),
        "offset": offsets,
    }
    return {name: float(value[0]) for name, value in found.items()}


def integrated_tables(setting: Setting) -> np.ndarray:
    """How often every two raters' answers meet, by integration over the quality of cases."""
    quality = np.linspace(-7, 7, 561)
    weight = np.exp(-(quality**2) / 2)
    harsh = setting.harshness * np.linspace(-0.5, 0.5, setting.raters)
    reached = ndtr((setting.cuts() - harsh[:, None] - quality[:, None, None]) / NOISE)
    chance = np.diff(reached, axis=2, prepend=0.0, append=1.0)
    return np.array(
        [
            np.einsum("m,ma,mb->ab", weight / weight.sum(), chance[:, i], chance[:, j])
            for i, j in combinations(range(setting.raters), 2)
        ]
    )


def counted_tables(setting: Setting) -> np.ndarray:
    """The same, counted in many cases."""
    scores, _ = setting.draw(np.random.default_rng(2), MANY)
    codes, points = scores.astype(int) - 1, setting.points
    return np.array(
        [
            np.bincount(codes[:, i] * points + codes[:, j], minlength=points**2).reshape(points, points)
            / MANY
            for i, j in combinations(range(setting.raters), 2)
        ]
    )


def ratings_of(scores: np.ndarray, group: np.ndarray) -> Matrix:
    """The scores as ratings, without the cases that nobody rated and the raters who rated none."""
    rated, spoke = ~np.isnan(scores).all(axis=1), ~np.isnan(scores).all(axis=0)
    _, cluster = np.unique(group[rated], return_inverse=True)
    raters = tuple(f"r{number}" for number in np.flatnonzero(spoke))
    return Matrix(scores[rated][:, spoke], tuple(np.flatnonzero(rated)), raters, cluster.astype(np.int64))


def coverage(setting: Setting, simulations: int, first: int = 0) -> Counts:
    """By coefficient, how often no interval was given, held the truth, lay above it and lay below it."""
    known = truths(setting.raters, setting.ceiling, setting.points, setting.harshness, setting.world)
    levels = tuple(float(value) for value in range(1, setting.points + 1))
    counts = {name: [0, 0, 0, 0] for name in known}
    for number in range(first, first + simulations):
        place = [*WORLDS, "binomial"].index(setting.world)
        rng = np.random.default_rng([number, *(int(1000 * part) for part in setting[:-1]), place])
        ratings = ratings_of(*setting.draw(rng, setting.cases))
        for name, measure in measures(levels).items():
            found = estimate(name, measure, ratings, setting, number, levels)
            given = np.isfinite(found.low) and np.isfinite(found.high)
            above, below = found.low > known[name] + 1e-3, found.high < known[name] - 1e-3
            counts[name][0 if not given else 2 if above else 3 if below else 1] += 1
    return counts


def estimate(
    name: str,
    measure: Measure,
    ratings: Matrix,
    setting: Setting,
    seed: int,
    levels: tuple[float, ...],
) -> Estimate:
    """The coefficient as `agreement` asks for it."""
    if setting.group == 1 and name in ("icc3k", "icc3"):
        return measure(ratings, levels=levels, seed=seed)
    if setting.group == 1 and name == "percent":
        return measure(ratings)
    return measure(ratings, bootstrap=Bootstrap(np.random.default_rng(seed), by=setting.by(), levels=levels))


def settings(chosen: argparse.Namespace) -> Iterator[Setting]:
    for each in product(
        chosen.cases,
        chosen.raters,
        chosen.ceiling,
        chosen.missing,
        chosen.groups,
        chosen.points,
        chosen.harshness,
        chosen.world,
    ):
        yield Setting(*each)


def simulated(chosen: argparse.Namespace) -> Iterator[tuple[Setting, Counts]]:
    """Every setting asked for, simulated now."""
    every = list(settings(chosen))
    one = partial(coverage, simulations=chosen.simulations, first=chosen.first)
    with ProcessPoolExecutor(chosen.processes) as pool:
        yield from zip(every, pool.map(one, every), strict=True)


def added(rows: Iterable[tuple[Setting, Counts]]) -> dict[Setting, Counts]:
    """The counts of each setting, over all rows of it."""
    found: dict[Setting, Counts] = {}
    for setting, counts in rows:
        sums = found.setdefault(setting, {})
        for name, each in counts.items():
            sums[name] = [old + new for old, new in zip(sums.get(name, [0, 0, 0, 0]), each, strict=True)]
    return found


def read(paths: list[Path]) -> Iterator[tuple[Setting, Counts]]:
    """What `--out` has written."""
    for path in paths:
        with path.open() as file:
            for row in map(json.loads, file):
                if "counts" in row:
                    yield Setting(*row["setting"]), row["counts"]


def held(counts: list[int]) -> float | None:
    """The percentage of intervals given that hold the truth; None where too few are given."""
    given = sum(counts[1:])
    return 100 * counts[1] / given if given and 100 * given >= GIVEN * sum(counts) else None


def print_settings(found: dict[Setting, Counts]) -> None:
    """One row a setting, and the cells outside 92 to 98% below."""
    names = list(measures((1.0, 2.0)))
    print("| n | k | ceiling | missing | group | points | harshness | world | " + " | ".join(names) + " |")
    print("|---" * (8 + len(names)) + "|")
    outside = []
    for setting, counts in found.items():
        cells = []
        for name in names:
            each = counts.get(name, [1, 0, 0, 0])
            share, given = held(each), 100 * sum(each[1:]) / sum(each)
            cells.append("none" if share is None else f"{share:.1f} ({given:.0f})")
            if share is not None and not 92 <= share <= 98:
                outside.append(f"{name} {share:.1f}% of {given:.0f}% given: {setting}")
        print("| " + " | ".join([*map(str, setting), *cells]) + " |")
    print(f"\n{len(outside)} cells outside 92 to 98%", *outside, sep="\n")


def print_summary(found: dict[Setting, Counts]) -> None:
    """By coefficient and kind of scale: the median setting, the lowest and the highest, and how many give none."""
    kinds: dict[tuple[object, ...], list[Counts]] = {}
    for setting, counts in found.items():
        key = (setting.world, setting.points, setting.ceiling, setting.harshness)
        kinds.setdefault(key, []).append(counts)
    for key, every in kinds.items():
        simulations = sorted(max(sum(each) for each in counts.values()) for counts in every)
        print(f"\n{key}: {len(every)} settings, {simulations[0]} to {simulations[-1]} simulations")
        for name in measures((1.0, 2.0)):
            known = [counts[name] for counts in every if name in counts]
            shares = sorted(share for each in known if (share := held(each)) is not None)
            if not known or not shares:
                continue
            given = 100 * sum(sum(each[1:]) for each in known) / sum(map(sum, known))
            inside = sum(92 <= share <= 98 for share in shares)
            print(
                f"{name}: {np.median(shares):.0f}% ({shares[0]:.0f} to {shares[-1]:.0f}), within 92 to 98% in {inside} of "
                f"{len(shares)}, none in {len(known) - len(shares)}; given in {given:.0f}% of all"
            )


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
    options.add_argument("--world", nargs="+", choices=[*WORLDS, "binomial"], default=["normal"])
    options.add_argument("--simulations", type=int, default=1000)
    options.add_argument(
        "--first", type=int, default=0, help="the first simulation's number, to add to others"
    )
    options.add_argument("--processes", type=int, default=1)
    options.add_argument("--out", type=Path, help="append the counts to this file, one JSON line a setting")
    options.add_argument("--read", type=Path, nargs="+", help="simulate nothing: print what these files hold")
    options.add_argument(
        "--summary", action="store_true", help="print coefficients over settings, not each setting"
    )
    chosen = options.parse_args()
    rows = []
    for setting, counts in read(chosen.read) if chosen.read else simulated(chosen):
        rows.append((setting, counts))
        if chosen.out:
            with chosen.out.open("a") as file:
                file.write(json.dumps({"setting": setting, "counts": counts}) + "\n")
    (print_summary if chosen.summary else print_settings)(added(rows))


if __name__ == "__main__":
    main()
