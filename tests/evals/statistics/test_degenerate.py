"""Tables from which little can be learnt say so, in words; none crashes, warns or answers 0."""

import math

import numpy as np
import pandas as pd
import pytest
from rating_tables import long_table

from venire.evals.statistics.alpha import LEVELS, krippendorff_alpha, rater_outliers
from venire.evals.statistics.chance import cohen_kappa, fleiss_kappa, gwet_ac, percent_agreement
from venire.evals.statistics.classical_tests import differences, wilcoxon_signed_rank
from venire.evals.statistics.contrast import as_extra_rater, as_substitute
from venire.evals.statistics.correlation import kendall, pearson, spearman
from venire.evals.statistics.error import mae, offset, rmse, rmse_statistic
from venire.evals.statistics.icc import FORMS, icc, pairwise_icc, zscored_icc
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


@pytest.mark.parametrize("rows", TABLES.values(), ids=TABLES.keys())
@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES.keys())
def test_an_undefined_value_or_interval_has_a_note(measure, rows):
    found = measure(long_table(rows))

    if math.isnan(found.value):
        assert found.note
        assert math.isnan(found.low) and math.isnan(found.high)
    elif math.isnan(found.low):
        assert found.note
    else:
        assert found.low <= found.high


@pytest.mark.parametrize(
    "name", ["nothing at all", "all missing", "one rating", "one rater", "raters never meet"]
)
@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES.keys())
def test_without_two_ratings_of_a_case_nothing_is_defined(measure, name):
    assert math.isnan(measure(long_table(TABLES[name])).value)


@pytest.mark.parametrize("name", ["all equal", "all equal, a fraction", "many, all equal"])
@pytest.mark.parametrize(
    "measure", [m for n, m in MEASURES.items() if n.split()[0] not in ("percent", "offset", "mae", "rmse")]
)
def test_one_value_throughout_is_undefined_not_perfect(measure, name):
    assert math.isnan(measure(long_table(TABLES[name])).value)


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
    with pytest.raises(InvalidRatings, match="zero or more"):
        krippendorff_alpha(long_table([[-1, 2], [1, 2]]), level="ratio")


def test_differences_that_add_up_to_a_rounding_below_zero_are_no_error_not_undefined():
    found = rmse_statistic(np.array([1.0, 2.0]), np.array([1.0, 2.0]))

    assert found.value(np.array([[-1.7e-18, 6.0]])) == 0.0
    assert np.isnan(found.value(np.array([[0.0, 0.0]]))), "of no case there is none"
