"""The verdict: what the jury found of each attribute. Never stored: always recounted from the ballots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from ..agents.orchestrator import Finding
from ..personas.jury import CountingRule, Jury
from ..rubrics.rubric import Rubric
from ..rubrics.scale import NOT_APPLICABLE, Scale, Value
from . import counting
from .stopping import settled, spread, values_of
from .transcript import Decided, Standing, Stop, Transcript

Status = Literal["reached", "hung", "not_applicable"]


class Dissent(BaseModel):
    """A juror whose last vote the verdict does not follow, and why it was cast."""

    model_config = ConfigDict(frozen=True)

    juror: str
    value: Value
    reason: str


class Outcome(BaseModel):
    """What became of one attribute."""

    model_config = ConfigDict(frozen=True)

    status: Status
    value: Value | None
    support: float | None
    """The share of the votes that agree with the value."""
    spread: float | None
    """The distance between the lowest vote and the highest."""
    votes: int
    method: str
    """How the votes became a value: `consensus`, `decision` or a counting rule."""
    why: str = ""
    """Why it is hung; or the orchestrator's reasons."""
    dissent: tuple[Dissent, ...] = ()


class Verdict(BaseModel):
    """One case's outcomes by attribute, and the scores that follow from them."""

    model_config = ConfigDict(frozen=True)

    case: str
    arm: str
    outcomes: Mapping[str, Outcome]
    derived: Mapping[str, float]
    """Reversed scores and composites, as far as their parts were reached."""
    stop: Stop
    transcript: Transcript

    def __getitem__(self, attribute: str) -> Outcome:
        return self.outcomes[attribute]


def verdict(transcript: Transcript, rubric: Rubric, jury: Jury, *, count: CountingRule) -> Verdict:
    """The verdict that `transcript` implies under the counting rule."""
    standing = transcript.standing()
    findings = {
        finding.attribute: finding
        for entry in transcript.entries
        if isinstance(entry, Decided)
        for finding in entry.findings
    }
    outcomes = {
        name: _outcome(standing.get(name, {}), findings.get(name), rubric.scale_of(name), jury, count)
        for name in rubric.names
    }
    reached = {name: o.value for name, o in outcomes.items() if o.status == "reached" and o.value is not None}
    assert transcript.stop is not None
    return Verdict(
        case=transcript.case,
        arm=transcript.arm,
        outcomes=outcomes,
        derived=rubric.derived(reached),
        stop=transcript.stop,
        transcript=transcript,
    )


def _outcome(
    standing: Mapping[str, Standing], finding: Finding | None, scale: Scale, jury: Jury, count: CountingRule
) -> Outcome:
    cast = values_of(standing)
    if len(cast) < jury.quorum:
        return _hung(standing, f"{len(cast)} of the {jury.quorum} votes that a quorum needs")
    votes = [value for value in cast if value != NOT_APPLICABLE]
    if 2 * len(votes) < len(cast):
        return _outcome_of("not_applicable", None, standing, scale, "majority", jury.tolerance)
    if count == "decision":
        if finding is not None:
            status: Status = "not_applicable" if finding.value == NOT_APPLICABLE else "reached"
            value = None if status == "not_applicable" else finding.value
            return _outcome_of(status, value, standing, scale, "decision", jury.tolerance, finding.rationale)
        if not settled(cast, jury.tolerance):
            return _hung(standing, "the jurors did not agree and nobody decided")
        return _outcome_of(
            "reached", _counted(votes, scale, "median"), standing, scale, "consensus", jury.tolerance
        )
    if scale.level == "binary" and count == "median" and 2 * votes.count(scale.ends[0]) == len(votes):
        return _hung(standing, "the votes are tied, and a scale of two values has no middle")
    if len(votes) < jury.quorum:
        return _hung(
            standing, f"{len(votes)} of the {jury.quorum} votes that a quorum needs say that it applies"
        )
    return _outcome_of("reached", _counted(votes, scale, count), standing, scale, count, jury.tolerance)


def _counted(votes: Sequence[Value], scale: Scale, rule: str) -> Value:
    if not scale.ordered or rule == "mode":
        return counting.mode(votes)
    value = getattr(counting, rule)([float(vote) for vote in votes])
    return int(value) if float(value).is_integer() and all(isinstance(v, int) for v in votes) else value


def _outcome_of(
    status: Status,
    value: Value | None,
    standing: Mapping[str, Standing],
    scale: Scale,
    method: str,
    tolerance: float,
    why: str = "",
) -> Outcome:
    against = tuple(
        held for held in standing.values() if not _agrees(held.vote.value, value, scale, tolerance)
    )
    return Outcome(
        status=status,
        value=value,
        support=1 - len(against) / len(standing) if standing else None,
        spread=spread(v for v in values_of(standing) if v != NOT_APPLICABLE),
        votes=len(standing),
        method=method,
        why=why,
        dissent=tuple(Dissent(juror=h.juror, value=h.vote.value, reason=h.vote.rationale) for h in against),
    )


def _hung(standing: Mapping[str, Standing], why: str) -> Outcome:
    return Outcome(
        status="hung",
        value=None,
        support=None,
        spread=spread(v for v in values_of(standing) if v != NOT_APPLICABLE),
        votes=len(standing),
        method="none",
        why=why,
        dissent=tuple(
            Dissent(juror=h.juror, value=h.vote.value, reason=h.vote.rationale) for h in standing.values()
        ),
    )


def _agrees(vote: Value, value: Value | None, scale: Scale, tolerance: float) -> bool:
    """Whether the vote is the value: within the tolerance, or nearer to it than half a step of the scale."""
    if value is None:
        return vote == NOT_APPLICABLE
    if isinstance(vote, str) or isinstance(value, str):
        return vote == value
    steps = [float(b) - float(a) for a, b in zip(scale.values, scale.values[1:], strict=False)]
    return abs(float(vote) - float(value)) <= max(tolerance, min(steps, default=0.0) / 2)
