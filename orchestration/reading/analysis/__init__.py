"""What a deliberation shows when it is read closely: pure functions over transcripts and verdicts."""

from .census import Census
from .flags import (
    Flag,
    InstantAgreement,
    Kind,
    Overruling,
    UnsupportedQuote,
    contradictions,
    flags,
    flags_across_arms,
    instant_agreements,
    interest,
    overrulings,
    unsupported_quotes,
)
from .movement import (
    Influence,
    Move,
    Point,
    TurningPoint,
    conformity,
    convergence,
    influence,
    moves,
    turning_points,
)

__all__ = [
    "Census",
    "Flag",
    "Influence",
    "InstantAgreement",
    "Kind",
    "Move",
    "Overruling",
    "Point",
    "TurningPoint",
    "UnsupportedQuote",
    "conformity",
    "contradictions",
    "convergence",
    "flags",
    "flags_across_arms",
    "influence",
    "instant_agreements",
    "interest",
    "moves",
    "overrulings",
    "turning_points",
    "unsupported_quotes",
]
