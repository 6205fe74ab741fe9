"""Generalisability: a textbook's data, restricted likelihood on ragged tables, negative components, repeats, too little data."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from venire.evals.inference.dstudy import study, variance_components, verdict_variances

# Brennan (2001), Table 2.2: synthetic data set no. 1, ten persons by twelve items.
BRENNAN = [
    "101000000000",
    "111001000000",
    "111110000000",
    "110110010000",
    "111110100000",
    "111011100000",
    "111111100000",
    "111101111100",
    "111111111110",
    "111111111111",
]


def long(values: np.ndarray) -> pd.DataFrame:
    cases, jurors = np.indices(values.shape)
    table = pd.DataFrame(
        {"case": cases.ravel(), "juror": jurors.ravel(), "repeat": 1, "value": values.ravel()}
    )
    return table.dropna()


def test_the_textbooks_components_and_coefficients() -> None:
    found = variance_components(long(np.array([list(map(float, row)) for row in BRENNAN])))

    assert (found.case, found.juror, found.interaction) == pytest.approx((0.0574, 0.0754, 0.1269), abs=5e-5)
    assert found.relative(12) == pytest.approx(0.844, abs=5e-4) and found.absolute(12) == pytest.approx(
        0.773, abs=5e-4
    )
    # The book goes on from components rounded to four places.
    assert [found.relative(k) for k in (5, 10, 15, 20)] == pytest.approx(
        [0.693, 0.819, 0.871, 0.901], abs=1e-3
    )
    assert found.method == "analysis of variance" and math.isnan(found.repeat)


def test_ragged_tables_agree_with_restricted_likelihood_elsewhere() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(0, 1, (60, 1)) + rng.normal(0, 0.6, 5) + rng.normal(0, 0.8, (60, 5))
    values[rng.random(values.shape) < 0.3] = np.nan
    table = long(values)
    found = variance_components(table)
    fit = smf.mixedlm("value ~ 1", table.assign(all=1), groups="all", re_formula="0", vc_formula={"case": "0 + C(case)", "juror": "0 + C(juror)"}).fit(reml=True)  # fmt: skip

    named = dict(zip(fit.model.exog_vc.names, fit.vcomp, strict=True))
    assert found.method == "restricted maximum likelihood"
    assert (found.case, found.juror, found.interaction) == pytest.approx(
        (named["case"], named["juror"], fit.scale), rel=5e-3
    )


def test_repeats_are_told_apart_and_a_negative_component_is_shown() -> None:
    rng = np.random.default_rng(1)
    cells = rng.normal(0, 1, (200, 1)) + rng.normal(0, 0.5, 4) + rng.normal(0, 0.5, (200, 4))
    rows = [long(cells + rng.normal(0, 0.7, cells.shape)).assign(repeat=again) for again in range(3)]
    found = variance_components(pd.concat(rows))
    assert found.repeat == pytest.approx(0.49, rel=0.1) and found.interaction == pytest.approx(0.25, rel=0.25)
    assert found.relative(4, 3) > found.relative(4, 1)

    alike = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0], [2.0, 1.0]])
    below = variance_components(long(alike))
    assert below.case < 0 and below.relative(2) == 0.0


def test_the_variance_of_repeated_verdicts_is_parted_as_it_was_planted() -> None:
    rng = np.random.default_rng(3)
    value = rng.normal(0, 1, (400, 1)) + rng.normal(0, 0.5, (400, 3))
    verdicts = pd.DataFrame(
        {"case": np.repeat(np.arange(400), 3), "repeat": np.tile([1, 2, 3], 400), "value": value.ravel()}
    )
    found = verdict_variances(verdicts)
    assert found["case"] == pytest.approx(1, rel=0.15) and found["repeat"] == pytest.approx(0.25, rel=0.1)
    assert math.isnan(verdict_variances(verdicts[verdicts["repeat"] == 1])["repeat"])


def test_designs_of_a_round_robin_and_of_too_little() -> None:
    made = study(long(np.array([list(map(float, row)) for row in BRENNAN])), "x", "final", usd=0.01)
    turn = made.designs[made.designs["design"] == "round robin"].iloc[0]
    assert turn["relative"] == turn["absolute"] < made.designs["relative"].iloc[0]
    assert turn["usd"] == 0.01 and "jurors would reach 0.8" in made.sentence
    assert "dependable" not in made.sentence and "10 cases, without an interval" in made.sentence
    alone = study(long(np.array([[1.0], [2.0]])), "x", "final")
    assert "two jurors are needed" in alone.sentence
