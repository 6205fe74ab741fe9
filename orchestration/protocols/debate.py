"""`debate`: a high-scoring and a low-scoring advocate argue; the rest of the jury votes; the orchestrator decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from ...agents.prompting import Brief
from ...personas.jury import Jury
from ...personas.options import Debaters, Options
from ...rubrics.errors import VenireError
from ..bench import Bench, statements, together
from ..rounds import decide_open, open_attributes
from ..stopping import (
    NO_QUORUM,
    SOME_QUORUM,
    any_of,
    attributes_with_quorum,
    consensus_reached,
    cut_short,
    disputed_attributes,
    hard_limits,
    limits_of,
)
from ..transcript import Entry, Stop, Transcript, entry_of
from . import Protocol

Side = Literal["high", "low"]


class DebateOptions(Options):
    """Who argues."""

    debate: Debaters | None = None
    """The advocates; without it the seats with the high-scoring and the low-scoring persona, else the first two."""


async def run(brief: Brief, bench: Bench) -> Transcript:
    """Two advocates argue until they agree or a limit is reached; then everyone else votes, having heard both."""
    jury = bench.jury
    sides = advocates(jury)
    others = [name for name in bench.jurors if name not in sides]
    ended = any_of(
        hard_limits(bench.meter),
        # Two argue, however many a verdict needs.
        consensus_reached(brief.rubric, tolerance=jury.tolerance, quorum=min(2, jury.quorum)),
        limits_of(jury, brief.rubric),
    )
    transcript = bench.new_transcript(brief)
    transcript = await _argument_round(transcript, brief, bench, sides, bench.turns_left(transcript))
    while (stop := ended(transcript)) is None:
        # Every other seat has a turn coming: the advocates may not use it up.
        if (left := bench.turns_left(transcript) - len(others)) < 1:
            stop = bench.stop_at("max_turns")
            break
        transcript = await _argument_round(bench.begin_round(transcript), brief, bench, sides, left)
    others = [name for name in bench.jurors if name not in sides]
    transcript = await _vote_round(transcript, brief, bench, sides, others)
    voted = attributes_with_quorum(transcript, brief.rubric.names, jury.quorum)
    if stop.limit is None and cut_short(transcript) and len(voted) < len(brief.rubric.names):
        stop = bench.stop_at("max_turns", SOME_QUORUM if voted else NO_QUORUM)
    elif stop.reason == "consensus" and open_attributes(transcript, brief, bench):
        stop = Stop(reason="complete", detail="the two advocates agreed, but the other jurors differ")
    return await decide_open(transcript, brief, bench, stop)


def advocates(jury: Jury) -> dict[str, Side]:
    """Who argues which side: as the jury says, else by persona, else the first two seats."""
    if len(jury.seats) < 2:
        raise VenireError(
            f"the jury {jury.name!r} has one seat, but a debate needs two sides",
            remedy="add a seat to the jury",
        )
    if (debaters := jury.options_as(DebateOptions).debate) is not None:
        return {debaters.high: "high", debaters.low: "low"}
    by_persona = {seat.persona.name: seat.name for seat in reversed(jury.seats) if seat.persona}
    if {"high-scoring", "low-scoring"} <= by_persona.keys():
        return {by_persona["high-scoring"]: "high", by_persona["low-scoring"]: "low"}
    return {jury.seat_names[0]: "high", jury.seat_names[1]: "low"}


def advocate_label(brief: Brief, side: Side) -> str:
    """What the jury knows an advocate by: its side, or the output of a pair that it argues for."""
    if brief.rubric.compares:
        return f"the advocate for output {'B' if side == 'high' else 'A'}"
    return f"the {side}-scoring advocate"


async def _argument_round(
    transcript: Transcript, brief: Brief, bench: Bench, sides: Mapping[str, Side], allowed: int
) -> Transcript:
    """Both advocates' arguments on what divides them, made at the same time, each seeing the other's last one."""
    standing, number = transcript.standing(), transcript.rounds + 1
    asked: Sequence[str] = brief.rubric.names
    if number > 1:
        asked = disputed_attributes(transcript, brief.rubric, tolerance=bench.jury.tolerance, quorum=2)

    async def argue(name: str, side: Side) -> Entry:
        own = {a: standing[a][name].vote for a in asked if name in standing.get(a, {})}
        heard = statements(
            (h for a in asked for h in standing.get(a, {}).values() if h.juror != name),
            label=lambda juror: advocate_label(brief, sides[juror]),
        )
        turn = await bench.jurors[name].argue(brief, asked, side=side, round=number, own=own, heard=heard)
        return entry_of(turn, "argument")

    speaking = list(sides.items())[: max(0, allowed)]
    missed = [bench.unheard(name, number, asked, "argument") for name in list(sides)[len(speaking) :]]
    arguments = await together(argue(name, side) for name, side in speaking)
    return bench.add_entries(transcript, [*arguments, *(missed if number == 1 else ())])


async def _vote_round(
    transcript: Transcript, brief: Brief, bench: Bench, sides: Mapping[str, Side], others: Sequence[str]
) -> Transcript:
    """The first and only ballots of those who did not argue, made at the same time."""
    standing, number, asked = transcript.standing(), transcript.rounds, brief.rubric.names
    heard = statements(
        (held for a in asked for held in standing.get(a, {}).values()),
        label=lambda juror: advocate_label(brief, sides[juror]),
    )

    async def vote(name: str) -> Entry:
        turn = await bench.jurors[name].vote(brief, asked, round=number, heard=heard)
        return entry_of(turn, "vote")

    allowed = bench.turns_left(transcript)
    missed = [bench.unheard(name, number, asked, "vote") for name in others[allowed:]]
    return bench.add_entries(transcript, [*await together(vote(name) for name in others[:allowed]), *missed])


def check(jury: Jury) -> None:
    """Refuse a jury that is too small for two sides."""
    advocates(jury)


debate = Protocol(
    run=run,
    options=DebateOptions,
    check=check,
    count="decision",
    orchestrator=True,
    summary="one advocate argues for a high score and one for a low score; the other jurors vote; the orchestrator decides",
    speaks="The two advocates argue at the same time in every round; then every other juror votes once.",
    sees="An advocate sees only the case in round one, and later the other side's last argument. The other jurors see both last arguments.",
    ends="Stop reasons: consensus, complete, stall, stable, turns, rounds, budget or time. "
    "Then the orchestrator decides what is still open.",
    calls="at most 2R + (N - 2) + 1 calls for N jurors and R rounds; N calls if all agree at once",
    steps="at most R + 2 steps for R rounds; R + 1 if the two advocates are the only jurors",
    drawing="""
1  two advocates     argue high and low, blind, at the same time
   +-- each further round, on what divides them
2  | two advocates   argue again at the same time, each answering the other's last argument
   +--
3  the other seats   vote at the same time, having read both last arguments
4  orchestrator      decides what is still open, with reasons
""",
    most=lambda n, r: (2 * r + n - 2 + 1, r + (2 if n > 2 else 1)),
)
