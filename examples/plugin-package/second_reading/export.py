"""`venire export RUN --to markdown`: each verdict as a table to paste into a note."""

from __future__ import annotations

from typing import TextIO

from venire.plugin import ExportedRun


def markdown(run: ExportedRun, out: TextIO) -> int:
    """A heading and a table for each deliberation; how many there were."""
    number = 0
    for verdict in run.verdicts():
        number += 1
        out.write(f"## {verdict.case} ({verdict.arm})\n\n| attribute | value | counted by |\n|---|---|---|\n")
        for name, outcome in verdict.outcomes.items():
            value = outcome.status if outcome.value is None else outcome.value
            out.write(f"| {name} | {value} | {outcome.method} |\n")
        out.write("\n")
    return number
