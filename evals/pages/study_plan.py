"""A plan in the terminal and as JSON."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from ..studies.cost_estimate import Toll
from ..studies.dry_run import ANSWER, BYTES
from ..studies.plan import Plan


def show_plan(plan: Plan, console: Console) -> None:
    """Every arm with what it takes alone, then what the study takes, and what that rests on."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("arm", no_wrap=True)
    for column in ("seats", "protocol", "count", "calls", "tokens", "price"):
        table.add_column(column, overflow="fold")
    for arm in plan.arms:
        toll = plan.tolls[arm.name]
        told = (arm.name, str(len(arm.jury.seats)), arm.jury.protocol, arm.jury.count or "")
        calls, tokens = _between(toll.calls, toll.most_calls), _between(toll.tokens, toll.most_tokens)
        table.add_row(*told, calls, tokens, _price(toll))
    console.print(table)
    for line in plan_lines(plan):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def plan_lines(plan: Plan) -> list[str]:
    """What the study takes as a whole, in words."""
    total, study = plan.total, plan.study
    selection, test = len(plan.parts.selection), len(plan.parts.test)
    tokens, price = _between(total.tokens, total.most_tokens), _price(total)
    lines = [
        f"{len(plan.arms)} arms on {len(plan.cases)} cases ({selection} to choose on, {test} to score what was chosen)",
        f"calls: {_between(total.calls, total.most_calls)}"
        + (
            ", exactly, if every answer can be used as it comes"
            if total.exact
            else ", at the least and at the most"
        )
        + f"; each arm by itself would make {plan.alone} at the least",
        f"tokens: about {tokens}; a token is taken for {BYTES} bytes of prompt, and an answer to have {ANSWER} an attribute",
        f"price: {price}" + (f"; unknown for {', '.join(plan.unpriced)}" if plan.unpriced else ""),
    ]
    if study.search is not None:
        lines.append(
            f"a search of {study.search.trials} trials by {', '.join(study.search.objectives)}: the most is of juries of "
            f"{study.search.max_seats} that share nothing and are never given up early"
        )
    budget = {key: value for key, value in study.budget if value is not None}
    if budget:
        lines.append("budget: " + ", ".join(f"{key} {value:g}" for key, value in budget.items()))
    return [*lines, *plan.notes]


def plan_json(plan: Plan) -> dict[str, Any]:
    """The plan as other programs read it; what is not known is null."""
    return {
        "study": plan.study.name,
        "arms": [
            {
                "arm": arm.name,
                "kind": arm.kind,
                "seats": len(arm.jury.seats),
                "protocol": arm.jury.protocol,
                "count": arm.jury.count,
                "calibration": arm.calibration,
                **_toll_json(plan.tolls[arm.name]),
            }
            for arm in plan.arms
        ],
        "cases": len(plan.cases),
        "selection": list(plan.parts.selection),
        "test": list(plan.parts.test),
        "total": _toll_json(plan.total),
        "alone": plan.alone,
        "unpriced": list(plan.unpriced),
        "notes": list(plan.notes),
    }


def _toll_json(toll: Toll) -> dict[str, Any]:
    return {
        "calls": toll.calls,
        "most_calls": toll.most_calls,
        "tokens": toll.tokens,
        "most_tokens": toll.most_tokens,
        "usd": toll.usd,
        "most_usd": toll.most_usd,
    }


def _between(least: int, most: int | None) -> str:
    return str(least) if least == most else f"{least} to {'?' if most is None else most}"


def _price(toll: Toll) -> str:
    if toll.usd is None:
        return "unknown"
    if toll.usd == toll.most_usd:
        return f"${toll.usd:.4f}"
    return f"${toll.usd:.4f} to {'unknown' if toll.most_usd is None else f'${toll.most_usd:.4f}'}"
