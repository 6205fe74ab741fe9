"""Cost estimates: calls, tokens and dollars, at the least and at the most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...agents.cost import Cost
from ...agents.model import Usage
from ...agents.prices import Price
from ...orchestration.protocols import protocol
from ...personas.jury import Jury
from .dry_run import PlannedCall

_CHALLENGED = ("orchestrated", "moderated", "escalate")
"""The protocols in which an instant agreement at the end of a scale is challenged."""


_WHOLE_CONVERSATION = ("magentic-one",)
"""The protocols in which a question holds all that was said before, not each juror's last word."""


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """The least and the most that arms cost. Tokens and dollars are estimates."""

    least: Cost
    further: Cost | None
    """What may come on top of the least; None where nothing bounds it."""

    @property
    def most(self) -> Cost | None:
        return None if self.further is None else self.least + self.further

    @property
    def exact(self) -> bool:
        """Whether the number of calls is known."""
        return self.further is not None and not self.further.calls


def first_step_cost(asked: Iterable[PlannedCall], prices: Mapping[str, Price | None]) -> Cost:
    """The cost of calls that are sure to be made."""
    return sum((_call_cost(each, prices[each.model]) for each in asked), Cost())


def arm_cost(
    first: Sequence[Mapping[str, PlannedCall]],
    jury: Jury,
    attributes: int,
    prices: Mapping[str, Price | None],
    later: Sequence[PlannedCall] = (),
) -> CostEstimate:
    """The cost of an arm alone: its first step in every case, and at the most all that its protocol allows.

    `later` has a call to each model that may be asked after the first step. Each further call is taken to be as long as
    the longest of all, with everybody's answers in it, and to go to the dearest model.
    """
    asked = [each for case in first for each in case.values()]
    sure = first_step_cost(asked, prices)
    most = most_calls(jury, attributes)
    if most is None:
        return CostEstimate(sure, Cost() if one_step(jury) else None)
    further = sum(max(0, most - len(case)) for case in first if case)
    if not further or not asked:
        return CostEstimate(sure, Cost())
    every = [*asked, *later]
    answer = max(call.completion for call in every)
    heard = most if jury.protocol in _WHOLE_CONVERSATION else len(jury.seats)
    usage = Usage(max(call.prompt for call in every) + answer * heard, answer)
    each = [_usage_cost(usage, prices[model]) for model in {call.model for call in every}]
    known = all(cost.priced for cost in each)
    return CostEstimate(
        sure,
        Cost(
            calls=further,
            usage=Usage(usage.prompt * further, usage.completion * further),
            priced=further if known else 0,
            known_usd=max(cost.known_usd for cost in each) * further if known else 0.0,
        ),
    )


def combined_cost(arms: Sequence[CostEstimate], shared: Cost) -> CostEstimate:
    """The cost of arms that share every question of their first steps; `shared` is of those questions, each once."""
    further = Cost()
    for each in arms:
        if each.further is None:
            return CostEstimate(shared, None)
        further += each.further
    return CostEstimate(shared, further)


def search_cost(fixed: CostEstimate, largest: CostEstimate, times: float) -> CostEstimate:
    """The cost of fixed arms, and at the most of the largest jury `times` over besides."""
    if fixed.further is None or largest.most is None:
        return CostEstimate(fixed.least, None)
    return CostEstimate(fixed.least, fixed.further + _multiple(largest.most, times))


def one_step(jury: Jury) -> bool:
    """Whether the number of calls is settled before anything is answered."""
    most = protocol(jury.protocol).most
    return most is not None and most(len(jury.seats), 1)[1] == 1 and most(len(jury.seats), 9)[1] == 1


def most_calls(jury: Jury, attributes: int) -> int | None:
    """The most calls on one case, if every answer can be used at once; None where the protocol or a limit does not say."""
    way = protocol(jury.protocol)
    if way.most is None or one_step(jury):
        return None
    # Every round takes a turn at the least.
    rounds = jury.limits.max_rounds or jury.limits.max_turns
    if rounds is None:
        return None
    calls, _ = way.most(len(jury.seats), rounds)
    if jury.protocol == "magentic-one":
        if jury.limits.max_replans is None:
            return None
        # One new plan is in the protocol's own figure; each takes the facts, the plan and the ledger that asked for it.
        calls += 3 * max(0, jury.limits.max_replans - 1)
    if jury.protocol == "escalate":
        calls += jury.escalation.repeats - 2
    if jury.challenge and jury.protocol in _CHALLENGED:
        calls += min(len(jury.seats), attributes)
    return calls


def _multiple(cost: Cost, times: float) -> Cost:
    calls, usage = round(cost.calls * times), cost.usage
    return Cost(
        calls,
        Usage(round(usage.prompt * times), round(usage.completion * times)),
        priced=0 if cost.usd is None else calls,
        known_usd=(cost.usd or 0.0) * times,
    )


def _call_cost(asked: PlannedCall, price: Price | None) -> Cost:
    return _usage_cost(Usage(asked.prompt, asked.completion), price)


def _usage_cost(usage: Usage, price: Price | None) -> Cost:
    return Cost(1, usage, int(price is not None), 0.0 if price is None else price.usd(usage) or 0.0)
