"""What a counting rule is, what it counts, and where it is found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ...agents.orchestrator import Finding
from ...personas.jury import COUNTING, COUNTING_SYNONYMS, Jury
from ...rubrics.plugins import plugged_in
from ...rubrics.scale import NOT_APPLICABLE, Scale, Value


class Counted(NamedTuple):
    """What a rule makes of the votes; without a value the attribute is hung, and `why` says why."""

    value: Value | None
    method: str
    why: str = ""


@dataclass(frozen=True)
class Tally:
    """The standing votes on one attribute of one case, and what a rule may weigh them by."""

    case: str
    attribute: str
    scale: Scale
    cast: Mapping[str, Value]
    """By juror, `not_applicable` among them."""
    finding: Finding | None
    """The orchestrator's decision, where it made one."""
    jury: Jury
    claims: Counted | None = None
    """What the claims' verdicts make of the attribute, where the protocol checked claims."""
    compares: bool = False
    """Whether the votes are preferences between two outputs, about a tie at 0."""
    silence: str = ""
    """Why the orchestrator did not decide, where it was asked to and failed."""

    @cached_property
    def votes(self) -> Mapping[str, Value]:
        """The votes of those who find that the question applies, by juror, in an order that is not the seats'."""
        return {name: vote for name, vote in sorted(self.cast.items()) if vote != NOT_APPLICABLE}


Count = Callable[[Tally], Counted]


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to count: from the votes alone, or learned from the whole run first."""

    summary: str
    count: Count | None = None
    fit: Callable[[Sequence[Tally]], Count] | None = None
    """For a rule that has to see all tallies of a run before it can count one."""
    of_votes: bool = True
    """Whether it looks at one attribute's votes and nothing else: not at decisions, stages or claims."""

    @property
    def plain(self) -> bool:
        """Whether blind ballots can be counted by it: they have votes and nothing else."""
        return self.of_votes and self.fit is None

    def over(self, run: Sequence[Tally]) -> Count:
        """The count, learned from `run` where the rule learns."""
        if self.fit is not None:
            return self.fit(run)
        assert self.count is not None
        return self.count


def plain(votes: Sequence[Value], value: float) -> Value:
    """`value` as a whole number where it is one and all the votes are."""
    return int(value) if float(value).is_integer() and all(isinstance(v, int) for v in votes) else value


def too_few(tally: Tally) -> Counted | None:
    """Hung, where fewer than a quorum say that the question applies."""
    if len(tally.votes) >= max(1, tally.jury.quorum):
        return None
    return Counted(
        None,
        "none",
        f"too few jurors said that the question applies: {len(tally.votes)} of the {tally.jury.quorum} that are needed",
    )


def counting_rule(name: str) -> Rule:
    """The rule registered under `name`, or under the name that it is a synonym of."""
    rule: Rule = plugged_in(COUNTING, COUNTING_SYNONYMS.get(name, name), "counting rule")
    return rule
