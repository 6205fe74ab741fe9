"""How often a nominal 95% interval holds the truth, in worlds whose truth is known and on real tables drawn again and again.

    python benchmarks/coverage.py worlds [--tables 400] [--seed 1] [--only WORLD ...] [--out FILE.json]
    python benchmarks/coverage.py read FILE.json ...
    python benchmarks/coverage.py real DATA [--tables 400]
    python benchmarks/coverage.py level DATA [--tables 2000]
    python benchmarks/coverage.py growth [--samples 50]

`worlds`: a case has a quality, raters see it with noise and harshness of their own, and what they see becomes a score. `normal-83` is a
latent normal cut so that 83% of all scores are the top of 1-5; `heaps` mixes perfect cases with poor ones; `beta-binomial` has no
thresholds; `heavy` is Student's t with three degrees of freedom; `yes-20` has two values, 20% of them yes; `halo` has three attributes
of each case, a rater's impression colouring all of its own (left out together). `groups` puts three cases together that share half of
their quality. The truth is the coefficient of 200,000 cases. `real` draws cases with replacement from DATA/summeval_people and
DATA/dices350, whose whole table is the truth. `level` makes two unequal judges of real ratings equal and counts how often their
difference is called one. `growth` adds case after case and looks for jumps in the width. Prints Markdown.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import betaincinv, ndtr, ndtri, stdtrit
from threadpoolctl import threadpool_limits

from venire.evals.statistics.alpha import alpha_coefficient, krippendorff_alpha
from venire.evals.statistics.chance import (
    ac_coefficient,
    cohen_kappa,
    fleiss_coefficient,
    fleiss_kappa,
    gwet_ac,
    kappa_statistic,
    percent_agreement,
)
from venire.evals.statistics.contrast import paired_difference
from venire.evals.statistics.correlation import spearman, spearman_statistic
from venire.evals.statistics.error import mae, mae_statistic, offset, offset_statistic, rmse, rmse_statistic
from venire.evals.statistics.estimate import Estimate
from venire.evals.statistics.gate import OPEN, RANKED_PAIRS, SQUARED_PAIRS
from venire.evals.statistics.icc import icc, icc_coefficient
from venire.evals.statistics.jackknife import CASES, Jackknife
from venire.evals.statistics.matrix import Matrix

Measure = Callable[..., Estimate]
MANY = 200_000
NOISE, HARSHNESS = 0.7, 0.5
LOW = 92
"""Percent below which a cell is named."""
LEAST = 100
"""Tables with an interval below which a cell is not counted."""


def measures(scale: np.ndarray) -> dict[str, Measure]:
    """The coefficients, as `venire agreement` asks for them."""
    values = scale.tolist()
    return {
        "ICC(3,k)": partial(icc, form="icc3k"),
        "ICC(2,1)": partial(icc, form="icc2"),
        "quadratic kappa": partial(cohen_kappa, weighting="quadratic"),
        "ordinal alpha": partial(krippendorff_alpha, level="ordinal"),
        "interval alpha": partial(krippendorff_alpha, level="interval"),
        "nominal kappa": cohen_kappa,
        "Fleiss": fleiss_kappa,
        "Spearman": spearman,
        "AC1": partial(gwet_ac, categories=values),
        "AC2": partial(gwet_ac, weighting="quadratic", categories=values),
        "percent": percent_agreement,
        "MAE": mae,
        "RMSE": rmse,
        "offset": offset,
    }


def truths(values: np.ndarray, scale: np.ndarray) -> dict[str, float]:
    """The coefficients of a large table, whose distinct rows are counted."""
    rows, times = np.unique(values, axis=0, return_counts=True)
    weights = times[None].astype(float)
    raters, known = rows.shape[1], ~np.isnan(rows)
    complete, paired = known.all(axis=1), known.sum(axis=1) >= 2

    def of(coefficient: Callable[[np.ndarray], Callable[[np.ndarray], np.ndarray]], use: np.ndarray) -> float:
        return float(coefficient(rows[use])(weights[:, use])[0])

    def pairs(statistic: Callable[..., Callable[[np.ndarray], np.ndarray]]) -> float:
        found = []
        for first, second in combinations(range(raters), 2):
            use = known[:, first] & known[:, second]
            found.append(float(statistic(rows[use, first], rows[use, second])(weights[:, use])[0]))
        return float(np.mean(found))

    return {
        "ICC(3,k)": of(icc_coefficient("icc3k"), complete),
        "ICC(2,1)": of(icc_coefficient("icc2"), complete),
        "quadratic kappa": pairs(kappa_statistic(scale, "quadratic")),
        "ordinal alpha": of(alpha_coefficient(scale, "ordinal"), paired),
        "interval alpha": of(alpha_coefficient(scale, "interval"), paired),
        "nominal kappa": pairs(kappa_statistic(scale, "identity")),
        "Fleiss": of(fleiss_coefficient(scale), known.any(axis=1)),
        "Spearman": pairs(spearman_statistic),
        "AC1": of(ac_coefficient(scale, "identity"), known.any(axis=1)),
        "AC2": of(ac_coefficient(scale, "quadratic"), known.any(axis=1)),
        "percent": float(np.average([_equal_share(row) for row in rows[paired]], weights=times[paired])),
        "MAE": pairs(mae_statistic),
        "RMSE": pairs(rmse_statistic),
        "offset": pairs(offset_statistic) if raters == 2 else np.nan,
    }


def _equal_share(row: np.ndarray) -> float:
    _, counts = np.unique(row[~np.isnan(row)], return_counts=True)
    n = counts.sum()
    return float((counts * (counts - 1)).sum() / (n * (n - 1)))


class World(NamedTuple):
    """How scores come about from the normal scores of quality and of what each rater saw."""

    score: Callable[[np.ndarray, np.ndarray], np.ndarray]
    """From quality (cases) and seen noise (cases, raters), both standard normal, to scores."""
    points: int = 5
    halo: bool = False


def _cut(
    seen: np.ndarray, top: float, sd: float, points: int = 5, quantile: Callable[[float], float] = ndtri
) -> np.ndarray:
    """Scores 1 to `points`, the share `top` of which is the highest; other thresholds lie 0.6 standard deviations apart."""
    highest = sd * float(quantile(1 - top))
    cuts = highest - 0.6 * sd * np.arange(points - 1)[::-1]
    return 1.0 + (seen[..., None] > cuts).sum(axis=-1)


def _seen(quality: np.ndarray, noise: np.ndarray) -> np.ndarray:
    return quality[:, None] + NOISE * noise + HARSHNESS * np.linspace(-0.5, 0.5, noise.shape[1])


SD = float(np.sqrt(1 + NOISE**2))


def _normal(top: float, points: int = 5) -> World:
    return World(lambda quality, noise: _cut(_seen(quality, noise), top, SD, points), points)


def _heaps(quality: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """83% of cases are perfect and get a 5 or, once in twenty, a 4; the others a 1 to 4 by their quality."""
    place = ndtr(quality)
    perfect = place > 0.17
    poor = _cut(ndtri(np.clip(place / 0.17, 1e-9, 1 - 1e-9))[:, None] + NOISE * noise, 0.25, SD, 4)
    return np.where(perfect[:, None], np.where(ndtr(noise) < 0.05, 4.0, 5.0), poor)


def _beta_binomial(quality: np.ndarray, noise: np.ndarray) -> np.ndarray:
    chance = betaincinv(2.4, 0.6, np.clip(ndtr(quality), 1e-9, 1 - 1e-9))[:, None]
    return 1.0 + (ndtr(noise)[..., None] > _binomial_steps(chance)).sum(axis=-1)


def _binomial_steps(chance: np.ndarray) -> np.ndarray:
    ways = np.array([1, 4, 6, 4, 1])
    exactly = ways * chance[..., None] ** np.arange(5) * (1 - chance[..., None]) ** np.arange(4, -1, -1)
    return exactly.cumsum(axis=-1)[..., :4]


def _heavy(quality: np.ndarray, noise: np.ndarray) -> np.ndarray:
    drawn = stdtrit(3, ndtr(quality))[:, None] + NOISE * stdtrit(3, ndtr(noise))
    return _cut(drawn, 0.6, 1.6, 5)


WORLDS = {
    "normal-40": _normal(0.40),
    "normal-70": _normal(0.70),
    "normal-83": _normal(0.83),
    "normal-92": _normal(0.92),
    "heaps": World(_heaps),
    "beta-binomial": World(_beta_binomial),
    "heavy": World(_heavy),
    "halo": World(_normal(0.60).score, halo=True),
    "yes-5": _normal(0.05, 2),
    "yes-20": _normal(0.20, 2),
    "yes-50": _normal(0.50, 2),
}


class Cell(NamedTuple):
    """One design of tables."""

    world: str
    n: int
    raters: int
    missing: float = 0.0
    group: int = 1

    def draw(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Scores of n cases (of halo, n cases of three attributes), and the group of each row."""
        world = WORLDS[self.world]
        rows = n * 3 if world.halo else n
        size = 3 if world.halo else self.group
        group = np.arange(rows) // size
        shared = rng.standard_normal(group[-1] + 1)[group]
        own = rng.standard_normal(rows)
        quality = np.sqrt(0.5) * (shared + own) if size > 1 else own
        noise = rng.standard_normal((rows, self.raters))
        if world.halo:
            impression = rng.standard_normal((group[-1] + 1, self.raters))[group]
            noise = np.sqrt(0.5) * (noise + impression)
        scores = world.score(quality, noise)
        gaps = rng.random(scores.shape) < self.missing
        return np.where(gaps, np.nan, scores), group

    @property
    def scale(self) -> np.ndarray:
        return np.arange(1.0, WORLDS[self.world].points + 1)


def cells() -> Iterator[Cell]:
    """Every world with each n, each number of raters, gaps and groups, one after the other varied."""
    for world in WORLDS:
        for n in (24, 40, 80):
            yield Cell(world, n, 3)
        for raters in (2, 5, 7):
            yield Cell(world, 40, raters)
        for raters in (2, 3, 5):
            yield Cell(world, 80, raters, missing=0.4)
        if not WORLDS[world].halo:
            yield Cell(world, 40, 3, group=3)
            yield Cell(world, 80, 3, group=3)


class Count(NamedTuple):
    """Of one cell and coefficient: tables with an interval, those that hold the truth, those that lie above or below it."""

    cell: str
    measure: str
    tables: int
    given: int
    held: int
    above: int

    @property
    def percent(self) -> float:
        return 100 * self.held / self.given if self.given else np.nan


def grid_of(scores: np.ndarray, group: np.ndarray) -> Matrix:
    """The scores as ratings, without the cases that nobody rated."""
    rated = ~np.isnan(scores).all(axis=1)
    _, cluster = np.unique(group[rated], return_inverse=True)
    names = tuple(f"r{number}" for number in range(scores.shape[1]))
    return Matrix(scores[rated], tuple(range(int(rated.sum()))), names, cluster.astype(np.int64))


def count(
    name: str, tables: Iterable[tuple[Matrix, dict[str, float]]], wanted: dict[str, Measure]
) -> list[Count]:
    """How often the interval of each coefficient holds its truth."""
    total, seen = dict.fromkeys(wanted, (0, 0, 0)), 0
    for grid, truth in tables:
        seen += 1
        how = Jackknife(by="cluster") if grid.clustered else CASES
        for measure, estimate in wanted.items():
            if np.isnan(truth[measure]):
                continue
            found = estimate(grid, jackknife=how)
            if not np.isnan(found.low):
                given, held, above = total[measure]
                inside = found.low - 1e-9 <= truth[measure] <= found.high + 1e-9
                total[measure] = (given + 1, held + inside, above + (found.low > truth[measure]))
    return [Count(name, measure, seen, *total[measure]) for measure in wanted]


def worlds(tables: int, seed: int, only: Sequence[str]) -> Iterator[list[Count]]:
    """The counts of every cell of these worlds."""
    for number, cell in enumerate(cells()):
        if cell.world not in only:
            continue
        big, _ = cell.draw(np.random.default_rng([seed, number, 0]), MANY)
        truth = truths(big, cell.scale)
        rng = np.random.default_rng([seed, number, 1])
        drawn = ((grid_of(*cell.draw(rng, cell.n)), truth) for _ in range(tables))
        name = f"{cell.world} n={cell.n} raters={cell.raters} missing={cell.missing:.0%} group={cell.group}"
        yield count(name, drawn, measures(cell.scale))


def real(data: Path, tables: int, seed: int) -> Iterator[list[Count]]:
    """The counts of the two real tables, as far as they are there."""
    summeval = data / "summeval_people" / "ratings.csv"
    if summeval.exists():
        table = pd.read_csv(summeval)
        experts = table[table["rater"].str.startswith("e")]
        for number, (attribute, part) in enumerate(experts.groupby("attribute")):
            values = part.pivot(index="case", columns="rater", values="value").dropna().to_numpy(float)
            truth, scale = truths(values, np.arange(1.0, 6)), np.arange(1.0, 6)
            for n in (24, 40, 80):
                rng = np.random.default_rng([seed, number, n])
                drawn = ((_sample(values, n, rng), truth) for _ in range(tables))
                top = (values == 5).mean()
                yield count(f"SummEval {attribute} ({top:.0%} fives) n={n}", drawn, measures(scale))
    else:
        print("SummEval: not in DATA, left out")
    dices = data / "dices350" / "ratings.csv"
    if dices.exists():
        table = pd.read_csv(dices)
        codes = pd.factorize(table["value"], sort=True)[0]
        wide = (
            table.assign(value=codes + 1.0)
            .pivot(index="case", columns="rater", values="value")
            .to_numpy(float)
        )
        nominal = {name: each for name, each in measures(np.arange(1.0, 4)).items() if name in NOMINAL}
        for raters in (3, 5):
            rng = np.random.default_rng([seed, raters])
            sets = [wide[:, rng.choice(wide.shape[1], raters, replace=False)] for _ in range(20)]
            known = [(values, truths(values, np.arange(1.0, 4))) for values in sets]
            for n in (24, 40, 80):
                chosen = (known[number % len(known)] for number in range(tables))
                drawn = ((_sample(values, n, rng), truth) for values, truth in chosen)
                yield count(f"DICES raters={raters} n={n}", drawn, nominal)
    else:
        print("DICES: not in DATA, left out")


NOMINAL = ("nominal kappa", "Fleiss", "AC1", "percent")


def _sample(values: np.ndarray, n: int, rng: np.random.Generator) -> Matrix:
    return grid_of(values[rng.integers(0, len(values), n)], np.arange(n))


def report(counts: Sequence[Count]) -> None:
    """By coefficient: the mean over cells, the cells below 92%, and how many tables get an interval."""
    print("| coefficient | cells | mean % | lowest % | cells below 92% | tables with an interval % |")
    print("|---|---|---|---|---|---|")
    for measure in dict.fromkeys(each.measure for each in counts):
        mine = [each for each in counts if each.measure == measure]
        used = [each for each in mine if each.given >= LEAST]
        if not used:
            continue
        shares = np.array([each.percent for each in used])
        given = 100 * sum(each.given for each in mine) / sum(each.tables for each in mine)
        print(
            f"| {measure} | {len(used)} | {shares.mean():.1f} | {shares.min():.0f} | {(shares < LOW).sum()} | {given:.0f} |"
        )
    low = sorted(
        (each for each in counts if each.given >= LEAST and each.percent < LOW), key=lambda each: each.percent
    )
    print(f"\n{len(low)} cells below {LOW}%:")
    for each in low:
        print(
            f"- {each.measure}, {each.cell}: {each.percent:.1f}% of {each.given}, {each.above} of {each.given - each.held} misses above the truth"
        )


JUDGED: dict[str, tuple[Callable[..., object], object]] = {
    "kappa": (kappa_statistic(np.arange(1.0, 6), "quadratic"), SQUARED_PAIRS),
    "MAE": (mae_statistic, OPEN),
    "rho": (spearman_statistic, RANKED_PAIRS),
}


def level(data: Path, tables: int, seed: int) -> None:
    """Two unequal judges of real ratings, made equal on a measure, and how often their difference is called one at 5%.

    The judges are an expert and a crowd worker, the reference another expert. The better one gets, on a share of the cases, a
    random score, until both have the same value of the measure; which share, is found on the whole table.
    """
    table = pd.read_csv(data / "summeval_people" / "ratings.csv")
    print("| attribute | measure | n | claimed % | tables with p % |\n|---|---|---|---|---|")
    shares = []
    for number, (attribute, part) in enumerate(table.groupby("attribute")):
        wide = part.pivot(index="case", columns="rater", values="value").dropna()
        good, poor, people = (wide[name].to_numpy(float) for name in ("e0", "t0", "e2"))
        for measure, (statistic, gate) in JUDGED.items():
            mixed = _equalised(good, poor, people, statistic, seed + number)
            for n in (24, 48):
                rng = np.random.default_rng([seed, number, n])
                claims = [_claim(mixed, n, statistic, gate, rng) for _ in range(tables)]
                told = np.array([each for each in claims if not np.isnan(each)])
                if len(told) >= 100:
                    shares.append(100 * (told < 0.05).mean())
                    print(
                        f"| {attribute} | {measure} | {n} | {shares[-1]:.1f} | {100 * len(told) / tables:.0f} |"
                    )
                else:
                    print(f"| {attribute} | {measure} | {n} | - | {100 * len(told) / tables:.0f} |")
    print(f"\nmean {np.mean(shares):.1f}%, from {min(shares):.1f} to {max(shares):.1f}%")


def _equalised(
    good: np.ndarray, poor: np.ndarray, people: np.ndarray, statistic: Callable[..., object], seed: int
) -> np.ndarray:
    """A large table of both judges and the reference, on which both have the same value of the measure."""
    rng = np.random.default_rng(seed)
    copies = 60
    rows = np.tile(np.arange(len(good)), copies)
    first, second, reference = good[rows], poor[rows], people[rows]

    def value(scores: np.ndarray) -> float:
        kinds, times = np.unique(np.column_stack([scores, reference]), axis=0, return_counts=True)
        return float(statistic(kinds[:, 0], kinds[:, 1])(times[None].astype(float))[0])  # type: ignore[operator]

    worse = abs(value(first)) if statistic is mae_statistic else -value(first)
    other = abs(value(second)) if statistic is mae_statistic else -value(second)
    if worse > other:
        first, second = second, first
    chance, random_scores = rng.random(len(rows)), rng.integers(1, 6, len(rows)).astype(float)
    low, high = 0.0, 1.0
    sign = 1.0 if statistic is mae_statistic else -1.0
    for _ in range(40):
        middle = (low + high) / 2
        degraded = np.where(chance < middle, random_scores, first)
        low, high = (middle, high) if sign * (value(degraded) - value(second)) < 0 else (low, middle)
    return np.column_stack([degraded, second, reference])


def _claim(
    mixed: np.ndarray, n: int, statistic: Callable[..., object], gate: object, rng: np.random.Generator
) -> float:
    drawn = mixed[rng.integers(0, len(mixed), n)]
    return paired_difference(
        lambda rows: statistic(rows[:, 0], rows[:, 1]),  # type: ignore[arg-type,return-value]
        drawn[:, [0, 2]],
        drawn[:, [1, 2]],
        np.arange(n),
        method="difference",
        otherwise="undefined",
        gate=gate,  # type: ignore[arg-type]
    ).p


def growth(samples: int, seed: int) -> None:
    """The largest factor by which one more case widens an interval that was there before."""
    worst: dict[str, tuple[float, str]] = {}
    for number in range(samples):
        world = list(WORLDS)[number % len(WORLDS)]
        cell = Cell(world, 90, (2, 3, 5)[number % 3])
        scores, group = cell.draw(np.random.default_rng([seed, number]), cell.n)
        last: dict[str, float] = {}
        for clusters in range(12, cell.n):
            inside = group < clusters
            grid = grid_of(scores[inside], group[inside])
            how = Jackknife(by="cluster") if grid.clustered else CASES
            for measure, estimate in measures(cell.scale).items():
                found = estimate(grid, jackknife=how)
                width = found.high - found.low
                if not np.isnan(width) and measure in last and not np.isnan(last[measure]):
                    factor = width / last[measure]
                    if factor > worst.get(measure, (0.0, ""))[0]:
                        worst[measure] = (factor, f"{world}, {cell.raters} raters, case {clusters}")
                last[measure] = width
    print("| coefficient | largest factor | where |\n|---|---|---|")
    for measure, (factor, where) in worst.items():
        print(f"| {measure} | {factor:.2f} | {where} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["worlds", "real", "level", "growth", "read"])
    parser.add_argument("data", nargs="*", type=Path, default=[Path("data")])
    parser.add_argument("--only", nargs="+", choices=list(WORLDS), default=list(WORLDS))
    parser.add_argument("--tables", type=int, default=400)
    parser.add_argument("--samples", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with threadpool_limits(limits=1, user_api="blas"):
        if options.what == "level":
            level(options.data[0], options.tables, options.seed)
        elif options.what == "read":
            report([Count(**each) for file in options.data for each in json.loads(file.read_text())])
        elif options.what == "growth":
            growth(options.samples, options.seed)
        else:
            parts = (
                worlds(options.tables, options.seed, options.only)
                if options.what == "worlds"
                else real(options.data[0], options.tables, options.seed)
            )
            counts = [each for part in parts for each in part]
            if options.out is not None:
                options.out.write_text(json.dumps([each._asdict() for each in counts]))
            report(counts)


if __name__ == "__main__":
    main()
