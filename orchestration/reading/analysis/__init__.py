"""What a deliberation shows when it is read closely: pure functions over transcripts and verdicts."""

from .census import Census
from .conformity import conformity
from .consensus import InstantAgreement, instant_agreements
from .contrast import contradictions, flags_across_arms
from .convergence import Point, TurningPoint, convergence, turning_points
from .dissent import Overruling, overrulings
from .flags import Flag, Kind, flags, interest
from .influence import Influence, influence
from .movement import Move, moves
from .unsupported import UnsupportedQuote, unsupported_quotes

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
