"""Cost estimates: calls, tokens and dollars, at the least and at the most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ...agents.model import Usage
from ...agents.prices import Price
from ...orchestration.protocols import protocol
from ...personas.jury import Jury
from .dry_run import PlannedCall

_CHALLENGED = ("orchestrated", "moderated", "escalate")
"""The protocols in which an instant agreement at the end of a scale is challenged."""


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """Calls are exact where `calls == most_calls`; tokens and dollars are estimates. None is unknown, never nothing."""

    calls: int
    most_calls: int | None
    tokens: int
    most_tokens: int | None
    usd: float | None
    most_usd: float | None

    @property
    def exact(self) -> bool:
        return self.calls == self.most_calls


def first_step_cost(asked: Iterable[PlannedCall], prices: Mapping[str, Price | None]) -> CostEstimate:
    """The cost of questions that are sure to be asked."""
    calls = tokens = 0
    usd: float | None = 0.0
    for each in asked:
        calls += 1
        tokens += each.prompt + each.completion
        paid = _usd(each, prices[each.model])
        usd = None if usd is None or paid is None else usd + paid
    return CostEstimate(calls, calls, tokens, tokens, usd, usd)


def arm_cost(
    first: Sequence[Mapping[str, PlannedCall]],
    jury: Jury,
    attributes: int,
    prices: Mapping[str, Price | None],
) -> CostEstimate:
    """The cost of an arm alone: its first step in every case, and at the most all that its protocol allows.

    A later question is taken to be as long as the arm's first ones with everybody's answers in it.
    """
    asked = [each for case in first for each in case.values()]
    sure = first_step_cost(asked, prices)
    most = most_calls(jury, attributes)
    if most is None:
        return sure if one_step(jury) else CostEstimate(sure.calls, None, sure.tokens, None, sure.usd, None)
    further = sum(max(0, most - len(case)) for case in first if case)
    if not further or not asked:
        return sure
    answers = sum(each.completion for each in asked) / len(asked) * len(jury.seats)
    tokens = sure.tokens + round(further * (sure.tokens / len(asked) + answers))
    usd = None if sure.usd is None or not sure.tokens else sure.usd / sure.tokens * tokens
    return CostEstimate(
        sure.calls, sure.calls + further, sure.tokens, tokens, sure.usd, sure.usd if not sure.tokens else usd
    )


def combined_cost(arms: Sequence[CostEstimate], shared: CostEstimate) -> CostEstimate:
    """The cost of arms that share every question of their first steps; `shared` is of those questions, each once."""
    most_calls = _beyond(shared.calls, [(each.calls, each.most_calls) for each in arms])
    most_tokens = _beyond(shared.tokens, [(each.tokens, each.most_tokens) for each in arms])
    most_usd = _beyond(shared.usd, [(each.usd, each.most_usd) for each in arms])
    return CostEstimate(
        shared.calls,
        None if most_calls is None else int(most_calls),
        shared.tokens,
        None if most_tokens is None else int(most_tokens),
        shared.usd,
        most_usd,
    )


def search_cost(fixed: CostEstimate, largest: CostEstimate, times: float) -> CostEstimate:
    """The cost of fixed arms, and at the most of the largest jury `times` over besides."""

    def beyond(start: float | None, further: float | None) -> float | None:
        return None if start is None or further is None else start + further * times

    calls, tokens = (
        beyond(fixed.most_calls, largest.most_calls),
        beyond(fixed.most_tokens, largest.most_tokens),
    )
    return replace(
        fixed,
        most_calls=None if calls is None else round(calls),
        most_tokens=None if tokens is None else round(tokens),
        most_usd=beyond(fixed.most_usd, largest.most_usd),
    )


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
    if jury.protocol == "escalate":
        calls += jury.escalation.repeats - 2
    if jury.challenge and jury.protocol in _CHALLENGED:
        calls += min(len(jury.seats), attributes)
    return calls


def _beyond(start: float | None, pairs: Iterable[tuple[float | None, float | None]]) -> float | None:
    total = start
    for least, most in pairs:
        if total is None or least is None or most is None:
            return None
        total += most - least
    return total


def _usd(asked: PlannedCall, price: Price | None) -> float | None:
    if price is None:
        return None
    return price.usd(Usage(asked.prompt, asked.completion)) or 0.0
