"""What a deliberation shows when it is read closely: pure functions over transcripts and verdicts."""

from .census import Census
from .conformity import conformity
from .consensus import Agreement, instant_agreements
from .contrast import contradictions, flagged
from .convergence import Point, TurningPoint, convergence, turning_points
from .dissent import Overruled, overruled
from .flags import Flag, Kind, flags, interest
from .influence import Influence, influence
from .movement import Move, moves
from .unsupported import Unsupported, unsupported

__all__ = [
    "Agreement",
    "Census",
    "Flag",
    "Influence",
    "Kind",
    "Move",
    "Overruled",
    "Point",
    "TurningPoint",
    "Unsupported",
    "conformity",
    "contradictions",
    "convergence",
    "flagged",
    "flags",
    "influence",
    "instant_agreements",
    "interest",
    "moves",
    "overruled",
    "turning_points",
    "unsupported",
]
