"""Every coefficient equals an independent package on random tables with ties, gaps and constant raters."""

import warnings

import krippendorff
import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rating_tables import long_table
from scipy import stats

from venire.evals.statistics.alpha import krippendorff_alpha, rater_outliers
from venire.evals.statistics.chance import (
    agreement_weights,
    cohen_kappa,
    concordance_statistic,
    fleiss_kappa,
    gwet_ac,
    percent_agreement,
)
from venire.evals.statistics.classification import ClassAnswers, class_scores, yes_no_estimates
from venire.evals.statistics.correlation import kendall, pearson, spearman
from venire.evals.statistics.error import mae, offset, rmse
from venire.evals.statistics.icc import FORMS, icc, pairwise_icc, zscored_icc
from venire.evals.statistics.jackknife import Jackknife
from venire.evals.statistics.roc import roc_auc

PAIR = ("r0", "r1")
CLOSE = 1e-9
MANY = settings(max_examples=2 * settings().max_examples, deadline=None, derandomize=True)


@st.composite
def tables(draw: st.DrawFn, most_raters: int = 6, gaps: bool = True) -> np.ndarray:
    """Cases by raters on a scale of up to six points, some of it missing, some raters constant."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, k = draw(st.integers(2, 30)), draw(st.integers(2, most_raters))
    quality = rng.integers(0, draw(st.integers(1, 6)), (n, 1))
    noise = rng.integers(0, 2, (n, k)) * rng.integers(0, 2, (n, k))
    values = (quality + noise + 1).astype(float)
    if draw(st.booleans()):
        values[:, rng.integers(k)] = rng.integers(1, 4)
    if gaps and draw(st.booleans()):
        values[rng.random((n, k)) < draw(st.sampled_from([0.1, 0.4, 0.7]))] = np.nan
    return values


def same(found: float, wanted: float) -> bool:
    return bool(np.isclose(found, wanted, rtol=CLOSE, atol=CLOSE, equal_nan=True))


@MANY
@given(tables(), st.sampled_from(["nominal", "ordinal", "interval", "ratio"]))
@example(np.array([[1.0, 2.0, 2.0]]), "nominal")
def test_alpha_equals_krippendorff(values, level):
    found = krippendorff_alpha(long_table(values), level=level)
    pairable = values[(~np.isnan(values)).sum(axis=1) >= 2]
    if len(np.unique(pairable[~np.isnan(pairable)])) < 2:
        assert np.isnan(found.value) and found.note
    else:
        assert same(found.value, krippendorff.alpha(pairable.T, level_of_measurement=level))


def their_alpha(values: np.ndarray, level: str) -> float:
    pairable = values[(~np.isnan(values)).sum(axis=1) >= 2]
    if len(np.unique(pairable[~np.isnan(pairable)])) < 2:
        return np.nan
    return krippendorff.alpha(pairable.T, level_of_measurement=level)


def by_jackknife(value: float, left_out: list[float]) -> tuple[float, float]:
    """The interval without a transformation, by the formula."""
    n, away = len(left_out), np.array(left_out) - np.mean(left_out)
    kurtosis = n * (away**4).sum() / (away**2).sum() ** 2
    free = max(1, 2 / (2 / (n - 1) + max(kurtosis - 3, 0) / n))
    reach = stats.t(free).ppf(0.975) * np.sqrt((n - 1) / n * (away**2).sum())
    return value - reach, value + reach


@MANY
@given(st.integers(0, 2**32), st.sampled_from(["ordinal", "interval"]))
def test_alpha_of_measurements_equals_krippendorff(seed, level):
    rng = np.random.default_rng(seed)
    values = rng.normal(0, 1, (20, 1)) + rng.normal(0, 0.7, (20, 3))
    values[rng.random(values.shape) < 0.2] = np.nan

    assert same(krippendorff_alpha(long_table(values), level=level).value, their_alpha(values, level))


@pytest.mark.parametrize("level", ["ordinal", "interval"])
def test_the_interval_of_measurements_is_the_jackknifes_on_fishers_scale(level):
    """60 different values, and a case so far from all others that without it they lie together."""
    rng = np.random.default_rng(4)
    values = np.vstack([rng.normal(0, 1, (19, 1)) + rng.normal(0, 0.7, (19, 3)), [[5000, 5001, 5002]]])
    found = krippendorff_alpha(long_table(values), level=level)
    left_out = [np.arctanh(their_alpha(np.delete(values, case, axis=0), level)) for case in range(20)]
    ends = np.tanh(by_jackknife(np.arctanh(found.value), left_out))

    assert (found.low, found.high) == pytest.approx(tuple(ends), abs=1e-6)


def test_distances_of_ratios_may_be_minute():
    assert krippendorff_alpha(long_table([[1e9, 1e9], [1e9 + 1, 1e9 + 1]] * 3), level="ratio").value == 1


@MANY
@given(tables(), st.sampled_from(["nominal", "ordinal", "interval", "ratio"]))
def test_alpha_knows_no_unit_and_ratios_reach_down_to_zero(values, level):
    from_zero = krippendorff_alpha(long_table(values - 1), level=level).value
    assert same(from_zero, their_alpha(values - 1, level))
    assert same(krippendorff_alpha(long_table((values - 1) / 1000), level=level).value, from_zero)


@MANY
@given(tables(), st.sampled_from(["nominal", "ordinal", "interval", "ratio"]))
def test_an_outlier_is_whose_absence_raises_alpha(values, level):
    found = rater_outliers(long_table(values), level=level).set_index("rater")
    has_rated = ~np.isnan(values).all(axis=0)
    values, k = values[:, has_rated], has_rated.sum()
    assert list(found.index) == [f"r{number}" for number in np.flatnonzero(has_rated)]
    assert found["n"].tolist() == (~np.isnan(values)).sum(axis=0).tolist()
    for column, row in enumerate(found.itertuples()):
        others = np.delete(values, column, axis=1)
        both = [
            (own, np.nanmean(rest))
            for own, rest in zip(values[:, column], others, strict=True)
            if not np.isnan(own) and not np.isnan(rest).all()
        ]
        assert same(row.severity, np.mean([own - mean for own, mean in both]) if both else np.nan)
        wanted = their_alpha(others, level) - their_alpha(values, level) if k > 2 else np.nan
        assert same(row.rise, wanted)
        assert row.outlier == (row.rise >= 0.05 and row.low > 0)
        assert not np.isnan(row.low) or row.note


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_the_interval_of_a_rise_is_the_jackknifes(level):
    rng = np.random.default_rng(2)
    quality = rng.integers(1, 6, (30, 1))
    values = np.hstack([np.clip(quality + rng.integers(-1, 2, (30, 3)), 1, 5), rng.integers(1, 6, (30, 1))])
    values = np.where(rng.random(values.shape) < 0.15, np.nan, values.astype(float))
    values[0] = [np.nan, np.nan, 5, np.nan]
    found = rater_outliers(long_table(values), level=level).iloc[3]

    def rise(rows: np.ndarray) -> float:
        return their_alpha(rows[:, :3], level) - their_alpha(rows, level)

    left_out = [rise(np.delete(values, case, axis=0)) for case in range(30)]
    assert (found["low"], found["high"]) == pytest.approx(by_jackknife(rise(values), left_out), abs=1e-9)
    assert found["outlier"] and not found["note"]
    paired = long_table(np.repeat(values, 2, axis=0))
    paired["ward"] = paired["case"].str[1:].astype(int) // 2
    by_ward = rater_outliers(paired, level=level, jackknife=Jackknife(by="ward")).iloc[3]
    assert (by_ward["high"] - by_ward["low"]) > (
        rater_outliers(paired, level=level).iloc[3][["low", "high"]].diff().iloc[1]
    )


def test_words_have_an_outlier_and_no_severity():
    rows = [["yes", "yes", "no"], ["no", "no", "yes"], ["yes", "yes", "yes"], ["no", "no", "no"]] * 5
    found = rater_outliers(long_table(rows), level="nominal")

    assert np.isnan(found["severity"]).all() and found["outlier"].tolist() == [False, False, True]
    assert found["rise"].iloc[2] == pytest.approx(
        1 - krippendorff_alpha(long_table(rows), level="nominal").value
    )


@pytest.mark.parametrize(
    ("rows", "note"),
    [([[1, 2], [2, 2]], "fewer than three raters"), ([[3, 3, 3]] * 3, "all ratings have the same value")],
)
def test_who_cannot_be_an_outlier_has_no_rise(rows, note):
    found = rater_outliers(long_table(rows), level="ordinal")

    assert found["note"].tolist() == [note] * len(rows[0]) and not found["outlier"].any()
    assert np.isnan(found[["rise", "low", "high"]]).all(axis=None)


@MANY
@given(tables(most_raters=2, gaps=True), st.sampled_from(["identity", "linear", "quadratic"]))
def test_kappa_equals_scikit_learn(values, weighting):
    from sklearn.metrics import cohen_kappa_score

    found = cohen_kappa(long_table(values), weighting=weighting)
    both = values[~np.isnan(values).any(axis=1)]
    if len(np.unique(both)) < 2:
        assert np.isnan(found.value) and found.note
    else:
        weights = None if weighting == "identity" else weighting
        assert same(found.value, cohen_kappa_score(*both.T, weights=weights, labels=range(1, 8)))


@MANY
@given(tables(), st.sampled_from(["identity", "linear", "quadratic", "ordinal"]))
def test_gwet_and_fleiss_equal_irrcac(values, weighting):
    values = values[(~np.isnan(values)).any(axis=1)]
    scale = np.unique(values[~np.isnan(values)])
    found, plain, percent = (
        gwet_ac(long_table(values), weighting=weighting),
        fleiss_kappa(long_table(values)),
        percent_agreement(long_table(values)),
    )
    if len(scale) < 2 or not ((~np.isnan(values)).sum(axis=1) >= 2).any():
        assert np.isnan(found.value) and found.note
        assert np.isnan(plain.value) and plain.note
        return
    if len(values) < 2:
        assert "no interval" in found.note
        return  # irrCAC divides by zero
    ac, fleiss, agreed = irrcac(values, scale, weighting)
    assert same(found.value, ac["coefficient_value"])
    assert same(plain.value, fleiss["coefficient_value"])
    assert same(percent.value, agreed)


def irrcac(values: np.ndarray, scale: np.ndarray, weighting: str) -> tuple[dict, dict, float]:
    """Gwet's own coefficients, told the categories, as the package takes NaN for one under new pandas."""
    from irrCAC.raw import CAC

    frame = pd.DataFrame(values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weighted = CAC(frame, weights=weighting, categories=list(scale), digits=15).gwet()["est"]
        plain = CAC(frame, weights="identity", categories=list(scale), digits=15).fleiss()["est"]
    return weighted, plain, plain["pa"]


@settings(MANY, max_examples=MANY.max_examples // 4)
@given(tables())
def test_icc_equals_pingouin(values):
    import pingouin

    table = long_table(values)
    found = {form: icc(table, form=form).value for form in FORMS}
    complete = values[~np.isnan(values).any(axis=1)]
    if len(complete) < 2:
        assert np.isnan(list(found.values())).all()
        return
    if len(complete) < 5 or np.ptp(complete.mean(axis=1)) == 0:
        return  # pingouin refuses fewer than five cases
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        oracle = pingouin.intraclass_corr(
            long_table(complete), targets="case", raters="rater", ratings="value"
        )
    for form, value in zip(("icc1", "icc2", "icc3", "icc1k", "icc2k", "icc3k"), oracle["ICC"], strict=True):
        assert same(found[form], value), form


@MANY
@given(tables())
def test_icc_equals_the_analysis_of_variance_written_out(values):
    complete = values[~np.isnan(values).any(axis=1)]
    n, k = complete.shape
    if n < 2 or np.ptp(complete.mean(axis=1)) < 1e-12:
        return
    grand = complete.mean()
    rows = k * ((complete.mean(axis=1) - grand) ** 2).sum() / (n - 1)
    columns = n * ((complete.mean(axis=0) - grand) ** 2).sum() / (k - 1)
    rest = complete - complete.mean(axis=1, keepdims=True) - complete.mean(axis=0) + grand
    error = (rest**2).sum() / ((n - 1) * (k - 1))
    within = ((complete - complete.mean(axis=1, keepdims=True)) ** 2).sum() / (n * (k - 1))
    wanted = {
        "icc1": (rows - within) / (rows + (k - 1) * within),
        "icc2": (rows - error) / (rows + (k - 1) * error + k * (columns - error) / n),
        "icc3": (rows - error) / (rows + (k - 1) * error),
        "icc1k": (rows - within) / rows,
        "icc2k": (rows - error) / (rows + (columns - error) / n),
        "icc3k": (rows - error) / rows,
    }
    if rows + (columns - error) / n <= 0:
        wanted["icc2k"] = np.nan
    if rows + (k - 1) * error + k * (columns - error) / n <= 0:
        wanted["icc2"] = np.nan
    table = long_table(values)
    for form in FORMS:
        assert same(icc(table, form=form).value, wanted[form]), form


@MANY
@given(tables(most_raters=2))
def test_correlations_equal_scipy(values):
    table = long_table(values)
    x, y = values[~np.isnan(values).any(axis=1)].T
    found = [function(table) for function in (pearson, spearman, kendall)]
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        assert all(np.isnan(each.value) and each.note for each in found)
        return
    wanted = [stats.pearsonr(x, y), stats.spearmanr(x, y), stats.kendalltau(x, y)]
    assert all(same(each.value, other.statistic) for each, other in zip(found, wanted, strict=True))


@MANY
@given(tables(most_raters=2))
def test_errors_equal_scikit_learn(values):
    from sklearn import metrics

    table = long_table(values)
    both = values[~np.isnan(values).any(axis=1)]
    found = [function(table) for function in (mae, rmse, offset)]
    if not len(both):
        assert all(np.isnan(each.value) and each.note for each in found)
        return
    x, y = both.T
    wanted = [metrics.mean_absolute_error(x, y), metrics.root_mean_squared_error(x, y), np.mean(x - y)]
    assert all(same(each.value, other) for each, other in zip(found, wanted, strict=True))
    assert same(percent_agreement(table).value, metrics.accuracy_score(x, y))


@MANY
@given(tables(most_raters=2))
def test_classification_equals_scikit_learn(values):
    from sklearn import metrics

    both = values[~np.isnan(values).any(axis=1)]
    if not len(both):
        return
    predicted, actual = both.T
    scale, codes = np.unique(both, return_inverse=True)
    said, truth = codes.reshape(both.shape).T
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        macro_f1 = metrics.f1_score(actual, predicted, average="macro", labels=scale)
        oracle = metrics.confusion_matrix(actual, predicted, labels=scale)
        binary = metrics.precision_recall_fscore_support(
            actual == 1, predicted == 1, average="binary", zero_division=np.nan
        )
        specificity = metrics.recall_score(actual != 1, predicted != 1, zero_division=np.nan)

    answers = ClassAnswers(said, truth, np.arange(len(both)))
    scores = class_scores(answers, len(scale))
    found = yes_no_estimates(predicted == 1, actual == 1, answers.cluster)
    assert same(scores["f1_macro"].value, macro_f1)
    assert same(scores["accuracy"].value, metrics.accuracy_score(actual, predicted))
    assert answers.counts(len(scale))[:, :-1].tolist() == oracle.tolist()
    assert same(found["precision"].value, binary[0])
    assert same(found["sensitivity"].value, binary[1])
    assert same(found["specificity"].value, specificity)
    if (both == 1).any():
        assert same(found["f1"].value, metrics.f1_score(actual == 1, predicted == 1, zero_division=0.0))


@MANY
@given(tables(most_raters=2))
def test_auc_equals_scikit_learn(values):
    from sklearn.metrics import roc_auc_score

    both = values[~np.isnan(values).any(axis=1)]
    found = roc_auc(long_table(values), raters=PAIR, positive=1)
    positive = both[:, 1] == 1
    if positive.all() or not positive.any():
        assert np.isnan(found.value) and found.note
    else:
        assert same(found.value, roc_auc_score(positive, both[:, 0]))


@MANY
@given(tables(most_raters=4, gaps=False))
def test_zscored_icc_is_the_icc_of_zscores(values):
    found = zscored_icc(long_table(values))
    spread = values.std(axis=0, ddof=1)
    if (spread == 0).any():
        assert np.isnan(found.value) and found.note
        return
    scored = (values - values.mean(axis=0)) / spread
    assert (
        same(found.value, icc(long_table(scored), form="icc3k").value) or np.ptp(scored.mean(axis=1)) < 1e-9
    )


@MANY
@given(tables(most_raters=2))
def test_a_pair_of_zscored_raters_has_its_correlation_stepped_up(values):
    x, y = values[~np.isnan(values).any(axis=1)].T
    r = stats.pearsonr(x, y).statistic if len(x) > 1 and np.ptp(x) and np.ptp(y) else np.nan
    found = pairwise_icc(long_table(values)).value

    assert same(found, 2 * r / (1 + r) if not np.isclose(r, -1) else np.nan)
    assert same(pairwise_icc(long_table(values), zscore=False).value, icc(long_table(values)).value)


@MANY
@given(tables(most_raters=4), st.sampled_from(["kappa", "spearman", "pairwise"]))
def test_many_raters_give_the_mean_over_pairs(values, what):
    measure = {
        "kappa": lambda table: cohen_kappa(table),
        "spearman": lambda table: spearman(table),
        "pairwise": lambda table: pairwise_icc(table, zscore=False),
    }[what]
    k = values.shape[1]
    each = [measure(long_table(values[:, [i, j]])).value for i in range(k) for j in range(i + 1, k)]
    # Among many raters a pair of one shared case takes no part; who rated nothing is no rater.
    shared = [(~np.isnan(values[:, [i, j]])).all(axis=1).sum() for i in range(k) for j in range(i + 1, k)]
    few = 2 if (~np.isnan(values)).any(axis=0).sum() > 2 else 0
    known = [value for value, cases in zip(each, shared, strict=True) if not np.isnan(value) and cases >= few]

    assert same(measure(long_table(values)).value, np.mean(known) if known else np.nan)


@MANY
@given(tables(most_raters=2, gaps=False), st.integers(1, 4), st.integers(0, 2**32))
def test_concordance_is_quadratic_kappa_and_within_strata_the_sums_written_out(values, strata, seed):
    rng = np.random.default_rng(seed)
    x, y = values[:, :2].T
    stratum, times = rng.integers(0, strata, len(x)), rng.integers(0, 4, len(x))
    weights = np.stack([np.ones(len(x)), times, 2 * times])
    top = bottom = 0.0
    for part in (
        np.repeat(values[stratum == each], times[stratum == each], axis=0) for each in range(strata)
    ):
        if len(part):
            a, b = part.T
            top += 2 * ((a - a.mean()) * (b - b.mean())).sum()
            bottom += len(a) * (a.var() + b.var() + (a.mean() - b.mean()) ** 2)
    _, found, doubled = concordance_statistic(x, y, stratum)(weights)
    assert same(found, top / bottom if bottom > 1e-9 else np.nan) and same(found, doubled)
    assert np.isnan(concordance_statistic(x[:0], y[:0])(np.ones((1, 0)))[0])
    assert same(
        concordance_statistic(x, y)(np.ones((1, len(x))))[0],
        cohen_kappa(long_table(values[:, :2]), weighting="quadratic").value,
    )


@settings(MANY, max_examples=MANY.max_examples // 4)
@given(tables(gaps=False))
def test_f_intervals_equal_pingouin(values):
    import pingouin

    table, rest = long_table(values), values - values.mean(axis=1, keepdims=True)
    if len(values) < 5 or np.ptp(values.mean(axis=1)) == 0 or np.ptp(rest) < 1e-9:
        return
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        theirs = pingouin.intraclass_corr(table, targets="case", raters="rater", ratings="value")
    intervals = theirs[next(name for name in theirs.columns if name.startswith("CI"))]
    for form, row in zip(("icc1", "icc2", "icc3", "icc1k", "icc2k", "icc3k"), intervals, strict=True):
        found = icc(table, form=form, interval="f")
        narrow = icc(table, form=form, interval="f", jackknife=Jackknife(confidence=0.8))
        if not np.isnan(found.low) and np.isfinite(row).all():
            held = (min(row[0], found.value), max(row[1], found.value))
            assert (found.low, found.high) == pytest.approx(held, abs=0.0051), form
            assert found.low <= narrow.low <= narrow.high <= found.high and narrow.confidence == 0.8


@pytest.mark.parametrize("weighting", ["linear", "quadratic", "ordinal"])
def test_weights_run_from_one_to_zero(weighting):
    weights = agreement_weights(np.arange(5.0), weighting)

    assert np.diag(weights).tolist() == [1.0] * 5
    assert weights[0, 4] == 0
