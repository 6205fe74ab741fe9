"""Contrast: an agreement at once that another arm, on the same case, does not share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....rubrics.rubric import Rubric
from ....rubrics.scale import Value
from ...verdict import Verdict
from .consensus import InstantAgreement, instant_agreements
from .flags import Flag, agreed_at_once, flags, score_text
from .movement import distance


def contradictions(
    agreements: Sequence[InstantAgreement], other: str, found: Mapping[str, Value]
) -> tuple[Flag, ...]:
    """The instant agreements that arm `other` scores a whole step or more away.

    Args:
        agreements: One arm's instant agreements, overturned or not.
        other: The other arm's name.
        found: What the other arm reached of each attribute.
    """
    return tuple(
        Flag(
            "contradicted",
            4 if agreement.premature else 2,
            agreement.attribute,
            agreement.jurors,
            agreement.entries,
            1,
            f"{agreed_at_once(agreement)}; {other} gave {score_text(found[agreement.attribute])}",
        )
        for agreement in agreements
        if agreement.test != "overturned"
        and agreement.attribute in found
        and distance(agreement.value, found[agreement.attribute]) >= 1
    )


def flags_across_arms(verdict: Verdict, rubric: Rubric, others: Sequence[Verdict]) -> tuple[Flag, ...]:
    """A deliberation's flags, those included that need the verdicts of other arms on the same case."""
    agreements = instant_agreements(verdict.transcript, rubric)
    found = [*flags(verdict, rubric)]
    for other in others:
        reached = {name: o.value for name, o in other.outcomes.items() if o.value is not None}
        found += contradictions(agreements, other.arm, reached)
    return tuple(sorted(found, key=lambda flag: -flag.weight))
