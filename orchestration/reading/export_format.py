"""Export formats: what `venire export --to NAME` looks up. A plug-in registers one under `venire.exports`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TextIO

from ...personas.jury import CountingRule
from ...rubrics.plugins import plugged_in
from ...rubrics.ratings import Rating
from ..record import Arm, Store
from ..verdict import Verdict
from .export import verdicts

GROUP = "venire.exports"


@dataclass(frozen=True, slots=True)
class ExportedRun:
    """The deliberations to export: a whole run, or one case or arm of it."""

    store: Store
    case: str | None = None
    arm: str | None = None
    count: CountingRule | None = None
    """The counting rule to use in place of the jury's own."""
    picked: Mapping[str, Sequence[str]] | None = None
    """Only these cases, in this order, each with the reasons for which it was picked."""
    ratings: Sequence[Rating] = field(default=())
    """What people said of the cases, for formats that have a place for it."""

    def arms(self) -> list[Arm]:
        """The arms whose deliberations are exported."""
        return [arm for arm in self.store.arms() if self.arm in (None, arm.name)]

    def verdicts(self) -> Iterator[Verdict]:
        """Their verdicts, recounted, one at a time so that memory stays flat; only those picked are sorted in memory."""
        found = (v for _, v in verdicts(self.store, arm=self.arm, case=self.case, count=self.count))
        if self.picked is None:
            yield from found
            return
        place = {case: number for number, case in enumerate(self.picked)}
        yield from sorted((v for v in found if v.case in place), key=lambda v: place[v.case])


class ExportFormat(Protocol):
    """Writes deliberations as text."""

    def __call__(self, run: ExportedRun, out: TextIO) -> int:
        """Write `run` to `out`; return how many deliberations were written."""
        ...


def export_format(name: str) -> ExportFormat:
    """The format registered under `name`; an error that names the nearest one when there is none."""
    found: ExportFormat = plugged_in(GROUP, name, "export format")
    return found
