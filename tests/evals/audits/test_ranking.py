"""Ranking of systems, and an arm beside a second panel: planted orders, ties, small samples, win rates."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from calibration_worlds import LIKERT, RUBRIC, harsh_jury, jury_evidence
from scipy.stats import kendalltau, rankdata, spearmanr

from venire import VenireError
from venire.evals.audits.ranking import _qualities, _sentences, rank_agreement, ranking, ranking_section
from venire.evals.comparison.comparison import comparison_sections as sections
from venire.evals.ratings.evidence import two_panels
from venire.evals.ratings.question import Question
from venire.evals.report.html import svg
from venire.evals.report.section import Section
from venire.evals.statistics.chance import concordance_statistic
from venire.evals.statistics.correlation import stratified_spearman_statistic
from venire.evals.statistics.draws import Draws

NAMES = ("alpha", "beta", "gamma", "delta")


def outputs(apart: float, *, seed: int = 0, each: int = 30) -> pd.DataFrame:
    """Four systems on the same inputs, `alpha` the best, `apart` points between them."""
    rng = np.random.default_rng(seed)
    number = np.tile(np.arange(4), each)
    hard = np.repeat(rng.normal(0, 0.6, each), 4)
    people = 4 - apart * number + hard + rng.normal(0, 0.4, 4 * each)
    arm = 0.5 * people + rng.normal(0, 0.3, 4 * each)
    return pd.DataFrame(
        {"cluster": np.repeat(np.arange(each), 4), "system": np.array(NAMES)[number], "before": arm, "after": 2 * arm, "people": people}
    )  # fmt: skip


def section(name: str, found: list[Section]) -> Section:
    (one,) = [each for each in found if each.name == name]
    return one


def test_a_planted_order_is_found_and_is_sure() -> None:
    table = ranking(outputs(0.8), seed=0, resamples=300)

    for side in ("before", "after", "people"):
        mine = table[table["side"] == side].set_index("system")
        assert list(mine.loc[list(NAMES), "rank"]) == [1, 2, 3, 4]
    people = table[table["side"] == "people"]
    assert (people["low"] == people["rank"]).all() and (people["high"] == people["rank"]).all()
    tau = rank_agreement(outputs(0.8), seed=0, resamples=300).set_index("side")
    assert tau.loc["before", "tau"] == tau.loc["after", "tau"] == 1
    assert tau.loc["change", "tau"] == 0


def test_equal_systems_have_wide_ranks() -> None:
    widths = []
    for seed in range(5):
        table = ranking(outputs(0.0, seed=seed), seed=0, resamples=300)
        people = table[table["side"] == "people"]
        widths.append((people["high"] - people["low"]).mean())

    assert np.mean(widths) > 2


def test_ranks_and_tau_equal_scipys_with_ties() -> None:
    rng = np.random.default_rng(2)
    table = outputs(0.1).assign(before=rng.integers(1, 3, 120), people=rng.integers(1, 3, 120), after=1.0)
    means = table.groupby("system")[["before", "people"]].mean()
    found = ranking(table, seed=0, resamples=50)
    agreed = rank_agreement(table, seed=0, resamples=50).set_index("side")
    before = found[found["side"] == "before"].set_index("system")["rank"]

    np.testing.assert_allclose(before[means.index], rankdata(-means["before"]))
    assert agreed.loc["before", "tau"] == pytest.approx(
        kendalltau(means["before"], means["people"]).statistic
    )
    flat = found[found["side"] == "after"]
    assert (flat["rank"] == 2.5).all() and flat["tied"].all()
    assert np.isnan(agreed.loc["after", "tau"]) and "tied" in agreed.loc["after", "note"]


def test_cases_of_one_input_are_drawn_together() -> None:
    """Every system met the same inputs: what the inputs do to all of them must not blur their order."""
    hard = np.repeat(np.random.default_rng(1).normal(0, 3, 30), 4)
    table = outputs(0.5)
    table["people"] += hard
    together = ranking(table, seed=0, resamples=300)
    loose = ranking(table.assign(cluster=range(120)), seed=0, resamples=300)
    width = [(t["high"] - t["low"])[t["side"] == "people"].mean() for t in (together, loose)]

    assert width[0] < 0.5 < 1 < width[1]


def test_systems_are_ranked_by_composite_before_and_after_with_small_samples_shown() -> None:
    votes, people = harsh_jury(1, 120)
    risk = {name: 6 - values for name, values in votes.items()}
    systems = np.array(["alpha", "beta", "gamma"])[np.arange(120) % 3].astype(object)
    systems[:3] = "rare"
    world = jury_evidence(
        {"accurate": votes, "risk": risk}, {"accurate": people, "risk": 6 - people}, rubric=RUBRIC, systems=systems.tolist()
    )  # fmt: skip
    found = section("ranking", sections(world, Draws(0, 100)))
    ranks = found.tables["ranks"]

    assert set(ranks["by"]) == {"quality"} and set(ranks["side"]) == {"before", "after", "people"}
    rare = ranks[ranks["system"] == "rare"]
    assert (rare["n"] == 3).all() and rare["rank"].notna().all() and rare["low"].isna().all()
    assert rare["note"].str.contains("too few").all()
    assert any("rare" in note for note in found.notes)
    assert "after calibration" in found.sentences[0] and "With so few systems" in found.sentences[0]
    (drawn,) = found.figures.values()
    assert "rare  n = 3" in svg(drawn)


def test_without_composites_the_mean_of_attributes_counts_and_a_risk_is_turned() -> None:
    score = np.tile([5.0, 1.0], 20)
    votes = {"accurate": {"ana": score}, "risk": {"ana": 6 - score}}
    world = jury_evidence(
        votes,
        {"accurate": score, "risk": 6 - score},
        systems=["good", "bad"] * 20,
        questions={"accurate": Question(LIKERT, "high"), "risk": Question(LIKERT, "low")},
    )
    ranks = section("ranking", sections(world, Draws(0, 50))).tables["ranks"]
    people = ranks[ranks["side"] == "people"].set_index("system")

    assert set(ranks["by"]) == {"mean of attributes"}
    assert people.loc["good", "rank"] == 1 and people.loc["good", "mean"] == 5


@pytest.mark.parametrize("names", [("harm", "risk"), ("risk",)])
def test_where_all_attributes_are_risks_systems_are_ranked_by_how_little_there_is(
    names: tuple[str, ...],
) -> None:
    score = np.array([1.0, 2.0, 5.0])
    votes, people = {name: {"ana": score} for name in names}, dict.fromkeys(names, score)
    world = jury_evidence(votes, people, questions={name: Question(LIKERT, "low") for name in names})
    cases = {"case": ["k0", "k1", "k2"], "cluster": [0, 1, 2], "before": score, "after": score, "people": score}  # fmt: skip
    rows = pd.concat([pd.DataFrame({**cases, "attribute": name}) for name in names])
    (means,) = _qualities(world, "jury", rows).values()

    assert means[["before", "after", "people"]].to_numpy().tolist() == [[5] * 3, [4] * 3, [1] * 3]


def test_a_case_that_people_scored_on_one_attribute_alone_is_no_mean_of_both() -> None:
    score = np.tile([5.0, 1.0], 20)
    accurate, clear = score.copy(), score.copy()
    accurate[0], clear[0] = 1.0, math.nan
    world = jury_evidence(
        {"accurate": {"ana": score}, "clear": {"ana": score}},
        {"accurate": accurate, "clear": clear},
        systems=["good", "bad"] * 20,
    )
    ranks = section("ranking", sections(world, Draws(0, 50))).tables["ranks"]

    assert set(ranks.loc[(ranks["side"] == "people") & (ranks["system"] == "good"), "mean"]) == {5.0}


def test_systems_are_ranked_even_where_labels_are_too_few_to_calibrate() -> None:
    votes, people = harsh_jury(1, 8)
    world = jury_evidence({"accurate": votes}, {"accurate": people}, systems=["a", "b"] * 4)
    found = section("ranking", sections(world, Draws(0, 50)))

    assert set(found.tables["ranks"]["side"]) == {"before", "people"}
    after = found.tables["agreement"].set_index("side").loc["after"]
    assert np.isnan(after["tau"]) and "no calibrated scores" in after["note"]


def test_one_system_or_none_is_not_ranked() -> None:
    votes, people = harsh_jury(1, 30)
    for systems in (None, ["only"] * 30):
        world = jury_evidence({"accurate": votes}, {"accurate": people}, systems=systems)
        assert not {"ranking", "rescore"} & {each.name for each in sections(world, Draws(0, 20))}


# The second panel


def test_an_arm_that_scored_one_system_is_not_ranked_and_who_comes_first_is_told_for_people_and_arm() -> None:
    """Twenty outputs of four systems, of which people put alpha first; `upside` has it last, `narrow` scored no other."""
    number = np.arange(20) % 4
    people = np.array([5.0, 4.0, 3.0, 2.0])[number]
    cases = [f"c{n}" for n in range(20)]
    world = jury_evidence({"accurate": {"ana": people}}, {"accurate": people}, systems=list(np.array(NAMES)[number]))  # fmt: skip
    scores = pd.DataFrame({"case": cases, "cluster": range(20), "attribute": "accurate", "before": people, "after": people, "people": people})  # fmt: skip
    upside = scores.assign(before=6 - people)
    found = ranking_section(world, {"jury": scores, "upside": upside, "narrow": scores[number == 0]}, Draws(0, 50))  # fmt: skip
    assert found is not None

    assert list(dict.fromkeys(found.tables["ranks"]["arm"])) == ["jury", "upside"]
    assert found.notes[0] == "narrow is not ranked by 'accurate': fewer than two systems were scored by both narrow and people"  # fmt: skip
    jury, other = found.sentences
    assert "with a Kendall's tau of 1.00" in jury and "People and jury both put alpha first." in jury
    assert "with a Kendall's tau of -1.00" in other and "or 1.00" in other
    assert "People put alpha first; upside puts delta first." in other
    alone = ranking_section(world, {"narrow": scores[number == 0]}, Draws(0, 50))
    assert alone is not None and alone.sentences[0].startswith("Systems are not ranked") and len(alone.notes) == 1  # fmt: skip
    assert ranking_section(replace(world, cases=world.cases.assign(system="alpha")), {"jury": scores}, Draws(0, 50)) is None  # fmt: skip


def test_a_rank_is_certain_to_within_one_place_and_ties_and_few_systems_are_said() -> None:
    """Of five systems people's ranks reach over one place, none, two and an unknown number; the arm ties two of them."""
    people = pd.DataFrame({"system": [*"abcde"], "rank": [1.0, 2, 3, 4, 5], "low": [1, 2, 2, 4, np.nan], "high": [2, 2, 4, 5, np.nan], "n": [9, 9, 9, 9, 1], "tied": False, "side": "people"})  # fmt: skip
    before = people.assign(rank=[1.5, 1.5, 3, 4, 5], tied=[True, True, False, False, False], side="before")
    after = before.assign(side="after", tied=True)
    ranks = pd.concat([people, before, after]).assign(arm="jury", by="quality")
    row = {"arm": "jury", "by": "quality", "systems": 5, "tau": 0.9, "low": 0.5, "high": 1.0, "note": ""}
    agreed = pd.DataFrame([{**row, "side": "before"}, {**row, "side": "after", "tau": np.nan}])
    (told,) = _sentences(ranks, agreed)

    assert "tau of 0.90 (0.50 to 1.00) with people's ranking. People put a first; jury puts a and b first." in told  # fmt: skip
    assert told.endswith("3 of 5 ranks are certain to within one place (by their 95% intervals); jury ties 2 of the systems.")  # fmt: skip
    (few,) = _sentences(ranks, agreed.assign(systems=4))
    assert few.endswith("With so few systems, tau can take only a few values.")
    lonely = ranks.assign(rank=ranks["rank"].where(ranks["system"] != "e", 0.5))
    assert "People and jury both put e (1 case) first." in _sentences(lonely, agreed)[0]


def test_a_calibrated_jury_overtakes_a_noisy_second_panel() -> None:
    votes, people = harsh_jury(7, 120)
    rng = np.random.default_rng(3)
    second = np.where(np.arange(120) < 60, np.clip(people + rng.choice([-2.0, 0, 2.0], 120), 1, 5), np.nan)
    world = jury_evidence({"accurate": votes}, {"accurate": people}, rescored={"accurate": second})
    found = section("rescore", sections(world, Draws(0, 200)))
    wins = found.tables["wins"].set_index(["attribute", "side", "measure"])
    before, after = (wins.loc[("accurate", side, "rmse")] for side in ("before", "after"))

    assert before["n"] == after["n"] == 60
    assert after["win_rate"] > 0.95 and after["low"] > 0
    assert after["of_arm"] < before["of_arm"] and after["of_panel"] == before["of_panel"]
    assert wins.loc[("accurate", "before", "offset"), "win_rate"] < 0.2
    assert "60 scores" in found.sentences[0] and "calibrated" in found.sentences[0]


def test_an_arm_that_equals_the_second_panel_wins_half_and_has_no_advantage() -> None:
    people = np.tile([1.0, 2, 3, 4, 5, 5], 8)
    same = np.clip(people + np.tile([1.0, 0, -1, 0], 12), 1, 5)
    world = jury_evidence({"accurate": {"ana": same}}, {"accurate": people}, rescored={"accurate": same})
    wins = section("rescore", sections(world, Draws(0, 100))).tables["wins"]
    before = wins[(wins["side"] == "before") & (wins["attribute"] == "accurate")]

    assert (before["win_rate"] == 0.5).all() and (before["advantage"] == 0).all()


def test_a_second_panel_of_other_cases_is_said() -> None:
    votes, people = harsh_jury(1, 40)
    world = jury_evidence({"accurate": votes}, {"accurate": people}, rescored={"accurate": people})
    world.rescored["case"] = "elsewhere"
    found = section("rescore", sections(world, Draws(0, 20)))

    assert "shares no scored case" in found.sentences[0] and not found.tables


def test_the_second_panel_is_no_part_of_the_reference() -> None:
    ratings = pd.DataFrame(
        {"case": "c", "rater": ["Ana", "Ben", "Chidi"], "attribute": "accurate", "value": [1, 2, 3]}
    )
    first, second = two_panels(ratings, ("Chidi",))

    assert list(first["rater"]) == ["Ana", "Ben"] and list(second["rater"]) == ["Chidi"]
    with pytest.raises(VenireError, match="names 'Zoe', but no rater has this name"):
        two_panels(ratings, ("Zoe",))
    with pytest.raises(VenireError, match="every rater"):
        two_panels(ratings, ("Ana", "Ben", "Chidi"))


# The statistics behind both


def test_within_one_stratum_the_rank_correlation_is_spearmans() -> None:
    rng = np.random.default_rng(8)
    x, y = rng.integers(1, 6, (2, 60)).astype(float)
    one = stratified_spearman_statistic(x, y, np.zeros(60, dtype=np.int64))

    assert one(np.ones((1, 60)))[0] == pytest.approx(spearmanr(x, y).statistic)
    twice = np.ones((1, 60))
    twice[0, :10] = 2
    doubled = spearmanr([*x, *x[:10]], [*y, *y[:10]]).statistic
    assert one(twice)[0] == pytest.approx(doubled)


def test_what_shifts_a_whole_stratum_does_not_count_as_order() -> None:
    rng = np.random.default_rng(8)
    fold = np.repeat(np.arange(3), 20)
    x, y = rng.normal(size=(2, 60))
    whole = np.ones((1, 60))
    plain, shifted = (
        stratified_spearman_statistic(values, y, fold)(whole)[0] for values in (x, x + 100 * fold)
    )

    assert shifted == pytest.approx(plain)


def test_quadratic_kappa_of_means_equals_scikit_learns_of_categories() -> None:
    from sklearn.metrics import cohen_kappa_score

    rng = np.random.default_rng(8)
    x, y = rng.integers(1, 6, (2, 80)).astype(float)
    found = concordance_statistic(x, y)(np.ones((1, 80)))[0]

    assert found == pytest.approx(cohen_kappa_score(x, y, weights="quadratic"))
    assert np.isnan(concordance_statistic(np.ones(4), np.ones(4))(np.ones((1, 4)))[0])


def test_systems_whose_cases_are_all_of_one_group_have_ranks_without_intervals() -> None:
    rows = pd.DataFrame(
        {"system": [*"ab"] * 6, "cluster": 0, "before": [4.0, 2.0] * 6, "after": [4.0, 2.0] * 6, "people": [5.0, 3.0] * 6}
    )  # fmt: skip

    found = ranking(rows, seed=0, resamples=20)

    assert list(found["rank"]) == [1.0, 2.0] * 3
    assert found["low"].isna().all() and "of one group" in found["note"].iloc[0]
    assert rank_agreement(rows, seed=0, resamples=20)["low"].isna().all()


def test_the_change_of_tau_is_that_after_calibration_less_that_before() -> None:
    """Before calibration the first two systems change places, after it the last two and the middle ones too."""
    ranks = {"people": (1, 2, 3, 4), "before": (2, 1, 3, 4), "after": (1, 4, 3, 2)}
    rows = [
        {"cluster": case, "system": name, **{side: -float(places[number]) for side, places in ranks.items()}}
        for case in range(6)
        for number, name in enumerate(NAMES)
    ]
    found = rank_agreement(pd.DataFrame(rows), seed=0, resamples=50).set_index("side")["tau"]
    before, after = (kendalltau(ranks[side], ranks["people"]).statistic for side in ("before", "after"))

    assert found.to_dict() == pytest.approx({"before": before, "after": after, "change": after - before})
    assert after < before
