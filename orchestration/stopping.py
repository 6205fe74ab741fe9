"""When to stop: conditions that compose, each saying why it ends or None; and what code, not a model, measures for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate

from ..agents.budget import Meter
from ..personas.jury import Jury
from ..rubrics.ballot import fold_quote
from ..rubrics.rubric import Rubric
from ..rubrics.scale import Value
from .transcript import Cast, Ledger, Standing, Stop, Transcript

Condition = Callable[[Transcript], Stop | None]
NO_QUORUM = "too few jurors voted: no attribute has as many votes as the jury's quorum requires"
SOME_QUORUM = "too few jurors voted: some attributes have fewer votes than the jury's quorum requires"


def limits_of(jury: Jury, rubric: Rubric, *, replans: bool = False) -> Condition:
    """The limits of a jury file that leave something to decide, and its early stops, in that order.

    Args:
        replans: Whether someone presides who puts the questions anew where `max_stalls` would stop, `max_replans` times.
    """
    limits = jury.limits
    found: list[Condition] = [
        make(most)
        for make, most in (
            (turns, limits.max_turns),
            (rounds, limits.max_rounds),
            (partial(replan_limit, limits.max_replans) if replans else stall_limit, limits.max_stalls),
            (stable, jury.stop.stable_rounds),
        )
        if most is not None
    ]
    if jury.stop.ks is not None:
        found.append(distribution_stable(rubric, jury.stop.ks))
    return any_of(*found)


def hard_limits(meter: Meter) -> Condition:
    """Stops at a limit on tokens, dollars or seconds: after it no call can be made, not even to decide."""
    return any_of(tokens(meter), dollars(meter), seconds(meter))


def any_of(*conditions: Condition) -> Condition:
    """Stops when one of them does, for the reason of the first that does."""

    def first(transcript: Transcript) -> Stop | None:
        return next((stop for condition in conditions if (stop := condition(transcript))), None)

    return first


def all_of(*conditions: Condition) -> Condition:
    """Stops when all of them do, for the reason of the first, with the others' in its detail."""

    def every(transcript: Transcript) -> Stop | None:
        stops = [condition(transcript) for condition in conditions]
        if not stops or stops[0] is None or None in stops:
            return None
        return stops[0].model_copy(
            update={"detail": "; ".join(filter(None, [stops[0].detail, *map(str, stops[1:])]))}
        )

    return every


def consensus_reached(
    rubric: Rubric,
    *,
    tolerance: float,
    quorum: int,
    among: Sequence[str] | None = None,
    max_turns: int | None = None,
) -> Condition:
    """Stops when nothing is disputed (`among` these attributes): all within `tolerance` of each other.

    With too few votes on every attribute there is nothing to deliberate on, which is no consensus. Where `max_turns` kept
    seats from the votes that a quorum needs, that is the reason.
    """

    def condition(transcript: Transcript) -> Stop | None:
        if disputed_attributes(transcript, rubric, tolerance=tolerance, quorum=quorum, among=among):
            return None
        asked = among or rubric.names
        enough = attributes_with_quorum(transcript, asked, quorum)
        if len(enough) < len(asked) and max_turns is not None and cut_short(transcript):
            return Stop.at("max_turns", max_turns, NO_QUORUM if not enough else SOME_QUORUM)
        return Stop(reason="consensus") if enough else Stop(reason="complete", detail=NO_QUORUM)

    return condition


def cut_short(transcript: Transcript) -> bool:
    """Whether a limit kept a seat from its turn."""
    return any(entry.abstention.reason == "limit" for entry in transcript.abstentions)


def unanimous(rubric: Rubric, *, quorum: int) -> Condition:
    """Stops when everyone gives the same answers."""
    return consensus_reached(rubric, tolerance=0, quorum=quorum)


def turns(most: int) -> Condition:
    """Stops after this many juror turns."""
    return lambda transcript: Stop.at("max_turns", most) if transcript.turns >= most else None


def rounds(most: int) -> Condition:
    """Stops after this many rounds."""
    return lambda transcript: Stop.at("max_rounds", most) if transcript.rounds >= most else None


def stall_limit(most: int) -> Condition:
    """Stops after this many rounds in a row without movement or new evidence; with 0, after round one."""
    return lambda transcript: Stop.at("max_stalls", most) if stalls(transcript) >= most else None


def replan_limit(most_replans: int | None, most_stalls: int) -> Condition:
    """Stops where `stall_limit` would, once questions were put anew this often; without a limit only after round one.

    With `most_stalls` 0 nothing was ever asked that could be put anew.
    """
    if most_replans == 0 or most_stalls == 0:
        return stall_limit(most_stalls)

    def condition(transcript: Transcript) -> Stop | None:
        if most_replans is None or replans(transcript) < most_replans or stalls(transcript) < most_stalls:
            return None
        return Stop.at("max_replans", most_replans)

    return condition


def replan_due(transcript: Transcript, jury: Jury) -> bool:
    """Whether the next questions are put anew: as many rounds as `max_stalls` moved nobody since the last were."""
    most = jury.limits.max_stalls
    return most is not None and stalls(transcript) >= max(1, most)


def stable(in_a_row: int) -> Condition:
    """Stops when no vote changed in this many rounds in a row, new evidence or not."""
    return lambda transcript: (
        Stop.at("stable_rounds", in_a_row) if unmoved_rounds(transcript) >= in_a_row else None
    )


def distribution_stable(rubric: Rubric, threshold: float) -> Condition:
    """Stops when the votes of the last two rounds are distributed alike, whoever cast them.

    The two-sample Kolmogorov-Smirnov statistic of the standing votes after each round, taken of the attribute
    on which it is largest, must lie below `threshold`.
    """

    def condition(transcript: Transcript) -> Stop | None:
        if transcript.rounds < 2:
            return None
        before, after = transcript.standing(before_round=transcript.rounds), transcript.standing()
        apart = max(
            (ks_distance(before.get(name, {}), after[name]) for name in rubric.names if name in after),
            default=0.0,
        )
        return Stop.at("ks", threshold, f"statistic {apart:.3f}") if apart < threshold else None

    return condition


def tokens(meter: Meter) -> Condition:
    """Stops when the deliberation's tokens are spent."""
    return _hard(meter, "max_tokens")


def dollars(meter: Meter) -> Condition:
    """Stops when the deliberation's dollars are spent."""
    return _hard(meter, "max_usd")


def seconds(meter: Meter) -> Condition:
    """Stops when the deliberation's time is up."""
    return _hard(meter, "max_seconds")


def _hard(meter: Meter, name: str) -> Condition:
    def condition(_: Transcript) -> Stop | None:
        return Stop.at(name, getattr(meter.limits, name)) if meter.reached == name else None

    return condition


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
    """How many rounds in a row, up to the last, brought neither movement nor new evidence, since questions were last put anew."""
    count, first = 0, max((entry.round for entry in _new_plans(transcript)), default=2)
    for number in range(transcript.rounds, first - 1, -1):
        if moved(transcript, number):
            break
        count += 1
    return count


def moved(transcript: Transcript, number: int) -> bool:
    """Whether a vote changed in round `number`, or a quote was found that nobody had cited before."""
    before = transcript.standing(before_round=number)
    cited = {
        (vote.attribute, fold_quote(quote.text))
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
            if any(q.found and (vote.attribute, fold_quote(q.text)) not in cited for q in vote.evidence):
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
    return len(_new_plans(transcript))


def _new_plans(transcript: Transcript) -> list[Ledger]:
    return [entry for entry in transcript.entries if isinstance(entry, Ledger) and entry.replan]


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
