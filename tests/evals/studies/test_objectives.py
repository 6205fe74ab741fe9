"""Choosing by the measure people report: each objective is its coefficient, and a jury is chosen where it pays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import venire
from juror_worlds import LIKERT, ONE_TO_FIVE, WORDS

from venire.evals.agreement.rater_agreement import agreement
from venire.evals.comparison.objectives import OBJECTIVES, AnswerScale, ScoredVotes, objective, scored_votes
from venire.evals.ratings.question import Question
from venire.evals.ratings.reference import codes
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
from venire.rubrics.scale import CostMatrix, Scale

COEFFICIENTS = {
    "icc3k": "icc3k", "icc2": "icc2", "kappa_quadratic": "kappa_quadratic", "kappa": "kappa", "spearman": "spearman",
    "kendall": "kendall", "alpha": "alpha_ordinal", "mae": "mae",
}  # fmt: skip


def two_raters(x: np.ndarray, y: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(
        [(f"c{n}", rater, "a", value) for rater, values in (("x", x), ("y", y)) for n, value in enumerate(values)],
        columns=["case", "rater", "attribute", "value"],
    )  # fmt: skip


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_an_objective_is_the_coefficient_of_its_name(name: str) -> None:
    rng = np.random.default_rng(3)
    x = rng.integers(1, 6, 40).astype(float)
    y = np.clip(x + rng.integers(-1, 3, 40), 1, 5)
    table = two_raters(x, y)
    wanted = agreement(table, resamples=10, levels={"a": "ordinal"}).attributes["a"][COEFFICIENTS[name]].value

    scale = AnswerScale.of(LIKERT)
    alone = OBJECTIVES[name].value(x[None, :], y[None, :], scale)
    gap = np.where(np.arange(41) == 40, np.nan, np.append(x, 0.0))
    with_gap = OBJECTIVES[name].value(gap[None, :], np.append(y, 3.0)[None, :], scale)
    many = OBJECTIVES[name].value(np.array([x, 6 - x]), np.broadcast_to(y, (2, 40)), scale)

    assert [alone[0], with_gap[0], many[0]] == pytest.approx([wanted] * 3, abs=1e-9)


def test_alpha_takes_the_scales_level() -> None:
    rng = np.random.default_rng(4)
    x = rng.integers(1, 4, 30).astype(float)
    y = np.where(rng.random(30) < 0.7, x, rng.integers(1, 4, 30))
    found = agreement(two_raters(x, y), resamples=10).attributes["a"]

    nominal = OBJECTIVES["alpha"].value(x[None, :] - 1, y[None, :] - 1, AnswerScale.of(WORDS))
    interval = OBJECTIVES["alpha"].value(x[None, :], y[None, :], AnswerScale.of(ONE_TO_FIVE))

    assert nominal[0] == pytest.approx(found["alpha_nominal"].value, abs=1e-9)
    assert interval[0] == pytest.approx(found["alpha_interval"].value, abs=1e-9)


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


@pytest.mark.parametrize("scale", [LIKERT, WORDS])
def test_a_jury_with_one_seat_more_answers_as_its_weights_say(scale: Scale) -> None:
    rng = np.random.default_rng(6)
    votes = rng.integers(0, 3, (50, 5)).astype(float)
    votes[rng.random(votes.shape) < 0.1] = np.nan
    seen = ScoredVotes(
        votes, votes[:, 0], np.zeros(50, dtype=np.int64), np.arange(50), (AnswerScale.of(scale),)
    )
    seats = np.array([0, 1, 0, 2.1, 0])

    grown = seen.answers_with_a_seat(seats, np.array([0, 1, 4]), 0.9)
    weighed = seen.answers(seats + 0.9 * np.eye(5)[[0, 1, 4]])

    assert np.allclose(grown, weighed, equal_nan=True, atol=1e-12)


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


def chosen(objective: str, **options: object) -> Composition:
    asked = {name: Question(LIKERT, "high") for name in ("apart", "one")}
    goal = Goal(OBJECTIVES[objective], **options)  # type: ignore[arg-type]
    tables = recorded(np.random.default_rng(8), n=150)
    return analyse(*tables, questions=asked, goal=goal, reference="mean", resamples=50, rounds=1, largest=4)


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
    for seed in range(3):
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
        found = analyse(judged, people, questions=asked, goal=goal, resamples=20, rounds=1, largest=3)
        paid += bool(found.choices["pays"].iloc[0])

    assert paid <= 1


def test_pooled_one_composition_is_chosen_for_all() -> None:
    found = chosen("icc3k", choosing="pooled")

    assert found.choices["attribute"].tolist() == ["all attributes"]


def test_a_margin_says_whether_the_cheaper_one_will_do() -> None:
    wide, narrow = chosen("spearman", margin=0.5), chosen("spearman", margin=0.0)

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
    judged, people = recorded(np.random.default_rng(8), n=60)
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


def test_costs_choose_the_judge_whose_mistakes_are_cheap() -> None:
    """Two judges are right as often; one misses what is dear to miss, the other raises false alarms."""
    rng = np.random.default_rng(2)
    truth = np.repeat([0, 1], 60)
    missing = np.where((truth == 1) & (rng.random(120) < 0.4), 0, truth)
    alarmed = np.where((truth == 0) & (rng.random(120) < 0.4), 1, truth)
    scale = Scale(
        level="binary",
        anchors={0: "no", 1: "yes"},
        costs=CostMatrix.model_validate({0: {0: 0, 1: -1}, 1: {0: -10, 1: 0}, "abstention": -3}),
    )
    answers = AnswerScale.of(scale)
    rows = np.vstack([missing, alarmed, np.full(120, np.nan)]).astype(float)
    every = np.broadcast_to(truth.astype(float), rows.shape)

    worth = objective("costs").score(rows, every, answers)
    kappa = objective("kappa").score(rows[:2], every[:2], answers)

    assert abs(kappa[0] - kappa[1]) < 0.15 and worth[1] > worth[0] + 1
    assert worth[2] == pytest.approx(-3)
    votes = scored_votes(rows[:2].T, truth.astype(float), ["a"] * 120, np.arange(120), {"a": answers})
    assert set(votes.constant(objective("costs"))) == {1.0}


def test_words_earn_what_their_costs_say_whatever_their_place_in_the_alphabet() -> None:
    costs = {"yes": {"yes": 1, "no": -10, "maybe": 0}, "no": {"yes": -1, "no": 1, "maybe": 0}, "maybe": {"yes": 0, "no": 0, "maybe": 1}, "abstention": -3}  # fmt: skip
    scale = Scale(
        level="nominal",
        anchors={word: word for word in ("yes", "no", "maybe")},
        costs=CostMatrix.model_validate(costs),
    )
    table = pd.DataFrame(
        {
            "attribute": "a",
            "value": ["yes", "no", "maybe", "no", "yes"],
            "truth": ["yes", "no", "maybe", "yes", "no"],
        }
    )
    questions = {"a": Question(scale, "high")}
    said, right = (
        codes(table.assign(value=table[name]), questions).to_numpy(float) for name in ("value", "truth")
    )
    worth = objective("costs").score(said[None], right[None], AnswerScale.of(scale))
    assert worth[0] == pytest.approx((1 + 1 + 1 - 10 - 1) / 5)


def test_no_interval_of_a_choice_goes_beyond_what_its_objective_can_be() -> None:
    judged, people = recorded(np.random.default_rng(8), n=24)
    for name in ("icc3k", "mae"):
        found = analyse(
            judged,
            people,
            questions={name: Question(LIKERT, "high") for name in ("apart", "one")},
            reference="mean",
            goal=Goal(objective(name)),
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


def test_the_mean_over_attributes_is_of_those_on_which_the_objective_is_defined() -> None:
    """On the second attribute people always say the same, so that nothing can be ranked there."""
    rng = np.random.default_rng(9)
    truth = np.concatenate([rng.normal(size=12), np.full(8, 2.0)])
    votes = truth[:, None] + rng.normal(size=(20, 2))
    seen = ScoredVotes(votes, truth, np.repeat([0, 1], [12, 8]), np.arange(20), (AnswerScale.of(ONE_TO_FIVE),) * 2)  # fmt: skip
    spearman = [pd.Series(column[:12]).corr(pd.Series(truth[:12]), method="spearman") for column in votes.T]

    assert seen.scores(votes.T, OBJECTIVES["spearman"]) == pytest.approx(spearman)
    errors = np.abs(votes - truth[:, None])
    both = -(errors[:12].mean(axis=0) + errors[12:].mean(axis=0)) / 2
    assert seen.scores(votes.T, OBJECTIVES["mae"]) == pytest.approx(both)
