"""Export formats: what `venire export --to NAME` looks up. A plug-in registers one under `venire.exports`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, TextIO

from ...personas.jury import CountingRule
from ...rubrics.plugins import plugged_in
from ..record import Store
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

    def verdicts(self) -> Iterator[Verdict]:
        """Their verdicts, recounted, one at a time so that memory stays flat."""
        for _, verdict in verdicts(self.store, arm=self.arm, case=self.case, count=self.count):
            yield verdict


class ExportFormat(Protocol):
    """Writes deliberations as text."""

    def __call__(self, run: ExportedRun, out: TextIO) -> int:
        """Write `run` to `out`; return how many deliberations were written."""
        ...


def export_format(name: str) -> ExportFormat:
    """The format registered under `name`; an error that names the nearest one when there is none."""
    found: ExportFormat = plugged_in(GROUP, name, "export format")
    return found
