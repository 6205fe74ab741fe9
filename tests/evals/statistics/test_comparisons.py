"""The jury among people: substitution, differences, mixed effects, outliers, overlap, bands."""

import math
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from rating_tables import long_table
from scipy import stats
from shared_data import shared_file
from statsmodels.genmod.families import Binomial
from statsmodels.genmod.generalized_linear_model import GLM
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from venire.evals.agreement.coefficients import band
from venire.evals.statistics.alpha import rater_outliers
from venire.evals.statistics.bradley_terry import bradley_terry, davidson, length_controlled
from venire.evals.statistics.classical_tests import (
    chi_square_p,
    differences,
    flip_p,
    mean_p,
    median_and_quartiles,
    welch_p,
    wilcoxon_signed_rank,
)
from venire.evals.statistics.contrast import as_extra_rater, as_substitute
from venire.evals.statistics.draws import Draws
from venire.evals.statistics.estimate import Estimate
from venire.evals.statistics.icc import icc
from venire.evals.statistics.mixed import difference_effects, mean_difference_effects
from venire.evals.statistics.proportion import credible, wilson, win_rate
from venire.evals.statistics.significance import holm, p_words, shown_sign, signed_number


def panel(jury_noise: float, n: int = 120) -> pd.DataFrame:
    """Three people who see the quality with a little noise, and a jury with its own."""
    rng = np.random.default_rng(4)
    quality = rng.normal(0, 1, (n, 1))
    people = quality + rng.normal(0, 0.5, (n, 3))
    jury = quality + rng.normal(0, jury_noise, (n, 1))
    return long_table(np.hstack([people, jury])).replace({"rater": {"r3": "jury"}})


def test_a_jury_as_good_as_the_people_changes_little():
    swaps = as_substitute(panel(0.5), jury="jury")

    assert set(swaps) == {"r0", "r1", "r2"}
    assert all(swap.p > 0.01 and abs(swap.change.value) < 0.03 for swap in swaps.values())


def test_a_jury_of_noise_lowers_the_icc():
    swaps = as_substitute(panel(4.0), jury="jury")
    extra = as_extra_rater(panel(4.0), jury="jury")

    assert all(swap.p < 0.01 and swap.change.high < 0 for swap in swaps.values())
    assert extra.change.value == pytest.approx(extra.after - extra.before)
    assert extra.change.high < 0


def test_before_and_after_are_the_iccs_of_the_two_panels():
    table = panel(0.5)
    found = as_extra_rater(table, jury="jury")

    assert found.after == pytest.approx(icc(table).value)
    assert found.before == pytest.approx(icc(table[table["rater"] != "jury"]).value)


def test_differences_count_every_case():
    found = differences(long_table([[3, 1], [3, 3], [2, 2], [1, 3]]), raters=("r0", "r1"))

    assert found["difference"].tolist() == [-2, 0, 2]
    assert found["count"].tolist() == [1, 2, 1]
    assert found["share"].sum() == 1


def test_the_median_difference_has_quartiles_and_an_interval():
    found = wilcoxon_signed_rank(long_table([[x, 0] for x in range(1, 22)]), raters=("r0", "r1"))

    assert (found.median.value, found.quartiles) == (11, (6, 16))
    assert (found.median.low, found.median.high) == (6, 16)
    assert found.p < 0.001


def test_a_planted_effect_of_length_is_found_and_others_are_not():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        [(r, a, c) for r in "abcde" for a in "xyz" for c in range(40)], columns=["rater", "attribute", "case"]
    )
    rows["group"] = np.where(rows["case"] % 2, "ward", "clinic")
    rows["system"] = [f"model {c % 3}" for c in rows["case"]]
    rows["source_length"] = rng.integers(100, 900, 40)[rows["case"]]
    rows["output_length"] = rng.integers(10, 90, 40)[rows["case"]]
    harshness = dict(zip("abcde", [-0.4, -0.2, 0, 0.2, 0.4], strict=True))
    length = rows["source_length"] - rows["source_length"].mean()
    rows["difference"] = (
        0.5 * length / length.std() + rows["rater"].map(harshness) + rng.normal(0, 0.5, len(rows))
    )
    found = difference_effects(rows)

    assert found.effects["source_length"].value == pytest.approx(0.5, abs=0.06)
    assert found.p["source_length"] < 1e-6
    for term in ("group: ward", "system: model 1", "system: model 2", "output_length"):
        assert abs(found.effects[term].value) < 0.25, term
    assert found.spread["rater"] == pytest.approx(0.32, abs=0.12)
    assert found.spread["residual"] == pytest.approx(0.5, abs=0.03)


def test_three_crossed_intercepts_equal_statsmodels():
    """Cases, raters and attributes with holes; statsmodels takes one group with a variance component for each."""
    from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec

    rng = np.random.default_rng(2)
    names = ["rater", "attribute", "case"]
    rows = pd.DataFrame([(r, a, c) for r in "abcd" for a in "xyz" for c in range(30)], columns=names)
    rows = rows[rng.random(len(rows)) > 0.3].reset_index(drop=True)
    rows["length"] = rng.normal(0, 1, 30)[rows["case"]]
    spread = {"rater": 0.4, "attribute": 0.3, "case": 0.5}
    chance = {
        name: dict(zip(rows[name].unique(), rng.normal(0, sd, 30), strict=False))
        for name, sd in spread.items()
    }
    rows["difference"] = sum(rows[name].map(chance[name]) for name in names) + 0.3 * rows["length"]
    rows["difference"] += rng.normal(0, 0.6, len(rows))
    found = difference_effects(rows, predictors=["length"], intercepts=names)

    factors = [pd.get_dummies(rows[name].astype(str), dtype=float) for name in names]
    parts = VCSpec(names, [[list(each)] for each in factors], [[each.to_numpy()] for each in factors])
    length = (rows["length"] - rows["length"].mean()) / rows["length"].std()
    design = np.column_stack([np.ones(len(rows)), length])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MixedLM(rows["difference"].to_numpy(), design, groups=np.zeros(len(rows)), exog_vc=parts)
        theirs = model.fit(method=["lbfgs", "powell"])
    assert [each.value for each in found.effects.values()] == pytest.approx(list(theirs.fe_params), abs=1e-5)
    assert [each.se for each in found.effects.values()] == pytest.approx(list(theirs.bse_fe), rel=0.02)
    assert [found.p[term] for term in found.effects] == pytest.approx(list(theirs.pvalues[:2]), rel=0.1)
    wanted = dict(zip(names, np.sqrt(theirs.vcomp), strict=True)) | {"residual": math.sqrt(theirs.scale)}
    assert found.spread == pytest.approx(wanted, rel=1e-3)


def test_predictors_that_say_the_same_have_no_effect_of_their_own():
    rng = np.random.default_rng(3)
    rows = pd.DataFrame({"rater": [*"abcd"] * 10, "attribute": "x", "group": ["one", "two"] * 20})
    rows["system"] = rows["group"]
    found = difference_effects(rows.assign(difference=rng.normal(0, 1, 40)), predictors=["group", "system"])

    assert math.isnan(found.effects["group: two"].value) and "collinear" in found.note


def test_means_of_cases_say_what_the_mixed_model_says_of_cases():
    rng = np.random.default_rng(6)
    rows = pd.DataFrame([(r, c) for r in "abc" for c in range(40)], columns=["rater", "case"])
    rows["system"] = [f"model {c % 2}" for c in rows["case"]]
    rows["output_length"] = rng.normal(0, 1, 40)[rows["case"]]
    rows["difference"] = (
        0.4 * rows["output_length"] + rng.normal(0, 0.5, 40)[rows["case"]] + rng.normal(0, 0.4, len(rows))
    )
    whole = difference_effects(rows, predictors=["system", "output_length"], intercepts=["rater", "case"])
    means = rows.groupby("case").agg({"difference": "mean", "system": "first", "output_length": "first"})
    found = mean_difference_effects(means, predictors=["system", "output_length"])

    for term in ("system: model 1", "output_length"):
        assert found.effects[term].value == pytest.approx(whole.effects[term].value, rel=0.02), term
        assert found.effects[term].se == pytest.approx(whole.effects[term].se, rel=0.05), term
    assert found.p["output_length"] < 0.01 < found.p["system: model 1"]


def test_what_differs_between_cases_is_as_sure_as_the_cases_are_many_and_not_their_scores() -> None:
    """Of twelve cases and two terms Student's t has ten degrees of freedom, from cases' means as from all their scores."""
    rng = np.random.default_rng(9)
    rows = pd.DataFrame([(r, c) for r in "abcd" for c in range(12)], columns=["rater", "case"])
    rows["group"] = np.where(rows["case"] % 3, "ward", "clinic")
    rows["difference"] = rng.normal(0, 0.6, 12)[rows["case"]] + rng.normal(0, 0.4, len(rows))
    names = ["rater", "case"]
    normal = difference_effects(rows, predictors=["group"], intercepts=names)
    counted = difference_effects(rows, predictors=["group"], intercepts=names, units="case")
    for term, effect in counted.effects.items():
        assert (effect.value, effect.se) == (normal.effects[term].value, normal.effects[term].se)
        reach = stats.t.ppf(0.975, 10) * effect.se
        assert (effect.low, effect.high) == pytest.approx((effect.value - reach, effect.value + reach))
        assert counted.p[term] == pytest.approx(2 * stats.t.sf(abs(effect.value / effect.se), 10))

    means = rows.groupby("case").agg({"difference": "mean", "group": "first"})
    found = mean_difference_effects(means, predictors=["group"])
    design = np.column_stack([np.ones(12), means["group"] == "ward"])
    theirs = OLS(means["difference"].to_numpy(), design).fit()
    bounds = [(effect.low, effect.high) for effect in found.effects.values()]
    np.testing.assert_allclose(bounds, theirs.conf_int())
    assert list(found.p.values()) == pytest.approx(list(theirs.pvalues))


def test_differences_that_predictors_explain_to_the_last_bit_are_no_certainty() -> None:
    always, by_system = np.ones(40), np.tile([0.0, 1.0], 20)
    for gap in (always, by_system):
        rows = pd.DataFrame({"difference": gap, "system": np.tile(["a", "b"], 20)})
        found = mean_difference_effects(rows, predictors=["system"])

        assert found.effects["system: b"].value == pytest.approx(gap[1] - gap[0])
        for effect in found.effects.values():
            assert (
                np.isnan([effect.low, effect.high, effect.se]).all() and "no residual variance" in effect.note
            )
        assert np.isnan(list(found.p.values())).all()


def test_a_random_intercept_agrees_with_lme4s_data():
    """Reaction on days with a random intercept: lme4 prints 10.467 a day (per standard deviation here)."""
    sleep = pd.read_csv(shared_file("classic_fixtures/lme4_sleepstudy.csv"))
    rows = sleep.rename(columns={"Reaction": "difference", "Days": "days", "Subject": "rater"})
    found = difference_effects(rows, predictors=["days"], intercepts=["rater"])

    assert found.effects["days"].value / rows["days"].std() == pytest.approx(10.467, abs=5e-4)
    assert found.spread["rater"] == pytest.approx(37.12, abs=0.02)
    assert found.spread["residual"] == pytest.approx(30.99, abs=0.01)


def test_a_mixed_model_without_variation_says_so():
    rows = pd.DataFrame({"difference": [1.0, 2.0, 1.5, 1.0], "rater": list("aabb"), "attribute": ["x"] * 4})
    found = difference_effects(rows.assign(group="one"), predictors=["group"])

    assert "group, attribute" in found.note
    flat = difference_effects(rows.assign(group="one", difference=1.0), predictors=["group"])
    assert math.isnan(flat.effects["intercept"].value) and flat.note


def test_the_careless_rater_is_the_outlier():
    rng = np.random.default_rng(2)
    quality = rng.integers(1, 6, (80, 1))
    people = np.clip(quality + rng.integers(-1, 2, (80, 3)), 1, 5)
    table = long_table(np.hstack([people, rng.integers(1, 6, (80, 1))]))
    found = rater_outliers(table, level="ordinal").set_index("rater")

    assert found["outlier"].to_dict() == {"r0": False, "r1": False, "r2": False, "r3": True}


def test_severity_is_the_distance_above_the_others():
    found = rater_outliers(long_table([[1, 1, 3], [2, 2, 4], [3, 3, 5]]), level="ordinal")

    assert found["severity"].tolist() == [-1, -1, 2]


@pytest.mark.parametrize(
    ("coefficient", "value", "word"),
    [
        ("kappa", 0.205, "slight"),
        ("kappa", 0.21, "fair"),
        ("fleiss", -0.1, "poor"),
        ("ac2", 0.82, "almost perfect"),
        ("icc3k", 0.76, "good"),
        ("alpha_ordinal", 0.7, "tentative"),
        ("spearman", -0.75, "strong"),
    ],
)
def test_bands(coefficient, value, word):
    found = band(coefficient, Estimate(value, value, value, 40, coefficient))

    assert found is not None and found.word == word and "(" in found.source


@pytest.mark.parametrize(
    ("coefficient", "value", "low", "high"),
    [
        ("rmse", 0.3, 0.2, 0.4),
        ("kappa", math.nan, math.nan, math.nan),
        ("alpha_ordinal", 0.95, math.nan, math.nan),
        ("alpha_ordinal", 0.95, 0.79, 0.99),
        ("icc3k", 0.8, 0.76, 0.91),
        ("spearman", 0.93, -0.95, 0.99),
        ("pearson", 0.05, -0.2, 0.09),
    ],
)
def test_no_band_for_what_nobody_banded_nor_where_the_interval_does_not_bear_it(
    coefficient, value, low, high
):
    assert band(coefficient, Estimate(value, low, high, 40, coefficient)) is None


@pytest.mark.parametrize("seed", range(6))
def test_holms_p_values_are_those_of_statsmodels_and_what_is_undefined_is_no_test(seed):
    rng = np.random.default_rng(seed)
    p = np.round(rng.random(7) ** 3, 2)
    with_gaps = np.insert(p, [0, 3, 7], np.nan)

    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1])
    assert holm(with_gaps)[~np.isnan(with_gaps)] == pytest.approx(holm(p))
    assert np.isnan(holm(with_gaps)).sum() == 3 and len(holm([])) == 0


def test_a_sign_is_shown_below_the_level_and_not_on_it():
    assert [shown_sign(-2, p) for p in (0.049, 0.05)] == [-1, 0] and shown_sign(2, 0.01) == 1
    assert math.isnan(shown_sign(1, math.nan))


@pytest.mark.parametrize("confidence", [0.9, 0.95])
@pytest.mark.parametrize(("right", "n"), [(0, 8), (1, 9), (7, 20), (50, 60), (12, 12)])
def test_wilsons_interval_is_that_of_statsmodels_and_the_credible_one_of_a_flat_prior(right, n, confidence):
    assert wilson(right / n, n, confidence) == pytest.approx(
        proportion_confint(right, n, alpha=1 - confidence, method="wilson"), abs=1e-9
    )
    assert credible(right, n, confidence) == pytest.approx(stats.beta(1 + right, 1 + n - right).interval(confidence))  # fmt: skip
    # Of a spread that few cases tell, the quantile is Student's.
    wide = wilson(right / n, n, confidence, 5)
    assert wide[1] - wide[0] > np.subtract(*wilson(right / n, n, confidence)[::-1])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["apart", "tied", "zeros", "many"])
def test_the_signed_rank_test_is_scipys(kind, seed):
    rng = np.random.default_rng(seed)
    n = 60 if kind == "many" else 17
    gap = rng.normal(0.4, 1, n) if kind in ("apart", "many") else rng.integers(-2, 5, n).astype(float)
    gap = np.append(gap, [0.0, 0.0]) if kind == "zeros" else gap[gap != 0]
    found = wilcoxon_signed_rank(long_table(np.column_stack([gap + 3, np.full(len(gap), 3.0)])), raters=("r0", "r1"))  # fmt: skip
    theirs = stats.wilcoxon(gap, correction=False, zero_method="wilcox", method="exact" if kind == "apart" else "approx")  # fmt: skip

    assert (found.statistic, found.p) == pytest.approx((theirs.statistic, theirs.pvalue))
    assert found.n == len(gap) and found.median.value == pytest.approx(np.median(gap))


@pytest.mark.parametrize("seed", range(4))
def test_welchs_students_and_pearsons_p_are_scipys(seed):
    rng = np.random.default_rng(seed)
    one, two = rng.normal(0, 1, 9), rng.normal(0.7, 3, 14)
    table = rng.integers(1, 9, (2 + seed % 3, 4)).astype(float)

    assert welch_p(one, two) == pytest.approx(stats.ttest_ind(one, two, equal_var=False).pvalue)
    assert mean_p(two) == pytest.approx(stats.ttest_1samp(two, 0).pvalue)
    assert chi_square_p(table) == pytest.approx(stats.chi2_contingency(table, correction=False).pvalue)
    with_blanks = np.insert(np.insert(table, 1, 0, axis=0), 2, 0, axis=1)
    assert chi_square_p(with_blanks) == pytest.approx(chi_square_p(table))
    assert median_and_quartiles(two) == pytest.approx(np.percentile(two, [50, 25, 75]))
    undefined_p = [welch_p(one[:1], two), welch_p(np.ones(3), np.ones(4)), mean_p(one[:1]), mean_p(np.ones(3)), chi_square_p(table[:1])]  # fmt: skip
    assert np.isnan(undefined_p).all() and np.isnan(median_and_quartiles(one[:0])).all()


def test_signs_flipped_in_every_way_give_the_mid_p():
    sums = np.array([1.0, 0.0, -0.5, 2.0, 0.5, 0.25])
    totals = np.array([np.dot(signs, sums[sums != 0]) for signs in product([1, -1], repeat=5)])
    wanted = np.mean(totals > sums.sum() + 1e-9) + np.mean(np.abs(totals - sums.sum()) < 1e-9) / 2

    assert flip_p(sums, Draws()) == pytest.approx(wanted)
    assert flip_p(np.zeros(3), Draws()) == 1.0
    many = np.tile([1.0, -0.8, 0.9], 10)
    drawn = flip_p(many, Draws(1, 4000))
    assert drawn == pytest.approx(stats.norm.sf(many.sum() / np.sqrt((many**2).sum())), abs=0.02)
    assert drawn == flip_p(many, Draws(1, 4000)) != flip_p(many, Draws(2, 4000))


@pytest.mark.parametrize(("value", "words"), [(0.004, "+0.004"), (-0.006, "-0.01"), (0.0, "+0.00"), (-1.5, "-1.50")])  # fmt: skip
def test_a_difference_that_is_not_nothing_is_not_printed_as_nothing(value, words):
    assert signed_number(value) == words
    assert (p_words(0.0009), p_words(0.001), p_words(math.nan)) == ("p < 0.001", "p = 0.001", "p undefined")


@pytest.mark.parametrize("seed", range(3))
def test_the_win_rate_at_equal_length_is_a_logistic_regressions_prediction(seed):
    rng = np.random.default_rng(seed)
    difference = rng.normal(50, 120, 24)
    shares = (rng.random(24) < 1 / (1 + np.exp(-0.5 - difference / 150))).astype(float)
    cluster = np.arange(24) // 2
    found = length_controlled(shares, difference, cluster)
    design = np.column_stack([np.ones(24), np.tanh(difference / pd.Series(difference).std())])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = GLM(shares, design, family=Binomial()).fit(
            cov_type="cluster", cov_kwds={"groups": cluster, "use_correction": False}
        )
    error = fit.bse[0] * np.sqrt(12 / 11)
    reach = stats.t.ppf(0.975, 11) * error
    rate, low, high = (float(1 / (1 + np.exp(-at))) for at in (fit.params[0], fit.params[0] - reach, fit.params[0] + reach))  # fmt: skip

    assert (found.value, found.low, found.high) == pytest.approx((rate, low, high), abs=1e-6)
    assert found.se == pytest.approx(error * rate * (1 - rate), abs=1e-6)
    same = length_controlled(shares, np.full(24, 7.0), cluster)
    unknown = length_controlled(shares, np.append(difference[1:], np.nan), cluster)
    assert not same.defined and not unknown.defined and "not known" in unknown.note


@pytest.mark.parametrize("won", [3, 9, 14])
def test_the_interval_of_a_win_rate_is_wilsons_at_the_effective_number(won):
    """Of single comparisons a sample's variance leaves one fewer; of two alike in each case, half as many."""
    shares = (np.arange(20) < won).astype(float)
    alone, twice = (
        win_rate(shares, np.arange(20)),
        win_rate(np.repeat(shares, 2), np.repeat(np.arange(20), 2)),
    )

    assert alone.se == pytest.approx(stats.sem(shares)) == pytest.approx(twice.se)
    for found in (alone, twice):
        assert (found.low, found.high) == pytest.approx(wilson(won / 20, 19, 0.95))


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_where_every_comparison_ends_alike_the_interval_counts_cases_and_not_comparisons(share):
    found = win_rate(np.full(40, share), np.repeat(np.arange(20), 2))

    assert found.se == 0 and (found.low, found.high) == pytest.approx(wilson(share, 20, 0.95))


def test_strengths_are_no_surer_where_each_comparison_of_a_case_was_made_twice():
    rng = np.random.default_rng(8)
    first = rng.integers(0, 3, 60)
    second = (first + rng.integers(1, 3, 60)) % 3
    outcome, order = rng.choice([1, 0, -1], 60), rng.normal(size=(60, 1))

    def estimates(*, times: int) -> list[float]:
        a, b, result, case, effects = (
            np.repeat(each, times, axis=0) for each in (first, second, outcome, np.arange(60), order)
        )
        fit = davidson(a, b, result, case, players=3, effects=effects)
        found = [*bradley_terry(a, b, (result + 1) / 2, case, players=3), *fit.strengths, *fit.effects]
        return [value for each in found for value in (each.value, each.se, each.low, each.high)]

    assert estimates(times=2) == pytest.approx(estimates(times=1), abs=1e-7)


def test_an_effect_on_preferences_has_students_two_sided_p():
    rng = np.random.default_rng(6)
    first = np.zeros(60, dtype=int)
    outcome = rng.choice([1, 0, -1], 60, p=[0.5, 0.2, 0.3])
    fit = davidson(first, first + 1, outcome, np.arange(60), players=2, effects=rng.normal(size=(60, 1)))

    for found in (*fit.strengths, fit.ties, *fit.effects):
        assert found.p == pytest.approx(2 * stats.t.sf(abs(found.value / found.se), 59))
        reach = stats.t.ppf(0.975, 59) * found.se
        assert (found.low, found.high) == pytest.approx((found.value - reach, found.value + reach))


def test_a_rater_is_named_only_where_alpha_rises_by_enough_and_beyond_chance() -> None:
    """In small tables alpha often rises without somebody by a twentieth or more, and seldom so that the interval says so."""
    rng = np.random.default_rng(1)
    rows = []
    for _ in range(12):
        quality = rng.integers(1, 6, (14, 1))
        table = np.clip(
            quality + rng.integers(-1, 2, (14, 3)) + rng.integers(-2, 3, (14, 3)) * [0, 0, 1], 1, 5
        )
        rows += rater_outliers(long_table(table), level="ordinal").to_dict("records")
    unsure = [row for row in rows if row["rise"] >= 0.05 and not row["low"] > 0]

    assert unsure and not any(row["outlier"] for row in unsure)
    assert all(row["outlier"] == (row["rise"] >= 0.05 and row["low"] > 0) for row in rows)
    assert any(row["outlier"] for row in rows)


def test_strengths_of_two_are_half_the_log_odds_and_none_are_finite_where_somebody_never_lost() -> None:
    """The first wins three of four, a tie counting half of each; the jackknife's stand-in, a sandwich, by hand."""
    shares = np.array([1.0, 1.0, 0.5, 0.5])
    first, second, case = np.zeros(4, dtype=np.int64), np.ones(4, dtype=np.int64), np.arange(4)
    one, other = bradley_terry(first, second, shares, case, players=2)
    gaps = shares - 0.75
    assert (one.value, other.value) == pytest.approx((np.log(3) / 2, -np.log(3) / 2)) and one.n == 4
    assert one.se == pytest.approx(np.sqrt((gaps**2).sum() * 4 / 3) / (4 * 0.75 * 0.25) / 2)

    chain = np.array([[0, 1], [1, 2], [0, 2], [1, 0]])
    apart = np.array([[0, 1], [1, 0], [2, 3], [3, 2]])
    for pairs, players in ((chain, 3), (apart, 4)):
        found = bradley_terry(pairs[:, 0], pairs[:, 1], np.ones(4), case, players=players)
        assert not any(each.defined for each in found) and "never lost" in found[0].note
        assert [each.n for each in found] == [int((pairs == player).any(axis=1).sum()) for player in range(players)]  # fmt: skip
    alone = bradley_terry(first, second, shares, np.zeros(4, dtype=np.int64), players=2)[0]
    same = bradley_terry(first, second, np.full(4, 0.5), case, players=2)[0]
    assert alone.value == one.value and np.isnan(alone.low) and "all comparisons are of one case" in alone.note  # fmt: skip
    assert same.value == 0 and np.isnan(same.low) and "always have the same result" in same.note
