"""Whatever the table: an interval holds its estimate, lies in the coefficient's range, and few cases are said."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest

from venire import agreement
from venire.evals.agreement.coefficients import registered_coefficients

TABLES = int(os.environ.get("VENIRE_RANDOM_TABLES", "120"))
"""5,000 of them take a quarter of an hour; a sample is drawn anew from the same seeds."""


def ragged_table(seed: int) -> pd.DataFrame:
    """Ratings of some cases by some raters on a short scale, many at one end, many missing, some raters alike."""
    rng = np.random.default_rng(seed)
    cases, raters, points = int(rng.integers(1, 26)), int(rng.integers(2, 6)), int(rng.integers(2, 8))
    shares = rng.dirichlet(np.full(points, rng.choice([0.1, 0.5, 5.0])))
    truth = rng.choice(points, size=cases, p=shares) + 1.0
    scores = np.repeat(truth[:, None], raters, axis=1)
    noisy = rng.random(scores.shape) < rng.choice([0.0, 0.2, 0.7, 1.0])
    scores[noisy] = rng.choice(points, size=int(noisy.sum()), p=shares) + 1.0
    scores[rng.random(scores.shape) < rng.choice([0.0, 0.3, 0.6])] = np.nan
    rows = [
        (f"c{case}", f"r{rater}", "a", scores[case, rater])
        for case in range(cases)
        for rater in range(raters)
        if not np.isnan(scores[case, rater])
    ]
    return pd.DataFrame(rows, columns=["case", "rater", "attribute", "value"])


@pytest.mark.parametrize("seed", [*range(TABLES), 6909])
def test_an_interval_holds_its_estimate_and_lies_in_range(seed: int) -> None:
    ratings = ragged_table(seed)
    if ratings.empty:
        return
    found = agreement(ratings, resamples=50).attributes["a"]

    for name, coefficient in registered_coefficients().items():
        each = found[name]
        if not each.defined:
            assert each.note, name
            continue
        assert each.note or each.n >= 10, f"{name} says nothing of {each.n} cases"
        if np.isnan(each.low):
            assert np.isnan(each.high) and each.note, name
            continue
        lowest, highest = coefficient.range
        assert each.low <= each.value <= each.high, (name, each)
        assert min(lowest, each.value) - 1e-9 <= each.low and each.high <= max(highest, each.value) + 1e-9, (
            name,
            each,
        )
