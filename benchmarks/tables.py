"""The results as tables: what each call cost, and which targets were met."""

from __future__ import annotations

from typing import Any

FLOOR = "raw aiohttp"
LITELLM = "bare litellm.acompletion"


def page(found: dict[str, Any]) -> str:
    """The results as Markdown."""
    about = found["machine"]
    parts = [
        f"{about['cores']} cores, {about['processor']}, {about['memory_gb']} GB, {about['system']}, "
        f"Python {about['python']}; load {about['load_before']} before the run.",
        _calls(found["calls"]),
        _targets(found),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _calls(calls: dict[str, dict[str, Any]]) -> str:
    if not calls:
        return ""
    floor = calls.get(FLOOR, {}).get("cpu_ms")
    rows = [
        "| who | calls | CPU-ms a call | with start-up | times the floor | peak MB |",
        "|---|---|---|---|---|---|",
    ]
    for name, took in calls.items():
        if "skipped" in took:
            rows.append(f"| {name} | | skipped: {took['skipped']} | | | |")
            continue
        ratio = f"{took['cpu_ms'] / floor:.1f}" if floor else ""
        rows.append(
            f"| {name} | {took['calls']} | {took['cpu_ms']:.2f} | {took['cpu_ms_with_start']:.2f} | {ratio} "
            f"| {took['peak_mb']:.0f} |"
        )
    return "\n".join(rows)


def _targets(found: dict[str, Any]) -> str:
    rows = ["| what | target | measured | met |", "|---|---|---|---|"]
    told = [*_of_calls(found["calls"]), *found["scale"].items()]
    for name, row in told:
        rows.append(f"| {name} | {row['target']} | {row['measured']} | {'yes' if row['met'] else '**no**'} |")
    return "\n".join(rows) if told else ""


def _of_calls(calls: dict[str, dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """The targets that are set in CPU time, as far as both sides were measured."""
    each = {name: took["cpu_ms"] for name, took in calls.items() if "cpu_ms" in took}
    rows: list[tuple[str, dict[str, Any]]] = []
    if FLOOR in each and "venire, fast door" in each:
        floor, cost = each[FLOOR], each["venire, fast door"]
        most = max(0.8, 2 * floor)
        target = f"at most {most:.2f} CPU-ms (0.8, or twice the floor of {floor:.2f})"
        rows.append(("fast door, a juror call", _row(target, f"{cost:.2f} CPU-ms", cost <= most)))
    if LITELLM in each and "venire, through LiteLLM" in each:
        ratio = each["venire, through LiteLLM"] / each[LITELLM]
        rows.append(
            ("through LiteLLM", _row("at most 1.2 times bare LiteLLM", f"{ratio:.2f} times", ratio <= 1.2))
        )
    if "venire, magentic-one arm" in each:
        cost = 10 * each["venire, magentic-one arm"]
        stock = each.get("AutoGen Magentic-One")
        told = f"{cost:.1f} CPU-ms" + (f"; stock AutoGen {10 * stock:.1f}" if stock else "")
        rows.append(
            ("magentic-one arm, ten calls", _row("at most 25 CPU-ms a deliberation", told, cost <= 25))
        )
    return rows


def _row(target: str, measured: str, met: bool) -> dict[str, Any]:
    return {"target": target, "measured": measured, "met": met}
