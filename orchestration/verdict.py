"""The verdict: what the jury found of each attribute. Never stored: always recounted from the ballots."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer

from ..personas.jury import CountingRule, Jury
from ..rubrics.ballot import Vote
from ..rubrics.case import Case
from ..rubrics.files import nearest
from ..rubrics.rubric import Rubric
from ..rubrics.scale import NOT_APPLICABLE, Scale, Value
from .acceptance import confidence, escalation_reason, signals
from .counting import Count, Tally, counting_rule
from .counting.claims import ClaimOutcome, claim_outcomes, count_claims
from .stopping import spread, values_of
from .transcript import Cast, Controlled, Decided, Entry, Said, Standing, Stop, Transcript

if TYPE_CHECKING:
    import pandas as pd

SCREEN = (78, 20)
"""Columns and rows that a printed verdict keeps to."""

Status = Literal["reached", "hung", "not_applicable"]
_DETAIL = 120
"""Characters of why a juror abstained that the reason of a hung attribute repeats."""


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
    escalated: str | None = None
    """Where the jury escalates to people: why this goes to them, nothing where it may stand unseen. None without a rule."""

    @model_serializer(mode="wrap")
    def _without_a_rule(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leaves `escalated` out where the jury has no rule."""
        fields: dict[str, Any] = handler(self)
        if self.escalated is None:
            fields.pop("escalated", None)
        return fields


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
    claims: tuple[ClaimOutcome, ...] = ()
    """Under `decompose-verify`: what the verifiers together say of each claim, of all texts that were taken apart."""

    def __getitem__(self, attribute: str) -> Outcome:
        """The outcome of an attribute; a KeyError that names the nearest one for any other."""
        if attribute not in self.outcomes:
            raise KeyError(f"{attribute!r} was not asked: {nearest(attribute, self.outcomes)}")
        return self.outcomes[attribute]

    def rows(self) -> list[dict[str, Any]]:
        """One row an attribute and one a derived score, as plain values."""
        shared = {"case": self.case, "arm": self.arm}
        found = [
            {**shared, "attribute": name, **o.model_dump(include=set(_ROW)), "stop": self.stop.reason}
            for name, o in self.outcomes.items()
        ]
        for name, value in self.derived.items():
            derived = {"status": "derived", "value": value, "method": "derived"}
            blank: dict[str, Any] = dict.fromkeys(_ROW)
            found.append({**shared, "attribute": name, **blank, **derived, "stop": self.stop.reason})
        return found

    def to_frame(self) -> pd.DataFrame:
        """The rows as a pandas frame; a value that was not reached is missing, never a number."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def __str__(self) -> str:
        """The verdict on one screen: a line an attribute, who dissents, and why it ended."""
        wide, tall = SCREEN
        lines = [f"{self.case} by {self.arm}: {self.stop}"]
        lines += [_line(name, outcome) for name, outcome in self.outcomes.items()]
        lines += [f"  {name}: {value:g}, derived" for name, value in self.derived.items()]
        if len(lines) > tall:
            lines = [*lines[: tall - 1], f"  and {len(lines) - tall + 1} more lines: see to_frame()"]
        return "\n".join(line if len(line) <= wide else f"{line[: wide - 3]}..." for line in lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The verdict as a notebook shows it."""
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in _html_cells(name, outcome)) + "</tr>"
            for name, outcome in self.outcomes.items()
        )
        rows += "".join(
            f"<tr><td>{escape(name)}</td><td>{value:g}</td><td>derived</td><td></td><td></td></tr>"
            for name, value in self.derived.items()
        )
        head = "".join(f"<th>{name}</th>" for name in ("attribute", "value", "method", "support", "dissent"))
        caption = escape(f"{self.case} by {self.arm}: {self.stop}")
        return (
            f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        )


_ROW = ("status", "value", "support", "spread", "votes", "method", "why")


def _line(name: str, outcome: Outcome) -> str:
    if outcome.status != "reached":
        return f"  {name}: {outcome.status}" + (f" ({_one_line(outcome.why)})" if outcome.why else "")
    support = "" if outcome.support is None else f", support {outcome.support:.0%}"
    dissent = ", ".join(f"{each.juror} {each.value}" for each in outcome.dissent)
    to_people = f"; to people: {outcome.escalated}" if outcome.escalated else ""
    return (
        f"  {name}: {outcome.value} by {outcome.method}{support}"
        + (f"; dissent: {dissent}" if dissent else "")
        + to_people
    )


def _html_cells(name: str, outcome: Outcome) -> list[str]:
    value = str(outcome.value) if outcome.status == "reached" else outcome.status
    support = "" if outcome.support is None else f"{outcome.support:.0%}"
    dissent = "; ".join(f"{each.juror} {each.value}: {each.reason}" for each in outcome.dissent)
    return [name, value, outcome.method, support, dissent or outcome.why]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def verdict(
    transcript: Transcript, rubric: Rubric, jury: Jury, *, count: CountingRule, learned: Count | None = None
) -> Verdict:
    """The verdict that `transcript` implies under the counting rule.

    A rule that learns from a whole run learns from this one case, unless what it `learned` is given.
    """
    standing = _counted_votes(transcript, jury)
    counted = _tallies(transcript, rubric, jury, standing)
    by = learned or counting_rule(count).over(counted)
    outcomes = {
        tally.attribute: _outcome(standing.get(tally.attribute, {}), tally, by, transcript)
        for tally in counted
    }
    if jury.rule is not None:
        outcomes = {
            name: _with_escalation(outcome, transcript, name, rubric.scale_of(name), jury)
            for name, outcome in outcomes.items()
        }
    reached = {name: o.value for name, o in outcomes.items() if o.value is not None}
    assert transcript.stop is not None
    return Verdict(
        case=transcript.case,
        arm=transcript.arm,
        outcomes=outcomes,
        derived=rubric.derived_scores(reached),
        stop=transcript.stop,
        transcript=transcript,
        claims=tuple(claim_outcomes(transcript, quorum=jury.quorum)),
    )


def as_written(found: Verdict, case: Case) -> Verdict:
    """A verdict on a pair with preferences between the row's `output_a` (below 0) and `output_b`, as people's ratings have them.

    In the record, and before jurors, they are between output A and output B: see `Case.from_row`.
    """
    if not case.swapped:
        return found

    def opposite(value: Value) -> Value:
        return value if isinstance(value, str) else -value

    def opposite_votes(votes: tuple[Vote, ...]) -> tuple[Vote, ...]:
        return tuple(vote.model_copy(update={"value": opposite(vote.value)}) for vote in votes)

    def opposite_entry(entry: Entry) -> Entry:
        match entry:
            case Cast():
                ballot = entry.ballot.model_copy(update={"votes": opposite_votes(entry.ballot.votes)})
                return entry.model_copy(update={"ballot": ballot})
            case Decided():
                findings = [f.model_copy(update={"value": opposite(f.value)}) for f in entry.findings]
                return entry.model_copy(update={"findings": tuple(findings)})
            case Controlled():
                return entry.model_copy(update={"votes": opposite_votes(entry.votes)})
            case _:
                return entry

    outcomes = {
        name: outcome.model_copy(
            update={
                "value": None if outcome.value is None else opposite(outcome.value),
                "dissent": tuple(d.model_copy(update={"value": opposite(d.value)}) for d in outcome.dissent),
            }
        )
        for name, outcome in found.outcomes.items()
    }
    entries = tuple(map(opposite_entry, found.transcript.entries))
    derived = {name: -value for name, value in found.derived.items()}
    transcript = found.transcript.model_copy(update={"entries": entries})
    return found.model_copy(update={"outcomes": outcomes, "derived": derived, "transcript": transcript})


def tallies(transcript: Transcript, rubric: Rubric, jury: Jury) -> list[Tally]:
    """What there is to count of one deliberation, attribute by attribute."""
    return _tallies(transcript, rubric, jury, _counted_votes(transcript, jury))


def _counted_votes(transcript: Transcript, jury: Jury) -> Mapping[str, Mapping[str, Standing]]:
    """The standing votes without those of confederates, nor of their repeats."""
    standing, scripted = transcript.standing(), {seat.name for seat in jury.seats if seat.confederate}
    if not scripted:
        return standing
    return {
        attribute: {juror: held for juror, held in votes.items() if juror.partition("#")[0] not in scripted}
        for attribute, votes in standing.items()
    }


def _tallies(
    transcript: Transcript, rubric: Rubric, jury: Jury, standing: Mapping[str, Mapping[str, Standing]]
) -> list[Tally]:
    findings = {
        finding.attribute: finding
        for entry in transcript.entries
        if isinstance(entry, Decided)
        for finding in entry.findings
    }
    by_claims = count_claims(transcript, rubric, jury)
    silences = [
        entry.failed or "unparsable"
        for entry in transcript.entries
        if isinstance(entry, Said) and entry.about == "silence" and entry.failed != "limit"
    ]
    return [
        Tally(
            case=transcript.case,
            attribute=name,
            scale=rubric.scale_of(name),
            cast=_cast(rubric, name, standing),
            finding=findings.get(name),
            jury=jury,
            claims=by_claims.get(name),
            compares=rubric.compares,
            silence=silences[-1] if silences else "",
        )
        for name in rubric.names
    ]


def _cast(rubric: Rubric, attribute: str, standing: Mapping[str, Mapping[str, Standing]]) -> dict[str, Value]:
    """The votes on an attribute by juror; not applicable where the juror's own votes are not those it is asked on."""
    cast = {juror: held.vote.value for juror, held in standing.get(attribute, {}).items()}
    for condition, wanted in rubric.by_name[attribute].asked_if.items():
        for juror in cast:
            held = standing.get(condition, {}).get(juror)
            if held is not None and held.vote.value != wanted:
                cast[juror] = NOT_APPLICABLE
    return cast


def _outcome(standing: Mapping[str, Standing], tally: Tally, count: Count, transcript: Transcript) -> Outcome:
    jury, scale = tally.jury, tally.scale
    if len(tally.cast) < jury.quorum:
        nothing_to_check = tally.claims.why if tally.claims else ""
        too_few = (
            "no juror voted"
            if jury.quorum == 1
            else f"too few jurors voted: {len(tally.cast)} of the {jury.quorum} that are needed"
        )
        absent = _absences(transcript, tally)
        return _hung_outcome(
            standing, nothing_to_check or (f"{too_few} ({'; '.join(absent)})" if absent else too_few)
        )
    if 2 * len(tally.votes) < len(tally.cast):
        return _outcome_of("not_applicable", None, standing, scale, "majority", jury.tolerance)
    value, method, why = count(tally)
    if value is None:
        return _hung_outcome(standing, why)
    if value == NOT_APPLICABLE:
        return _outcome_of("not_applicable", None, standing, scale, method, jury.tolerance, why)
    return _outcome_of("reached", value, standing, scale, method, jury.tolerance, why)


def _absences(transcript: Transcript, tally: Tally) -> list[str]:
    """Why the jurors without a vote on an attribute have none: each one's last abstention, in a few words."""
    last: dict[str, str] = {}
    for entry in transcript.abstentions:
        abstention = entry.abstention
        if entry.speaker not in tally.cast and tally.attribute in abstention.asked:
            detail = " ".join(abstention.detail.split())[:_DETAIL]
            last[entry.speaker] = f"{entry.speaker} {abstention.reason}: {detail}"
    return list(last.values())


def _outcome_of(
    status: Status,
    value: Value | None,
    standing: Mapping[str, Standing],
    scale: Scale,
    method: str,
    tolerance: float,
    why: str = "",
) -> Outcome:
    reach = max(tolerance, scale.half_step)
    against = [held for held in standing.values() if not _agrees(held.vote.value, value, reach)]
    return Outcome(
        status=status,
        value=value,
        support=1 - len(against) / len(standing),
        spread=_spread(standing),
        votes=len(standing),
        method=method,
        why=why,
        dissent=tuple(map(_dissent, against)),
    )


def _with_escalation(
    outcome: Outcome, transcript: Transcript, name: str, scale: Scale, jury: Jury
) -> Outcome:
    """The outcome, told by the jury's rule whether it may stand unseen."""
    assert jury.rule is not None
    sure = confidence(outcome_signals(outcome, transcript, name, scale, jury))
    return outcome.model_copy(update={"escalated": escalation_reason(jury.rule, name, outcome.status, sure)})


def outcome_signals(
    outcome: Outcome, transcript: Transcript, name: str, scale: Scale, jury: Jury
) -> dict[str, float]:
    """What the deliberation shows of how sure the outcome of one attribute is."""
    repeats = jury.repeats if jury.protocol in ("single", "panel") else 1
    return signals(
        transcript,
        name,
        scale,
        support=outcome.support,
        spread=outcome.spread,
        seats=len(jury.seats) * repeats,
    )


def _hung_outcome(standing: Mapping[str, Standing], why: str) -> Outcome:
    return Outcome(
        status="hung",
        value=None,
        support=None,
        spread=_spread(standing),
        votes=len(standing),
        method="none",
        why=why,
        dissent=tuple(map(_dissent, standing.values())),
    )


def _spread(standing: Mapping[str, Standing]) -> float | None:
    return spread([v for v in values_of(standing) if v != NOT_APPLICABLE])


def _dissent(held: Standing) -> Dissent:
    return Dissent(juror=held.juror, value=held.vote.value, reason=held.vote.rationale)


def _agrees(vote: Value, value: Value | None, reach: float) -> bool:
    """Whether the vote is the value: no farther from it than `reach`, or the same word."""
    if value is None:
        return vote == NOT_APPLICABLE
    if isinstance(vote, str) or isinstance(value, str):
        return vote == value
    return abs(float(vote) - float(value)) <= reach
