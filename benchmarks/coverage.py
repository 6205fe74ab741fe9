"""How often a nominal 95% interval holds the truth, by simulation.

    python benchmarks/coverage.py [--simulations 1000] [--resamples 1000] [--kind expanded] [--only NAME]

Cases have a latent quality; raters see it with noise and their own harshness, and answer on a five-point
scale (or, for the ICC, on a continuous one). The truth is the coefficient of two hundred thousand cases,
or, where a formula gives it, that. Raters are the same people in every simulation, except for ICC(1) and
ICC(2), whose models draw them anew: four raters whose harshness has half the standard deviation of cases, far
apart for the published F interval of ICC(2), which stands here beside the one in use. Prints one Markdown table.
"""

import argparse
from collections.abc import Callable

import numpy as np
import pandas as pd

from venire.evals.statistics.alpha import krippendorff_alpha
from venire.evals.statistics.bootstrap import Bootstrap, Kind
from venire.evals.statistics.classification import classification
from venire.evals.statistics.confusion import exact_match
from venire.evals.statistics.correlation import kendall, pearson, spearman
from venire.evals.statistics.error import mae, offset, rmse
from venire.evals.statistics.estimate import Estimate
from venire.evals.statistics.fleiss import fleiss_kappa
from venire.evals.statistics.gwet import gwet_ac
from venire.evals.statistics.icc import FORMS, icc
from venire.evals.statistics.kappa import cohen_kappa
from venire.evals.statistics.pairwise_icc import pairwise_icc, zscored_icc
from venire.evals.statistics.percent import percent_agreement
from venire.evals.statistics.roc import roc_auc
from venire.evals.statistics.signed_rank import wilcoxon_signed_rank

Rng = np.random.Generator
Draw = Callable[[Rng, int], pd.DataFrame]
Measure = Callable[[pd.DataFrame, Bootstrap], Estimate]

HARSHNESS = np.array([0.0, 0.3, -0.2, 0.1])
NOISE = 0.6
CUTS = [-1.5, -0.5, 0.5, 1.5]
SCALE = [1, 2, 3, 4, 5]
MANY = 200_000
PAIR = ("r0", "r1")


def main() -> None:
    """Print the coverage of every method at 40 and at 300 cases."""
    options = argparse.ArgumentParser(description="Coverage of nominal 95% intervals.")
    options.add_argument("--simulations", type=int, default=1000)
    options.add_argument("--resamples", type=int, default=1000)
    options.add_argument("--kind", choices=["expanded", "bca", "percentile"], default="expanded")
    options.add_argument("--only", default="")
    chosen = options.parse_args()
    print("| method | truth | n = 40 | n = 300 |\n|---|---|---|---|")
    for name, draw, measure, known in methods():
        if chosen.only in name:
            truth = large_sample(draw, measure) if known is None else known
            runs = (chosen.simulations, chosen.resamples, chosen.kind)
            covered = [coverage(draw, measure, truth, n, *runs) for n in (40, 300)]
            print(
                f"| {name} | {truth:.3f} | " + " | ".join(f"{100 * c:.1f}%" for c in covered) + " |",
                flush=True,
            )


def coverage(
    draw: Draw, measure: Measure, truth: float, n: int, simulations: int, resamples: int, kind: Kind
) -> float:
    """The share of intervals that hold the truth; an interval that could not be made holds nothing."""
    rng = np.random.default_rng(n)
    held = 0
    for _ in range(simulations):
        estimate = measure(draw(rng, n), Bootstrap(rng, resamples, kind=kind))
        held += estimate.low <= truth + 1e-12 and estimate.high >= truth - 1e-12
    return held / simulations


def large_sample(draw: Draw, measure: Measure) -> float:
    rng = np.random.default_rng(1)
    return measure(draw(rng, MANY), Bootstrap(rng, resamples=1, kind="percentile")).value


def methods() -> list[tuple[str, Draw, Measure, float | None]]:
    """Name, generator, estimator and (where a formula gives it) truth of everything with an interval."""

    def resampled(function: Callable[..., Estimate], **options: object) -> Measure:
        return lambda table, bootstrap: function(table, bootstrap=bootstrap, **options)

    def analytic(function: Callable[..., Estimate], **options: object) -> Measure:
        return lambda table, bootstrap: function(table, **options)

    found: list[tuple[str, Draw, Measure, float | None]] = [
        (f"{form}, as icc gives it", continuous(form), analytic(icc, form=form), icc_truth(form))
        for form in FORMS
    ]
    for form in ("icc2", "icc2k"):
        published = analytic(icc, form=form, interval="f")
        found += [(f"{form}, F as published", continuous(form), published, icc_truth(form))]
    for high, scale in (("", likert()), (" high", likert(noise=0.25)), (" skewed", likert(shift=1.2))):
        found += [(f"ac1{high}, t", scale, analytic(gwet_ac, categories=SCALE), None)]
        weighted = analytic(gwet_ac, weighting="quadratic", categories=SCALE)
        found += [(f"ac2 quadratic{high}, t", scale, weighted, None)]
        found += [(f"fleiss{high}, t", scale, analytic(fleiss_kappa), None)]
        found += [(f"percent{high}, Wilson", scale, analytic(percent_agreement), None)]
        for level in ("nominal", "ordinal", "interval", "ratio"):
            found += [
                (f"alpha {level}{high}, resampled", scale, resampled(krippendorff_alpha, level=level), None)
            ]
    for high, two in (("", likert(2)), (" high", likert(2, noise=0.25)), (" skewed", likert(2, shift=1.2))):
        for weighting in ("identity", "linear", "quadratic"):
            found += [
                (
                    f"kappa {weighting}{high}, resampled",
                    two,
                    resampled(cohen_kappa, weighting=weighting),
                    None,
                )
            ]
        for function in (spearman, kendall, pearson, offset, rmse, mae):
            found += [(f"{function.__name__}{high}, resampled", two, resampled(function), None)]
        found += [(f"exact match{high}, Wilson", two, analytic(exact_match, raters=PAIR), None)]
    four = likert()
    found += [("icc3k z-scored, resampled", four, resampled(zscored_icc), None)]
    found += [("pairwise icc, resampled", four, resampled(pairwise_icc), None)]
    found += [("icc3k, resampled", four, resampled(icc, form="icc3k"), None)]
    for metric in ("sensitivity", "specificity", "precision", "f1"):
        measure = resampled(classification, metric=metric, raters=PAIR, positive=1)
        found += [(f"{metric}, {'resampled' if metric == 'f1' else 'Wilson'}", verdicts, measure, None)]
    found += [("f1 macro, resampled", verdicts, resampled(classification, metric="f1", raters=PAIR), None)]
    found += [("roc auc, resampled", scores, resampled(roc_auc, raters=PAIR), None)]
    found += [("median difference, order statistics", gaps, median, 0.3)]
    return found


def median(table: pd.DataFrame, bootstrap: Bootstrap) -> Estimate:
    return wilcoxon_signed_rank(table, raters=PAIR).median


def likert(raters: int = 4, noise: float = NOISE, shift: float = 0.0) -> Draw:
    """Five-point answers of fixed raters."""

    def draw(rng: Rng, n: int) -> pd.DataFrame:
        seen = rng.normal(shift, 1, (n, 1)) + HARSHNESS[:raters] + rng.normal(0, noise, (n, raters))
        return long(1.0 + np.searchsorted(CUTS, seen))

    return draw


def continuous(form: str) -> Draw:
    """Normal ratings under the model of the ICC's form, harshness having standard deviation a half."""

    def draw(rng: Rng, n: int) -> pd.DataFrame:
        size = {"1": (n, 4), "2": (1, 4)}.get(form[3])
        harshness = HARSHNESS if size is None else rng.normal(0, 0.5, size)
        return long(rng.normal(0, 1, (n, 1)) + harshness + rng.normal(0, NOISE, (n, 4)))

    return draw


def icc_truth(form: str) -> float:
    error = NOISE**2 + (0.0 if form[3] == "3" else 0.25)
    return 1 / (1 + error / (4 if form.endswith("k") else 1))


def verdicts(rng: Rng, n: int) -> pd.DataFrame:
    """A reference with three positives in ten, predicted with sensitivity .85 and specificity .9."""
    actual = rng.random(n) < 0.3
    predicted = np.where(actual, rng.random(n) < 0.85, rng.random(n) < 0.1)
    return long(np.column_stack([predicted, actual]).astype(float))


def scores(rng: Rng, n: int) -> pd.DataFrame:
    """Five-point scores that stand a spread and a half apart between negative and positive cases."""
    actual = rng.random(n) < 0.3
    return long(np.column_stack([1.0 + np.searchsorted(CUTS, rng.normal(1.5 * actual - 0.5, 1)), actual]))


def gaps(rng: Rng, n: int) -> pd.DataFrame:
    return long(np.column_stack([rng.normal(0.3, 1, n), np.zeros(n)]))


def long(values: np.ndarray) -> pd.DataFrame:
    n, k = values.shape
    raters = np.tile([f"r{j}" for j in range(k)], n)
    return pd.DataFrame({"case": np.repeat(np.arange(n), k), "rater": raters, "value": values.ravel()})


if __name__ == "__main__":
    main()
