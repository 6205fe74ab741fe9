"""`decision` and `escalated`: what was agreed, what the orchestrator decided, the median where it failed to; else hung."""

from __future__ import annotations

from ..stopping import settled
from .averages import count_by_median
from .rule import Counted, Rule, Tally


def by_decision(tally: Tally) -> Counted:
    """The orchestrator's decision; without one the agreed value, or hung where the jurors did not agree.

    Where the orchestrator was to decide and failed, the standing votes are counted by their median: no attribute is hung for its
    sake alone.
    """
    if tally.finding is not None:
        return Counted(tally.finding.value, "decision", tally.finding.rationale)
    if not settled(list(tally.cast.values()), tally.jury.tolerance):
        return _without_chair(tally, "the jurors did not agree, and the orchestrator did not decide")
    counted = count_by_median(tally)
    return counted if counted.value is None else counted._replace(method="consensus")


def by_stage(tally: Tally) -> Counted:
    """The orchestrator's decision; without one the median of judge or panel, or hung where the panel is split."""
    if tally.finding is not None:
        return by_decision(tally)
    rules = tally.jury.escalation
    panel_sat = len({juror.partition("#")[0] for juror in tally.cast}) > 1
    if not settled(list(tally.cast.values()), rules.panel_spread if panel_sat else rules.repeat_range):
        return _without_chair(
            tally, "the jurors of the panel did not agree, and the orchestrator did not decide"
        )
    return count_by_median(tally)


def _without_chair(tally: Tally, why: str) -> Counted:
    if not tally.silence:
        return Counted(None, "none", why)
    counted = count_by_median(tally)
    return counted._replace(
        why=counted.why or f"the orchestrator did not decide ({tally.silence}), so the votes were counted"
    )


decision = Rule(
    "the value that the jurors agree on; if they do not agree, the orchestrator's decision with its reason",
    by_decision,
    of_votes=False,
)
escalated = Rule(
    "the orchestrator's decision; if there is none, the single judge's median, or the panel's median if the panel is not split",
    by_stage,
    of_votes=False,
)
