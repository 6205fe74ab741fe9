"""Settled or not, moved or stalled: what code, not a model, measures of a deliberation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from ..rubrics.rubric import Rubric
from ..rubrics.scale import Value
from .transcript import Cast, Ledger, Standing, Transcript


def spread(values: Iterable[Value]) -> float | None:
    """How far apart the numbers lie; None where there is no distance (words, or nothing)."""
    numbers: list[float] = []
    for value in values:
        if isinstance(value, str):
            return None
        numbers.append(float(value))
    return max(numbers) - min(numbers) if numbers else None


def settled(values: Sequence[Value], tolerance: float) -> bool:
    """Whether everyone is within `tolerance` of everyone else. Words must be the same words."""
    apart = spread(values)
    return len(set(values)) <= 1 if apart is None else apart <= tolerance


def disputed_attributes(
    transcript: Transcript,
    rubric: Rubric,
    *,
    tolerance: float,
    quorum: int,
    among: Sequence[str] | None = None,
) -> tuple[str, ...]:
    """The attributes with votes enough to decide and no agreement, in the rubric's order."""
    standing = transcript.standing()
    return tuple(
        name
        for name in attributes_with_quorum(transcript, among or rubric.names, max(quorum, 2))
        if not settled(values_of(standing[name]), tolerance)
    )


def attributes_with_quorum(transcript: Transcript, attributes: Iterable[str], quorum: int) -> tuple[str, ...]:
    """The attributes with `quorum` votes or more."""
    standing = transcript.standing()
    return tuple(name for name in attributes if len(standing.get(name, {})) >= quorum)


def instant_extremes(transcript: Transcript, rubric: Rubric) -> tuple[str, ...]:
    """The attributes on which two jurors or more gave the same end of the scale at once.

    A scale of two values is all ends, so agreement on it is not extreme.
    """
    standing = transcript.standing()
    found: list[str] = []
    for name in rubric.names:
        votes = values_of(standing.get(name, {}))
        scale = rubric.scale_of(name)
        graded = scale.ordered and len(scale.values) != 2
        if len(votes) >= 2 and len(set(votes)) == 1 and graded and votes[0] in scale.ends:
            found.append(name)
    return tuple(found)


def values_of(standing: Mapping[str, Standing]) -> list[Value]:
    return [held.vote.value for held in standing.values()]


def stalls(transcript: Transcript) -> int:
    """How many rounds in a row, up to the last, brought neither movement nor new evidence."""
    count = 0
    for number in range(transcript.rounds, 1, -1):
        if moved(transcript, number):
            break
        count += 1
    return count


def moved(transcript: Transcript, number: int) -> bool:
    """Whether a vote changed in round `number`, or a quote was found that nobody had cited before."""
    before = transcript.standing(before_round=number)
    cited = {
        (vote.attribute, quote.text.casefold())
        for entry in transcript.ballots
        if entry.round < number
        for vote in entry.ballot.votes
        for quote in vote.evidence
    }
    for entry in _of_round(transcript, number):
        for vote in entry.ballot.votes:
            held = before.get(vote.attribute, {}).get(entry.speaker)
            if held is None or held.vote.value != vote.value:
                return True
            if any(q.found and (vote.attribute, q.text.casefold()) not in cited for q in vote.evidence):
                return True
    return False


def unmoved_rounds(transcript: Transcript) -> int:
    """How many rounds in a row, up to the last, changed no vote."""
    count = 0
    for number in range(transcript.rounds, 1, -1):
        before = transcript.standing(before_round=number)
        votes = [(e.speaker, vote) for e in _of_round(transcript, number) for vote in e.ballot.votes]
        held = [before.get(vote.attribute, {}).get(speaker) for speaker, vote in votes]
        if any(h is None or h.vote.value != v.value for h, (_, v) in zip(held, votes, strict=True)):
            break
        count += 1
    return count


def replans(transcript: Transcript) -> int:
    """How often questions were put anew because the last ones had moved nobody."""
    return sum(1 for entry in transcript.entries if isinstance(entry, Ledger) and entry.replan)


def ks_distance(before: Mapping[str, Standing], after: Mapping[str, Standing]) -> float:
    """The two-sample Kolmogorov-Smirnov statistic of two sets of votes: 0 alike, 1 wholly apart.

    The largest difference between their cumulative shares. Words have no order to cumulate in: between them it
    is the largest difference that any set of answers can show, half the sum of the differences of the shares.
    """
    first, second = values_of(before), values_of(after)
    if not first or not second:
        return 1.0 if first or second else 0.0
    values = sorted({*first, *second}, key=lambda value: (isinstance(value, str), value))
    gaps = [first.count(value) / len(first) - second.count(value) / len(second) for value in values]
    if any(isinstance(value, str) for value in values):
        return sum(map(abs, gaps)) / 2
    return max(map(abs, accumulate(gaps)))


def _of_round(transcript: Transcript, number: int) -> tuple[Cast, ...]:
    return tuple(entry for entry in transcript.ballots if entry.round == number)
