"""Answers scored by a jury: the mean of its ratings, or the share of an answer's claims that it bears out."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from ....orchestration.deliberate import rule_of
from ....orchestration.verdict import Verdict
from ....personas.jury import Jury, load_jury
from ....rubrics.case import is_swapped
from ....rubrics.errors import VenireError
from ....rubrics.rubric import Rubric, load_rubric
from ....rubrics.scale import NOT_APPLICABLE, preferred_side
from ..scorer import CaseScore, JudgedScorer, ScorerOptions, Seating


class JudgeOptions(ScorerOptions):
    """What every judged scorer may be told."""

    source: str | None = None
    """The column that jurors read as the source; without one, the prompt that the system was asked with."""
    quorum: int | None = Field(default=None, ge=1)
    """In place of the jury's own."""

    @field_validator("jury", "rubric", check_fields=False)
    @classmethod
    def _beside_the_file(cls, value: str, info: ValidationInfo) -> str:
        folder: Path | None = (info.context or {}).get("beside")
        return value if folder is None or not value.endswith((".yaml", ".yml")) else str(folder / value)


class JuryOptions(JudgeOptions):
    """Who rates the answers, and by what."""

    jury: str
    """A jury file, or a name from `venire juries`."""
    rubric: str = "medhelm"
    gold: Literal["shown", "hidden"] | None = None
    """Whether jurors read the reference; without it, as the rubric says."""
    against: str | None = None
    """A system: jurors compare every other one's answer with its answer, and the score is the win rate."""


class ClaimsOptions(JudgeOptions):
    """Who takes the answers apart and checks their claims against the reference."""

    jury: str
    """A jury with the protocol decompose-verify."""
    measure: Literal["support", "coverage", "f1"] = "support"


def mean_rating(verdict: Verdict, seating: Seating, scale: tuple[float, float]) -> CaseScore:
    """The mean of all ratings, from worst to best; hung where the jury reached no verdict on some attribute.

    Where votes are averaged, every rating counts alike, so that the mean of nine without one juror is the mean of six. By any other
    rule an attribute has one value, and attributes count alike. Of a pair each attribute is won (the best), lost (the worst) or tied (half).
    """
    jury = seating.jury
    averaged = rule_of(jury) == "mean" and seating.against is None
    total = weight = 0.0
    votes = seats = 0
    for name, outcome in verdict.outcomes.items():
        standing = verdict.transcript.standing().get(name, {})
        values = [ballot.vote.value for ballot in standing.values()]
        votes += len(values)
        seats += max(len(jury.seats), len(values))
        if outcome.status != "reached" or not isinstance(outcome.value, int | float):
            continue
        rating_count = sum(value != NOT_APPLICABLE for value in values)
        counts = float(rating_count) if averaged and rating_count else 1.0
        value = float(outcome.value)
        total += counts * (_share(seating, name, value) if seating.against is None else _won(verdict, value))
        weight += counts
    hung = [name for name, outcome in verdict.outcomes.items() if outcome.status == "hung"]
    if hung:
        reason = verdict.outcomes[hung[0]].why
        return CaseScore("hung", why=f"{', '.join(hung)}: {reason}", ratings=votes, lost=seats - votes)
    if not weight:
        return CaseScore("undefined", why="no question of the rubric applies", ratings=votes)
    low, high = scale
    value = low + (high - low) * total / weight
    return CaseScore("scored", value, ratings=votes, lost=seats - votes)


def _share(seating: Seating, attribute: str, value: float) -> float:
    """Where a value lies on its attribute's scale between the worst (0) and the best (1)."""
    low, high = (float(end) for end in seating.rubric.scale_of(attribute).ends)
    part = (value - low) / (high - low)
    return 1 - part if seating.rubric.by_name[attribute].better == "low" else part


def _won(verdict: Verdict, preference: float) -> float:
    """1 where the row's first output is preferred, the system's own; 0 where the baseline's is; a half for a tie."""
    side = preferred_side(preference)
    return (1 + side) / 2 if is_swapped(verdict.case) else (1 - side) / 2


def _jury(name: str, options: JudgeOptions) -> Jury:
    jury = load_jury(name)
    return jury if options.quorum is None else jury.model_copy(update={"quorum": options.quorum})


def _rating_seats(options: JuryOptions) -> Seating:
    rubric = load_rubric(options.rubric)
    if options.gold is not None:
        rubric = Rubric.model_validate({**rubric.model_dump(), "reference": options.gold})
    if options.against is not None:
        rubric = rubric.as_pairs()
    elif rubric.compares:
        raise VenireError(
            f"{rubric.name} compares two answers, but the scenario names no system to compare with",
            remedy="name the system that all others are compared with: write against: SYSTEM beside jury:",
        )
    for name in rubric.names:
        if not rubric.scale_of(name).ordered:
            raise VenireError(
                f"{rubric.name}: the values of {name} have no order, so they cannot be averaged",
                remedy="score with a rubric whose scales go from worse to better",
            )
    return Seating(_jury(options.jury, options), rubric, options.source, options.against)


def _claim_seats(options: ClaimsOptions) -> Seating:
    jury = _jury(options.jury, options)
    if jury.protocol != "decompose-verify":
        raise VenireError(
            f"the jury {jury.name} has the protocol {jury.protocol}, which checks no claims",
            remedy="name a jury with protocol: decompose-verify, such as lens-claims",
        )
    rubric = load_rubric("claims")
    both_ways = jury.claims.both_ways
    if options.measure != "support" and not both_ways:
        raise VenireError(
            f"{options.measure} needs a jury that checks claims in both directions",
            remedy="write claims: {both_ways: true} in the jury file",
        )
    asked = [a for a in rubric.model_dump()["attributes"] if a["name"] == options.measure]
    return Seating(jury, Rubric.model_validate({**rubric.model_dump(), "attributes": asked}), options.source)


def claim_share(verdict: Verdict, seating: Seating, scale: tuple[float, float]) -> CaseScore:
    """The measure of the claims, on the scenario's scale; hung where too few claims have a verdict."""
    ((name, outcome),) = verdict.outcomes.items()
    checks = sum(len(claim.votes) for claim in verdict.claims)
    lost = sum(len(claim.checks) - len(claim.votes) for claim in verdict.claims)
    if outcome.status != "reached" or not isinstance(outcome.value, int | float):
        return CaseScore("hung", why=f"{name}: {outcome.why or outcome.status}", ratings=checks, lost=lost)
    low, high = scale
    return CaseScore("scored", low + (high - low) * float(outcome.value), ratings=checks, lost=lost)


JURY = JudgedScorer("jury", "the mean of a jury's ratings", _rating_seats, mean_rating, JuryOptions, "jury")
CLAIMS = JudgedScorer(
    "claims",
    "the share of an answer's claims that the reference supports",
    _claim_seats,
    claim_share,
    ClaimsOptions,
    "jury",
)
