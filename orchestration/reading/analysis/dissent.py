"""Dissent that a decision overrode: whose votes it went against, and whether it heard them first."""

from __future__ import annotations

from typing import NamedTuple

from ....rubrics.scale import Value
from ...transcript import Decided
from ...verdict import Verdict
from .movement import majority


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
    decisions = [entry for entry in verdict.transcript.entries if isinstance(entry, Decided)]
    standing = verdict.transcript.standing() if decisions else {}
    found: list[Overruling] = []
    for entry in decisions:
        for finding in entry.findings:
            outcome = verdict.outcomes.get(finding.attribute)
            if outcome is None or outcome.method != "decision" or not outcome.dissent:
                continue
            jurors = tuple(dissent.juror for dissent in outcome.dissent)
            most = majority(held.vote.value for held in standing.get(finding.attribute, {}).values())
            found.append(
                Overruling(
                    finding.attribute,
                    outcome.value,
                    jurors,
                    tuple(juror for juror in jurors if juror not in finding.weighed),
                    most is not None and most in {dissent.value for dissent in outcome.dissent},
                    entry.id,
                )
            )
    return tuple(found)
