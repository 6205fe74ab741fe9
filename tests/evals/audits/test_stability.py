"""Stability: scatter by hand, a planted unstable judge, a null, and how many repeats are enough."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from audit_worlds import LIKERT, WIDE, evidence, ratings, votes
from statsmodels.stats.multitest import multipletests

from venire.evals.audits.stability import (
    BY_CASE,
    PEOPLE,
    convergence,
    enough_repeats,
    judges_scatter,
    scatter,
    stability_section,
    steadier,
)
from venire.evals.ratings.evidence import Evidence
from venire.evals.ratings.pooling import OVERALL
from venire.evals.statistics.draws import Draws

NO_GROUPS = pd.Series(dtype=object)


def judged(spreads: dict[str, float], *, n: int = 40, k: int = 5, seed: int = 0) -> Evidence:
    """Judges who see the same cases with scatter of their own, k times each, and two people who differ by 1 on average."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(3, 3, n)
    cast = [
        votes(arm, "judge", np.rint(truth + rng.normal(0, sd, n)), repeat=repeat)
        for arm, sd in spreads.items()
        for repeat in range(1, k + 1)
    ]
    people = [ratings(name, np.rint(truth + rng.normal(0, 1, n))) for name in ("Ana", "Ben")]
    return evidence(
        {"safe": WIDE}, arms=[ratings(arm, truth) for arm in spreads], people=people, ballots=cast
    )


def test_scatter_by_hand() -> None:
    """2, 4, 4, 4, 5, 5, 7, 9 have a mean of 5 and squares about it of 32: SD is the root of 32/7."""
    scores = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]
    cast = [votes("one", "judge", [score], repeat=number) for number, score in enumerate(scores, 1)]
    (found,) = scatter(evidence({"safe": WIDE}, ballots=cast)).to_dict("records")

    assert (found["judge"], found["repeats"], found["mean"]) == ("one: judge", 8, 5)
    assert found["sd"] == pytest.approx(math.sqrt(32 / 7)) and found["cv"] == pytest.approx(found["sd"] / 5)


def test_people_are_set_beside_the_judges() -> None:
    world = judged({"one": 0.5})
    found = judges_scatter(scatter(world), NO_GROUPS).set_index("judge")

    assert found.loc["one: judge", "sd"] < found.loc[PEOPLE, "sd"]
    variance = np.var([[1, 3], [2, 2]], axis=1, ddof=1).mean()
    two = evidence({"safe": LIKERT}, people=[ratings("Ana", [1.0, 2.0]), ratings("Ben", [3.0, 2.0])])
    alone = judges_scatter(scatter(two), NO_GROUPS).iloc[0]
    assert alone["sd"] == pytest.approx(math.sqrt(variance))


def test_an_unstable_judge_is_found_and_equals_are_not() -> None:
    found = steadier(scatter(judged({"calm": 0.5, "restless": 1.2})), NO_GROUPS, ("safe",))
    row = found[(found["first"] == "calm: judge") & (found["second"] == "restless: judge")].iloc[0]
    assert row["attribute"] == OVERALL and row["difference"] < 0 and row["p_holm"] < 0.05 and row["high"] < 0
    rounded = math.sqrt(0.25 + 1 / 12) - math.sqrt(1.44 + 1 / 12)
    assert row["low"] < rounded < row["high"]

    claims = 0
    for seed in range(14):
        world = judged({"one": 0.6, "other": 0.6}, seed=seed)
        pair = steadier(scatter(world), NO_GROUPS, ("safe",))
        claims += pair[pair["second"] == "other: judge"].iloc[0]["p"] < 0.05
    assert claims <= 3


def test_the_repeats_that_are_enough_follow_from_the_variances() -> None:
    """Between cases 9, within 9/4 + 1/12: reliability 0.9 needs 9 x 2.33 / 9 repeats, so three."""
    world = judged({"one": 1.5}, n=2000, k=6)
    (found,) = enough_repeats(world).to_dict("records")
    curve = convergence(world, seed=0).set_index("repeats")

    assert found["enough"] == 3
    assert curve.loc[3, "reliability"] >= 0.9 > curve.loc[2, "reliability"]
    assert curve.loc[6, "sd"] == pytest.approx(math.sqrt(2.25 + 1 / 12), rel=0.05)
    assert curve.loc[6, "high"] - curve.loc[6, "low"] < 1e-9 < curve.loc[2, "high"] - curve.loc[2, "low"]
    assert curve.loc[4, "standard_error"] == pytest.approx(curve.loc[6, "sd"] / 2)


def test_a_judge_that_never_moves_and_one_that_knows_nothing() -> None:
    same = [votes("same", "judge", [1.0, 4.0, 5.0], repeat=number) for number in (1, 2, 3)]
    rng = np.random.default_rng(1)
    noise = [votes("noise", "judge", rng.normal(0, 1, 200), repeat=number) for number in (1, 2)]
    noise[1]["value"] = -noise[0]["value"]
    found = enough_repeats(evidence({"safe": WIDE}, ballots=[*same, *noise])).set_index("judge")

    assert found.loc["same: judge", "enough"] == 1
    assert math.isnan(found.loc["noise: judge", "enough"]) and found.loc["noise: judge", "note"]


def test_a_mean_of_zero_has_no_cv() -> None:
    cast = [votes("one", "judge", [value], repeat=number) for number, value in enumerate((-1.0, 1.0), 1)]

    assert math.isnan(scatter(evidence({"safe": WIDE}, ballots=cast))["cv"][0])


def test_the_section_says_what_it_means() -> None:
    world = judged({"calm": 0.4, "restless": 1.5})
    section = stability_section(world, Draws(0, 50))

    assert any(
        "calm: judge's scores of the same case vary less than restless: judge's" in words
        for words in section.sentences
    )
    assert len(section.tables["cases"]) == 120 and section.figures
    unrepeated = evidence(
        {"safe": LIKERT}, arms=[ratings("jury", [3.0])], ballots=[votes("jury", "a", [3.0])]
    )
    (sentence,) = stability_section(unrepeated, Draws(0, 50)).sentences
    assert sentence.startswith("No juror judged a case twice")


def test_one_case_is_too_few_to_compare_and_says_so() -> None:
    cast = [votes(arm, "judge", [value], repeat=n) for arm in ("a", "b") for n, value in ((1, 2.0), (2, 3.0))]
    world = evidence({"safe": LIKERT}, ballots=cast)
    section = stability_section(world, Draws(0, 50))

    assert any(
        "cannot be compared by stability: cases that both scored twice or more: 1" in words
        for words in section.sentences
    )


def test_reliability_follows_from_the_variances_within_and_between_cases_by_hand() -> None:
    """Two repeats each of 1 and 3, 5 and 7, 9 and 11: within 2, of means 16, so between 16 - 2 / 2 = 15."""
    cast = [votes("one", "judge", scores, repeat=repeat) for repeat, scores in ((1, [1.0, 5.0, 9.0]), (2, [3.0, 7.0, 11.0]))]  # fmt: skip
    incomplete = votes("one", "judge", [0.0, 0.0, 0.0, 4.0])[3:]
    world = evidence({"safe": WIDE}, ballots=[*cast, incomplete])
    (row,) = convergence(world, seed=0).to_dict("records")

    assert (row["repeats"], row["sd"]) == (2, pytest.approx(math.sqrt(2)))
    assert row["standard_error"] == pytest.approx(1.0) and row["reliability"] == pytest.approx(15 / 16)
    (enough,) = enough_repeats(world).to_dict("records")
    # 9 * 2 / 15 = 1.2: two repeats have 15 / 16, one would have 15 / 17.
    assert (enough["repeats"], enough["enough"], enough["note"]) == (2, 2.0, "")
    still = evidence({"safe": WIDE}, ballots=[votes("one", "judge", [1.0, 5.0], repeat=n) for n in (1, 2)])
    assert enough_repeats(still)["enough"].tolist() == [1.0]
    noise = evidence({"safe": WIDE}, ballots=[votes("one", "judge", [1.0, 5.0]), votes("one", "judge", [5.0, 1.0], repeat=2)])  # fmt: skip
    assert np.isnan(enough_repeats(noise)["enough"][0]) and convergence(noise, seed=0)["reliability"][0] == 0


def test_pairs_overall_are_one_family_of_tests_and_pairs_on_attributes_another() -> None:
    rng = np.random.default_rng(5)
    rows = [
        (judge, attribute, f"c{case}", 3, 4.0, sd * rng.random(), 0.1)
        for judge, sd in (("one", 0.8), ("two", 1.0), ("three", 1.3))
        for attribute in ("x", "y", "z")
        for case in range(15)
    ]
    found = steadier(pd.DataFrame(rows, columns=BY_CASE), NO_GROUPS, ("x", "y"))
    is_overall = found["attribute"] == OVERALL

    assert (is_overall.sum(), len(found)) == (3, 12)
    for family in (found[is_overall], found[~is_overall]):
        assert family["p_holm"].tolist() == pytest.approx(multipletests(family["p"], method="holm")[1])
        assert (family["p"] < family["p_holm"]).any()


def test_two_judges_are_compared_on_the_cases_that_both_repeated() -> None:
    """On c0 and c1 variances of 2 and 8 against 0.5 and 0.5; c2 was repeated by the first alone, and another attribute apart."""
    one = [votes("one", "j", [1.0, 1.0, 1.0]), votes("one", "j", [3.0, 5.0, 20.0], repeat=2)]
    two = [votes("two", "j", [1.0, 1.0]), votes("two", "j", [2.0, 2.0], repeat=2)]
    brief = [votes(arm, "j", scores, attribute="brief", repeat=repeat) for arm, repeat, scores in (("one", 1, [1.0, 1.0]), ("one", 2, [1.0, 1.0]), ("two", 1, [1.0, 1.0]), ("two", 2, [3.0, 3.0]))]  # fmt: skip
    by_case = scatter(evidence({"safe": WIDE, "brief": WIDE}, ballots=[*one, *two, *brief]))
    found = steadier(by_case, NO_GROUPS, ["safe", "brief"]).set_index("attribute")

    assert found.loc["safe", "difference"] == pytest.approx(math.sqrt(5) - math.sqrt(0.5))
    assert found.loc["brief", "difference"] == pytest.approx(-math.sqrt(2))
    assert found.loc[OVERALL, "difference"] == pytest.approx(math.sqrt(10 / 4) - math.sqrt(5 / 4))
    assert found["n"].tolist() == [2, 2, 2] and set(found["first"]) == {"one: j"}
    of_one = steadier(by_case, NO_GROUPS, ["safe"]).set_index("attribute")["difference"]
    assert of_one[OVERALL] == pytest.approx(of_one["safe"]), "of the attributes that share a scale alone"
    alone = steadier(by_case[by_case["case"] == "c0"], NO_GROUPS, ["safe"]).set_index("attribute")
    assert (
        np.isnan(alone.loc["safe", "difference"]) and "scored twice or more: 1;" in alone.loc["safe", "note"]
    )
    table = judges_scatter(by_case, NO_GROUPS).set_index(["judge", "attribute"])
    row = table.loc[("one: j", "safe")]
    assert (row["cases"], row["sd"]) == (3, pytest.approx(math.sqrt((2 + 8 + 180.5) / 3)))
    assert row["mean_sd"] == pytest.approx((math.sqrt(2) + math.sqrt(8) + math.sqrt(180.5)) / 3)
