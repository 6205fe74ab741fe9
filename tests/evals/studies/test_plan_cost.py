"""What a plan costs, by hand: the sure calls, what may come on top, what arms, tasks and a search add up to."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from venire.agents.cost import Cost, Price
from venire.agents.model import Usage
from venire.evals.studies.dry_run import PlannedCall
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
from venire.evals.studies.study import Study
from venire.evals.studies.study_plan import _run_lines
from venire.personas.jury import Jury

CHEAP, DEAR = Price(prompt=1, completion=2), Price(prompt=10, completion=20)


def jury(protocol: str, seats: int = 3, **keys: Any) -> Jury:
    return Jury.model_validate(
        {"name": "j", "protocol": protocol, "seats": [{"name": f"s{n}"} for n in range(seats)], **keys}
    )


def cost(calls: int, prompt: int = 0, completion: int = 0, usd: float | None = 0.0) -> Cost:
    """Calls that are all priced, or, without dollars, none."""
    return Cost(calls, Usage(prompt, completion), 0 if usd is None else calls, usd or 0.0)


def estimate(calls: int, further: int | None = 0, usd: float | None = 0.0) -> CostEstimate:
    return CostEstimate(cost(calls, usd=usd), None if further is None else cost(further, usd=usd))


def study(**keys: Any) -> Study:
    return Study.model_validate({"name": "s", "cases": "c", "rubric": "r", "ratings": "r", "arms": ["single"], **keys})  # fmt: skip


def test_sure_calls_cost_their_tokens_at_their_own_models_price() -> None:
    asked = [PlannedCall("cheap", 1000, 100), PlannedCall("dear", 500, 50)]
    known = first_step_cost(asked, {"cheap": CHEAP, "dear": DEAR})
    partly = first_step_cost(asked, {"cheap": CHEAP, "dear": None})

    # 1000 + 2 x 100 and 10 x 500 + 20 x 50, of a million.
    assert (known.calls, known.usage) == (2, Usage(1500, 150))
    assert known.usd == pytest.approx((1200 + 6000) / 1e6)
    assert (partly.usd, partly.known_usd) == (None, pytest.approx(1200 / 1e6))


def test_further_calls_are_as_long_as_the_longest_with_all_answers_and_go_to_the_dearest_model() -> None:
    """Delphi of three over three rounds is nine calls at the most: of a case that asked three, six more."""
    way = jury("delphi", limits={"max_rounds": 3})
    first = [
        {"a": PlannedCall("cheap", 1000, 100), "b": PlannedCall("cheap", 900, 100), "c": PlannedCall("dear", 100, 10)},
        {"d": PlannedCall("cheap", 1000, 100), "e": PlannedCall("cheap", 900, 100)},
        {},
    ]  # fmt: skip
    prices = {"cheap": CHEAP, "dear": DEAR, "later": None}
    found = arm_cost(first, way, 2, prices)
    later = arm_cost(first, way, 2, {**prices, "later": DEAR}, [PlannedCall("later", 2000, 200)])

    assert most_calls(way, 2) == 9
    assert found.least == first_step_cost([call for case in first for call in case.values()], prices)
    # Six and seven calls of 1000 + 3 x 100 tokens and 100 more; a case that asked nothing asks nothing later.
    assert found.further == Cost(13, Usage(13 * 1300, 13 * 100), 13, pytest.approx(13 * (13000 + 2000) / 1e6))
    assert later.further == Cost(13, Usage(13 * 2600, 13 * 200), 13, pytest.approx(13 * (26000 + 4000) / 1e6))
    unknown = arm_cost(first, way, 2, prices, [PlannedCall("later", 1, 1)])
    assert unknown.further == Cost(13, Usage(13 * 1300, 13 * 100), 0, 0.0)
    assert arm_cost(first, jury("panel"), 2, prices) == CostEstimate(found.least, Cost())
    open_end = arm_cost(
        first, jury("delphi", limits={"max_rounds": None, "max_turns": None, "max_seconds": 9}), 2, prices
    )
    assert (open_end.further, open_end.most, open_end.exact) == (None, None, False)


def test_arms_share_their_first_questions_and_nothing_after_them() -> None:
    arms, shared = [estimate(9, 4, 0.4), estimate(9, 3, 0.3)], cost(10, usd=1.0)
    both = combined_cost(arms, shared)

    assert both.least == shared
    assert both.most is not None and (both.most.calls, both.most.usd) == (17, pytest.approx(1.7))
    assert combined_cost([*arms, estimate(1, None)], shared) == CostEstimate(shared, None)
    assert combined_cost([], shared) == CostEstimate(shared, Cost())


def test_a_search_may_cost_its_largest_jury_so_many_times_on_top() -> None:
    fixed = estimate(10, 5, 0.5)
    largest = CostEstimate(cost(4, 40, 8, 0.04), cost(2, 20, 4, 0.02))
    found = search_cost(fixed, largest, 2.5)

    assert found.least == fixed.least
    assert found.further == Cost(5 + 15, Usage(150, 30), 5 + 15, pytest.approx(0.5 + 0.15))
    unpriced = search_cost(fixed, replace(largest, least=cost(4, usd=None)), 2.5).further
    assert unpriced is not None and (unpriced.calls, unpriced.usd) == (20, None)
    for one, other in ((estimate(10, None), largest), (fixed, estimate(4, None))):
        assert search_cost(one, other, 2.5) == CostEstimate(one.least, None)


def test_a_task_adds_its_own_cost_prices_and_notes() -> None:
    main = PlanCost({"arm": estimate(3)}, estimate(3, 1), {"z": None, "a": CHEAP}, ("both", "main"))
    task = PlanCost({"arm": estimate(5)}, estimate(5, 2), {"b": None, "c": DEAR}, ("both", "task"))
    found = main.with_task(task)

    assert (found.arms, found.notes) == (main.arms, ("both", "main", "task"))
    assert (found.total.least.calls, found.total.most) == (8, cost(11))
    assert found.unpriced == ("b", "z") and found.prices["c"] == DEAR
    for one, other in ((replace(main, total=estimate(3, None)), task), (main, replace(task, total=estimate(5, None)))):  # fmt: skip
        assert one.with_task(other).total == CostEstimate(cost(8), None)


def test_a_limit_is_refused_beyond_the_least_and_noted_beyond_the_most() -> None:
    least = cost(10, 90, 10, 1.0)
    total = CostEstimate(least, cost(5, 40, 10, 0.5))
    endless, unpriced = CostEstimate(least, None), estimate(10, 5, None)
    exact = {"max_calls": 10, "max_tokens": 100, "max_usd": 1.0}
    below = {"max_calls": 9, "max_tokens": 99, "max_usd": 0.99}
    whole = {"max_calls": 15, "max_tokens": 150, "max_usd": 1.5}

    def refused(budget: dict[str, float], found: CostEstimate = total, **prices: Price | None) -> list[str]:
        errors = over_budget(study(budget=budget), PlanCost({}, found, prices, ()))
        return [error.problem.split()[0] for error in errors]

    def noted(budget: dict[str, float], found: CostEstimate = total) -> list[str]:
        return [name for note in near_budget(study(budget=budget), found) for name in exact if name in note]

    assert refused(below) == list(below) and refused(exact) == []
    assert refused({"max_usd": 9.0}, a=None) == ["max_usd"] == refused({"max_usd": 0.1}, unpriced, a=None)
    assert refused({"max_calls": 99}, a=None) == []
    assert noted(exact) == list(exact) and noted(whole) == [] and noted({}, endless) == []
    assert noted({**whole, "max_usd": 1.49}) == ["max_usd"] and noted(whole, endless) == list(whole)
    assert noted({"max_usd": 99.0, "max_calls": 99}, unpriced) == ["max_usd"]


def test_cost_is_counted_in_dollars_where_every_price_is_known_and_one_is_paid() -> None:
    free, tokens = Price(prompt=0, completion=0), CostEstimate(cost(2, 10, 1), Cost())

    def unit(*prices: Price | None, total: CostEstimate = tokens, **keys: Any) -> str:
        return cost_unit(study(**keys), PlanCost({}, total, dict(zip("abc", prices, strict=False)), ()))

    assert [unit(DEAR, free), unit(Price(prompt=0, completion=1)), unit(DEAR, None)] == ["usd", "usd", "tokens"]  # fmt: skip
    assert [unit(free), unit(), unit(free, total=estimate(2))] == ["tokens", "tokens", "calls"]
    assert unit(DEAR, cost="calls") == "calls"


@pytest.mark.parametrize(
    "budget", [{}, {"max_usd": 2.0, "max_tokens": 100, "max_seconds": 60, "max_calls": 9}]
)
def test_what_is_left_of_a_budget_is_never_below_nothing(budget: dict[str, Any]) -> None:
    limits = study(budget=budget).budget
    partly = Cost(4, Usage(30, 10), 3, 0.5, seconds=999)
    left = dict(limits.remaining(partly, 20.0))

    want = {"max_usd": 1.5, "max_tokens": 60, "max_seconds": 40.0, "max_calls": 5}
    assert left == (want if budget else dict.fromkeys(want))
    spent = limits.remaining(Cost(99, Usage(999, 0), 99, 9.0), 99.0)
    assert set(spent.values()) == ({0} if budget else {None})


def test_what_a_plan_says_of_its_cost_has_both_ends_and_the_price_in_batches() -> None:
    def lines(total: CostEstimate, *, unpriced: tuple[str, ...] = (), tasks: tuple[str, ...] = (), **keys: Any) -> list[str]:  # fmt: skip
        split = SimpleNamespace(selection=["c0", "c1"], test=["c2"])
        named = tuple(SimpleNamespace(name=name) for name in tasks)
        plan = SimpleNamespace(total=total, study=study(**keys), split=split, tasks=named, arms=("a", "b"), cases=("c0", "c1", "c2"), alone=40, unpriced=unpriced, notes=("A note.",))  # fmt: skip
        return _run_lines(plan)  # type: ignore[arg-type]

    exact = lines(CostEstimate(cost(30, 900, 100, usd=0.5), cost(0, 0, 0, usd=0.0)))
    assert exact[0] == "2 arms on 3 cases (2 for choosing arms, 1 for scoring the chosen arms)"
    assert exact[1].startswith(
        "30 calls, if every answer is usable; run one by one, the arms would make at least 40 calls"
    )
    assert (
        exact[2].startswith("tokens: about 1000, ")
        and exact[3] == "price: $0.5000; in batches (--batch) $0.2500"
    )
    assert exact[4:] == ["A note."]
    bounded = lines(CostEstimate(cost(30, 900, 100, usd=0.5), cost(12, 50, 50, usd=1.5)), tasks=("ward", "clinic"), budget={"max_calls": 100, "max_usd": 2.5})  # fmt: skip
    assert (
        bounded[1]
        == "Between 30 and 42 calls; run one by one, the arms would make at least 40 calls, ward, clinic not counted"
    )
    assert bounded[2].startswith("tokens: about 1000 to 1100, ") and bounded[3] == "price: $0.5000 to $2.0000; in batches (--batch) $0.2500 to $1.0000"  # fmt: skip
    assert bounded[4] == "budget: max_usd 2.5, max_calls 100"
    endless = lines(CostEstimate(cost(30, usd=0.5), None))
    assert endless[1].startswith("Between 30 and ? calls") and endless[3].startswith(
        "price: $0.5000 to unknown; in"
    )
    assert lines(CostEstimate(cost(30, usd=None), None), unpriced=("m", "n"))[3] == "price: unknown; unknown for m, n"  # fmt: skip
