"""What a protocol is, and where it is found."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.metadata import entry_points

from ...agents.brief import Brief
from ...personas.jury import CountingRule
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ..bench import Bench
from ..transcript import Transcript

GROUP = "venire.protocols"


@dataclass(frozen=True, slots=True)
class Protocol:
    """Who speaks when and who sees what; ends with a transcript that says why it stopped."""

    run: Callable[[Brief, Bench], Awaitable[Transcript]]
    count: CountingRule
    """How its ballots become a verdict, unless the jury says otherwise."""
    orchestrator: bool
    """Whether an orchestrator presides."""
    summary: str
    speaks: str
    sees: str
    ends: str
    calls: str
    """How many model calls N jurors in R rounds make."""
    steps: str
    """How many of them follow each other."""


def protocol(name: str) -> Protocol:
    """The protocol registered under `name`."""
    found = {point.name: point for point in entry_points(group=GROUP)}
    if name not in found:
        raise VenireError(f"no protocol named {name!r}", remedy=nearest(name, found))
    return found[name].load()


def protocols() -> dict[str, Protocol]:
    """Every registered protocol by name."""
    return {point.name: point.load() for point in sorted(entry_points(group=GROUP), key=lambda p: p.name)}
