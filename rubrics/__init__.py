"""What is asked: cases, scales, rubrics, and the two things a seat can answer."""

from .ballot import Abstention, AbstentionReason, Ballot, Quote, Vote, ballot_schema
from .case import Case, Exhibit, count_cases, load_cases
from .claim import Check, Claim
from .errors import InvalidFile, MissingExtra, ModelUnreachable, VenireError
from .rubric import Attribute, Rubric, load_rubric
from .scale import NOT_APPLICABLE, CostMatrix, Level, Scale, Value

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
