"""A study's plan in the terminal and as JSON."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from ...agents.cost import Cost
from ...rubrics.errors import count_words
from .dry_run import ANSWER_TOKENS, BYTES_PER_TOKEN
from .plan import Plan, RecordedPlan, StudyPlan
from .plan_cost import CostEstimate

FREE = CostEstimate(least=Cost(), further=Cost())


def show_plan(plan: StudyPlan, console: Console, *, arms: bool = True) -> None:
    """Every arm with what it costs alone, if `arms`; then what the study costs, and what that rests on."""
    if arms and isinstance(plan, Plan):
        console.print(_arms_table(plan))
    for line in plan_lines(plan):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def plan_lines(plan: StudyPlan) -> list[str]:
    """What the study costs as a whole, in words."""
    return _run_lines(plan) if isinstance(plan, Plan) else _recorded_lines(plan)


def plan_json(plan: StudyPlan) -> dict[str, Any]:
    """The plan as other programs read it; what is not known is null."""
    return _run_json(plan) if isinstance(plan, Plan) else _recorded_json(plan)


def _arms_table(plan: Plan) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("arm", no_wrap=True)
    for column in ("seats", "protocol", "count", "calls", "tokens", "price"):
        table.add_column(column, overflow="fold")
    for arm in plan.arms:
        cost = plan.costs[arm.name]
        table.add_row(
            arm.name,
            str(len(arm.jury.seats)),
            arm.jury.protocol,
            arm.jury.count or "",
            _calls(cost),
            _tokens(cost),
            _price(cost),
        )
    return table


def _run_lines(plan: Plan) -> list[str]:
    total, study = plan.total, plan.study
    selection, test = len(plan.split.selection), len(plan.split.test)
    tokens, price = _tokens(total), _price(total)
    calls = _calls(total) if total.exact else _calls(total).replace(" to ", " and ")
    tasks = f", {', '.join(task.name for task in plan.tasks)} not counted" if plan.tasks else ""
    lines = [
        f"{count_words(len(plan.arms), 'arm')} on {count_words(len(plan.cases), 'case')} ({selection} for choosing arms, {test} for scoring the chosen arms)",
        (
            f"{calls} calls, if every answer is usable; run one by one, the arms would make at least {plan.alone} calls{tasks}"
            if total.exact
            else f"Between {calls} calls; run one by one, the arms would make at least {plan.alone} calls{tasks}"
        ),
        f"tokens: about {tokens}, assuming {BYTES_PER_TOKEN} bytes of prompt per token and answers of "
        f"{ANSWER_TOKENS} tokens per attribute",
        f"price: {price}"
        + (f"; in batches (--batch) {_price(total, share=0.5)}" if total.least.usd else "")
        + (f"; unknown for {', '.join(plan.unpriced)}" if plan.unpriced else ""),
    ]
    if study.search is not None:
        lines.append(
            f"the search makes {study.search.trials} trials and compares juries by {', '.join(study.search.objectives)}; the maximum number of calls assumes "
            f"juries of {study.search.max_seats} jurors that share no calls and are never dropped early"
        )
    budget = {key: value for key, value in study.budget if value is not None}
    if budget:
        lines.append("budget: " + ", ".join(f"{key} {value:g}" for key, value in budget.items()))
    return [*lines, *plan.notes]


def _recorded_lines(plan: RecordedPlan) -> list[str]:
    table = plan.recording.judgements
    return [
        f"{len(plan.jurors)} recorded jurors, {len(table)} judgements of {table['case'].nunique()} cases: "
        "no call is made, and nothing is paid"
    ]


def _run_json(plan: Plan) -> dict[str, Any]:
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
                **_cost_json(plan.costs[arm.name]),
            }
            for arm in plan.arms
        ],
        "cases": len(plan.cases),
        "selection": list(plan.split.selection),
        "test": list(plan.split.test),
        "total": _cost_json(plan.total),
        "alone": plan.alone,
        "unpriced": list(plan.unpriced),
        "notes": list(plan.notes),
    }


def _recorded_json(plan: RecordedPlan) -> dict[str, Any]:
    table = plan.recording.judgements
    return {
        "study": plan.study.name,
        "jurors": plan.jurors,
        "cases": int(table["case"].nunique()),
        "judgements": len(table),
        "total": _cost_json(FREE),
    }


def _cost_json(cost: CostEstimate) -> dict[str, Any]:
    least, most = cost.least, cost.most
    return {
        "calls": least.calls,
        "most_calls": None if most is None else most.calls,
        "tokens": least.tokens,
        "most_tokens": None if most is None else most.tokens,
        "usd": least.usd,
        "most_usd": None if most is None else most.usd,
        "batch_usd": None if least.usd is None else least.usd / 2,
    }


def _calls(cost: CostEstimate) -> str:
    return _range(cost.least.calls, None if cost.most is None else cost.most.calls)


def _tokens(cost: CostEstimate) -> str:
    return _range(cost.least.tokens, None if cost.most is None else cost.most.tokens)


def _range(least: int, most: int | None) -> str:
    return str(least) if least == most else f"{least} to {'?' if most is None else most}"


def _price(cost: CostEstimate, share: float = 1.0) -> str:
    least, most = cost.least.usd, None if cost.most is None else cost.most.usd
    if least is None:
        return "unknown"
    if least == most:
        return f"${share * least:.4f}"
    return f"${share * least:.4f} to {'unknown' if most is None else f'${share * most:.4f}'}"
