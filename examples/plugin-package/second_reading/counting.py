"""`lowest`: nothing passes that one juror would not pass."""

from __future__ import annotations

from venire.plugin import Counted, Rule, Tally, too_few


def by_lowest(tally: Tally) -> Counted:
    """The lowest vote; hung where the answers have no order, or too few voted."""
    if hung := too_few(tally):
        return hung
    if not tally.scale.ordered:
        return Counted(None, "none", "answers without an order have no lowest")
    return Counted(min(tally.votes.values(), key=float), "lowest")


lowest = Rule("the lowest vote", by_lowest)
