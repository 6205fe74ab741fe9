"""Which arm is advised, and what a plan costs, from tables and calls that are made up; what a study lacks, said by name."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from audit_worlds import ratings

from venire import Jury, Rubric, load_rubric
from venire.agents.cost import Cost, Price
from venire.agents.model import Usage
from venire.evals.statistics.contrast import Contrast
from venire.evals.statistics.estimate import Estimate
from venire.evals.studies import advice
from venire.evals.studies.advice import AdviceTables, juries_pay, price_words, recommended_arm
from venire.evals.studies.candidates import DIFFERENCE
from venire.evals.studies.checks import design_errors, rating_gaps, rubric_errors
from venire.evals.studies.dry_run import PlannedCall
from venire.evals.studies.paired_means import cases_for, contrast_power, detectable
from venire.evals.studies.plan_cost import (
    CostEstimate,
    PlanCost,
    arm_cost,
    combined_cost,
    cost_unit,
    first_step_cost,
    most_calls,
    near_budget,
    over_budget,
    search_cost,
)
from venire.evals.studies.schema import Design
from venire.evals.studies.study_report import _juries_in_short, _use_in_short
from venire.rubrics.case import Case

NAN = math.nan


def frontier(**arms: tuple[str, float, float]) -> pd.DataFrame:
    """By arm its kind, cost and score."""
    rows = [(name, *row, "") for name, row in arms.items()]
    return pd.DataFrame(rows, columns=["arm", "kind", "cost", "score", "jurors"])


def noise(**arms: tuple[bool, float, float]) -> pd.DataFrame:
    """By arm, cheapest first: whether it is within noise of the best, how far below it, and the p."""
    rows = [(name, *row) for name, row in arms.items()]
    return pd.DataFrame(rows, columns=["arm", "within", "value", "p"])


def answers(value: float = 0.0, p: float = 1.0) -> pd.DataFrame:
    return pd.DataFrame({"what": ["something else", DIFFERENCE], "value": [9.0, value], "p": [0.0, p]})


ARMS = frontier(cheap=("single judge", 1, 0.7), middle=("jury", 3, 0.8), dear=("jury", 9, 0.9))


@pytest.mark.parametrize(
    ("within", "value", "p", "advised"),
    [
        # The cheapest within noise; of the better kind, where one is shown to be better.
        ((True, True, True), 0.0, 1.0, "cheap"),
        ((False, True, True), 0.0, 1.0, "middle"),
        ((True, True, True), 0.2, 0.01, "middle"),
        ((True, True, True), 0.2, 0.2, "cheap"),
        ((False, False, True), 0.2, 0.01, "dear"),
        ((True, False, True), -0.2, 0.01, "cheap"),
        # None of the better kind is within noise: the one nearest to the best.
        ((True, False, False), 0.2, 0.01, "dear"),
    ],
)
def test_the_cheapest_arm_within_noise_of_the_better_kind_is_advised(
    within: tuple[bool, bool, bool], value: float, p: float, advised: str
) -> None:
    table = noise(cheap=(within[0], 0.2, 0.01), middle=(within[1], 0.1, 0.1), dear=(within[2], 0.0, NAN))
    assert recommended_arm(ARMS, table, answers(value, p)) == advised


def test_where_nothing_can_be_tested_the_best_score_is_advised_whichever_way_is_better() -> None:
    untested = noise(cheap=(True, 0.2, NAN), middle=(True, 0.1, NAN), dear=(True, 0.0, NAN))
    assert not advice.testable(untested)
    assert recommended_arm(ARMS, untested, answers()) == "dear"
    assert recommended_arm(ARMS, untested, answers(), better=-1.0) == "cheap"


@pytest.mark.parametrize(
    ("value", "p", "over", "pays"),
    [(0.1, 0.01, NAN, True), (0.1, 0.01, 0.05, True), (0.1, 0.01, 0.0, False), (0.1, 0.01, -0.1, False), (0.1, 0.2, NAN, False), (-0.1, 0.01, NAN, False), (0.1, NAN, NAN, False)],
)  # fmt: skip
def test_juries_pay_where_they_beat_the_best_judge_and_a_constant(value: float, p: float, over: float, pays: bool) -> None:  # fmt: skip
    empty = pd.DataFrame()
    tables = AdviceTables(answers(value, p), ARMS, noise(), empty, "votes", empty, empty, empty, empty, over_constant=over)  # fmt: skip
    assert bool(juries_pay(tables)) is pays


def test_the_first_page_says_what_to_use_for_what_and_where_a_jury_pays() -> None:
    def composition(**changed: Any) -> Any:
        choices = [("clear", "solo", False), ("risk", "jury", True), ("tone", "solo", True)]
        front = [("solo", 0.8, 0.7, 0.9, 1.0), ("jury", 0.85, 0.75, 0.95, 3.0)]
        given = {
            "chosen_apart": False, "recommended": "jury", "unit": "model calls per case", "pays": True,
            "choices": pd.DataFrame(choices, columns=["attribute", "use", "pays"]),
            "frontier": pd.DataFrame(front, columns=["arm", "score", "low", "high", "cost"]),
            "noise": pd.DataFrame({"p": [NAN, 0.1], "note": ["too few cases", ""]}),
            "answers": pd.DataFrame([{"what": "x", "value": 9.0, "low": 9.0, "high": 9.0, "p": 0.5}, {"what": DIFFERENCE, "value": 0.05, "low": 0.01, "high": 0.09, "p": 0.01}]),
        }  # fmt: skip
        return SimpleNamespace(**{**given, **changed})

    assert "Use jury: " in _use_in_short(composition()) and "(0.85 [0.75, 0.95], 3 model calls per case)" in _use_in_short(composition())  # fmt: skip
    unsure = composition(noise=pd.DataFrame({"p": [NAN], "note": ["too few cases"]}))
    assert _use_in_short(unsure) == "No arm can be recommended yet: jury scored best, but too few cases."
    apart = composition(chosen_apart=True)
    assert _use_in_short(apart).startswith("Use solo for clear, tone; jury for risk: ")
    many = pd.DataFrame([(f"q{n}", f"arm{n}", False) for n in range(6)], columns=["attribute", "use", "pays"])
    assert "arm3 for q3; 2 more arms with --full: " in _use_in_short(
        composition(chosen_apart=True, choices=many)
    )
    assert _juries_in_short(apart) == "A jury is worth using on risk, tone."
    assert _juries_in_short(composition(chosen_apart=True, choices=many)).startswith("No jury is shown")
    assert _juries_in_short(composition()).endswith("is 0.05 [0.01, 0.09].") and _juries_in_short(composition()).startswith("A jury is worth")  # fmt: skip
    assert _juries_in_short(composition(pays=False)).startswith("No jury is shown to be worth using: ")
    for nothing in ([], [{"what": DIFFERENCE, "value": 0.05, "low": NAN, "high": NAN, "p": NAN}]):
        answers = pd.DataFrame(nothing, columns=["what", "value", "low", "high", "p"])
        assert (
            _juries_in_short(composition(answers=answers)) == "It is not shown whether a jury is worth using."
        )


def test_a_price_in_words() -> None:
    assert price_words(1, "model calls per case") == "one model call per case"
    assert price_words(2.5, "model calls per case") == "2.5 model calls per case"


def test_the_power_of_a_contrast_is_that_of_its_standard_error() -> None:
    found = contrast_power({("a", "b"): Contrast(Estimate(0.1, 0.0, 0.2, 99, "x", se=0.05), 0.04), ("a", "c"): Contrast(Estimate(0.0, NAN, NAN, 99, "x"), NAN)}, 25)  # fmt: skip
    row, none = found.to_dict("records")

    assert (row["first"], row["second"], row["difference"]) == ("a", "b", 0.1)
    assert row["sd"] == pytest.approx(0.05 * math.sqrt(25))
    assert row["detectable"] == pytest.approx((1.959964 + 0.841621) * 0.05, rel=1e-5) == pytest.approx(detectable(row["sd"], 25))  # fmt: skip
    assert row["cases_for_0.02"] == math.ceil(((1.959964 + 0.841621) * 0.25 / 0.02) ** 2) == cases_for(0.02, 0.25)  # fmt: skip
    assert math.isnan(none["detectable"])
    assert (
        math.isnan(detectable(0.25, 0))
        and math.isnan(detectable(0.0, 9))
        and cases_for(0.0, 0.25) == math.inf
    )


def jury(protocol: str, seats: int = 3, **more: Any) -> Jury:
    return Jury.model_validate({"name": "j", "protocol": protocol, "seats": [{"name": f"s{n}", "model": "a"} for n in range(seats)], **more})  # fmt: skip


PRICES: dict[str, Price | None] = {"a": Price(prompt=1, completion=2), "b": Price(prompt=10, completion=20), "free": None}  # fmt: skip


def test_the_least_is_the_first_step_and_the_most_all_that_a_protocol_allows() -> None:
    """Two cases, three seats of model a; b may preside. Each further call is as long as the longest, with three answers in it, and goes to b."""
    first = [{f"{case}{n}": PlannedCall("a", 1000, 100) for n in range(3)} for case in "xy"]
    panel = arm_cost(first, jury("panel"), 2, PRICES)
    assert (panel.least.calls, panel.exact, panel.most) == (6, True, panel.least)
    assert panel.least.usage == Usage(6000, 600) and panel.least.usd == pytest.approx((6000 + 2 * 600) / 1e6)

    delphi = jury("delphi", limits={"max_rounds": 2})
    most = most_calls(delphi, 2)
    assert most == 6, "two rounds of three"
    found = arm_cost(first, delphi, 2, PRICES, later=[PlannedCall("b", 2000, 50)])
    assert found.further is not None and found.further.calls == 2 * (6 - 3)
    assert found.further.usage == Usage(6 * (2000 + 3 * 100), 6 * 100)
    assert found.further.usd == pytest.approx(6 * (2300 * 10 + 100 * 20) / 1e6)
    assert found.most is not None and found.most.calls == 12 and not found.exact
    unknown = arm_cost(first, delphi, 2, PRICES, later=[PlannedCall("free", 1, 1)])
    assert unknown.further is not None and unknown.further.usd is None
    assert arm_cost(first, jury("delphi", limits={"max_rounds": None, "max_turns": None, "max_seconds": 9}), 2, PRICES).further is None  # fmt: skip


@pytest.mark.parametrize(
    ("protocol", "limits", "calls"),
    [("delphi", {"max_rounds": 3}, 9), ("delphi", {"max_rounds": 3, "max_turns": 5}, 5), ("delphi", {"max_rounds": 9, "max_turns": 4}, 4), ("panel", {}, None)],
)  # fmt: skip
def test_the_most_calls_of_a_case(protocol: str, limits: dict[str, int], calls: int | None) -> None:
    assert most_calls(jury(protocol, limits=limits), 2) == calls


def test_arms_share_their_first_steps_and_each_has_its_own_further_calls() -> None:
    one = CostEstimate(Cost(6), Cost(4, Usage(40, 4), 4, 0.4))
    two = CostEstimate(Cost(6), Cost(3, Usage(30, 3), 3, 0.3))
    both = combined_cost([one, two], Cost(7))
    assert (both.least.calls, both.further and both.further.calls, both.most and both.most.calls) == (
        7,
        7,
        14,
    )
    assert combined_cost([one, CostEstimate(Cost(1), None)], Cost(7)).most is None
    largest = CostEstimate(Cost(2, Usage(20, 2), 2, 0.2), Cost(1, Usage(10, 1), 1, 0.1))
    searched = search_cost(one, largest, 5)
    assert searched.least.calls == 6 and searched.further is not None
    assert (searched.further.calls, searched.further.usd) == (4 + 5 * 3, pytest.approx(0.4 + 5 * 0.3))
    assert first_step_cost([PlannedCall("a", 1000, 0), PlannedCall("free", 10, 0)], PRICES).usd is None


def test_what_people_left_unrated_is_said_by_name(rubric: Rubric) -> None:
    names = list(rubric.names[:2])
    cases = [Case(id=f"c{n}", output="x") for n in range(4)]
    given = pd.concat([ratings("Ana", [3.0, 3.0, 3.0], names[0]), ratings("Ana", [3.0, 3.0], names[1])])
    errors, notes = rating_gaps(given, cases, rubric, names)
    assert [error.problem for error in errors] == ["1 of the 4 cases have no rating: c3"]
    assert any(note.startswith("1 rating by people is missing") for note in notes)
    whole, _ = rating_gaps(given, cases[:2], rubric, names)
    assert whole == []
    unasked, _ = rating_gaps(ratings("Ana", [3.0] * 4, names[0]), cases, rubric, names)
    assert [error.problem for error in unasked] == [f"no case has a rating of {names[1]}"]


def test_costs_are_no_objective_only_where_no_question_that_is_asked_has_any() -> None:
    fields = load_rubric("asr-impact").model_dump()
    costed = fields["attributes"][0]["name"]
    fields["scales"]["plain"] = {"level": "binary", "anchors": {0: "No", 1: "Yes"}}
    fields["attributes"] = [*fields["attributes"], {"name": "other", "question": "?", "scale": "plain"}]
    rubric = Rubric.model_validate(fields)

    def problems(objective: str, *attributes: str) -> list[str]:
        study: Any = SimpleNamespace(objective=objective, attributes=attributes)
        return [error.problem.partition(",")[0] for error in rubric_errors(study, rubric)]

    assert problems("costs") == problems("costs", costed) == problems("credit", "other") == []
    assert problems("costs", "other") == ["objective: costs needs a rubric with costs"]
    assert problems("credit", "othr") == ["the rubric 'asr-impact' has no attribute 'othr'"]


def test_what_a_table_needs_of_the_data_is_said_where_it_is_not_there(rubric: Rubric) -> None:
    name = rubric.names[0]
    cases = [
        Case(id=f"c{n}", output="x", system="one" if n else None, metadata={"ward": n}) for n in range(3)
    ]
    two = pd.concat([ratings("Ana", [3.0] * 3, name), ratings("Ben", [3.0] * 3, name)])

    def problems(people: pd.DataFrame = two, given: list[Case] = cases, **keys: Any) -> list[str]:
        return [error.problem for error in design_errors(Design(**keys), given, people, rubric)]

    assert problems(tables=["panels", "agreement"]) == problems(predictors=["ward"]) == []
    assert "panels: 1 person rated" in problems(two[:3], tables=["panels"])[0]
    assert "ranking: the cases name 1 system" in problems(tables=["ranking"])[0]
    other = [*cases, Case(id="d", output="x", system="two")]
    assert problems(given=other, tables=["ranking", "self_preference"]) == []
    assert "no case has 'wart'" in problems(predictors=["wart"])[0]
    assert problems(tables=["strata"], strata=["system"]) == []
    assert problems(tables=["strata"], strata=["group"]) == ["strata: no case has a group"]
    needed = [
        ("strata", "strata"),
        ("detection", "label"),
        ("rescore", "people: rescore"),
        ("tasks", "tasks"),
    ]
    for table, key in needed:
        assert problems(tables=[table]) == [f"tables: {table} needs the key {key}"]
    label = {"column": "ward", "wrong": [1], "attributes": [name, "nothing"]}
    assert problems(tables=["detection"], label=label) == ["label: the rubric has no attribute 'nothing'"]
    assert problems(severity={"attribute": "none"}) == ["severity: the rubric has no attribute 'none'"]


def planned(least: Cost, further: Cost | None, **prices: Price | None) -> PlanCost:
    return PlanCost({}, CostEstimate(least, further), prices, ("n",))


@pytest.mark.parametrize(
    ("budget", "over", "near"),
    [
        ({"max_calls": 10}, 0, 1), ({"max_calls": 9}, 1, 1), ({"max_calls": 15}, 0, 0), ({"max_calls": 14}, 0, 1),
        ({"max_tokens": 110}, 0, 1), ({"max_tokens": 109}, 1, 1), ({"max_usd": 0.5}, 0, 1), ({"max_usd": 0.4}, 1, 1), ({"max_usd": 0.75}, 0, 0), ({}, 0, 0),
    ],
)  # fmt: skip
def test_a_budget_is_passed_by_the_least_or_may_be_by_the_most(budget: dict[str, float], over: int, near: int) -> None:  # fmt: skip
    """Ten calls of 110 tokens and 50 cents are sure; five of 55 and 25 cents may follow."""
    limits = {"max_calls": None, "max_tokens": None, "max_usd": None} | budget
    study: Any = SimpleNamespace(budget=SimpleNamespace(**limits), cost=None)
    cost = planned(Cost(10, Usage(100, 10), 10, 0.5), Cost(5, Usage(50, 5), 5, 0.25), a=Price(prompt=1, completion=1))  # fmt: skip

    assert (len(over_budget(study, cost)), len(near_budget(study, cost.total))) == (over, near)
    endless = planned(Cost(1, Usage(1, 1), 1, 0.1), None).total
    assert len(near_budget(study, endless)) == len(budget)
    unpriced = planned(Cost(1), Cost(), a=None)
    assert len(over_budget(study, unpriced)) == ("max_usd" in budget)


@pytest.mark.parametrize(
    ("prices", "tokens", "unit"),
    [({"a": Price(prompt=1, completion=1)}, 5, "usd"), ({"a": Price(prompt=1, completion=1), "b": None}, 5, "tokens"), ({"a": Price(prompt=0, completion=0)}, 5, "tokens"), ({"a": Price(prompt=0, completion=0), "b": Price(prompt=0, completion=1)}, 5, "usd"), ({}, 0, "calls")],
)  # fmt: skip
def test_cost_is_counted_in_dollars_where_every_price_is_known_and_one_is_paid(prices: dict[str, Price | None], tokens: int, unit: str) -> None:  # fmt: skip
    cost = planned(Cost(1, Usage(tokens, 0)), Cost(), **prices)
    assert cost_unit(SimpleNamespace(cost=None), cost) == unit and cost_unit(SimpleNamespace(cost="calls"), cost) == "calls"  # type: ignore[arg-type]  # fmt: skip
    assert cost.unpriced == tuple(name for name, price in prices.items() if price is None)


def test_a_further_task_adds_its_own_cost() -> None:
    one, two = planned(Cost(3), Cost(2), a=None), planned(Cost(4), Cost(1), b=None)
    both = one.with_task(two)
    assert (both.total.least.calls, both.total.most and both.total.most.calls) == (7, 10)
    assert both.unpriced == ("a", "b") and both.notes == ("n",)
    assert one.with_task(planned(Cost(4), None)).total.most is None
