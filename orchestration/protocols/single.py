"""`single`: one judge, asked k times: the baseline that every jury must beat."""

from __future__ import annotations

from ...agents.prompting import Brief
from ...personas.options import Repeats
from ..bench import Bench
from ..transcript import Stop, Transcript
from ..worked_examples import ShotOptions
from . import Protocol


class SingleOptions(ShotOptions):
    """How a single judge is asked."""

    repeats: Repeats = 1
    """How often the judge is asked."""


async def run(brief: Brief, bench: Bench) -> Transcript:
    """k independent ballots of the first seat."""
    options = bench.jury.options_as(SingleOptions)
    transcript = await bench.repeats(bench.new_transcript(brief), brief, options.repeats)
    limit = bench.meter.reached or ("max_turns" if transcript.turns < options.repeats else None)
    return transcript.with_stop(bench.stop_at(limit) if limit else Stop(reason="complete"))


single = Protocol(
    run=run,
    options=SingleOptions,
    count="median",
    orchestrator=False,
    summary="one judge votes k times, with or without worked examples; the verdict is the median",
    speaks="The first juror votes k times, at the same time.",
    sees="The judge sees the case, and worked examples if the jury names them.",
    ends="The deliberation is complete when the judge was asked k times.",
    calls="k calls for k repeats",
    steps="1",
    drawing="""
1  the first seat    votes k times, at the same time
   count             the median of its votes
""",
    most=lambda n, r: (1, 1),
)
