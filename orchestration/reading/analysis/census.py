"""A run as a whole: who is moved towards, who conforms, what splits juries, who is harsh or lenient."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

from ....agents.cost import Cost
from ....personas.jury import Jury
from ....rubrics.rubric import Rubric
from ....rubrics.scale import Value
from ...stopping import settled, spread
from ...transcript import Transcript
from ...verdict import Verdict
from .flags import Flag
from .movement import chances, conformity, convergence, influence, moves, paths

Key = tuple[str, str, str]
"""A topic, and what it is counted for."""


class Share(NamedTuple):
    """A mean over `n`; the value is None where `n` is 0."""

    name: str
    value: float | None
    n: int


class Flow(NamedTuple):
    """How much of the movement of one juror went towards another."""

    source: str
    mover: str
    credit: float


class Census:
    """Sums over an arm's deliberations, from which the run's analyses are read.

    Only sums are kept, so they can be added up over any number of cases, stored, and added to later. Distances are
    shares of the scale's length: 0.25 is one step of five.
    """

    def __init__(self, sums: dict[Key, tuple[int, float]] | None = None) -> None:
        self.sums: dict[Key, tuple[int, float]] = {} if sums is None else sums

    def add(self, verdict: Verdict, rubric: Rubric, jury: Jury, found: tuple[Flag, ...]) -> None:
        """Count one deliberation and its flags."""
        self.add_outcomes(verdict)
        self.add_movement(verdict, rubric, jury, found)

    def add_outcomes(self, verdict: Verdict) -> None:
        """Count how one deliberation ended and what it took."""
        self._count("cases")
        self._count("stop", verdict.stop.reason)
        for status, number in Counter(outcome.status for outcome in verdict.outcomes.values()).items():
            self._count("outcome", status, times=number)
        for attribute, outcome in verdict.outcomes.items():
            self._count("decided", attribute, total=float(outcome.method == "decision"))
        for entry in verdict.transcript.entries:
            for version in () if entry.spent.by else entry.spent.versions:
                self._count("version", entry.speaker.partition("#")[0], version)
        cost = verdict.transcript.cost
        for spent, amount in _cost_sums(verdict.transcript, cost):
            self._count("spent", spent, total=amount)
        if cost.usd is None:
            self._count("unpriced")

    def add_movement(self, verdict: Verdict, rubric: Rubric, jury: Jury, found: tuple[Flag, ...]) -> None:
        """Count what happened in one deliberation: its flags, who voted how at first, who moved whom."""
        transcript = verdict.transcript
        for kind in {flag.kind for flag in found}:
            self._count("flagged", kind)
        self._first_votes(verdict, rubric, jury)
        for attribute, points in convergence(transcript).items():
            if attribute not in rubric.by_name:
                continue
            length = rubric.scale_lengths[attribute]
            for point in points:
                if len(point.values) >= 2:
                    apart = _apart(tuple(point.values.values()), length)
                    self._count("round", attribute, str(point.round), total=apart)
        moved = Counter(move.juror for move in moves(transcript) if not move.under_orders)
        for juror, number in moved.items():
            self._count("moved", juror, times=number)
        drawn_moves = influence(transcript)
        credits: dict[tuple[str, str], list[float]] = {}
        for drawn in drawn_moves:
            credits.setdefault((drawn.source, drawn.move.juror), []).append(drawn.credit)
        for (source, mover), shares in credits.items():
            self._count("drawn", source, mover, times=len(shares), total=sum(shares))
        for drawn in conformity(transcript, drawn_moves):
            self._count("conformed", drawn.move.juror)
        for juror, number in chances(transcript).items():
            self._count("outnumbered", juror, times=number)

    def merge(self, other: Census) -> None:
        for (topic, one, two), (times, total) in other.sums.items():
            self._count(topic, one, two, times=times, total=total)

    def number(self, topic: str, of: str = "") -> int:
        return self.sums.get((topic, of, ""), (0, 0.0))[0]

    def total(self, topic: str, of: str = "") -> float:
        return self.sums.get((topic, of, ""), (0, 0.0))[1]

    def counts(self, topic: str) -> list[tuple[str, int]]:
        """Each thing counted under a topic and how often, the commonest first."""
        found = [(one, times) for (name, one, _), (times, _) in self.sums.items() if name == topic]
        return sorted(found, key=lambda item: (-item[1], item[0]))

    def means(self, topic: str) -> list[Share]:
        """Each thing counted under a topic with its mean, the greatest first."""
        found = [
            Share(one, total / times if times else None, times)
            for (name, one, _), (times, total) in self.sums.items()
            if name == topic
        ]
        return sorted(found, key=lambda share: (-(share.value or 0.0), share.name))

    def splits(self) -> list[Share]:
        """How far apart the first votes on each attribute lay, on average, the most split first."""
        return self.means("apart")

    def leanings(self, of: str) -> list[Share]:
        """How far above the other jurors each `juror`, `persona` or `model` first scored; the most lenient first."""
        return self.means(f"leaning {of}")

    def persuaders(self) -> list[Share]:
        """Each juror's credit for the others' moves; `n` is how many moves it had a share in."""
        drawn: dict[str, tuple[int, float]] = {}
        for (topic, source, _), (times, credit) in self.sums.items():
            if topic == "drawn":
                n, total = drawn.get(source, (0, 0.0))
                drawn[source] = (n + times, total + credit)
        shares = [Share(name, total, times) for name, (times, total) in drawn.items()]
        return sorted(shares, key=lambda share: (-(share.value or 0.0), share.name))

    def conformers(self) -> list[Share]:
        """How often each juror went over to a majority with nothing new, of the times it stood against one."""
        shares = [
            Share(juror, self.number("conformed", juror) / times if times else None, times)
            for juror, times in self.counts("outnumbered")
        ]
        return sorted(shares, key=lambda share: (-(share.value or 0.0), share.name))

    def flows(self) -> list[Flow]:
        """Who moved towards whom, by how many moves' worth."""
        return [
            Flow(source, mover, credit)
            for (topic, source, mover), (_, credit) in self.sums.items()
            if topic == "drawn"
        ]

    def curve(self, attribute: str) -> list[tuple[int, Share]]:
        """The mean distance between the lowest vote and the highest after each round."""
        points = [
            (int(number), Share(attribute, total / times, times))
            for (topic, name, number), (times, total) in self.sums.items()
            if topic == "round" and name == attribute
        ]
        return sorted(points)

    def _count(self, topic: str, one: str = "", two: str = "", *, times: int = 1, total: float = 0.0) -> None:
        before = self.sums.get((topic, one, two), (0, 0.0))
        self.sums[topic, one, two] = (before[0] + times, before[1] + total)

    def _first_votes(self, verdict: Verdict, rubric: Rubric, jury: Jury) -> None:
        alternates = {entry.id: entry.spent.by for entry in verdict.transcript.ballots if entry.spent.by}
        leanings: dict[tuple[str, str], list[float]] = {}
        """By juror, and by the alternate that answered for it, if one did."""
        for attribute, by_juror in paths(verdict.transcript).items():
            if attribute not in rubric.by_name or len(by_juror) < 2:
                continue
            first = tuple([steps[0].vote.value for steps in by_juror.values()])
            length = rubric.scale_lengths[attribute]
            self._count("apart", attribute, total=_apart(first, length))
            self._count("agreed", attribute, total=float(settled(first, jury.tolerance)))
            better = rubric.by_name[attribute].better
            for (juror, steps), leaning in zip(
                by_juror.items(), _leanings(first, length, better), strict=True
            ):
                if leaning is not None:
                    answered_by = alternates.get(steps[0].entry, "")
                    leanings.setdefault((juror, answered_by), []).append(leaning)
        seats = {seat.name: seat for seat in jury.seats}
        for (juror, alternate), found in leanings.items():
            names = {"juror": juror}
            if (seat := seats.get(juror.partition("#")[0])) is not None:
                names["model"] = alternate or seat.model or "unnamed"
                names["persona"] = seat.persona.name if seat.persona else "none"
            for of, name in names.items():
                self._count(f"leaning {of}", name, times=len(found), total=sum(found))


def _cost_sums(transcript: Transcript, cost: Cost) -> Iterator[tuple[str, float]]:
    yield "calls", cost.calls
    yield "tokens", cost.tokens
    yield "usd", cost.usd or 0.0
    yield "seconds", cost.seconds
    yield "abstentions", len(transcript.abstentions)
    yield "rounds", transcript.rounds


# A jury of a few jurors has few ways to vote, so most of these are known from another case.
@lru_cache(maxsize=4096)
def _apart(values: tuple[Value, ...], length: float | None) -> float:
    """The distance between the votes as a share of the scale; among words, the share outside the commonest."""
    apart = spread(values)
    if length is not None and apart is not None:
        return apart / length
    return 1 - max(values.count(value) for value in values) / len(values)


@lru_cache(maxsize=4096)
def _leanings(
    first: tuple[Value, ...], length: float | None, better: Literal["high", "low"]
) -> tuple[float | None, ...]:
    """The distance of each vote above the mean of the others, in the direction that is better; None where there is none."""
    numbers = [float(value) for value in first if not isinstance(value, str)]
    if length is None or len(numbers) < 2:
        return (None,) * len(first)
    sign, total, others = 1 if better == "high" else -1, sum(numbers), len(numbers) - 1
    return tuple(
        None if isinstance(value, str) else sign * (float(value) - (total - float(value)) / others) / length
        for value in first
    )
