"""Can the jury replace a person: one more person, a worse one, a better one, and too few people."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from audit_worlds import LIKERT, evidence, ratings
from scipy.stats import false_discovery_control, ttest_1samp

from venire.evals.audits.stand_in import alternative_annotator, stand_in_section, stand_in_sentence
from venire.evals.ratings.question import Question
from venire.evals.statistics.draws import Draws
from venire.rubrics.scale import Scale

NO_POWER = Draws(0, 2)
"""Where it is not asked how often the test would be passed."""


def panel(rng: np.random.Generator, jury_noise: float, cases: int = 100) -> tuple[pd.DataFrame, pd.Series]:
    quality = rng.normal(0, 1, cases)
    seen = quality[:, None] + rng.normal(0, 0.7, (cases, 3))
    cuts = [-1.5, -0.5, 0.5, 1.5]
    people = pd.DataFrame(np.digitize(seen, cuts).astype(float), columns=["ana", "ben", "cy"])
    return people, pd.Series(np.digitize(quality + rng.normal(0, jury_noise, cases), cuts).astype(float))


@pytest.mark.parametrize("ordered", [True, False])
def test_it_holds_its_level_for_one_more_person_and_for_a_worse_one(ordered: bool) -> None:
    rng = np.random.default_rng(0)
    alike = [
        alternative_annotator(*panel(rng, 0.7), ordered=ordered, epsilon=0.0, draws=NO_POWER)
        .people["jury_wins"]
        .any()
        for _ in range(150)
    ]
    worse = [
        alternative_annotator(*panel(rng, 1.5), ordered=ordered, epsilon=0.0, draws=NO_POWER).passed
        for _ in range(60)
    ]

    assert np.mean(alike) <= 0.08 and not any(worse)


def test_a_jury_as_good_as_a_person_passes_where_a_little_may_be_lost() -> None:
    rng = np.random.default_rng(1)
    passed = [
        alternative_annotator(*panel(rng, 0.3, 150), ordered=True, epsilon=0.2, draws=NO_POWER).passed
        for _ in range(20)
    ]
    assert np.mean(passed) >= 0.9


def test_the_power_is_how_often_one_more_person_passes() -> None:
    rng = np.random.default_rng(5)
    found = [
        alternative_annotator(*panel(rng, 0.7, 60), ordered=True, draws=Draws(0, 300)) for _ in range(60)
    ]

    assert np.mean([each.power for each in found]) == pytest.approx(
        np.mean([each.passed for each in found]), abs=0.12
    )
    larger = alternative_annotator(*panel(rng, 0.7, 400), ordered=True)
    assert larger.power > 0.9 > 0.5 > max(each.power for each in found)


def test_what_does_not_pass_is_not_called_worse() -> None:
    people, jury = panel(np.random.default_rng(6), 1.2, 40)
    found = alternative_annotator(people, jury, ordered=True)

    assert not found.passed and 0 < found.power < 0.5
    said = stand_in_sentence("panel", "clear", found)
    assert "panel is not shown to be as good as a person on clear" in said
    assert (
        f"A jury exactly as good as a person would pass in {found.power:.0%} of studies of this size." in said
    )


def test_groups_count_as_one_and_gaps_are_left_out() -> None:
    rng = np.random.default_rng(2)
    people, jury = panel(rng, 0.3)
    people.iloc[:20, 0] = np.nan
    jury.iloc[:5] = np.nan
    found = alternative_annotator(people, jury, ordered=True, cluster=np.arange(100) // 10)

    assert found.people["n"].tolist() == [80, 95, 95]
    alone = alternative_annotator(people, jury, ordered=True)
    assert not np.allclose(found.people["p"], alone.people["p"])


def test_few_groups_of_many_cases_are_as_few_as_the_groups_that_the_person_rated() -> None:
    """Of groups of equal size the test is Student's of their means; Ana rated five of six, Ben's cases of one group alone have none."""
    people, jury = panel(np.random.default_rng(2), 0.4, 60)
    groups = np.arange(60) // 10
    people.loc[groups == 5, "ana"] = np.nan
    people = people.assign(ben=people["ben"].where(groups == 0), dee=people["cy"].shift(1, fill_value=2.0))
    found = alternative_annotator(people, jury, ordered=True, cluster=groups, epsilon=0.3, draws=NO_POWER)

    ana, ben, cy, dee = found.people.itertuples()
    for row, name in ((ana, "ana"), (cy, "cy"), (dee, "dee")):
        others = people.drop(columns=name)
        far = [np.sqrt(others.sub(values, axis=0).pow(2).mean(axis=1)) for values in (people[name], jury)]
        ahead = (far[0] <= far[1] + 1e-12).astype(float) - (far[1] <= far[0] + 1e-12)
        rated = people[name].notna()
        means = ahead[rated].groupby(groups[rated]).mean()
        assert row.p == pytest.approx(ttest_1samp(means, 0.3, alternative="less").pvalue)
    assert (ana.n, ben.n, cy.n) == (50, 10, 60) and math.isnan(ben.p)
    assert "some people have fewer than 30 cases" in found.note
    assert found.winning_rate == found.people["jury_wins"][[0, 2, 3]].mean()


def test_a_jury_that_is_always_as_close_passes_only_where_a_little_may_be_lost() -> None:
    people = pd.DataFrame({name: [1.0, 2.0] * 20 for name in ("ana", "ben", "cy")})
    exact, easier = (
        alternative_annotator(people, people["ana"], ordered=True, epsilon=epsilon, draws=NO_POWER)
        for epsilon in (0.0, 0.1)
    )
    assert exact.people["p"].tolist() == [1.0] * 3 and not exact.passed
    assert easier.people["p"].tolist() == [0.0] * 3 and easier.passed


def test_two_people_are_too_few() -> None:
    people, jury = panel(np.random.default_rng(3), 0.3)
    found = alternative_annotator(people[["ana", "ben"]], jury, ordered=True)

    assert math.isnan(found.winning_rate) and not found.passed and "3 are needed" in found.note


@pytest.mark.parametrize("ordered", [True, False])
def test_a_person_is_held_against_the_others_alone_and_discoveries_are_those_of_benjamini_and_yekutieli(
    ordered: bool,
) -> None:
    """By loops: who is closer to the other people, and of as many tests the largest p below its share of the level."""
    people, jury = panel(np.random.default_rng(8), 0.4, 60)
    people = people.assign(dee=people["ana"].where(people.index % 3 > 0), eve=people["cy"].shift(1))
    jury[5] = np.nan
    found = alternative_annotator(people, jury, ordered=ordered, epsilon=0.1, draws=Draws(0, 20))

    p_values = []
    for name, row in zip(people.columns, found.people.itertuples(), strict=True):
        gaps = []
        for case in people.index:
            others = people.loc[case].drop(name).dropna()
            mine, theirs = people.loc[case, name], jury[case]
            if np.isnan(mine) or np.isnan(theirs) or others.empty:
                continue
            far = [
                math.sqrt(((others - value) ** 2).mean()) if ordered else (others != value).mean()
                for value in (mine, theirs)
            ]
            gaps.append((far[0] <= far[1] + 1e-12, far[1] <= far[0] + 1e-12))
        person_wins, jury_wins = np.array(gaps, dtype=float).T
        assert (row.n, row.jury, row.person_share) == pytest.approx(
            (len(gaps), jury_wins.mean(), person_wins.mean())
        )
        p_values.append(ttest_1samp(person_wins - jury_wins, 0.1, alternative="less").pvalue)
        assert row.p == pytest.approx(p_values[-1])
    wanted = false_discovery_control(p_values, method="by") <= 0.05
    assert found.people["jury_wins"].tolist() == wanted.tolist()


def test_each_arm_is_tested_on_each_question_that_three_people_rated_by_groups_of_cases() -> None:
    """Two people rated `clear`, and no arm; `tone` is of words, which have no order; one arm left the last ten cases out."""
    rng = np.random.default_rng(9)
    people, good = panel(rng, 0.1, 60)
    bad = pd.Series(rng.integers(0, 5, 60).astype(float))
    tone = Question(Scale.model_validate({"level": "nominal", "anchors": {"cold": "", "dry": "", "warm": ""}}), "high")  # fmt: skip
    words = np.array(["cold", "dry", "warm"])[rng.integers(0, 3, (4, 60))]
    groups = [f"g{n // 2}" for n in range(60)]
    world = evidence(
        {"safe": LIKERT, "clear": LIKERT, "tone": tone},
        arms=[ratings("good", (good + 1)[:50]), ratings("bad", bad + 1), ratings("bad", words[3], "tone")],
        people=[
            *(ratings(name, people[name] + 1) for name in people), *(ratings(name, people[name] + 1, "clear") for name in ("ana", "ben")),
            *(ratings(name, words[n], "tone") for n, name in enumerate(people)),
        ],
        groups=groups,
    )  # fmt: skip
    section = stand_in_section(world, Draws(3, 100))
    assert section is not None

    codes = pd.DataFrame(np.searchsorted(["cold", "dry", "warm"], words[:3]).T.astype(float), columns=people.columns)  # fmt: skip
    spoken = pd.Series(np.searchsorted(["cold", "dry", "warm"], words[3]).astype(float))
    order = sorted(range(60), key=lambda n: f"c{n}")
    seen = {"cluster": pd.factorize(np.array(order) // 2)[0], "draws": Draws(3, 100)}
    wanted = {
        ("good", "safe"): alternative_annotator(people.loc[order], good.where(good.index < 50).loc[order], ordered=True, **seen),
        ("bad", "safe"): alternative_annotator(people.loc[order], bad.loc[order], ordered=True, **seen),
        ("bad", "tone"): alternative_annotator(codes.loc[order], spoken.loc[order], ordered=False, **seen),
    }  # fmt: skip
    table = section.tables["people"].set_index(["arm", "attribute"])
    assert list(table.index.unique()) == list(wanted)
    for key, found in wanted.items():
        mine = table.loc[[key]]
        assert mine["n"].tolist() == found.people["n"].tolist() and mine["p"].tolist() == pytest.approx(found.people["p"].tolist())  # fmt: skip
        assert set(mine["power"]) == {found.power}
    assert [sentence.split(" on ")[0] for sentence in section.sentences] == ["good can replace a person", *["bad is not shown to be as good as a person"] * 2]  # fmt: skip
    assert section.notes == ("good, tone: not tested: no case was rated by the jury and by at least two people",)  # fmt: skip
    assert stand_in_section(replace(world, people=world.people[world.people["rater"] != "cy"]), Draws(3, 20)) is None  # fmt: skip
    assert stand_in_section(replace(world, arms=world.arms[:0]), Draws(3, 20)) is None
