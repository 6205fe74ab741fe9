"""Dissent that a decision overrode: whose votes it went against, and whether it heard them first."""

from __future__ import annotations

from typing import NamedTuple

from ....rubrics.scale import Value
from ...transcript import Decided
from ...verdict import Verdict


class Overruling(NamedTuple):
    """One attribute that was decided against standing votes."""

    attribute: str
    decided: Value | None
    jurors: tuple[str, ...]
    """Those whose last vote it does not follow."""
    unheard: tuple[str, ...]
    """Those of them whom the decision does not say it weighed."""
    against_majority: bool
    entry: str


def overrulings(verdict: Verdict) -> tuple[Overruling, ...]:
    """Each attribute that somebody decided against the vote of a juror. A count overrules nobody."""
    found: list[Overruling] = []
    for entry in verdict.transcript.entries:
        if not isinstance(entry, Decided):
            continue
        for finding in entry.findings:
            outcome = verdict.outcomes.get(finding.attribute)
            if outcome is None or outcome.method != "decision" or not outcome.dissent:
                continue
            jurors = tuple(dissent.juror for dissent in outcome.dissent)
            against = [dissent.value for dissent in outcome.dissent]
            found.append(
                Overruling(
                    finding.attribute,
                    outcome.value,
                    jurors,
                    tuple(juror for juror in jurors if juror not in finding.weighed),
                    any(2 * against.count(value) > outcome.votes for value in against),
                    entry.id,
                )
            )
    return tuple(found)
