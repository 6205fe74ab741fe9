"""Tables from which little can be learnt say so, in words; none crashes, warns or answers 0."""

import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
from rating_tables import SHROUT_FLEISS, long_table
from scipy.stats import f as f_distribution

from venire.evals.statistics.alpha import LEVELS, krippendorff_alpha, rater_outliers
from venire.evals.statistics.chance import cohen_kappa, fleiss_kappa, gwet_ac, percent_agreement
from venire.evals.statistics.classical_tests import differences, wilcoxon_signed_rank
from venire.evals.statistics.contrast import as_extra_rater, as_substitute
from venire.evals.statistics.correlation import kendall, pearson, spearman
from venire.evals.statistics.error import mae, offset, rmse, rmse_statistic
from venire.evals.statistics.icc import F_WARNING, FORMS, icc, pairwise_icc, zscored_icc
from venire.evals.statistics.jackknife import APPROXIMATE, Jackknife
from venire.evals.statistics.matrix import InvalidRatings
from venire.evals.statistics.roc import roc_auc, roc_curve

PAIR = ("r0", "r1")
MEASURES = {
    **{form: lambda t, form=form: icc(t, form=form) for form in FORMS},
    **{f"{form} by F": lambda t, form=form: icc(t, form=form, interval="f") for form in FORMS},
    "icc z": lambda t: zscored_icc(t),
    "icc pairs": lambda t: pairwise_icc(t),
    "icc pairs plain": lambda t: pairwise_icc(t, zscore=False),
    **{f"alpha {lv}": lambda t, lv=lv: krippendorff_alpha(t, level=lv) for lv in LEVELS},
    "ac1": gwet_ac,
    "ac2": lambda t: gwet_ac(t, weighting="quadratic"),
    "fleiss": fleiss_kappa,
    "percent": percent_agreement,
    "kappa": lambda t: cohen_kappa(t),
    "kappa linear": lambda t: cohen_kappa(t, weighting="linear"),
    "kappa quadratic": lambda t: cohen_kappa(t, weighting="quadratic"),
    **{f.__name__: lambda t, f=f: f(t) for f in (pearson, spearman, kendall, offset, mae, rmse)},
}

GAP = None
TABLES = {
    "nothing at all": [],
    "all missing": [[GAP, GAP], [GAP, GAP]],
    "one rating": [[3]],
    "one rater": [[1], [2], [3]],
    "one case": [[1, 2, 3]],
    "one case, equal": [[2, 2]],
    "all equal": [[4, 4, 4]] * 6,
    "all equal, a fraction": [[0.1, 0.1, 0.1]] * 7,
    "raters never meet": [[1, GAP], [GAP, 2], [3, GAP]],
    "a rater with one rating": [[1, 1, GAP], [2, 3, GAP], [3, 3, 3], [1, 2, GAP]],
    "some rated once": [[1, 1, 2], [2, GAP, GAP], [2, 2, GAP], [1, 2, 1], [GAP, GAP, 1], [3, 3, 3]],
    "constant but different raters": [[1, 5]] * 5,
    "cases that do not differ": [[1, 2], [2, 1], [1, 2], [2, 1]],
    "lockstep": [[1, 2], [2, 3], [3, 4], [5, 6]],
    "perfect": [[1, 1], [2, 2], [3, 3]],
    "mirror": [[1, 3], [2, 2], [3, 1]],
    "one odd case": [[1, 1]] * 20 + [[1, 2]],
    "many, all equal": [[4, 4, 4]] * 30,
    "many, in lockstep": [[n % 5, n % 5 + 1] for n in range(30)],
    "many, constant but different raters": [[1, 5]] * 30,
}


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES.keys())
def test_an_undefined_value_or_interval_has_a_note(measure):
    for name, rows in TABLES.items():
        found = measure(long_table(rows))
        if math.isnan(found.value):
            assert found.note, name
            assert math.isnan(found.low) and math.isnan(found.high), name
        elif math.isnan(found.low):
            assert found.note, name
        else:
            assert found.low <= found.high, name


WEIGHTS = ("linear", "quadratic", "ordinal")
NAMED = {
    **{f"Krippendorff's alpha, {level}": partial(krippendorff_alpha, level=level) for level in LEVELS},
    "Gwet's AC1": gwet_ac,
    **{f"Gwet's AC2, {how} weights": partial(gwet_ac, weighting=how) for how in WEIGHTS},
    "Fleiss' kappa": fleiss_kappa,
    "percent agreement": percent_agreement,
    "Cohen's kappa": cohen_kappa,
    **{f"Cohen's kappa, {how} weights": partial(cohen_kappa, weighting=how) for how in WEIGHTS},
    "ICC(1,1)": partial(icc, form="icc1"),
    "ICC(2,1), raters fixed": partial(icc, form="icc2"),
    "ICC(2,k), raters random": partial(icc, form="icc2k", interval="f"),
    "ICC(3,k)": icc,
    "ICC(3,1)": partial(icc, form="icc3"),
    "ICC(3,k) after z-scoring within rater": zscored_icc,
    "pairwise ICC(3,k)": partial(pairwise_icc, zscore=False),
    "pairwise ICC(3,k) after z-scoring within rater and pair": pairwise_icc,
}


@pytest.mark.parametrize("name", NAMED)
def test_whatever_it_says_it_says_of_what_of_how_many_cases_and_how_sure(name):
    """The name is whole where the interval's method or the pairs of many raters follow, and nothing else does."""
    for rows in TABLES.values():
        found = NAMED[name](long_table(rows), jackknife=Jackknife(confidence=0.9))
        ratings = [sum(value is not None for value in row) for row in rows]
        least = sum(any(column) for column in zip(*rows, strict=True)) if name.startswith("ICC") else 2
        assert found.method.partition(";")[0].partition(", mean over")[0] == name
        assert found.n == sum(number >= max(least, 1) for number in ratings) and found.confidence == 0.9


@pytest.mark.parametrize("name", [name for name in NAMED if "random" not in name])
def test_cases_of_one_group_are_left_out_together(name):
    rng = np.random.default_rng(3)
    table = long_table(np.clip(rng.integers(1, 6, (60, 1)) + rng.integers(-1, 2, (60, 3)), 1, 5))
    table["ward"] = table["case"].str[1:].astype(int) // 3

    assert "jackknife of 20 groups" in NAMED[name](table, jackknife=Jackknife(by="ward")).method
    assert "jackknife of 60 cases" in NAMED[name](table).method
    table["ward"] %= 10
    squared = name.startswith(("ICC", "pairwise")) or name.endswith(
        ("interval", "ratio", "kappa, quadratic weights")
    )
    assert ("12 are needed" in NAMED[name](table, jackknife=Jackknife(by="ward")).note) == squared


@pytest.mark.parametrize(
    ("rows", "why"),
    [([[1], [2]], "no case has two ratings"), ([[2, 2]] * 3, "all ratings have the same value")],
)
@pytest.mark.parametrize("name", [name for name in NAMED if name.startswith(("Kripp", "Gwet", "Fleiss"))])
def test_why_it_is_undefined_is_said(name, rows, why):
    assert NAMED[name](long_table(rows)).note.startswith(why)


@pytest.mark.parametrize("measure", [gwet_ac, cohen_kappa])
def test_words_have_distances_only_where_the_scale_gives_their_order(measure):
    rows = [["good", "good"], ["fair", "good"], ["poor", "fair"], ["poor", "poor"], ["good", "poor"]]
    order = ["poor", "fair", "good"]
    numbers = long_table([[order.index(value) for value in row] for row in rows])

    assert measure(long_table(rows)).value == pytest.approx(measure(numbers).value)
    for how in WEIGHTS:
        with pytest.raises(InvalidRatings, match=r"needs numbers, but the ratings hold text such as 'fair'"):
            measure(long_table(rows), weighting=how)
        found = measure(long_table(rows), weighting=how, categories=order)
        assert found.value == pytest.approx(measure(numbers, weighting=how).value)


def test_kappa_is_of_the_two_who_are_named_and_a_pair_of_many_needs_two_cases():
    rows = [[1, 1, 2], [2, 2, 1], [1, 1, 1], [2, 1, 2], [GAP, 2, 2]]

    assert cohen_kappa(long_table(rows), raters=("r0", "r1")).value == pytest.approx(0.5)
    assert cohen_kappa(long_table(rows), raters=("r1", "r2")).n == 5
    once = long_table([[1, 2, GAP], [2, 2, GAP], [1, 1, GAP], [GAP, 2, 1]])
    assert cohen_kappa(once).value == pytest.approx(cohen_kappa(long_table([[1, 2], [2, 2], [1, 1]])).value)
    twice = long_table([[1, 2, GAP], [2, 2, GAP], [1, 1, GAP], [GAP, 2, 1], [GAP, 1, 1]])
    assert cohen_kappa(twice).value < cohen_kappa(once).value


@pytest.mark.parametrize("name", NAMED)
def test_few_departures_close_every_gate_but_those_that_need_none(name):
    """Raters depart together on 3 of 40 cases; whatever is squared says how far such intervals can be trusted."""
    rows = [[5, 5, 5]] * 37 + [[4, 4, 5], [3, 4, 5], [5, 2, 2]]
    skewed = NAMED[name](long_table(rows))
    rng = np.random.default_rng(7)
    plain = NAMED[name](long_table(np.clip(rng.integers(1, 6, (60, 1)) + rng.integers(-1, 2, (60, 3)), 1, 5)))

    open_gate = name.startswith(("Gwet", "percent", "ICC(2,k), raters random"))
    assert math.isnan(skewed.low) != open_gate and plain.low < plain.value < plain.high
    squared = name.endswith(("interval", "ratio")) or name in (
        "ICC(1,1)",
        "ICC(2,1), raters fixed",
        "ICC(3,1)",
    )
    assert (APPROXIMATE in plain.note) == squared
    transform = plain.method.rpartition(", ")[2]
    assert (
        transform == ("Wilson" if name.startswith("percent") else "Fisher's z") or "F interval" in transform
    )


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES.keys())
def test_without_two_ratings_of_a_case_nothing_is_defined(measure):
    for name in ("nothing at all", "all missing", "one rating", "one rater", "raters never meet"):
        assert math.isnan(measure(long_table(TABLES[name])).value), name


@pytest.mark.parametrize(
    "measure", [m for n, m in MEASURES.items() if n.split()[0] not in ("percent", "offset", "mae", "rmse")]
)
def test_one_value_throughout_is_undefined_not_perfect(measure):
    for name in ("all equal", "all equal, a fraction", "many, all equal"):
        assert math.isnan(measure(long_table(TABLES[name])).value), name


@pytest.mark.parametrize("rows", [rows for rows in TABLES.values() if len(rows) > 1 and len(rows[0]) > 1])
def test_two_rater_measures_survive(rows):
    table = long_table(rows)
    differences(table, raters=PAIR)
    roc_curve(table, raters=PAIR)
    assert roc_auc(table, raters=PAIR).method
    test = wilcoxon_signed_rank(table, raters=PAIR)
    assert test.note or 0 <= test.p <= 1
    assert len(rater_outliers(table, level="ordinal")) <= len(rows[0])


@pytest.mark.parametrize(
    "rows", [rows for rows in TABLES.values() if rows and len(rows[0]) > 1 and rows[0][0]]
)
def test_substitution_survives(rows):
    table = long_table(rows)
    for change in [
        as_extra_rater(table, jury="r0"),
        *as_substitute(table, jury="r0").values(),
    ]:
        assert change.change.note or not math.isnan(change.p)


def test_a_rise_needs_as_many_departures_as_alpha_itself():
    found = rater_outliers(long_table([[5, 5, 5]] * 37 + [[4, 4, 5], [3, 4, 5], [5, 2, 2]]), level="ordinal")

    assert found["rise"].notna().all() and found["low"].isna().all()
    assert found["note"].str.startswith("no interval").all()
    assert list(rater_outliers(long_table([]), level="ordinal")) == list(found)


@pytest.mark.parametrize(
    ("rows", "note"), [([[1, 2, 3]], "1 case rated by"), ([[1, GAP], [GAP, 2]], "0 cases rated by")]
)
def test_an_icc_says_how_many_cases_everyone_rated(rows, note):
    assert icc(long_table(rows)).note.startswith(note)


@pytest.mark.parametrize("form", FORMS)
def test_f_intervals_at_their_ends(form):
    """Ratings that are exact only but for rounding: raters who agree, and one who is always a tenth higher."""
    by_f = partial(icc, form=form, interval="f")
    agreed, lockstep = by_f(long_table([[0.1, 0.1], [0.2, 0.2], [0.3, 0.3], [0.7, 0.7]])), by_f(long_table([[0.1, 0.2], [0.2, 0.3], [0.3, 0.4], [0.5, 0.6]]))  # fmt: skip
    assert (agreed.value, agreed.low, agreed.high, agreed.note) == (1, 1, 1, F_WARNING)
    assert ((lockstep.value, lockstep.low, lockstep.high) == (1, 1, 1)) == form.startswith("icc3")
    if form == "icc2":
        # Between cases and raters 35 to 6, and no error: one degree of freedom.
        ends = [35 * f / (6 + 35 * f) for f in (1 / f_distribution.ppf(0.975, 3, 1), f_distribution.ppf(0.975, 1, 3))]  # fmt: skip
        assert [lockstep.low, lockstep.high] == pytest.approx(ends)
    apart = by_f(long_table(TABLES["cases that do not differ"]))
    assert (apart.low == apart.high == apart.value == -1) == (form in ("icc1", "icc3"))
    wide = by_f(long_table(SHROUT_FLEISS), jackknife=Jackknife(confidence=0.97))
    assert (math.isnan(wide.low) and math.isnan(wide.high)) == (form == "icc1k")


def test_bounds_that_cannot_be_stepped_up_to_many_raters_are_no_interval():
    """Of four raters a bound of ICC(2,1) lies below -1/3, where the reliability of their mean turns over."""
    rows = [[-66, 0, 50, 35], [3, 76, -79, 5], [-26, 4, 4, 34], [-49, -56, 21, 75], [70, -142, -2, 48]]
    one, mean = (icc(long_table(rows), form=form, interval="f", jackknife=Jackknife(confidence=0.5)) for form in ("icc2", "icc2k"))  # fmt: skip

    assert one.low < -1 / 3
    assert math.isnan(mean.low) and math.isnan(mean.high) and mean.note.startswith("no interval")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("interval", ["jackknife", "f"])
def test_an_icc_knows_no_unit(form, interval):
    plain, small = (icc(long_table(np.multiply(SHROUT_FLEISS, unit)), form=form, interval=interval) for unit in (1, 1e-9))  # fmt: skip

    assert (small.value, small.low, small.high) == pytest.approx((plain.value, plain.low, plain.high))


def test_a_rater_who_rates_a_case_twice_is_refused():
    table = pd.concat([long_table([[1, 2], [2, 3]]), long_table([[1, 2]])])

    with pytest.raises(InvalidRatings, match="'r0' rated case 'c0' more than once"):
        icc(table)


def test_a_value_off_the_scale_is_refused():
    with pytest.raises(InvalidRatings, match=r"9\.0, which is not on the scale"):
        gwet_ac(long_table([[1, 2], [9, 2]]), categories=[1, 2, 3, 4, 5])
    with pytest.raises(InvalidRatings, match="'maybe', which is not on the scale"):
        cohen_kappa(
            long_table([["yes", "no"], ["maybe", "no"]]),
            categories=["yes", "no"],
        )


def test_ratings_too_large_to_square_are_refused_and_minute_ones_are_weighed():
    with pytest.raises(InvalidRatings, match="larger than"):
        icc(long_table([[1e300, 1], [2, 3]]))
    assert krippendorff_alpha(long_table([[1e-170, 2e-170], [3e-170, 3e-170]]), level="ratio").note
    found = cohen_kappa(long_table([[1e-300, 2e-300], [3e-300, 3e-300]]), weighting="quadratic")
    assert found.value == pytest.approx(
        cohen_kappa(long_table([[1, 2], [3, 3]]), weighting="quadratic").value
    )


def test_an_infinite_rating_is_refused():
    with pytest.raises(InvalidRatings, match="infinite"):
        icc(long_table([[1, 2], [np.inf, 2]]))


def test_text_is_refused_where_numbers_are_needed():
    with pytest.raises(InvalidRatings, match="text such as 'no'"):
        icc(long_table([["yes", "no"], ["no", "no"]]))


def test_a_missing_column_is_named():
    with pytest.raises(InvalidRatings, match="no column 'rater'"):
        icc(pd.DataFrame({"case": [1], "value": [2]}))


def test_an_unknown_rater_is_named():
    with pytest.raises(InvalidRatings, match="no rater named 'zoe'"):
        mae(long_table([[1, 2]]), raters=("zoe", "r1"))


def test_negative_values_have_no_ratio():
    with pytest.raises(InvalidRatings, match="zero or more, but the ratings hold -1"):
        krippendorff_alpha(long_table([[-1, 2], [1, 2]]), level="ratio")


def test_differences_that_add_up_to_a_rounding_below_zero_are_no_error_not_undefined():
    found = rmse_statistic(np.array([1.0, 2.0]), np.array([1.0, 2.0]))

    assert found.value(np.array([[-1.7e-18, 6.0]])) == 0.0
    assert np.isnan(found.value(np.array([[0.0, 0.0]]))), "of no case there is none"
