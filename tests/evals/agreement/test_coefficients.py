import json
import math

import krippendorff
import numpy as np
import pandas as pd
import pytest
from rating_tables import KRIPPENDORFF, SHROUT_FLEISS, by_rater, long_table
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from venire.evals.agreement.against_people import MEASURES, RATERS, coefficients, icc3k_cells
from venire.evals.agreement.coefficients import band, registered_coefficients
from venire.evals.agreement.rater_agreement import agreement, agreement_page, agreement_table
from venire.evals.ratings.question import Question
from venire.evals.statistics.estimate import Estimate
from venire.evals.statistics.matrix import InvalidRatings, Matrix
from venire.rubrics.scale import Scale

NAMES = [
    "icc1",
    "icc2",
    "icc3",
    "icc1k",
    "icc2k",
    "icc3k",
    "alpha_nominal",
    "alpha_ordinal",
    "alpha_interval",
    "alpha_ratio",
    "ac1",
    "ac2",
    "kappa",
    "kappa_linear",
    "kappa_quadratic",
    "fleiss",
    "percent",
    "spearman",
    "kendall",
    "pearson",
    "offset",
    "rmse",
    "mae",
]


def of(rows, attribute="a"):
    return long_table(rows).assign(attribute=attribute)


def test_the_shape_that_other_programs_read():
    found = json.loads(json.dumps(agreement(of(SHROUT_FLEISS), resamples=100).to_json(), allow_nan=False))

    assert list(registered_coefficients()) == NAMES
    assert list(found["attributes"]["a"]) == list(found["overall"]) == NAMES
    assert set(found["overall"]["icc1"]) == {"value", "low", "high", "n", "few", "method", "note"}


def test_published_numbers_come_through():
    found = agreement(by_rater(KRIPPENDORFF).assign(attribute="a"), resamples=100).attributes["a"]

    assert [round(found[f"alpha_{x}"].value, 3) for x in ("nominal", "ordinal", "interval", "ratio")] == [
        0.743,
        0.815,
        0.849,
        0.797,
    ]
    assert round(found["ac1"].value, 5) == 0.77544
    assert "mean over 6 of 6 rater pairs" in found["kappa"].method


def test_null_always_has_a_note():
    tables = [of([["x", "y"], ["y", "y"]]), of([[1, 1]] * 3), of([[1]]), of([[None, None]]), of([])]
    for table in tables:
        found = agreement(table, resamples=50)
        for part in (*found.attributes.values(), found.overall):
            for name, each in part.items():
                assert each.note or not math.isnan(each.value), name


def test_text_gets_the_nominal_coefficients_only():
    found = agreement(of([["yes", "no"], ["no", "no"], ["yes", "yes"], ["no", "no"]]), resamples=50).overall
    defined = {name for name, each in found.items() if each.defined}

    assert defined == {"alpha_nominal", "ac1", "kappa", "fleiss", "percent"}
    assert "nominal" in found["icc3k"].note


def test_a_declared_level_decides():
    found = agreement(of(SHROUT_FLEISS), levels={"a": "ordinal"}, resamples=50).overall

    assert "true zero" in found["alpha_ratio"].note
    assert found["alpha_ordinal"].defined
    with pytest.raises(InvalidRatings, match="unknown level of measurement 'likert'"):
        agreement(of(SHROUT_FLEISS), levels={"a": "likert"})


def test_ordered_text_can_be_weighted_once_its_order_is_given():
    rows = [["low", "mid"], ["mid", "mid"], ["high", "mid"], ["low", "low"]]
    levels, order = {"a": "ordinal"}, {"a": ["low", "mid", "high"]}
    words = agreement(of(rows), levels=levels, categories=order, resamples=50).overall
    numbers = agreement(of([[order["a"].index(x) for x in row] for row in rows]), resamples=50).overall

    assert words["kappa_quadratic"].value == pytest.approx(numbers["kappa_quadratic"].value)
    assert words["ac2"].value == pytest.approx(numbers["ac2"].value)


def test_overall_pools_attributes_but_draws_cases():
    rng = np.random.default_rng(0)
    rows = rng.integers(1, 6, (20, 1)) + rng.integers(0, 2, (20, 3))
    both = pd.concat([of(rows, "a"), of(rows, "b")])
    found = agreement(both, resamples=400)

    assert found.overall["percent"].value == pytest.approx(found.attributes["a"]["percent"].value)
    assert "20 groups" in found.overall["alpha_ordinal"].method
    widths = [
        x["alpha_interval"].high - x["alpha_interval"].low for x in (found.overall, found.attributes["a"])
    ]
    assert widths[0] == pytest.approx(widths[1], rel=0.15)


def test_attributes_that_do_not_pool_say_so():
    mixed = pd.concat([of([[1, 2], [2, 2]], "a"), of([["x", "y"], ["y", "y"]], "b")])

    assert "are not pooled" in agreement(mixed, resamples=20).overall["percent"].note


def test_overall_leaves_out_what_is_on_another_scale():
    rng = np.random.default_rng(1)
    score, flag = rng.integers(1, 6, (30, 2)), rng.integers(0, 2, (30, 2))
    likert = pd.concat([of(score, "accurate"), of(np.maximum(score - 1, 2), "thorough")])
    both = agreement(likert, resamples=50)
    mixed = agreement(pd.concat([likert, of(flag, "stigma")]), resamples=50)

    assert mixed.overall["icc3k"].value == both.overall["icc3k"].value
    assert "pools accurate, thorough" in mixed.overall["icc3k"].note
    assert (
        "stigma left out, because the scale differs from that of the pooled attributes"
        in mixed.overall["icc3k"].note
    )
    assert "no scale is declared" in both.overall["icc3k"].note


def test_declared_scales_decide_what_pools():
    rng = np.random.default_rng(2)
    both = pd.concat([of(rng.integers(1, 4, (20, 2)), "a"), of(rng.integers(1, 4, (20, 2)), "b")])
    five, three = [1, 2, 3, 4, 5], [1, 2, 3]
    same = agreement(both, categories={"a": five, "b": five}, resamples=50)
    apart = agreement(both, categories={"a": five, "b": three}, resamples=50)
    leveled = agreement(both, levels={"a": "ordinal", "b": "interval"}, resamples=50)

    assert "20 groups of cases are few" in same.overall["percent"].note
    for found in (apart, leveled):
        assert all(math.isnan(each.value) and "share a scale" in each.note for each in found.overall.values())


def test_pooled_ac2_counts_the_whole_scale():
    rows = [[4, 5], [5, 5], [4, 4], [5, 4]]
    both = pd.concat([of(rows, "a"), of(rows, "b")])
    scale = {"a": [1, 2, 3, 4, 5], "b": [1, 2, 3, 4, 5]}
    found = agreement(both, categories=scale, resamples=50)

    assert found.overall["ac2"].value == pytest.approx(found.attributes["a"]["ac2"].value)


def test_f_intervals_are_given_on_request_with_a_warning():
    by_rule, by_f = agreement(of(SHROUT_FLEISS)).overall, agreement(of(SHROUT_FLEISS), method="f").overall

    assert (round(by_f["icc2"].low, 2), round(by_f["icc2"].high, 2)) == (0.02, 0.76)
    assert "45 to 85%" in by_f["icc3k"].note and "jackknife" in by_rule["icc3k"].method
    assert by_f["alpha_ordinal"] == by_rule["alpha_ordinal"]


def test_a_refused_interval_has_ac2_beside_it():
    rows = [[5, 5, 5]] * 37 + [[4, 4, 5], [3, 4, 5], [5, 2, 2]]
    found = agreement(of(rows), levels={"a": "ordinal"}, categories={"a": [1, 2, 3, 4, 5]}).overall
    ac2 = found["ac2"]

    assert f"and 5 are needed; AC2 is {ac2.value:.2f} [{ac2.low:.2f}, {ac2.high:.2f}]" in found["icc3k"].note


def test_the_last_round_counts():
    first, second = of([[1, 5], [5, 1], [3, 2]]), of([[2, 2], [3, 3], [5, 5]])
    rounds = pd.concat([first.assign(round=1), second.assign(round=2)])

    assert agreement(rounds, resamples=20).overall["percent"].value == 1


def test_a_band_is_named_only_where_the_interval_bears_it():
    steady = (
        np.repeat(np.arange(1, 6), 12)[:, None]
        + np.array([[0.0, 0.05, -0.05]]) * np.arange(60)[:, None] % 0.2
    )
    rows = [
        agreement(of(values)).table.set_index(["attribute", "coefficient"]).loc[("overall", "icc3k")]
        for values in (steady, SHROUT_FLEISS)
    ]

    assert (rows[0]["band"], rows[0]["band_source"]) == ("excellent", "Koo and Li (2016)")
    assert rows[1]["band"] == ""
    shown = agreement_table(agreement(of(SHROUT_FLEISS)))
    words = dict(zip(shown.columns[1].cells, shown.columns[4].cells, strict=True))
    assert words["icc3k"] in ("", "from 6 of 6 cases")


def test_a_missing_column_is_named():
    with pytest.raises(InvalidRatings, match="no column 'attribute'"):
        agreement(long_table(SHROUT_FLEISS))


def test_a_coefficient_from_two_of_fifty_two_cases_is_grey_and_says_so() -> None:
    rows = [(f"c{case}", "ann", "a", 1 + case % 5) for case in range(52)]
    rows += [("c0", "bob", "a", 1), ("c1", "bob", "a", 4)]
    found = agreement(pd.DataFrame(rows, columns=["case", "rater", "attribute", "value"]))
    alpha = found.attributes["a"]["alpha_interval"]

    assert alpha.few == "from 2 of 52 cases" and alpha.note.startswith(alpha.few) and np.isnan(alpha.low)
    assert found.to_json()["attributes"]["a"]["alpha_interval"]["few"] == alpha.few  # type: ignore[index]
    assert '<tr class="few">' in agreement_page(found)
    shown = agreement_table(found)
    assert {row.style for row in shown.rows} == {"dim"}
    assert alpha.few in list(shown.columns[-1].cells)


@pytest.mark.parametrize(
    ("coefficient", "words"),
    [
        ("kappa", {0.81: "almost perfect", 0.8: "substantial", 0.61: "substantial", 0.6: "moderate", 0.41: "moderate", 0.4: "fair", 0.21: "fair", 0.2: "slight", 0.204: "slight", 0.0: "slight", -0.01: "poor"}),
        ("ac2", {0.81: "almost perfect", -0.2: "poor"}),
        ("icc2", {0.9: "excellent", 0.899: "good", 0.75: "good", 0.749: "moderate", 0.5: "moderate", 0.499: "poor"}),
        ("alpha_ordinal", {0.8: "reliable", 0.799: "tentative", 0.667: "tentative", 0.666: "unreliable"}),
        ("spearman", {0.9: "very strong", -0.9: "very strong", 0.89: "strong", 0.7: "strong", 0.4: "moderate", -0.1: "weak", 0.09: "negligible"}),
    ],
)  # fmt: skip
def test_values_are_called_as_their_authors_call_them(coefficient: str, words: dict[float, str]) -> None:
    for value, word in words.items():
        found = band(coefficient, Estimate(value, value, value, 50, ""))
        assert found is not None and found.word == word, value
    assert band("percent", Estimate(0.9, 0.9, 0.9, 50, "")) is None


@pytest.mark.parametrize(
    ("low", "value", "high", "word"),
    [(-0.05, 0.01, 0.05, "negligible"), (-0.95, 0.92, 0.95, None), (0.35, 0.5, 0.6, None), (0.5, 0.6, 0.75, None), (math.nan, 0.95, math.nan, None)],
)  # fmt: skip
def test_of_sizes_an_interval_about_zero_holds_the_smallest(low: float, value: float, high: float, word: str | None) -> None:  # fmt: skip
    found = band("spearman", Estimate(value, low, high, 50, ""))
    assert (found.word if found else None) == word


FIVE = Scale.model_validate({"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}})


def test_an_arm_against_people_has_what_other_packages_find() -> None:
    """People's medians may lie between two values: what counts values takes the nearer, the lower in the middle."""
    rng = np.random.default_rng(5)
    people = rng.integers(2, 11, 60) / 2
    arm = np.clip(np.round(people + rng.normal(0.3, 0.8, 60)), 1, 5)
    found = coefficients(
        Matrix.of_columns(dict(zip(RATERS, (arm, people), strict=True)), np.arange(60)), FIVE
    )
    legal = np.ceil(people - 0.5)
    codes = (arm * 2).astype(int), (people * 2).astype(int)
    both = np.column_stack([arm, people])
    rows = both - both.mean(axis=0)
    between, within = (
        2 * rows.mean(axis=1).var(ddof=1),
        ((rows - rows.mean(axis=1, keepdims=True)) ** 2).sum() / 59,
    )
    expected = {
        "icc3k": (between - within) / between,
        "kappa_quadratic": cohen_kappa_score(*codes, weights="quadratic", labels=range(2, 11)),
        "kappa": cohen_kappa_score(arm, legal),
        "alpha_ordinal": krippendorff.alpha([arm, people], level_of_measurement="ordinal"),
        "spearman": stats.spearmanr(arm, people)[0],
        "exact": (arm == legal).mean(),
        "offset": (arm - people).mean(),
        "mae": np.abs(arm - people).mean(),
        "rmse": np.sqrt(((arm - people) ** 2).mean()),
    }

    assert list(found) == list(MEASURES) and all(found[name].low < found[name].high for name in MEASURES)
    assert {name: found[name].value for name in expected} == pytest.approx(expected)
    moved = f"{(people % 1 > 0).sum()} scores between"
    assert [name for name in MEASURES if found[name].note.startswith(moved)] == ["kappa", "ac2", "exact"]


@pytest.mark.parametrize(("told_low", "departures"), [(4.0, 0), (5.0, 10)])
def test_an_arm_and_people_depart_each_from_its_own_commonest_value(told_low: float, departures: int) -> None:
    """The arm mostly says 4 and people 5; where people say 3, it says one of the values that it gives ten times or more."""
    arm = np.repeat([4.0, 5.0, 3.0], [20, 10, 10])
    people = np.full(40, 5.0)
    people[np.flatnonzero(arm == told_low)[:10]] = 3.0
    columns = dict(zip(RATERS, (arm, people), strict=True))
    found = coefficients(Matrix.of_columns(columns, np.arange(40)), FIVE)

    for name in ("icc3k", "kappa_quadratic", "kappa", "alpha_ordinal", "spearman"):
        assert ("the same case in only 0 of 40 cases" in found[name].note) == (departures < 5), name


def test_ac2_against_people_is_of_the_whole_scale_though_its_lower_values_are_not_used() -> None:
    arm = np.array([3, 4, 5, 5, 4, 3, 5, 4, 4, 5, 3, 5])
    people = np.array([3, 4, 5, 4, 4, 5, 5, 4, 3, 5, 3, 4])
    found = coefficients(Matrix.of_columns(dict(zip(RATERS, (arm, people), strict=True)), np.arange(12)), FIVE)  # fmt: skip

    weight = 1 - np.subtract.outer(np.arange(5), np.arange(5)) ** 2 / 16
    assert found["ac2"].value == pytest.approx(gwet(arm, people, weight))


@pytest.mark.parametrize("name", MEASURES)
def test_cases_of_one_group_are_left_out_together_in_every_measure(name: str) -> None:
    """Each of forty cases four times over: as one group they tell no more than once."""
    rng = np.random.default_rng(8)
    people = rng.integers(1, 6, 40)
    arm = np.clip(people + rng.integers(-1, 3, 40), 1, 5)

    def width(times: int, groups: np.ndarray) -> float:
        columns = {rater: np.repeat(each, times) for rater, each in zip(RATERS, (arm, people), strict=True)}
        found = coefficients(Matrix.of_columns(columns, groups), FIVE)[name]
        return found.high - found.low

    once, grouped = width(1, np.arange(40)), width(4, np.repeat(np.arange(40), 4))
    assert grouped == pytest.approx(once, rel=0.05)
    assert width(4, np.arange(160)) < 0.6 * once


def test_an_arm_without_cases_or_of_words_has_no_invented_coefficient() -> None:
    none = Matrix.of_columns(dict.fromkeys(RATERS, np.array([np.nan])), np.arange(1))
    assert all(math.isnan(each.value) and each.note for each in coefficients(none, FIVE).values())
    assert math.isnan(icc3k_cells(none, "jackknife")["icc3k"])  # type: ignore[arg-type]
    words = Scale.model_validate({"level": "nominal", "anchors": {"a": "", "b": ""}})
    told = Matrix.of_columns(dict(zip(RATERS, (list("aabbab"), list("aabbba")), strict=True)), np.arange(6))
    found = coefficients(told, words)
    assert {name for name, each in found.items() if each.defined} == {"kappa", "exact"}
    assert (found["exact"].value, found["kappa"].value) == pytest.approx((4 / 6, 1 / 3))


def test_overall_turns_what_is_better_low_and_a_harsh_rater_is_told() -> None:
    rng = np.random.default_rng(3)
    scores = np.clip(rng.integers(1, 5, (40, 1)) + np.array([[0, 0, 1]]), 1, 5)
    asked = {"clear": Question(FIVE, "high"), "risk": Question(FIVE, "low")}
    found = agreement(pd.concat([of(scores, "clear"), of(6 - scores, "risk")]), questions=asked)

    for name in ("alpha_ordinal", "offset", "icc2"):
        assert found.overall[name].value == pytest.approx(found.attributes["clear"][name].value, abs=0.02)
    severity = found.raters.set_index(["attribute", "rater"])["severity"].unstack("attribute")
    assert severity["clear"].tolist() == pytest.approx([-0.5, -0.5, 1]) == (-severity["risk"]).tolist()
    assert found.levels == {"clear": "ordinal", "risk": "ordinal", "overall": "ordinal"}


def gwet(x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    """Gwet's AC of two raters by its formula: chance is the sum of weights over q(q - 1), times how evenly values are used."""
    q = len(weight)
    observed = np.mean([weight[int(a) - 1, int(b) - 1] for a, b in zip(x, y, strict=True)])
    used = np.array([((x == k).mean() + (y == k).mean()) / 2 for k in range(1, q + 1)])
    chance = weight.sum() / (q * (q - 1)) * (used * (1 - used)).sum()
    return float((observed - chance) / (1 - chance))


def test_every_registered_coefficient_is_the_one_of_its_name() -> None:
    rng = np.random.default_rng(6)
    x = rng.integers(1, 6, 50).astype(float)
    y = np.clip(x + rng.integers(-2, 3, 50), 1, 5)
    found = agreement(of(np.column_stack([x, y])), categories={"a": [1, 2, 3, 4, 5]}).attributes["a"]
    steps = np.arange(5)
    n, both = len(x), np.column_stack([x, y])
    rows, columns = both - both.mean(), both.mean(axis=0) - both.mean()
    between = 2 * (rows.mean(axis=1) ** 2).sum() / (n - 1)
    raters = n * (columns**2).sum()
    residual = ((rows - rows.mean(axis=1, keepdims=True) - columns) ** 2).sum() / (n - 1)
    within = (raters + residual * (n - 1)) / n
    expected = {
        "icc1": (between - within) / (between + within),
        "icc2": (between - residual) / (between + residual + 2 * (raters - residual) / n),
        "icc3": (between - residual) / (between + residual),
        "icc1k": (between - within) / between,
        "icc2k": (between - residual) / (between + (raters - residual) / n),
        "icc3k": (between - residual) / between,
        **{f"alpha_{level}": krippendorff.alpha([x, y], level_of_measurement=level) for level in ("nominal", "ordinal", "interval", "ratio")},
        "ac1": gwet(x, y, np.eye(5)),
        "ac2": gwet(x, y, 1 - (steps[:, None] - steps) ** 2 / 16),
        "kappa": cohen_kappa_score(x, y),
        "kappa_linear": cohen_kappa_score(x, y, weights="linear"),
        "kappa_quadratic": cohen_kappa_score(x, y, weights="quadratic"),
        "percent": (x == y).mean(),
        "spearman": stats.spearmanr(x, y)[0],
        "kendall": stats.kendalltau(x, y)[0],
        "pearson": stats.pearsonr(x, y)[0],
        "offset": (x - y).mean(),
        "rmse": np.sqrt(((x - y) ** 2).mean()),
        "mae": np.abs(x - y).mean(),
    }  # fmt: skip
    used = np.array([((x == k).sum() + (y == k).sum()) / 100 for k in range(1, 6)])
    expected["fleiss"] = ((x == y).mean() - (used**2).sum()) / (1 - (used**2).sum())

    assert set(expected) == set(found)
    assert {name: each.value for name, each in found.items()} == pytest.approx(expected)


def test_ratings_between_the_steps_of_a_scale_are_steps_too_and_those_beyond_its_ends_are_refused() -> None:
    scores = np.array([[1, 1], [2, 2.5], [3, 3], [4, 4.5], [5, 5], [2, 2], [3, 4]])
    asked = {"clear": Question(FIVE, "high"), "risk": Question(FIVE, "low")}
    found = agreement(pd.concat([of(scores, "clear"), of(6 - scores, "risk")]), questions=asked)

    from irrCAC.raw import CAC

    oracle = CAC(pd.DataFrame(scores), weights="quadratic", categories=[1, 2, 2.5, 3, 4, 4.5, 5])
    assert found.attributes["clear"]["ac2"].value == pytest.approx(
        oracle.gwet()["est"]["coefficient_value"], abs=1e-5
    )
    assert found.overall["ac2"].value == pytest.approx(found.attributes["clear"]["ac2"].value)
    assert found.notes[-2].startswith("clear: some ratings lie between") and "(2.5, 4.5)" in found.notes[-2]
    with pytest.raises(InvalidRatings, match=r"5\.5"):
        agreement(of(scores + 0.5, "clear"), questions=asked)
