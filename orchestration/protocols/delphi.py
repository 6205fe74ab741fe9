"""`delphi`: rounds with anonymous statistics and unsigned reasons between them, against conformity."""

from __future__ import annotations

import hashlib
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence

from ...agents.prompting import Brief, words
from ...rubrics.scale import Value
from ..bench import Bench, statements, together
from ..rounds import open_attributes
from ..stopping import any_of, consensus_reached, hard_limits, limits_of, values_of
from ..transcript import Entry, Standing, Transcript, entry_of
from ..worked_examples import ShotOptions
from . import Protocol


async def run(brief: Brief, bench: Bench) -> Transcript:
    """Everyone votes, reads how the jury as a whole answered and why, and votes again on what is not settled."""
    jury = bench.jury
    ended = any_of(
        hard_limits(bench.meter),
        consensus_reached(
            brief.rubric, tolerance=jury.tolerance, quorum=jury.quorum, max_turns=jury.limits.max_turns
        ),
        limits_of(jury, brief.rubric),
    )
    transcript = await bench.blind_round(bench.new_transcript(brief), brief)
    while (stop := ended(transcript)) is None:
        transcript = await _one_round(bench.begin_round(transcript), brief, bench)
    return transcript.with_stop(stop)


async def _one_round(transcript: Transcript, brief: Brief, bench: Bench) -> Transcript:
    standing, number = transcript.standing(), transcript.rounds + 1
    asked = open_attributes(transcript, brief, bench)
    notice = "\n".join(feedback(name, values_of(standing[name])) for name in asked)

    async def revise(name: str) -> Entry:
        own = {a: standing[a][name].vote for a in asked if name in standing[a]}
        others = [held for a in asked for held in unsigned_votes(standing[a]) if held.juror != name]
        turn = await bench.jurors[name].revise(
            brief,
            asked,
            round=number,
            own=own,
            heard=statements(others, label=lambda _: "a juror"),
            notice=notice,
        )
        return entry_of(turn, "revision")

    allowed = list(bench.jurors)[: bench.turns_left(transcript)]
    return bench.add_entries(transcript, await together(revise(name) for name in allowed))


def unsigned_votes(held: Mapping[str, Standing]) -> list[Standing]:
    """The votes in an order that says nothing of the seats: by a hash of their words."""
    return sorted(
        held.values(), key=lambda h: hashlib.sha256(f"{h.vote.value}{h.vote.rationale}".encode()).digest()
    )


def feedback(attribute: str, values: Sequence[Value]) -> str:
    """How the jury as a whole answered: the distribution, and for numbers median, quartiles and range."""
    counted = sorted(Counter(values).items(), key=lambda pair: (isinstance(pair[0], str), pair[0]))
    told = [", ".join(f"{number} gave {value}" for value, number in counted)]
    numbers = [float(value) for value in values if not isinstance(value, str)]
    if len(numbers) > 1:
        low, middle, high = statistics.quantiles(numbers, n=4, method="inclusive")
        told.append(
            f"median {middle:g}, quartiles {low:g} to {high:g}, range {min(numbers):g} to {max(numbers):g}"
        )
    return words("feedback", attribute=attribute, count=len(values), summary="\n".join(told))


delphi = Protocol(
    run=run,
    options=ShotOptions,
    count="median",
    orchestrator=False,
    summary="between rounds, jurors see statistics of the votes and reasons without names, which limits conformity; votes are counted",
    speaks="All jurors vote at the same time in every round, on what is not settled.",
    sees="In round one a juror sees only the case; later also the distribution, median, quartiles and range of the votes, and reasons without names.",
    ends="Stop reasons: consensus, stall, stable, turns, rounds, budget or time. Then the votes are counted.",
    calls="at most RN calls for N jurors and R rounds; N calls if all agree at once",
    steps="at most R steps for R rounds",
    drawing="""
1  all N jurors      vote, blind, at the same time
   +-- each further round, on what is not settled
   | code            counts the answers: distribution, median, quartiles, range
2  | all N jurors    revise at the same time, reading that and reasons without names
   +--
   count             the median
""",
    most=lambda n, r: (r * n, r),
)
