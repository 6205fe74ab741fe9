"""`claims`: the share of claims that a majority of the verifiers supports, and what follows from it."""

from __future__ import annotations

from .averages import count_by_median
from .rule import Counted, Rule, Tally


def by_claim(tally: Tally) -> Counted:
    """What the verdicts on single claims make of the attribute; without any, the median of the ballots."""
    return tally.claims or count_by_median(tally)


claims = Rule("each claim by the majority of its verifiers, then their share", by_claim)
