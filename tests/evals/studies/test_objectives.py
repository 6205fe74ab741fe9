"""Choosing by the measure people report: each objective is its coefficient, and a jury is chosen where it pays."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import venire
from juror_worlds import LIKERT, ONE_TO_FIVE

from venire.evals.comparison.objectives import OBJECTIVES, AnswerScale, ScoredVotes, objective
from venire.evals.ratings.question import Question
from venire.evals.statistics.estimate import Estimate
from venire.evals.studies.attribute_choice import (
    ArmChoice,
    HeldArm,
    composed_arms,
    ordering_weights,
    simplex_weights,
)
from venire.evals.studies.candidates import Composition
from venire.evals.studies.choices import Choices, Goal, Voters, _more_cases, _within_margin
from venire.evals.studies.recorded_jurors import analyse
from venire.rubrics.scale import CostMatrix


def test_weights_are_a_share_each_drawn_to_equal_ones() -> None:
    rng = np.random.default_rng(5)
    truth = rng.normal(size=300)
    votes = np.column_stack([truth + rng.normal(0, sd, 300) + 2 for sd in (0.3, 1.0, 3.0)])

    one = np.zeros(300, dtype=np.int64)
    for fit in (
        lambda ridge: simplex_weights(votes - 2, truth, ridge=ridge),
        lambda ridge: ordering_weights(votes, 7 * truth, one, ridge=ridge, ranked=False),
        lambda ridge: ordering_weights(votes, np.exp(truth), one, ridge=ridge, ranked=True),
    ):
        free, drawn, held = map(fit, (0.0, 1.0, 1e6))
        for weights in (free, drawn, held):
            assert weights.sum() == pytest.approx(1) and (weights >= 0).all()
        assert free[0] > 0.8 > drawn[0] > 1 / 3
        assert held == pytest.approx(np.full(3, 1 / 3), abs=1e-3)


def test_weights_that_order_cases_are_told_within_attributes() -> None:
    """The second juror knows nothing but which attribute is asked."""
    rng = np.random.default_rng(5)
    attribute = np.repeat([0, 1], 100)
    truth = rng.normal(size=200) + 10 * attribute
    votes = np.column_stack(
        [truth - 10 * attribute + rng.normal(0, 0.5, 200), 10 * attribute + rng.normal(size=200)]
    )

    weights = ordering_weights(votes, truth, attribute, ridge=0.0, ranked=False)

    assert weights[0] > 0.9


def test_a_juror_that_opposes_people_has_no_weight() -> None:
    rng = np.random.default_rng(5)
    truth = rng.normal(size=100)
    votes = np.column_stack([truth + rng.normal(0, 1, 100), -truth])
    votes[:3, 0] = np.nan

    weights = ordering_weights(votes, truth, np.zeros(100, dtype=np.int64), ridge=0.1, ranked=True)

    assert weights.tolist() == [1.0, 0.0]


def test_a_jury_by_steps_gives_a_seat_again_where_that_helps() -> None:
    """One who knows much and one who knows less: the first is worth two seats or more, the guesser none."""
    rng = np.random.default_rng(7)
    truth = rng.normal(size=400)
    votes = truth[:, None] + rng.normal(size=(400, 3)) * np.array([0.7, 1.1, 50.0])
    seen = ScoredVotes(
        votes, truth, np.zeros(400, dtype=np.int64), np.arange(400), (AnswerScale.of(ONE_TO_FIVE),)
    )

    arms = composed_arms(OBJECTIVES["spearman"], 3)(seen)

    weights = arms["jury by steps"]
    assert weights[0] >= 1.5 * weights[1] > 0 and weights[2] == 0
    assert arms["single judge"].tolist() == [1, 0, 0]
    assert np.count_nonzero(composed_arms(OBJECTIVES["spearman"], 1)(seen)["jury by steps"]) == 1


def recorded(rng: np.random.Generator, n: int = 300) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Expert means on two attributes: five judges who err apart on the first; on the second one who knows and four who do not."""
    noise = {"apart": (0.9, 0.9, 0.9, 0.9, 0.9), "one": (0.3, 2.5, 2.5, 2.5, 2.5)}
    judged, people = [], []
    cases = [f"c{number}" for number in range(n)]
    for attribute, sds in noise.items():
        truth = rng.uniform(1, 5, n)
        experts = np.clip(truth[:, None] + rng.normal(0, 0.3, (n, 3)), 1, 5)
        people += [
            pd.DataFrame(
                {"case": cases, "rater": f"e{k}", "attribute": attribute, "value": experts[:, k].round()}
            )
            for k in range(3)
        ]
        for number, sd in enumerate(sds):
            given = np.clip(np.round(truth + rng.normal(0, sd, n)), 1, 5)
            judged.append(
                pd.DataFrame({"case": cases, "juror": f"j{number}", "attribute": attribute, "value": given})
            )
    return pd.concat(judged, ignore_index=True), pd.concat(people, ignore_index=True)  # fmt: skip


@cache
def chosen(objective: str, **options: object) -> Composition:
    asked = {name: Question(LIKERT, "high") for name in ("apart", "one")}
    goal = Goal(OBJECTIVES[objective], **options)  # type: ignore[arg-type]
    tables = recorded(np.random.default_rng(8), n=150)
    return analyse(
        *tables, questions=asked, goal=goal, reference="mean", resamples=20, folds=3, rounds=1, largest=4
    )


def test_a_jury_is_taken_where_it_pays_and_a_judge_where_it_does_not() -> None:
    found = chosen("spearman")
    rows = found.choices.set_index("attribute")

    assert rows["pays"].to_dict() == {"apart": True, "one": False}
    assert rows.loc["one", "value"] >= rows.loc["one", "single_value"] - 0.01
    assert (
        rows.loc["apart", "gain_low"] > 0 and rows.loc["apart", "value"] > rows.loc["apart", "single_value"]
    )
    assert found.sentences()[0].startswith("A jury is worth using on apart (measured by Spearman's rho")
    assert set(found.measures["arm"]) == {"chosen", "best jury", "best single judge"}
    assert found.measures[["spearman", "icc3k", "kappa"]].notna().all().all()


def test_the_chosen_arm_holds_its_own_against_a_judge_and_a_greedy_jury_of_three() -> None:
    for seed in range(2):
        judged, people = recorded(np.random.default_rng(20 + seed), n=200)
        asked = {name: Question(LIKERT, "high") for name in ("apart", "one")}
        test = [f"c{number}" for number in range(100, 200)]
        goal = Goal(OBJECTIVES["spearman"])
        found = analyse(judged, people, questions=asked, goal=goal, reference="mean", test=test, resamples=20)
        for attribute, row in found.choices.set_index("attribute").iterrows():
            wide = judged[judged["attribute"] == attribute].pivot(
                index="case", columns="juror", values="value"
            )
            truth = (
                people[people["attribute"] == attribute].groupby("case")["value"].mean().reindex(wide.index)
            )
            kept = wide.index.isin(test)
            seen = ScoredVotes(
                wide.to_numpy(float)[~kept], truth.to_numpy(float)[~kept], np.zeros((~kept).sum(), dtype=np.int64),
                np.arange((~kept).sum()), (AnswerScale.of(LIKERT),),
            )  # fmt: skip
            members = greedy_three(seen)
            said = np.array([wide.to_numpy(float)[kept][:, members[:size]].mean(axis=1) for size in (1, 3)]).T
            others = [
                pd.Series(column).corr(pd.Series(truth.to_numpy()[kept]), method="spearman")
                for column in said.T
            ]
            assert row["value"] >= max(others) - 0.01, (seed, attribute)


def greedy_three(seen: ScoredVotes) -> list[int]:
    members: list[int] = []
    while len(members) < 3:
        rest = [juror for juror in range(seen.votes.shape[1]) if juror not in members]
        means = np.array([seen.votes[:, [*members, juror]].mean(axis=1) for juror in rest])
        members.append(rest[int(np.argmax(seen.scores(means, OBJECTIVES["spearman"])))])
    return members


@pytest.mark.parametrize("objective", ["icc3k", "kendall", "mae", "costs"])
def test_judges_who_know_nothing_make_no_jury_that_pays(objective: str) -> None:
    """For a mean absolute error their mean does come nearer than any of them: so does one answer to everything."""
    worth = {true: {given: -abs(true - given) for given in range(1, 6)} for true in range(1, 6)}
    costs = CostMatrix.model_validate({**worth, "abstention": -2})
    asked = {"a": Question(LIKERT.model_copy(update={"costs": costs}), "high")}
    paid = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        cases = [f"c{number}" for number in range(60)]
        judged = pd.concat(
            [pd.DataFrame({"case": cases, "juror": f"j{k}", "attribute": "a", "value": rng.integers(1, 6, 60)}) for k in range(5)]
        )  # fmt: skip
        people = pd.DataFrame({"case": cases, "attribute": "a", "value": rng.integers(1, 6, 60)})
        goal = Goal(OBJECTIVES[objective])
        found = analyse(
            judged, people, questions=asked, goal=goal, resamples=20, folds=3, rounds=1, largest=3
        )
        paid += bool(found.choices["pays"].iloc[0])

    assert paid <= 1


def test_pooled_one_composition_is_chosen_for_all() -> None:
    found = chosen("icc3k", choosing="pooled")

    assert found.choices["attribute"].tolist() == ["all attributes"]


def test_a_margin_says_whether_the_cheaper_one_will_do() -> None:
    wide, narrow = chosen("spearman", margin=0.5), chosen("spearman")

    assert wide.choices.set_index("attribute")["cheaper"]["apart"] == "within"
    assert "is shown to be worse by no more than 0.5" in " ".join(wide.sentences())
    assert narrow.choices.set_index("attribute")["cheaper"]["apart"] == "worse"
    near = chosen("spearman", margin=float(narrow.choices.set_index("attribute")["gain"]["apart"]) - 0.01)
    assert near.choices.set_index("attribute")["cheaper"]["apart"] == "open"
    assert "more cases would decide it" in " ".join(near.sentences())


def test_labels_of_test_cases_do_not_reach_the_choice() -> None:
    judged, people = recorded(np.random.default_rng(9), n=80)
    test = [f"c{number}" for number in range(40, 80)]
    asked = {name: Question(LIKERT, "high") for name in ("apart", "one")}
    other = people.assign(value=people["value"].where(~people["case"].isin(test), 6 - people["value"]))

    found = [
        analyse(judged, told, questions=asked, goal=Goal(OBJECTIVES["icc2"]), test=test, resamples=20)
        for told in (people, other)
    ]

    assert found[0].choices["who"].tolist() == found[1].choices["who"].tolist()


def test_a_study_file_names_its_objective_and_costs_need_a_matrix(tmp_path: Path) -> None:
    judged, people = recorded(np.random.default_rng(8), n=24)
    judged.to_csv(tmp_path / "judgements.csv", index=False)
    people.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "rubric.yaml").write_text(
        "name: r\nversion: 1\nscales: {five: {level: ordinal, anchors: {1: a, 2: b, 3: c, 4: d, 5: e}}}\n"
        "attributes: [{name: apart, question: q, scale: five}, {name: one, question: q, scale: five}]\n"
    )
    study = "name: s\nrubric: rubric.yaml\nratings: people.csv\njudgements: judgements.csv\nreference: mean\n"
    (tmp_path / "good.yaml").write_text(
        f"{study}objective: kappa_quadratic\nchoose: per-attribute\nmargin: 0.05\n"
    )
    (tmp_path / "bad.yaml").write_text(f"{study}objective: costs\n")

    good = venire("study", "good.yaml", "--full", "--resamples", "20", cwd=tmp_path)
    bad = venire("study", "bad.yaml", cwd=tmp_path)

    assert (
        good.returncode == 0
        and "(measured by quadratic kappa, on cases that were not used to choose it)" in good.stdout
    )
    assert bad.returncode == 2 and "objective: costs needs a rubric with costs" in bad.stderr


def test_no_interval_of_a_choice_goes_beyond_what_its_objective_can_be() -> None:
    judged, people = recorded(np.random.default_rng(8), n=24)
    for name in ("icc3k", "mae"):
        found = analyse(
            judged,
            people,
            questions={name: Question(LIKERT, "high") for name in ("apart", "one")},
            reference="mean",
            goal=Goal(objective(name)),
            folds=3,
            rounds=1,
            largest=3,
            resamples=20,
        )
        assert (found.choices["high"].dropna() <= objective(name).most).all()
        assert (found.choices["low"].dropna() >= objective(name).least).all()


def test_judges_who_are_always_right_or_always_off_alike_are_no_certainty() -> None:
    """Whatever cases are left out, nothing changes: no interval of no width, and no p of 0."""
    truth = np.tile([1, 2, 3, 4], 10)
    cases = [f"c{number}" for number in range(40)]
    people = pd.DataFrame({"case": cases, "rater": "e", "attribute": "a", "value": truth})
    for name, offs, value in (("mae", (0, 0, 0), 0.0), ("mae", (1, 1, 1), 1.0), ("icc3k", (0, 0, 0), 1.0)):
        judged = pd.concat(
            pd.DataFrame({"case": cases, "juror": f"j{number}", "attribute": "a", "value": truth + off})
            for number, off in enumerate(offs)
        )
        found = analyse(
            judged,
            people,
            questions={"a": Question(LIKERT, "high")},
            goal=Goal(objective(name)),
            folds=3,
            rounds=1,
            largest=3,
            resamples=20,
        )
        (row,) = found.choices.to_dict("records")

        assert row["value"] == pytest.approx(value)
        assert np.isnan([row["low"], row["high"]]).all()
        assert row["p"] != 0 and np.isnan(row["gain_low"])
        assert not any("nan" in sentence for sentence in found.sentences())


def held(name: str, weights: list[float], value: float, naive: float = 0.9) -> HeldArm:
    return HeldArm(name, np.array(weights), Estimate(value, value - 0.1, value + 0.1, 60, "m"), naive, {"spearman": value})  # fmt: skip


def made_choice(gain: float, low: float, high: float, p: float, *, error: float = 0.05) -> ArmChoice:
    jury, single = held("all jurors", [0.5, 0.5, 0.004], 0.8), held("single judge", [1.0, 0.0, 0.0], 0.7)
    estimate = Estimate(gain, low, high, 60, "delete-a-group jackknife of 40 groups")
    return ArmChoice(jury, jury, single, estimate, p, Estimate(0.3, 0.2, 0.4, 60, "m"), 40, error)


VOTERS = Voters(("ana", "ben", "cy"), np.array([1.0, 2.5, 40.0]), "calls")


@pytest.mark.parametrize(
    ("low", "high", "p", "says"),
    [
        (-0.01, 0.019, 0.5, "within"),
        (-0.01, 0.02, 0.5, "open"),
        (-0.3, 0.3, 0.5, "open"),
        (0.02, 0.3, 0.01, "open"),
        (0.021, 0.3, 0.01, "worse"),
        (np.nan, np.nan, 1.0, "within"),
        (np.nan, np.nan, 0.2, "open"),
    ],
)
def test_a_judge_is_within_the_margin_where_the_whole_interval_of_the_gain_is(
    low: float, high: float, p: float, says: str
) -> None:
    assert _within_margin(made_choice(0.01, low, high, p), 0.02) == says


def test_how_many_more_cases_would_decide_is_the_usual_sample_size() -> None:
    """(1.96 + 0.84) standard errors between gain and margin: so many groups, less those that there are."""
    needed = 40 * ((1.959964 + 0.841621) * 0.05 / 0.08) ** 2
    assert _more_cases(made_choice(0.1, -0.1, 0.3, 0.3), 0.02) == np.ceil(needed) - 40 > 0
    assert _more_cases(made_choice(0.1, 0.05, 0.3, 0.01), 0.02) == 0
    assert _more_cases(made_choice(0.02, -0.1, 0.3, 0.3), 0.02) == 0
    assert _more_cases(made_choice(0.1, -0.1, 0.3, 0.3, error=np.nan), 0.02) == 0
    assert _more_cases(made_choice(0.9, -0.1, 0.95, 0.3, error=0.01), 0.02) == 0


def test_an_arm_costs_what_its_members_cost_and_names_them_the_heaviest_first() -> None:
    choices = Choices(Goal(OBJECTIVES["spearman"]), VOTERS)

    assert choices.cost(held("j", [0.5, 0.5, 0.004], 0.8)) == 3.5
    assert choices.cost(held("j", [0.2, 0.0, 0.8], 0.8)) == 41.0
    assert choices.who(held("j", [0.5, 0.5, 0.004], 0.8)) == "ana + ben"
    assert choices.who(held("j", [0.2, 0.0, 0.8], 0.8)) == "0.80 cy + 0.20 ana"


@pytest.mark.parametrize(
    ("gain", "low", "p", "weights", "used"),
    [
        (0.1, 0.05, 0.01, [0.5, 0.5, 0.0], "jury"),
        (0.1, -0.05, 0.2, [0.5, 0.5, 0.0], "single"),
        (0.1, -0.05, 0.2, [0.0, 1.0, 0.0], "single"),
        (0.0, -0.05, 0.9, [1.0, 0.0, 0.0], "single"),
        (-0.1, -0.2, 0.01, [1.0, 0.0, 0.0], "single"),
    ],
)
def test_a_jury_is_used_where_it_pays_or_is_cheaper_and_not_shown_to_be_worse(
    gain: float, low: float, p: float, weights: list[float], used: str
) -> None:
    choices = Choices(Goal(OBJECTIVES["spearman"]), VOTERS)
    found = replace(made_choice(gain, low, gain + 0.1, p), jury=held("jury", weights, 0.8), single=held("single", [0.0, 1.0, 0.0], 0.7))  # fmt: skip
    cheaper = weights == [1.0, 0.0, 0.0] and not (gain < 0 and p < 0.05)
    assert choices.arm_to_use(found).name == ("jury" if cheaper else used)
    assert choices.arm_to_use(replace(found, jury=None)).name == "single"
    assert choices.arm_to_use(replace(found, use=held("third", weights, 0.7))).name == "third"


def test_the_table_of_choices_has_the_numbers_of_its_arms() -> None:
    choices = Choices(Goal(OBJECTIVES["mae"], margin=0.03), VOTERS)
    found = replace(made_choice(0.1, 0.05, 0.3, 0.01), best=held("weights", [0.2, 0.0, 0.8], 0.6, naive=0.4))
    choices.add("clear", found)
    (row,) = choices.table.to_dict("records")

    assert (row["attribute"], row["objective"], row["chosen"], row["who"]) == ("clear", "mae", "weights", "0.80 cy + 0.20 ana")  # fmt: skip
    assert (row["value"], row["low"], row["high"]) == pytest.approx((0.6, 0.5, 0.7))
    # Of an error, that it is lower on its own cases is what is optimistic.
    assert (row["chosen_on"], row["optimism"], row["cost"]) == pytest.approx((0.4, 0.2, 41.0))
    assert (row["use"], row["use_value"], row["use_cost"]) == ("ana + ben", 0.8, 3.5)
    assert (row["single"], row["single_value"], row["single_cost"]) == ("ana", 0.7, 1.0)
    assert (row["jury"], row["jury_value"], row["gain"], row["gain_low"], row["gain_high"]) == ("ana + ben", 0.8, 0.1, 0.05, 0.3)  # fmt: skip
    assert (row["p"], row["pays"], row["margin"], row["cheaper"], row["more_cases"], row["n"]) == (0.01, True, 0.03, "worse", 0, 60)  # fmt: skip
    measures = choices.measures
    assert measures["arm"].tolist() == ["chosen", "best jury", "best single judge"]
    assert measures["spearman"].tolist() == measures["objective"].tolist() == [0.6, 0.8, 0.7]
