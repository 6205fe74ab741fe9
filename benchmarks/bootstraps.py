"""How much faster the vectorised bootstraps are than loops over the packages people use.

    python benchmarks/bootstraps.py

Both sides answer the same question on the same table, in one process, on one thread, and are timed by the
processor's clock, so that what else the machine does counts little. Ours is timed whole, from the long table (for
the ICC, also from the matrix of ratings that its loop starts from) to the estimate with its interval, as the best of
a hundred. A loop is timed by the best of a dozen resamples and
extrapolated to the full number, since the slowest would take minutes.
"""

import time
import warnings
from collections.abc import Callable

import krippendorff
import numpy as np
import pandas as pd
import pingouin
from irrCAC.raw import CAC
from sklearn.metrics import cohen_kappa_score, f1_score
from threadpoolctl import threadpool_limits

from venire.evals.statistics.alpha import krippendorff_alpha
from venire.evals.statistics.bootstrap import Bootstrap, Kind
from venire.evals.statistics.classification import classification
from venire.evals.statistics.gwet import gwet_ac
from venire.evals.statistics.icc import icc, icc_of
from venire.evals.statistics.kappa import cohen_kappa
from venire.evals.statistics.matrix import matrix

SAMPLE = 12
"""Resamples of a loop that are timed."""


def main() -> None:
    """Print each bootstrap's time, the loop's, and the ratio."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    panel = ratings(rng, 360, 8)
    pair = ratings(rng, 330, 2)
    wide = panel.pivot(index="case", columns="rater", values="value").to_numpy()
    x, y = pair.pivot(index="case", columns="rater", values="value").to_numpy().T
    verdicts = pair.assign(value=(pair["value"] > 3).astype(float))
    yes, truth = (x > 3).astype(int), (y > 3).astype(int)
    scale = [1.0, 2.0, 3.0, 4.0, 5.0]
    grid = matrix(panel)
    one_by_one = 1000 * loop(360, rng, lambda drawn: pingouin_icc3k(wide[drawn]))
    rows = [
        (
            "ICC(3,k), 360 x 8, 1,000 resamples, against pingouin, both from the matrix of ratings",
            10_000,
            lambda: icc_of(grid, form="icc3k", bootstrap=percentile(1000)),
            one_by_one,
        ),
        (
            "the same, ours from the long table",
            10_000,
            lambda: icc(panel, form="icc3k", bootstrap=percentile(1000)),
            one_by_one,
        ),
        (
            "AC2, 360 x 8, 1,000 resamples, against irrCAC",
            500,
            lambda: gwet_ac(panel, weighting="quadratic", bootstrap=percentile(1000)),
            1000
            * loop(
                360,
                rng,
                lambda drawn: CAC(pd.DataFrame(wide[drawn]), weights="quadratic", categories=scale).gwet(),
            ),
        ),
        (
            "ordinal alpha, 360 x 8, 1,000 resamples, against krippendorff",
            50,
            lambda: krippendorff_alpha(panel, level="ordinal", bootstrap=percentile(1000)),
            1000
            * loop(360, rng, lambda drawn: krippendorff.alpha(wide[drawn].T, level_of_measurement="ordinal")),
        ),
        (
            "quadratic kappa, 330 cases, 10,000 resamples, against scikit-learn",
            200,
            lambda: cohen_kappa(pair, weighting="quadratic", bootstrap=percentile(10_000)),
            10_000 * loop(330, rng, lambda drawn: cohen_kappa_score(x[drawn], y[drawn], weights="quadratic")),
        ),
        (
            "BCa of F1, 330 cases, 9,999 resamples, against scipy over scikit-learn",
            500,
            lambda: classification(
                verdicts, metric="f1", raters=("r0", "r1"), positive=1, bootstrap=percentile(9999, kind="bca")
            ),
            # scipy's BCa calls the statistic for each resample and once more for each case left out.
            (9999 + 330) * loop(330, rng, lambda drawn: f1_score(truth[drawn], yes[drawn])),
        ),
    ]
    print("| bootstrap | ours | loop (extrapolated) | ratio | target |\n|---|---|---|---|---|")
    for name, target, ours, theirs in rows:
        seconds = best(ours)
        print(
            f"| {name} | {1000 * seconds:.1f} ms | {theirs:.1f} s | {theirs / seconds:,.0f}x | {target:,}x |"
        )


def percentile(resamples: int, kind: Kind = "percentile") -> Bootstrap:
    return Bootstrap(np.random.default_rng(0), resamples, kind=kind)


def loop(n: int, rng: np.random.Generator, statistic: Callable[[np.ndarray], object]) -> float:
    """Seconds for one resample by the package."""
    return best(lambda: statistic(rng.integers(0, n, n)), SAMPLE)


def best(run: Callable[[], object], times: int = 100) -> float:
    """Seconds for one run, after one to warm up."""
    run()
    seconds = []
    for _ in range(times):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return min(seconds)


def pingouin_icc3k(values: np.ndarray) -> float:
    found = pingouin.intraclass_corr(long(values), targets="case", raters="rater", ratings="value")
    return float(found["ICC"].iloc[5])


def ratings(rng: np.random.Generator, n: int, raters: int) -> pd.DataFrame:
    """Five-point ratings that agree about as well as people do."""
    return long(np.clip(np.round(3 + rng.normal(0, 1, (n, 1)) + rng.normal(0, 0.6, (n, raters))), 1, 5))


def long(values: np.ndarray) -> pd.DataFrame:
    n, k = values.shape
    raters = np.tile([f"r{j}" for j in range(k)], n)
    return pd.DataFrame({"case": np.repeat(np.arange(n), k), "rater": raters, "value": values.ravel()})


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
