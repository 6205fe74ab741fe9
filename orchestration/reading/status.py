"""Status of a run, read from its record while another process may be writing it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...agents.cost import Cost
from ..record import ArmProgress, Location, Store
from .unreached import UnreachedModel, unreached_lines, unreached_models

WINDOW = 60.0
"""Seconds over which the pace is taken."""


@dataclass(frozen=True, slots=True)
class Status:
    """A run at one moment."""

    run: str
    writing: bool
    redacted: bool
    arms: tuple[ArmProgress, ...]
    spent: Cost
    recent: Cost
    """What was spent within the window."""
    last_call: float | None
    """When the last call was recorded, in seconds since the epoch."""
    now: float
    unreached: tuple[UnreachedModel, ...] = ()
    """Models that deliberations lack because they could not be reached."""

    @property
    def last_activity(self) -> float | None:
        """When the record last grew, in seconds since the epoch; None for a record that does not say."""
        moments = [self.last_call, *(arm.last for arm in self.arms), *(arm.started for arm in self.arms)]
        return max((moment for moment in moments if moment), default=None)

    def window(self, arm: ArmProgress) -> float:
        """How many seconds the arm's pace is taken over: no longer than it has been sitting."""
        return max(1e-3, min(WINDOW, self.now - arm.started))

    def pace(self, arm: ArmProgress) -> float | None:
        """Deliberations a second; None when nothing is being written."""
        return arm.recent / self.window(arm) if self.writing else None

    def eta(self, arm: ArmProgress) -> float | None:
        """Seconds until the arm is done at its present pace; None when that cannot be said."""
        pace = self.pace(arm)
        if arm.cases is None or not pace:
            return None
        return max(0, arm.cases - arm.done) / pace

    @property
    def calls_per_second(self) -> float | None:
        if not self.writing:
            return None
        return self.recent.calls / max((self.window(arm) for arm in self.arms), default=WINDOW)


def status(run: Location) -> Status:
    """How the run at `run` stands now."""
    store = Store.read(run)
    try:
        now = time.time()
        started = [progress.started for progress in store.arm_progress(since=now)]
        since = max(now - WINDOW, max(started, default=0.0))
        return Status(
            run=store.name,
            writing=store.writing(),
            redacted=store.redacted,
            arms=tuple(store.arm_progress(since=since)),
            spent=store.cost(),
            recent=store.cost(since=since),
            last_call=store.last_call(),
            now=now,
            unreached=tuple(unreached_models(store)),
        )
    finally:
        store.release()


def status_json(found: Status) -> dict[str, Any]:
    """The status in the shape that `status --json` promises; what is not known is null."""
    cost, last = found.spent.to_json(), found.last_activity
    return {
        "run": found.run,
        "writing": found.writing,
        "redacted": found.redacted,
        "arms": [
            {
                "arm": arm.arm,
                "done": arm.done,
                "total": arm.cases,
                "per_second": found.pace(arm),
                "eta_seconds": found.eta(arm),
            }
            for arm in found.arms
        ],
        "calls": cost["calls"],
        "tokens": cost["tokens"],
        "estimated_calls": cost["estimated_calls"],
        "usd": cost["usd"],
        "known_usd": found.spent.known_usd,
        "calls_per_second": found.calls_per_second,
        "last_activity": None if last is None else datetime.fromtimestamp(last, UTC).isoformat(),
        "seconds_since_activity": None if last is None else max(0.0, found.now - last),
        "unreached": [model.json() for model in found.unreached],
    }


def show_status(found: Status, console: Console) -> None:
    """The status as a few lines."""
    last = found.last_activity
    since = "" if last is None else f", last activity {_span(max(0.0, found.now - last))} ago"
    state = "a process is writing now" if found.writing else "nobody is writing now"
    console.print(Text.assemble((found.run, "bold"), f": {state}{since}"), soft_wrap=True)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("arm", "done", "a minute", "left"):
        table.add_column(column)
    for arm in found.arms:
        pace, eta = found.pace(arm), found.eta(arm)
        table.add_row(
            arm.arm,
            f"{arm.done}/{'?' if arm.cases is None else arm.cases}",
            "" if pace is None else f"{60 * pace:.1f}",
            "" if eta is None else _span(eta),
        )
    console.print(table)
    spent = found.spent
    console.print(f"{spent.calls} calls, {spent.tokens} tokens ({spent.usage.cached} cached), {spent.price}")
    for line in unreached_lines(found.unreached):
        console.print(line, soft_wrap=True)
    if found.redacted:
        console.print("redacted: words are not kept")


def _span(seconds: float) -> str:
    """Seconds as hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
