"""A run in the terminal: what became of it, which cases deserve a look, who moves whom."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...rubrics.safe_text import safe
from ..record import Store
from ..verdict import Verdict
from .analysis import Census, Flag, flags_across_arms, instant_agreements, interest
from .analysis.census import Share
from .export import verdicts
from .show import WEIGHTS

_LOOKS = 10


def summarise(store: Store, console: Console) -> None:
    """Print what the run as a whole shows. Reads every deliberation once for each arm."""
    looks: list[tuple[float, int, Verdict, tuple[Flag, ...]]] = []
    number = 0
    for arm in store.arms():
        census = Census()
        for _, verdict in verdicts(store, arm=arm.name):
            at_once = instant_agreements(verdict.transcript, arm.rubric)
            others = list(_others(store, arm.name, verdict.case)) if at_once else []
            found = flags_across_arms(verdict, arm.rubric, others)
            census.add(verdict, arm.rubric, arm.jury, found)
            number += 1
            heapq.heappush(looks, (interest(flag.weight for flag in found), -number, verdict, found))
            if len(looks) > _LOOKS:
                heapq.heappop(looks)
        console.print(_arm(arm.name, census))
    console.print(_look_first(sorted(looks, key=lambda look: look[:2], reverse=True)))


def _others(store: Store, arm: str, case: str) -> Iterator[Verdict]:
    for found, verdict in verdicts(store, case=case):
        if found.name != arm:
            yield verdict


def _arm(name: str, census: Census) -> RenderableType:
    stops = ", ".join(f"{reason} {times}" for reason, times in census.counts("stop"))
    kinds = ", ".join(f"{kind} {times}" for kind, times in census.counts("flagged")) or "none"
    parts: list[RenderableType] = [
        Text.assemble(("\narm ", "dim"), (name, "bold"), (f"  {census.number('cases')} cases", "dim")),
        Text.assemble(("stopped by  ", "dim"), stops),
        Text.assemble(("flagged     ", "dim"), kinds),
    ]
    for title, shares, form in (
        ("splits the jury (first votes apart, share of the scale)", census.splits(), ".2f"),
        ("harsh (-) or lenient (+), against the other jurors", census.leanings("juror"), "+.2f"),
        ("the same, by persona", census.leanings("persona"), "+.2f"),
        ("the same, by model", census.leanings("model"), "+.2f"),
        ("persuades (moves owed to it)", census.persuaders(), ".1f"),
        ("conforms (of the times it was outnumbered)", census.conformers(), ".0%"),
    ):
        # One persona or one model has nobody to be held against.
        if len(shares) > 1 or (shares and not title.startswith("the same")):
            parts.append(Text(f"  {title}", "dim"))
            parts.append(_shares(shares, form))
    return Group(*parts)


def _shares(shares: Sequence[Share], form: str) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for share in shares:
        value = "" if share.value is None else format(share.value, form)
        table.add_row("   ", Text(safe(share.name)), Text(value, "bold"), Text(f"n {share.n}", "dim"))
    return table


def _look_first(looks: Sequence[tuple[float, int, Verdict, tuple[Flag, ...]]]) -> RenderableType:
    flagged_ones = [(verdict, found) for _, _, verdict, found in looks if found]
    if not flagged_ones:
        return Text("\nno deliberation was flagged", "green")
    table = Table(
        box=None, padding=(0, 2, 0, 0), header_style="dim", title="\nlook here first", title_justify="left"
    )
    for column in ("case", "arm", "flag", "why"):
        table.add_column(column, overflow="fold")
    for verdict, found in flagged_ones:
        top = found[0]
        style = WEIGHTS[top.weight]
        why = f"{top.attribute}: {safe(top.text)}" if top.attribute else safe(top.text)
        table.add_row(Text(safe(verdict.case)), verdict.arm, Text(top.kind, style), Text(why))
    return table
