"""Whether a plan's cost fits the study's budget, and what that cost is counted in."""

from __future__ import annotations

from ...agents.cost import CostUnit
from ...rubrics.errors import VenireError
from .cost_estimate import CostEstimate
from .plan_cost import PlanCost
from .study import Study


def over_budget(study: Study, cost: PlanCost) -> list[VenireError]:
    """An error for each part of the budget that even the least of the plan goes beyond."""
    budget, least = study.budget, cost.total.least
    errors = []
    if budget.max_usd is not None and cost.unpriced:
        errors.append(
            VenireError(
                f"max_usd cannot be kept: the price of {', '.join(cost.unpriced)} is not known",
                remedy="give it in a file under prices, or limit calls or tokens instead",
            )
        )
    for key, amount, words in (
        ("max_calls", least.calls, f"{least.calls} calls"),
        ("max_tokens", least.tokens, f"about {least.tokens} tokens"),
        ("max_usd", least.usd, f"about ${least.usd or 0:.2f}"),
    ):
        limit = getattr(budget, key)
        if limit is not None and amount is not None and amount > limit:
            errors.append(
                VenireError(
                    f"{key} is {limit:g}, and the plan takes {words} at the least",
                    remedy="raise it, or plan fewer arms or cases",
                )
            )
    return errors


def near_budget(study: Study, total: CostEstimate) -> list[str]:
    """A note for each part of the budget that the most of the plan goes beyond."""
    most = total.most
    amounts = {
        "max_calls": None if most is None else most.calls,
        "max_tokens": None if most is None else most.tokens,
        "max_usd": None if most is None else most.usd,
    }
    return [
        f"{key} may end the study before it is done: it can be continued with more"
        for key, amount in amounts.items()
        if (limit := getattr(study.budget, key)) is not None and (amount is None or amount > limit)
    ]


def cost_unit(study: Study, cost: PlanCost) -> CostUnit:
    """What cost is counted in: dollars where every price is known and one is paid, else tokens, else calls."""
    if study.cost is not None:
        return study.cost
    paid = [price for price in cost.prices.values() if price is None or price.prompt or price.completion]
    if paid and None not in paid:
        return "usd"
    return "tokens" if cost.total.least.tokens else "calls"
