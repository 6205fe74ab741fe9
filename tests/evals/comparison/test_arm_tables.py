"""The tables of a comparison by hand: arms beside people, two arms on what both scored, and strata of the cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from audit_worlds import LIKERT, evidence, ratings, votes
from scipy.stats import ttest_1samp, ttest_ind
from sklearn.metrics import cohen_kappa_score

from venire.evals.comparison.arm_tables import (
    arm_agreement,
    confusion_table,
    contrasts,
    gaps_table,
    kappa_table,
    numeric_pairs,
    text_baselines,
)
from venire.evals.comparison.effects import (
    BETWEEN,
    PAIRED,
    _differences,
    _predictors,
    effects,
    strata_sentences,
    strata_table,
)
from venire.evals.comparison.evaluators import evaluators_section
from venire.evals.metrics.metric import Metric, chosen_metrics
from venire.evals.metrics.normalisation import load_normalisation
from venire.evals.ratings.evidence import Evidence
from venire.evals.ratings.pooling import OVERALL
from venire.evals.ratings.question import Question
from venire.evals.ratings.score_tables import Sheet, lay_marks, lay_out
from venire.evals.statistics.significance import holm
from venire.rubrics.errors import MissingExtra

NAN = float("nan")
RISK = Question(LIKERT.scale, "low")


def sheet_of(world: Evidence) -> Sheet:
    return lay_out(world)


def world(**more: object) -> Evidence:
    """Arms a and b and two people on six cases; a leaves the last open, and nobody rated the fifth."""
    return evidence(
        {"safe": LIKERT},
        arms=[ratings("a", [1.0, 2.0, 3.0, 4.0, 5.0, NAN]).dropna(), ratings("b", [2.0, 2.0, 2.0, 5.0, 1.0, 1.0])],
        people=[ratings("Ana", [1.0, 1.0, 3.0, 5.0, NAN, 1.0]).dropna(), ratings("Ben", [1.0, 3.0, 5.0, 5.0, NAN, 2.0]).dropna()],
        **more,
    )  # type: ignore[arg-type]  # fmt: skip


def test_gaps_and_confusions_are_counted_on_what_both_gave() -> None:
    """People's medians are 1, 2, 4, 5 and, of the last, 1.5: between two values, which counts as the lower."""
    sheet = sheet_of(world())
    numeric = [row for row in numeric_pairs(sheet) if row[1] == "safe"]
    gaps = gaps_table(numeric).set_index(["arm", "difference"])["count"]
    met = confusion_table(sheet, numeric).set_index(["arm", "arm_value", "people_value"])["count"]

    assert gaps["a"].to_dict() == {-1.0: 2, 0.0: 2}
    assert gaps["b"].to_dict() == {-2.0: 1, -0.5: 1, 0.0: 2, 1.0: 1}
    assert met["a"][met["a"] > 0].to_dict() == {(1, 1): 1, (2, 2): 1, (3, 4): 1, (4, 5): 1}
    assert met["b"].sum() == 5 and met["b"][2.0, 4.0] == met["b"][5.0, 5.0] == met["b"][1.0, 1.0] == 1


def test_every_two_raters_kappas_are_scikit_learns() -> None:
    rng = np.random.default_rng(3)
    given = {name: rng.integers(1, 6, 40).astype(float) for name in ("a", "Ana", "Ben")}
    given["a"][:5] = NAN
    sheet = sheet_of(evidence({"safe": LIKERT}, arms=[ratings("a", given["a"]).dropna()], people=[ratings(name, given[name]) for name in ("Ana", "Ben")]))  # fmt: skip
    found = kappa_table(sheet).set_index(["first", "second"])

    assert list(found.index) == [("Ana", "Ben"), ("Ana", "a"), ("Ben", "a")]
    for (first, second), row in found.iterrows():  # type: ignore[misc]
        known = ~np.isnan(given[first] + given[second])
        one, other = given[first][known], given[second][known]
        assert row["n"] == known.sum()
        assert row["kappa"] == pytest.approx(cohen_kappa_score(one, other))
        assert row["kappa_quadratic"] == pytest.approx(cohen_kappa_score(one, other, weights="quadratic"))


def test_two_arms_are_compared_on_the_cases_that_both_scored() -> None:
    """Absolute errors on the first four cases: 0, 0, 1, 1 of a, and 1, 0, 2, 0 of b."""
    rows = contrasts(sheet_of(world()))
    row = rows[(rows["first"] == "a") & (rows["second"] == "b") & (rows["attribute"] == "safe")].set_index("measure")  # fmt: skip
    error = next(name for name in row.index if "error" in name or name == "mae")

    assert row.loc[error, "value"] == pytest.approx(0.5 - 0.75) and row.loc[error, "n"] == 4
    for family in (rows["attribute"] == OVERALL, rows["attribute"] != OVERALL):
        assert rows[family]["p_holm"].tolist() == pytest.approx(holm(rows[family]["p"].tolist()), nan_ok=True)


def test_p_is_corrected_over_the_overall_contrasts_and_over_those_of_attributes_apart() -> None:
    rng = np.random.default_rng(9)
    truth = rng.integers(1, 6, (2, 40)).astype(float)
    off = {name: np.clip(truth + rng.integers(-reach, reach + 1, (2, 40)), 1, 5) for name, reach in (("a", 1), ("b", 3), ("Ana", 1))}  # fmt: skip

    def told(name: str) -> list[pd.DataFrame]:
        return [ratings(name, off[name][n], attribute) for n, attribute in enumerate(("safe", "clear"))]

    rows = contrasts(sheet_of(evidence({"safe": LIKERT, "clear": LIKERT}, arms=[*told("a"), *told("b")], people=told("Ana"))))  # fmt: skip
    overall = rows["attribute"] == OVERALL

    assert rows["p"].notna().sum() > 6
    for family in (overall, ~overall):
        assert rows[family]["p_holm"].tolist() == pytest.approx(holm(rows[family]["p"].tolist()), nan_ok=True)
    assert rows["p_holm"].tolist() != pytest.approx(holm(rows["p"].tolist()), nan_ok=True)


def test_what_may_explain_differences_varies_is_known_and_has_cases_enough() -> None:
    sheet = sheet_of(world())
    names = [f"c{n}" for n in range(6)]
    cases = pd.DataFrame({"case": names, "group": None, "system": None, "source_length": None, "output_length": None}).assign(
        length=[1, 2, 3, 4, 5, 6], ward=list("aaabbb"), flat=1, gap=[1, 2, None, 4, 5, 6])  # fmt: skip
    usable, notes = _predictors(sheet, cases, ("length", "ward", "flat", "gap", "length"))

    assert usable == ["length"]
    assert [note.split(": ")[1].split(" is ")[0] for note in notes] == ["ward", "flat", "gap"]
    found = _differences(sheet, "a").sort_values(["rater", "case"])
    assert found["difference"].tolist() == [0, 1, 0, -1, 0, -1, -2, -1] and set(found["attribute"]) == {"safe"}  # fmt: skip
    table, _ = effects(sheet, cases, ["length"])
    assert set(table["term"]) >= {"length"} and set(table["arm"]) == {"a", "b"}
    empty, told = effects(sheet, cases)
    assert empty.empty and "no predictor varies" in told[-1]


def strata(arm: np.ndarray, people: np.ndarray, wards: list[str | None], groups: list[str]) -> pd.DataFrame:
    given = evidence({"safe": LIKERT}, arms=[ratings("a", arm).dropna()], people=[ratings("Ana", people).dropna()], groups=groups)  # fmt: skip
    cases = pd.DataFrame({"case": [f"c{n}" for n in range(len(arm))], "ward": wards})
    return strata_table(sheet_of(given), cases, ["ward"]).set_index("level")


def test_strata_whose_groups_are_on_both_sides_are_paired_within_them() -> None:
    rng = np.random.default_rng(1)
    arm, people = rng.integers(1, 6, 24).astype(float), rng.integers(1, 6, 24).astype(float)
    found = strata(arm, people, ["x", "y"] * 12, [f"g{n // 2}" for n in range(24)])
    gaps = np.abs(arm - people).reshape(12, 2)

    x, y = found.loc["x"], found.loc["y"]
    assert (x["test"], x["cases"]) == (PAIRED, 12)
    assert x["mae"] == pytest.approx(gaps[:, 0].mean()) and x["offset"] == pytest.approx((arm - people)[::2].mean())  # fmt: skip
    assert x["difference"] == pytest.approx((gaps[:, 0] - gaps[:, 1]).mean()) == pytest.approx(-y["difference"])  # fmt: skip
    assert x["p"] == pytest.approx(ttest_1samp(gaps[:, 0] - gaps[:, 1], 0).pvalue)
    assert x["score_difference"] == pytest.approx((arm[::2] - arm[1::2]).mean())
    assert x["people_difference"] == pytest.approx((people[::2] - people[1::2]).mean())
    assert found["p_holm"].tolist() == pytest.approx(holm(found["p"].tolist()))


@pytest.mark.parametrize(("shared", "test"), [(6, PAIRED), (4, PAIRED), (3, BETWEEN), (0, BETWEEN)])
def test_half_of_a_stratums_groups_decide_which_test_it_is(shared: int, test: str) -> None:
    """Eight groups have a case in x; `shared` of them have one in y too, the other cases of y have groups of their own."""
    rng = np.random.default_rng(2)
    arm, people = rng.integers(1, 6, 16).astype(float), rng.integers(1, 6, 16).astype(float)
    groups = [f"g{n}" for n in range(8)] + [f"g{n}" if n < shared else f"h{n}" for n in range(8)]
    found = strata(arm, people, ["x"] * 8 + ["y"] * 8, groups).loc["x"]

    assert found["test"] == test
    if not shared:
        error = np.abs(arm - people)
        assert found["p"] == pytest.approx(ttest_ind(error[:8], error[8:], equal_var=False).pvalue)
        assert found["difference"] == pytest.approx(error[:8].mean() - error[8:].mean())


def test_strata_compare_the_cases_that_the_arm_scored_one_mean_a_group_each_measure_by_itself() -> None:  # fmt: skip
    """Cases 2 and 7 were left open by arm a, and not by b; cases 0 and 1 are of one group, as 8 and 9 are."""
    rng = np.random.default_rng(3)
    arm, people = rng.integers(1, 6, 10).astype(float), rng.integers(1, 6, 10).astype(float)
    arm[[2, 7]], people[[2, 7]] = NAN, (5.0, 1.0)
    groups = ["g0", "g0", *(f"g{n}" for n in range(2, 8)), "g8", "g8"]
    given = evidence({"safe": LIKERT}, arms=[ratings("b", people), ratings("a", arm).dropna()], people=[ratings("Ana", people)], groups=groups)  # fmt: skip
    cases = pd.DataFrame({"case": [f"c{n}" for n in range(10)], "ward": ["x"] * 5 + ["y"] * 5})
    table = strata_table(sheet_of(given), cases, ["ward"])
    found = table[table["arm"] == "a"].set_index("level")
    assert found["cases"].tolist() == [4, 4] and set(table[table["arm"] == "b"]["cases"]) == {5}

    def side(values: np.ndarray, alone: list[int], pair: list[int]) -> np.ndarray:
        return np.append(values[alone], values[pair].mean())

    measures = {"": np.abs(arm - people), "offset_": arm - people, "score_": arm, "people_": people}
    for prefix, values in measures.items():
        x, y = side(values, [3, 4], [0, 1]), side(values, [5, 6], [8, 9])
        row = found.loc["x"]
        assert row[f"{prefix}difference"] == pytest.approx(x.mean() - y.mean()), prefix
        assert row[f"{prefix}p"] == pytest.approx(ttest_ind(x, y, equal_var=False).pvalue), prefix
        assert found[f"{prefix}p_holm"].tolist() == pytest.approx(holm(found[f"{prefix}p"].tolist())), prefix


def test_a_case_that_people_did_not_rate_or_without_a_level_is_in_no_stratum() -> None:
    arm = np.array([5.0, 1.0, 2.0, 4.0, 5.0, 5.0, 1.0, 1.0])
    people = np.array([NAN, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, NAN])
    found = strata(arm, people, ["x", "x", "x", "y", "y", None, "y", "y"], [f"g{n}" for n in range(8)])

    # In x 1 and 2 against people's 1 and 1; in y 4, 5 and 1. The case without a ward stands nowhere.
    assert found.loc["x", "mae"] == 0.5 and found.loc["y", "mae"] == pytest.approx(7 / 3)
    assert found.loc["x", "score_difference"] == pytest.approx(1.5 - 10 / 3)
    assert found.loc["x", "difference"] == pytest.approx(0.5 - 7 / 3)


def test_metrics_beside_the_arms_have_high_as_good_and_only_those_asked_for_are_normalised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two cells of a baseline of two columns; of the first pair both words differ, unless letters are made small."""

    def absent(pairs: object, progress: object) -> dict[str, list[float]]:
        raise MissingExtra("it needs a dictionary", remedy="get one")

    def lengths(pairs: Sequence[tuple[str, str]], progress: object) -> dict[str, list[float]]:
        return {"both": [len(a) + len(b) for a, b in pairs], "own": [len(a) for a, _ in pairs]}

    made = [
        Metric("length", "Length", lengths, 1), Metric("guess", "Guess", absent, 2), Metric("unasked", "Unasked", lengths, 3, baseline=False),
        Metric("own", "Own", lengths, 4, value="own", direction="low", baseline=False), Metric("lost", "Lost", absent, 5, baseline=False),
        *chosen_metrics(["wer", "rouge1"]),
    ]  # fmt: skip
    monkeypatch.setattr("venire.evals.metrics.metric.registered_metrics", lambda: made)
    monkeypatch.setattr("venire.evals.comparison.arm_tables.registered_metrics", lambda: made[:5])
    pairs, names = [("The Cat", "the cat"), ("a b", "a b c d"), ("x", "")], ["wer", "rouge1", "own", "lost"]
    plain, notes = text_baselines(pairs, more=names)
    small, _ = text_baselines([(a + " ", b) for a, b in pairs], more=names, normal=load_normalisation("asr-en"))  # fmt: skip

    assert sorted(plain) == ["metric (1 - own)", "metric (1 - wer)", "metric (rouge1)", "text overlap (both)", "text overlap (own)"]  # fmt: skip
    assert [plain["text overlap (both)"].tolist(), small["text overlap (own)"].tolist()] == [[14, 10, 1], [8, 4, 2]]  # fmt: skip
    assert plain["metric (1 - wer)"].tolist() == pytest.approx([0, 0.5, NAN], nan_ok=True)
    assert small["metric (1 - wer)"].tolist() == pytest.approx([1, 0.5, NAN], nan_ok=True)
    assert plain["metric (rouge1)"].tolist() == pytest.approx([1, 2 / 3, NAN], nan_ok=True)
    assert plain["metric (1 - own)"].tolist() == small["metric (1 - own)"].tolist() == [1 - 7, 1 - 3, 1 - 1]
    assert len(notes) == 2 and "Guess is left out: it needs a dictionary (get one)" in notes[0] and "lost" in notes[1]  # fmt: skip
    assert list(text_baselines(pairs)[0]) == ["text overlap (both)", "text overlap (own)"]


@pytest.mark.parametrize("names", [("harm", "risk"), ("harm",)])
def test_overlap_that_falls_with_every_risk_rises_with_what_is_good_overall(names: tuple[str, ...]) -> None:
    risk = np.array([1.0, 2.0, 2.0, 3.0, 4.0, 5.0])
    given = evidence(
        dict.fromkeys(names, RISK),
        arms=[ratings("jury", risk, name) for name in names],
        people=[ratings("Ana", risk, name) for name in names],
    )
    overlap = pd.DataFrame({"likeness": -risk}, index=[f"c{n}" for n in range(6)])
    found = arm_agreement(sheet_of(replace(given, likeness=overlap)), "likeness", "text overlap")

    assert found[OVERALL]["spearman"].value == pytest.approx(1)
    assert [found[name]["spearman"].value for name in names] == pytest.approx([-1] * len(names))


def test_every_evaluator_stands_against_people_in_points_with_high_as_good() -> None:
    """On a risk from 1 to 5 the juror gives one point more than people: turned, one point less."""
    rng = np.random.default_rng(6)
    safe, risk = rng.integers(1, 5, (2, 30)).astype(float)
    given = evidence(
        {"safe": LIKERT, "risk": RISK},
        arms=[ratings("jury", safe), ratings("jury", risk, "risk")],
        people=[ratings("Ana", safe), ratings("Ana", risk, "risk")],
        ballots=[votes("jury", "x", safe), votes("jury", "x", risk + 1, attribute="risk"), votes("jury", "y", 6 - safe), votes("jury", "y", risk, attribute="risk")],
    )  # fmt: skip
    found = evaluators_section(lay_marks(given)).tables
    table = found["against_people"].set_index(["evaluator", "attribute", "measure"])["value"]

    x, y = (next(name for name in dict.fromkeys(found["against_people"]["evaluator"]) if name != "jury" and name.endswith(seat)) for seat in ("x", "y"))  # fmt: skip
    assert table[(x, "risk", "offset")] == pytest.approx(-1) and table[(x, "safe", "rmse")] == pytest.approx(0, abs=1e-9)  # fmt: skip
    assert table[(x, OVERALL, "offset")] == pytest.approx(-0.5)
    assert table[(x, OVERALL, "rmse")] == pytest.approx(np.sqrt(0.5))
    assert table[(y, "safe", "spearman")] == pytest.approx(-1) and table[("jury", "risk", "kappa_quadratic")] == pytest.approx(1)  # fmt: skip
    pairs = found["pairs"]
    assert "jury" not in set(pairs["first"]) | set(pairs["second"]), "a jury is its jurors"
    both = pairs[(pairs["first"] == x) & (pairs["second"] == y) & (pairs["attribute"] == "safe")].iloc[0]
    assert both["spearman"] == pytest.approx(-1) and both["n"] == 30


def test_what_is_said_of_an_evaluator_has_the_direction_of_its_offset_and_the_worst_juror_is_apart() -> None:
    """On 40 cases up is half a point too high on average, down half too low, level now this now that; odd knows nothing."""
    rng = np.random.default_rng(6)
    truth, half = rng.integers(2, 5, 40).astype(float), np.arange(40) % 2
    seats = {"up": truth + half, "down": truth - half, "level": truth + np.where(np.arange(40) % 4 < 2, half, -half), "odd": rng.permutation(truth)}  # fmt: skip

    def sentences(*names: str) -> list[str]:
        cast = [votes("jury", name, seats[name]) for name in names]
        return list(evaluators_section(lay_marks(evidence({"safe": LIKERT}, people=[ratings("Ana", truth)], ballots=cast))).sentences)  # fmt: skip

    told = sentences("up", "down", "level", "odd")
    assert told[0].startswith("jury: up scores higher than people: mean difference +0.50 points")
    assert told[1].startswith("jury: down scores lower than people: mean difference -0.50 points")
    assert "level is not shown to score higher or lower than people: mean difference +0.00" in told[2]
    assert told[-1].startswith("jury: odd agrees worst with people: Spearman's rho")
    assert sentences("up", "level")[-1].startswith("No juror is shown to agree worse")


@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_said_of_a_stratum_has_the_direction_of_its_difference(sign: int) -> None:
    p = {f"{prefix}p_holm": 0.01 for prefix in ("", "offset_", "score_", "people_")}
    gaps = {"difference": sign * 0.4, "offset_difference": sign * 0.3, "score_difference": sign * 0.2, "people_difference": -sign * 0.1}  # fmt: skip
    row = {"arm": "a", "column": "ward", "level": "x", "cases": 7, "mae": 0.9, "test": PAIRED, **p, **gaps}
    calm = row | {"level": "y"} | dict.fromkeys(p, 0.05)
    (told,) = strata_sentences(pd.DataFrame([row, calm]))

    assert ("farther from people" in told) == ("more lenient" in told) == ("scores 0.20 points higher" in told) == (sign > 0)  # fmt: skip
    assert ("nearer to people" in told) == ("harsher" in told) == ("people score 0.10 points higher" in told) == (sign < 0)  # fmt: skip
    assert "0.90 on 7 cases" in told and "by 0.30 points" in told and "ward x" in told
    (same,) = strata_sentences(pd.DataFrame([calm]))
    assert "not shown to depend on ward" in same
    (few,) = strata_sentences(pd.DataFrame([calm | dict.fromkeys(p, NAN)]))
    assert "too few cases to test" in few
