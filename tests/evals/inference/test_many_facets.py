"""Many-facet Rasch: planted severities, ragged designs, an independent likelihood, fit, disconnected raters, and `count: fair`."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from venire import Jury, VenireError
from venire.evals.inference.facets import _turned_values, facets_answer, facets_json, facets_section
from venire.evals.inference.fair_count import learn_severities
from venire.evals.inference.many_facets import Facets, _Fit, many_facets
from venire.evals.ratings.question import Question
from venire.orchestration.counting.rule import Tally
from venire.rubrics.scale import Scale, Value

SEVERITY = np.array([-0.8, -0.2, 0.0, 0.3, 0.7])
DIFFICULTY = np.array([-0.3, 0.3])
STEPS = np.array([-1.5, -0.5, 0.4, 1.6])


def simulated(rng: np.random.Generator, cases: int, missing: float) -> pd.DataFrame:
    ability = rng.normal(0.5, 1.2, cases)
    at = np.array(list(itertools.product(range(cases), range(5), range(2))))
    ease = ability[at[:, 0]] - SEVERITY[at[:, 1]] - DIFFICULTY[at[:, 2]]
    logits = np.concatenate([np.zeros((len(at), 1)), np.cumsum(ease[:, None] - STEPS, axis=1)], axis=1)
    value = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1) + 1
    seen = rng.random((cases, 5)) >= missing
    kept = seen[at[:, 0], at[:, 1]]
    table = pd.DataFrame(at, columns=["case", "rater", "attribute"]).assign(value=value.astype(float))
    return table[kept].assign(rater=lambda t: "r" + t["rater"].astype(str), attribute=lambda t: "a" + t["attribute"].astype(str))  # fmt: skip


@pytest.mark.parametrize("model", ["rating-scale", "partial-credit"])
def test_planted_severities_lie_within_two_errors_in_ragged_designs(model: str) -> None:
    rng = np.random.default_rng(0)
    within, fits = [], []
    for _ in range(12):
        found = many_facets(simulated(rng, 80, 0.4), model=model)  # type: ignore[arg-type]
        raters = found.raters.set_index("rater").loc[[f"r{number}" for number in range(5)]]
        within.append((np.abs(raters["severity"] - SEVERITY) < 2 * raters["se"]).mean())
        fits += raters["infit"].tolist()
        assert raters["severity"].sum() == pytest.approx(0, abs=1e-6)
    assert np.mean(within) >= 0.88
    assert np.mean(fits) == pytest.approx(1, abs=0.05)


def test_the_likelihood_is_the_integral_it_stands_for_and_its_slope_is_right() -> None:
    table = simulated(np.random.default_rng(1), 6, 0.2).astype({"case": str})
    fit = _Fit(table, "rating-scale")
    free = np.random.default_rng(2).normal(0, 0.3, sum(fit._sizes))
    free[1] = 0.1
    value, slope = fit.loss(free)
    for at in range(len(free)):
        step = np.zeros(len(free))
        step[at] = 1e-5
        assert slope[at] == pytest.approx(
            (fit.loss(free + step)[0] - fit.loss(free - step)[0]) / 2e-5, abs=1e-4
        )
    means, log_spread, severity, difficulty, steps = fit._parts(free)
    mean = dict(zip(fit._cases, means, strict=True))
    severity = dict(zip(fit._raters, severity, strict=True))
    difficulty = dict(zip(fit._attributes, difficulty, strict=True))

    def likelihood(ability: float, rows: pd.DataFrame) -> float:
        total = 1.0
        for row in rows.itertuples():
            logits = np.concatenate(
                [[0], np.cumsum(ability - severity[row.rater] - difficulty[row.attribute] - steps[0])]
            )
            total *= np.exp(logits[int(row.value) - 1]) / np.exp(logits).sum()
        return float(total * norm.pdf(ability, mean[rows["case"].iloc[0]], np.exp(log_spread)))

    exact = sum(np.log(quad(likelihood, -12, 12, args=(rows,))[0]) for _, rows in table.groupby("case"))
    held = free.copy()
    held[:2] = 0
    assert -(value - 0.005 * held @ held / 2) == pytest.approx(exact, abs=2e-3)


def test_two_values_agree_with_another_package() -> None:
    """girth 0.8.0, `onepl_mml` with 91 nodes between -6 and 6: difficulty times discrimination about its mean, and discrimination."""
    rng = np.random.default_rng(2026)
    severity, ability = np.array([-1.0, -0.4, 0.0, 0.3, 0.8, 1.2]), rng.normal(0.3, 1.3, 300)
    given = rng.random((300, 6)) < 1 / (1 + np.exp(-(ability[:, None] - severity)))
    rows = [(case, f"r{rater}", "x", float(said)) for (case, rater), said in np.ndenumerate(given)]

    found = many_facets(pd.DataFrame(rows, columns=["case", "rater", "attribute", "value"]))

    expected = [-1.099292, -0.836797, -0.157473, 0.221605, 0.696805, 1.175152]
    assert found.raters.sort_values("rater")["severity"].tolist() == pytest.approx(expected, abs=6e-4)
    assert found.spread == pytest.approx(1.499537, abs=6e-4)


@pytest.mark.parametrize(
    ("model", "severity", "errors", "infit", "outfit", "thresholds", "spread"),
    [
        (
            "rating-scale",
            [-0.91522, -0.14385, 0.0486, 0.29411, 0.71636],
            [0.06577, 0.05511, 0.05438, 0.05474, 0.05863],
            [1.0166, 1.0748, 1.0031, 0.9544, 0.9367],
            [1.0125, 1.0846, 0.9941, 0.9571, 0.9170],
            [-1.58464, -0.45782, 0.32836, 1.71411],
            1.3158,
        ),
        (
            "partial-credit",
            [-0.91518, -0.14409, 0.04842, 0.29408, 0.71676],
            [0.06575, 0.05512, 0.05439, 0.05475, 0.05866],
            [1.0152, 1.0754, 1.0029, 0.9556, 0.9384],
            [1.0121, 1.0837, 0.9936, 0.9577, 0.9191],
            [-1.59453, -0.47864, 0.34013, 1.73305, -1.57982, -0.43703, 0.32447, 1.69238],
            1.31599,
        ),
    ],
)
def test_five_values_agree_with_another_package(
    model: str,
    severity: list[float],
    errors: list[float],
    infit: list[float],
    outfit: list[float],
    thresholds: list[float],
    spread: float,
) -> None:
    """mirt 1.2.0 for Python, `fit_mfrm` of a `PolytomousMFRM` (marginal maximum likelihood, 201 nodes, tol 1e-9)."""
    found = many_facets(simulated(np.random.default_rng(2027), 200, 0.0), model=model)  # type: ignore[arg-type]
    raters = found.raters.sort_values("rater")

    assert raters["severity"].tolist() == pytest.approx(severity, abs=1e-4)
    assert raters["se"].tolist() == pytest.approx(errors, abs=5e-5)
    assert raters["infit"].tolist() == pytest.approx(infit, abs=2e-4)
    assert raters["outfit"].tolist() == pytest.approx(outfit, abs=2e-4)
    assert found.steps["threshold"].tolist() == pytest.approx(thresholds, abs=3e-4)
    assert found.spread == pytest.approx(spread, abs=1e-4)


def test_a_harsh_rater_of_bad_cases_is_told_from_a_harsh_rater() -> None:
    rng = np.random.default_rng(3)
    rows = []
    for case, ability in enumerate(np.concatenate([rng.normal(-1.5, 0.5, 60), rng.normal(1.5, 0.5, 60)])):
        for rater in ("everyone", "bad ones" if case < 60 else "good ones"):
            rows.append((case, rater, "x", float(np.digitize(ability + rng.logistic(0, 1), [-2, 0, 2]))))
    found = many_facets(pd.DataFrame(rows, columns=["case", "rater", "attribute", "value"])).raters.set_index(
        "rater"
    )

    assert found.loc["bad ones", "mean"] < found.loc["good ones", "mean"] - 1
    assert abs(found.loc["bad ones", "severity"] - found.loc["good ones", "severity"]) < 0.8


def test_raters_who_share_no_case_are_refused_with_their_names() -> None:
    table = pd.DataFrame(
        [("c1", "ana", "x", 1), ("c2", "ana", "x", 2), ("c3", "ben", "x", 1), ("c4", "ben", "x", 3)],
        columns=["case", "rater", "attribute", "value"],
    )
    with pytest.raises(VenireError, match=r"2 sets that have no case in common: ana \| ben"):
        many_facets(table)
    with pytest.raises(VenireError, match="two raters"):
        many_facets(table[table["rater"] == "ana"])
    rows = [(case, rater, "x", 2.0) for case in ("c1", "c2") for rater in ("ana", "ben")]
    with pytest.raises(VenireError, match="the same value for every case"):
        many_facets(pd.DataFrame(rows, columns=list(table.columns)))


def test_an_end_throughout_has_a_finite_measure_and_a_note() -> None:
    rng = np.random.default_rng(4)
    table = simulated(rng, 40, 0.0)
    table.loc[table["rater"] == "r4", "value"] = 5.0
    table.loc[table["case"] == 0, "value"] = 5.0
    found = many_facets(table)

    assert np.isfinite(found.cases["measure"]).all() and np.isfinite(found.raters["severity"]).all()
    assert "gave every case the same value: r4" in " ".join(found.notes)
    assert found.raters.set_index("rater")["severity"].idxmin() == "r4"


def test_a_fair_count_is_the_fair_average_and_without_cases_enough_the_plain_mean() -> None:
    rng = np.random.default_rng(7)
    jury = Jury.model_validate({"name": "j", "quorum": 2, "seats": [{"name": name} for name in "xyz"]})
    five = Scale.model_validate({"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}})
    words = Scale.model_validate({"level": "nominal", "anchors": {"a": "a", "b": "b"}})

    def tally(case: str, cast: dict[str, Value], scale: Scale = five, attribute: str = "accurate") -> Tally:
        return Tally(case, attribute, scale, cast, None, jury)

    run = [tally(f"c{n}", {"x": int(level), "x#2": int(level), "y": int(min(5, level + 1)), "z": int(max(1, level - rng.integers(0, 2)))}) for n, level in enumerate(rng.integers(1, 6, 14))]  # fmt: skip
    run[3].cast["z"] = "not_applicable"  # type: ignore[index]
    count = learn_severities([*run, tally("c0", {"x": "a", "y": "a"}, words, "tone")])
    rows = [(each.case, juror.partition("#")[0], "accurate", float(vote)) for each in run for juror, vote in each.votes.items()]  # fmt: skip
    fair = many_facets(pd.DataFrame(rows, columns=["case", "rater", "attribute", "value"])).cases.set_index("case")["fair"]  # fmt: skip

    assert [count(each).value for each in run] == pytest.approx(fair.reindex([each.case for each in run]).tolist(), abs=1e-8)  # fmt: skip
    assert {count(each).method for each in run} == {"fair"}
    few = learn_severities(run[:9])
    assert few(run[0]).value == pytest.approx(np.mean([float(vote) for vote in run[0].votes.values()]))
    assert "plain mean" in few(run[0]).why
    alike = [tally(f"c{n}", {"x": 3, "y": 3}) for n in range(14)]
    assert {(learn_severities(alike)(each).value, learn_severities(alike)(each).why == few(run[0]).why) for each in alike} == {(3.0, True)}  # fmt: skip
    assert count(tally("c1", {"x": 3})).value is None, "a quorum comes first"
    assert count(tally("c0", {"x": "a", "y": "a"}, words, "tone")).value is None


def told_facets() -> Facets:
    raters = pd.DataFrame({"rater": ["mid", "hard", "soft"], "severity": [0.1, 0.9, -1.0], "se": [0.11, 0.22, 0.33], "infit": [1.0, 1.6, 0.4], "outfit": [1.0, 1.1, 0.9], "fair": [3.0, 2.0, 4.0], "n": [10, 20, 30], "mean": [3.1, 2.2, 4.3]})  # fmt: skip
    attributes = pd.DataFrame({"attribute": ["a"], "difficulty": [0.0], "se": [0.1], "infit": [1.0], "outfit": [1.0], "n": [60]})  # fmt: skip
    cases = pd.DataFrame({"case": ["y", "x"], "measure": [1.0, -1.0], "se": [0.5, 0.5], "fair": [4.0, 2.0], "infit": [1.0, 1.0], "outfit": [1.0, 1.0], "n": [3, 3], "mean": [4.0, 2.0]})  # fmt: skip
    steps = pd.DataFrame({"attributes": ["a"], "category": [2.0], "threshold": [0.0]})
    separation = {"separation of raters": 2.5, "reliability of raters": 0.86, "separation of cases": np.nan, "reliability of cases": 0.5}  # fmt: skip
    return Facets(raters, attributes, cases, steps, 1.3, separation, "rating-scale", ("n",))


def test_the_harshest_and_the_most_lenient_are_told_with_their_own_numbers() -> None:
    found = told_facets()
    section, document = facets_section(found), facets_json("here", found)
    first, second, *misfits = section.sentences

    assert first.startswith("hard is the harshest rater (severity +0.90 logits, SE 0.22)") and "score of 2.00. soft is the most lenient rater (severity -1.00 logits, SE 0.33)" in first  # fmt: skip
    assert "2.5 times their standard error (reliability 0.86)" in second
    assert [line.split("'s scores vary ")[0] + line.split(" than")[0].split()[-1] for line in misfits] == ["softless", "hardmore"]  # fmt: skip
    shown = facets_answer(found).tables[""].set_index("rater")
    assert shown.index.tolist() == ["soft", "mid", "hard"] and section.tables["cases"]["case"].tolist() == [
        "x",
        "y",
    ]
    assert shown.loc["hard"].tolist() == ["+0.90", "0.22", "1.60", "1.10", "2.00", "2.20", 20]
    assert (document["spread_of_cases"], document["separation"]["separation of cases"]) == (1.3, None)


def test_what_is_better_low_is_turned_so_that_harsh_is_harsh() -> None:
    scale = Scale.model_validate({"level": "ordinal", "anchors": {n: str(n) for n in range(2, 6)}})
    asked = {"good": Question(scale, "high"), "risk": Question(scale, "low")}
    table = pd.DataFrame({"attribute": ["good", "risk", "risk"], "value": [2, 2, 4]})
    assert _turned_values(table, asked).tolist() == [2, 5, 3]
