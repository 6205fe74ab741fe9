"""Models that could not be reached while a run went on: which, for whom, how often and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from ...rubrics.safe_text import safe
from ..record import Location, Store
from ..transcript import UNREACHED, Abstained, Checked, Extracted, Said, Transcript

_SHOWN = 8
"""Models that are named one by one."""
_LONGEST = 160
"""Characters of what a provider said that are shown."""


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
        return f"{self.model} ({seats} of {self.arm}) was not reached in {number}: {self.why}"


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
        yield Text("ask them again: the same venire run command with --retry", "bold")


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
