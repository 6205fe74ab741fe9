"""Calibration curves: equal to other packages' own, monotone, within the scale, and scikit-learn's to clone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.base import clone, is_regressor
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils import get_tags

from venire import VenireError
from venire.evals.calibration import IsotonicCurve, JuryCalibrator, LinearCurve, OrdinalCurve
from venire.evals.calibration.calibrator import METHODS, jury_means
from venire.evals.calibration.curves import LEVELS, Curve, NotFitted, identity_curve
from venire.evals.ratings.folds import fold_numbers

ENDS = {"low": 1.0, "high": 5.0}


def pairs(seed: int, n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    label = rng.integers(1, 6, n).astype(float)
    return np.clip(np.rint(2 + 0.5 * (label - 1) + rng.normal(0, 0.8, n)), 1, 5), label


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("between", [False, True], ids=["whole scores", "means of jurors"])
def test_isotonic_curves_equal_scikit_learns_own(seed: int, between: bool) -> None:
    score, label = pairs(seed)
    if between:
        score = score + np.random.default_rng(seed).integers(0, 3, len(score)) / 3
    curve = IsotonicCurve(**ENDS).fit(score, label)
    theirs = IsotonicRegression(y_min=1, y_max=5, out_of_bounds="clip").fit(score, label)
    at = np.linspace(0, 6, 241)

    np.testing.assert_allclose(curve.predict(at), theirs.predict(at), rtol=0, atol=1e-9)


def test_a_line_equals_scikit_learns_own_where_it_stays_on_the_scale() -> None:
    score, label = pairs(3)
    curve = LinearCurve(**ENDS).fit(score, label)
    theirs = LinearRegression().fit(score[:, None], label)
    at = np.linspace(1, 5, 81)

    assert (curve.slope_, curve.intercept_) == (
        pytest.approx(theirs.coef_[0]),
        pytest.approx(theirs.intercept_),
    )
    np.testing.assert_allclose(curve.predict(at), np.clip(theirs.predict(at[:, None]), 1, 5), atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_proportional_odds_equal_statsmodels_own(seed: int) -> None:
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    score, label = pairs(seed, 200)
    curve = OrdinalCurve(**ENDS, ridge=0.0).fit(score, label)
    standard = (score - score.mean()) / score.std()
    model = OrderedModel(label, standard[:, None], distr="logit")
    theirs = model.fit(method="bfgs", disp=False)
    at = np.unique(score)
    chances = theirs.model.predict(theirs.params, ((at - score.mean()) / score.std())[:, None])

    assert curve.slope_ == pytest.approx(theirs.params[0], abs=1e-3)
    np.testing.assert_allclose(curve.predict(at), chances @ np.unique(label), atol=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_proportional_odds_equal_statsmodels_own_at_means_of_jurors_and_where_nobody_scored(seed: int) -> None:  # fmt: skip
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    rng = np.random.default_rng(seed)
    label = rng.integers(1, 6, 200).astype(float)
    score = np.clip(label + rng.integers(-2, 3, 200) / 3, 5 / 3, 13 / 3)
    curve = OrdinalCurve(**ENDS, ridge=0.0).fit(score, label)
    standard = (score - score.mean()) / score.std()
    theirs = OrderedModel(label, standard[:, None], distr="logit").fit(method="bfgs", disp=False)
    at = np.concatenate([np.unique(score), np.linspace(1, 5, 17)])
    chances = theirs.model.predict(theirs.params, ((at - score.mean()) / score.std())[:, None])

    np.testing.assert_allclose(curve.predict(at), chances @ np.unique(label), atol=1e-3)


@pytest.mark.parametrize("method", METHODS)
@given(data=st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=40))
@settings(max_examples=60, deadline=None)
def test_no_curve_falls_or_leaves_the_scale(method: str, data: list[tuple[int, int]]) -> None:
    score, label = np.array(data, dtype=float).T
    found = METHODS[method](**ENDS).fit(score, label).predict(np.linspace(0, 6, 121))

    assert (np.diff(found) >= -1e-9).all()
    assert found.min() >= 1 and found.max() <= 5


def test_the_ordinal_curve_keeps_every_rank_where_isotonic_merges_two() -> None:
    score = np.repeat([1.0, 2, 3, 4, 5], 20)
    label = np.concatenate([np.repeat(k, 20) for k in (1.0, 3, 2, 4, 5)])
    merged, kept = (kind(**ENDS).fit(score, label).predict([2, 3]) for kind in (IsotonicCurve, OrdinalCurve))

    assert merged[0] == merged[1]
    assert kept[0] < kept[1]


@pytest.mark.parametrize("method", METHODS)
def test_a_juror_who_gives_one_score_gets_peoples_mean(method: str) -> None:
    label = np.array([1.0, 2, 2, 5, 4, 4, 4, 3])
    curve = METHODS[method](**ENDS).fit(np.full(8, 3.0), label)

    assert curve.predict([1, 3, 5]) == pytest.approx([label.mean()] * 3)


@pytest.mark.parametrize("method", METHODS)
def test_a_juror_who_ranks_cases_backwards_gets_peoples_mean(method: str) -> None:
    label = np.repeat([1.0, 2, 3, 4, 5], 6)
    curve = METHODS[method](**ENDS).fit(6 - label, label)

    assert curve.predict([1, 5]) == pytest.approx([3, 3])


def test_the_ordinal_method_refuses_a_measurement() -> None:
    many = np.linspace(0, 100, 60)

    with pytest.raises(VenireError, match="60 different values"):
        OrdinalCurve(low=0, high=100).fit(many, many)


@pytest.mark.parametrize("method", METHODS)
def test_curves_are_scikit_learn_estimators(method: str) -> None:
    score, label = pairs(1)
    curve = METHODS[method](low=0.0, high=10.0)
    twin = clone(curve)

    assert twin.get_params() == curve.get_params() and twin.get_params()["high"] == 10
    with pytest.raises(NotFitted, match="call fit first"):
        twin.predict([1.0])
    assert not [name for name in vars(twin) if name.endswith("_")]
    np.testing.assert_array_equal(
        curve.fit(score[:, None], label).predict(score[:, None]), curve.predict(score)
    )
    assert curve.score(score, label) == pytest.approx(r2_score(label, curve.predict(score)))
    assert len(cross_val_score(curve, score[:, None], label, cv=3)) == 3
    searched = GridSearchCV(curve, {"low": [0.0, 2.0]}, cv=3).fit(score[:, None], label)
    assert searched.best_estimator_.predict([[3.0]]).shape == (1,)
    assert repr(METHODS["linear"](low=0.0)) == "LinearCurve(low=0.0, high=5.0)"
    tags = get_tags(curve)
    assert is_regressor(curve) and tags.target_tags.required and tags.regressor_tags is not None
    with pytest.raises(VenireError, match="Curve has no option 'hight'"):
        curve.set_params(hight=9)


@pytest.mark.parametrize("kinds", [7, 40])
@pytest.mark.parametrize("at", [np.linspace(0, 5, 23), None])
def test_isotonic_curves_learned_all_at_once_are_those_learned_one_by_one(
    kinds: int, at: np.ndarray | None
) -> None:
    rng = np.random.default_rng(3)
    scores, labels = rng.integers(1, kinds + 1, 60) * 4 / kinds, rng.integers(1, 6, 60).astype(float)
    taught = rng.random((40, 60)) < rng.random((40, 1))
    taught[0], taught[1], taught[2] = False, True, np.arange(60) == 7
    curve = IsotonicCurve(low=1, high=5)
    asked = np.unique(scores) if at is None else at

    found = curve.predictions(scores, labels, taught, asked)

    np.testing.assert_allclose(found, Curve.predictions(curve, scores, labels, taught, asked), atol=1e-12)
    np.testing.assert_array_equal(np.isnan(found).T, np.broadcast_to(~taught.any(axis=1), found.T.shape))
    assert np.nanmin(found) >= 1 and np.nanmax(found) <= 5 and not hasattr(curve, "x_")
    np.testing.assert_allclose(found[1], curve.fit(scores, labels).predict(asked))


def test_a_line_bends_where_it_meets_the_ends_of_the_scale() -> None:
    at = np.linspace(1, 5, 401)
    steep = LinearCurve(**ENDS).fit([2.0, 3.0, 4.0], [0.5, 3.0, 5.5])

    assert (steep.slope_, steep.intercept_) == pytest.approx((2.5, -4.5))
    np.testing.assert_allclose(steep.predict(at), np.clip(2.5 * at - 4.5, 1, 5))
    assert steep.x_ == pytest.approx([1, 2.2, 3.8, 5])
    gentle = LinearCurve(**ENDS).fit([1.0, 3.0, 5.0], [4.0, 5.0, 6.0])
    np.testing.assert_allclose(gentle.predict(at), np.clip(3.5 + at / 2, 1, 5))
    assert gentle.x_ == pytest.approx([1, 3, 5])
    assert identity_curve(1, 5).predict([0, 1, 2.25, 5, 7]) == pytest.approx([1, 1, 2.25, 5, 5])


def test_the_ridge_draws_the_ordinal_slope_to_nothing_and_a_level_curve_has_the_labels_shares() -> None:
    score, label = pairs(5)
    slopes = [OrdinalCurve(**ENDS, ridge=ridge).fit(score, label).slope_ for ridge in (0.0, 1.0, 30.0, 1e6)]
    assert slopes == sorted(slopes, reverse=True) and slopes[1] < slopes[0] - 1e-3 and 0 < slopes[-1] < 1e-3
    assert OrdinalCurve().get_params() == {**LinearCurve().get_params(), "ridge": 0.01}
    assert LinearCurve().get_params() == ENDS

    level = OrdinalCurve(**ENDS).fit(6 - label, label)
    assert level.slope_ == 0
    assert expit(level.thresholds_) == pytest.approx(
        np.cumsum(np.bincount(label.astype(int))[1:5]) / len(label)
    )
    most = np.arange(LEVELS, dtype=float)
    assert OrdinalCurve(low=0, high=LEVELS).fit(most, most).predict([0.0, LEVELS])[1] > LEVELS / 2
    assert np.isnan(LinearCurve(**ENDS).fit([1, 2], [3, 3]).score([1, 2], [3, 3]))


@pytest.mark.parametrize("shape", [(3, 2), (1, 1, 3)])
def test_a_curve_takes_one_column(shape: tuple[int, ...]) -> None:
    with pytest.raises(VenireError, match="one score for each case, not an array of shape"):
        IsotonicCurve(**ENDS).fit(np.ones(shape), [1, 2, 3])
    with pytest.raises(VenireError, match="0 scores and 0 labels"):
        IsotonicCurve(**ENDS).fit([], [])


def test_a_missing_score_stays_missing() -> None:
    curve = IsotonicCurve(**ENDS).fit(np.array([1, 2, 3], dtype=object), [2, 3, 4])

    assert np.isnan(curve.predict([np.nan])).all()
    with pytest.raises(VenireError, match="missing"):
        IsotonicCurve(**ENDS).fit([1, np.nan], [2, 3])
    with pytest.raises(VenireError, match="2 scores and 1 labels"):
        IsotonicCurve(**ENDS).fit([1, 2], [2])


def test_a_jury_calibrator_has_a_curve_for_each_juror_and_attribute_and_clones() -> None:
    score, label = pairs(2, 40)
    votes = pd.DataFrame(
        {
            "case": range(80),
            "juror": ["ana"] * 40 + ["ben"] * 40,
            "attribute": "accurate",
            "value": [*score, *score],
        }
    )
    fitted = JuryCalibrator({"accurate": (1, 5)}, method="linear").fit(votes, [*label, *(6 - label)])
    alone = LinearCurve(**ENDS).fit(score, label)

    assert set(fitted.curves_) == {("ana", "accurate"), ("ben", "accurate")}
    np.testing.assert_allclose(fitted.predict(votes)[:40], alone.predict(score))
    with pytest.raises(NotFitted):
        clone(fitted).predict(votes)
    assert clone(fitted).get_params()["method"] == "linear" and not hasattr(clone(fitted), "curves_")
    strangers = votes.head(2).assign(juror="zoe")
    assert np.isnan(fitted.predict(strangers)).all()
    with pytest.raises(VenireError, match="no calibration method named 'cubic'"):
        JuryCalibrator({"accurate": (1, 5)}, method="cubic").fit(votes, [*label, *label])


def test_folds_keep_groups_whole_and_nearly_equal() -> None:
    rng = np.random.default_rng(4)
    groups = rng.integers(0, 40, 200)
    folds = fold_numbers(groups.tolist(), 5, rng)

    assert all(len(set(folds[groups == group])) == 1 for group in set(groups.tolist()))
    assert np.ptp(np.bincount(folds)) <= 3
    assert set(fold_numbers(["a", "a", "b", "c"], 5, rng).tolist()) == {0, 1, 2}


def test_a_jurys_mean_weighs_jurors_alike_however_often_they_answered_and_leaves_out_who_has_no_curve() -> (
    None
):
    votes = pd.DataFrame(
        [("c1", "often", "x"), ("c1", "often", "x"), ("c1", "often", "x"), ("c1", "once", "x"), ("c1", "silent", "x"),
         ("c1", "once", "y"), ("c2", "silent", "x"), ("c2", "once", "x")],
        columns=["case", "juror", "attribute"],
    )  # fmt: skip
    found = jury_means(votes, np.array([1.0, 2.0, 3.0, 5.0, np.nan, 4.0, np.nan, 2.5]))

    assert {tuple(row) for row in found[["case", "attribute", "value", "jurors"]].to_numpy()} == {
        ("c1", "x", 3.5, 2), ("c1", "y", 4.0, 1), ("c2", "x", 2.5, 1),
    }  # fmt: skip
    assert jury_means(votes, np.full(8, np.nan)).empty


def test_a_juror_needs_so_many_cases_for_a_curve_and_repeats_of_one_are_one() -> None:
    votes = pd.DataFrame(
        {"case": ["a", "a", "b", "c"], "juror": "j", "attribute": "x", "value": [1.0, 2, 3, 4]}
    )
    for least, has_curve in ((3, True), (4, False)):
        learned = JuryCalibrator({"x": (1, 5)}, least=least).fit(votes, [1, 2, 3, 4])
        assert learned.cases_ == {("j", "x"): 3} and bool(learned.curves_) is has_curve
        assert np.isnan(learned.predict(votes)).all() != has_curve


@pytest.mark.parametrize(("low", "high"), [(0.0, 10.0), (-2.0, 1.0), (1.0, 5.0)])
def test_curves_keep_to_the_ends_they_are_given(low: float, high: float) -> None:
    at = np.linspace(low, high, 9)
    np.testing.assert_allclose(identity_curve(low, high).predict([low - 1, *at, high + 1]), [low, *at, high])
    rng = np.random.default_rng(0)
    scores, labels = rng.uniform(low, high, 60), np.rint(rng.uniform(low, high, 60))
    labels[np.argsort(scores)[:5]], labels[np.argsort(scores)[-5:]] = np.rint(low), np.rint(high)
    for method in METHODS.values():
        predicted = method(low=low, high=high).fit(scores, labels).predict([low, *scores, high])
        assert predicted.min() >= low and predicted.max() <= high and np.ptp(predicted) > 0
        narrow = method(low=low + 0.5, high=high - 0.5).fit(scores, labels).predict([low, *scores, high])
        assert narrow.min() >= low + 0.5 and narrow.max() <= high - 0.5


@pytest.mark.parametrize("distinct", [6, 31, 32, 33, 60])
def test_many_curves_at_once_are_those_learned_one_by_one_however_many_scores_there_are(
    distinct: int,
) -> None:
    rng = np.random.default_rng(distinct)
    scores = (
        rng.permutation(np.concatenate([np.arange(distinct), rng.integers(0, distinct, 20)])) / distinct * 4
        + 1
    )
    labels, taught = rng.integers(-1, 8, len(scores)).astype(float), rng.random((6, len(scores))) < 0.6
    taught[5], labels[scores == scores.max()] = False, 7
    for at in (np.unique(scores), np.array([0.5, 2.2, 6.0])):
        found = IsotonicCurve(**ENDS).predictions(scores, labels, taught, at)
        for row, marks in zip(found[:5], taught[:5], strict=True):
            np.testing.assert_allclose(
                row, IsotonicCurve(**ENDS).fit(scores[marks], labels[marks]).predict(at), atol=1e-9
            )
        assert np.isnan(found[5]).all()
