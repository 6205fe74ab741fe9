"""Status of a run, read from its record while another process may be writing it; and the models that it could not reach."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...agents.cost import Cost
from ...agents.desk import SeatedPerson, seated_people
from ...rubrics.errors import count_words, safe
from ..record import ArmProgress, Location, Store
from ..transcript import UNREACHED, Abstained, Checked, Extracted, Said, Transcript

_SHOWN = 8
"""Models that are named one by one."""
_LONGEST = 160
"""Characters of what a provider said that are shown."""
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
    people: tuple[SeatedPerson, ...] = ()
    """Those who hold a seat, and what waits for them."""

    @property
    def last_activity(self) -> float | None:
        """When the record last grew, in seconds since the epoch; None for a record without anything in it."""
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
        found = _status(store)
        return replace(
            found,
            spent=store.cost(),
            unreached=tuple(unreached_models(store)),
            people=tuple(seated_people(run)),
        )
    finally:
        store.release()


def _status(store: Store) -> Status:
    """What can be said without a look at every call and transcript."""
    now = time.time()
    started = [progress.started for progress in store.arm_progress(since=now)]
    since = max(now - WINDOW, max(started, default=0.0))
    return Status(
        run=store.name,
        writing=store.writing(),
        redacted=store.redacted,
        arms=tuple(store.arm_progress(since=since)),
        spent=Cost(),
        recent=store.cost(since=since),
        last_call=store.last_call(),
        now=now,
    )


def going_words(store: Store) -> str:
    """How far a run that is being written has come: deliberations of all, how many a minute, the time left; nothing of any other."""
    if not store.writing():
        return ""
    found = _status(store)
    done, pace = sum(arm.done for arm in found.arms), sum(found.pace(arm) or 0.0 for arm in found.arms)
    totals = [arm.cases for arm in found.arms if arm.cases is not None]
    if len(totals) < len(found.arms):
        return f"{done:,} finished, {60 * pace:.1f} per minute"
    left = f", about {_span(max(0, sum(totals) - done) / pace)} left" if pace else ""
    return f"{done:,} of {sum(totals):,} finished, {60 * pace:.1f} per minute{left}"


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
        "people": [person._asdict() for person in found.people],
    }


def show_status(found: Status, console: Console) -> None:
    """The status as a few lines."""
    last = found.last_activity
    since = "" if last is None else f", last activity {_span(max(0.0, found.now - last))} ago"
    state = "running" if found.writing else "not running"
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
    console.print(
        f"{count_words(spent.calls, 'call')}, {count_words(spent.tokens, 'token')} ({spent.usage.cached} cached), {spent.price}"
    )
    for person in found.people:
        console.print(safe(str(person)), markup=False, highlight=False, soft_wrap=True)
    for line in unreached_lines(found.unreached):
        console.print(line, soft_wrap=True)
    if found.redacted:
        console.print("this run was made with --redact: the texts of cases and jurors are not stored")


def _span(seconds: float) -> str:
    """Seconds as hours, minutes and seconds, in two units at most."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    if minutes >= 10:
        return f"{minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


@dataclass(frozen=True, slots=True)
class UnreachedModel:
    """A model that said nothing in some deliberations because it could not be reached."""

    arm: str
    model: str
    seats: tuple[str, ...]
    cases: int
    why: str
    """What went wrong the last time: a status, or what the connection failed of."""

    def json(self) -> dict[str, Any]:
        return {
            "arm": self.arm,
            "model": self.model,
            "seats": list(self.seats),
            "cases": self.cases,
            "why": self.why,
        }

    def __str__(self) -> str:
        seats = ", ".join(self.seats)
        number = f"{self.cases} case{'s' if self.cases > 1 else ''}"
        return f"the model {self.model} ({seats} of {self.arm}) could not be reached for {number}: {self.why}"


def unreached_models(store: Store) -> list[UnreachedModel]:
    """Every model that the latest deliberations of a run lack, by arm."""
    found: list[UnreachedModel] = []
    for arm in store.arms():
        models = {seat.name: seat.model or "local" for seat in arm.jury.seats}
        models["orchestrator"] = arm.jury.orchestrator.model or "local"
        seats: dict[str, dict[str, None]] = {}
        cases: dict[str, set[str]] = {}
        why: dict[str, str] = {}
        for transcript in store.transcripts_without_a_model(arm):
            for seat, detail in _failures(transcript):
                model = models.get(seat, seat)
                seats.setdefault(model, {})[seat] = None
                cases.setdefault(model, set()).add(transcript.case)
                why[model] = detail
        found += [
            UnreachedModel(arm.name, model, tuple(names), len(cases[model]), why[model])
            for model, names in seats.items()
        ]
    return found


def unreached_at(run: Location) -> list[UnreachedModel]:
    """`unreached_models` of the run at a place."""
    store = Store.read(run)
    try:
        return unreached_models(store)
    finally:
        store.release()


def unreached_lines(models: Sequence[UnreachedModel]) -> Iterator[Text]:
    """What a terminal shows of them; nothing where every model was reached."""
    for model in models[:_SHOWN]:
        yield Text(safe(str(model)), "red")
    if len(models) > _SHOWN:
        yield Text(f"and {len(models) - _SHOWN} more models", "red")
    if models:
        yield Text("to ask these models again, run the same venire run command with --retry", "bold")


def _failures(transcript: Transcript) -> Iterator[tuple[str, str]]:
    """The seats that could not be reached, and what went wrong."""
    for entry in transcript.entries:
        if isinstance(entry, Abstained):
            if entry.abstention.reason in UNREACHED:
                # A judge's repeats are named judge#2, judge#3.
                yield (
                    entry.speaker.partition("#")[0],
                    _brief(entry.abstention.detail) or entry.abstention.reason,
                )
        elif isinstance(entry, Extracted | Checked):
            for failure in entry.abstentions:
                if failure.abstention.reason in UNREACHED:
                    yield entry.speaker, _brief(failure.abstention.detail) or failure.abstention.reason
        elif entry.failed in UNREACHED:
            said = _brief(entry.text) if isinstance(entry, Said) else ""
            seated = isinstance(entry, Said) and entry.who in transcript.seats
            yield entry.speaker if seated else "orchestrator", said or str(entry.failed)


def _brief(detail: str) -> str:
    words = " ".join(detail.split())
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}..."
