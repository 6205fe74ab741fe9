"""What is asked: cases, scales, rubrics, and the two things a seat can answer."""

from .ballot import Abstention, AbstentionReason, Ballot, Vote
from .case import Case, count_cases, load_cases
from .claim import Check, Claim
from .costs import CostMatrix
from .errors import InvalidFile, MissingExtra, ModelUnreachable, VenireError
from .quotes import Exhibit, Quote
from .rubric import Attribute, Rubric, load_rubric
from .scale import NOT_APPLICABLE, Level, Scale, Value
from .shapes import ballot_schema

__all__ = [
    "NOT_APPLICABLE",
    "Abstention",
    "AbstentionReason",
    "Attribute",
    "Ballot",
    "Case",
    "Check",
    "Claim",
    "CostMatrix",
    "Exhibit",
    "InvalidFile",
    "Level",
    "MissingExtra",
    "ModelUnreachable",
    "Quote",
    "Rubric",
    "Scale",
    "Value",
    "VenireError",
    "Vote",
    "ballot_schema",
    "count_cases",
    "load_cases",
    "load_rubric",
]
