"""`panel`: independent jurors, counted."""

from __future__ import annotations

from ...agents.brief import Brief
from ..bench import Bench
from ..transcript import Stop, Transcript
from .protocol import Protocol


async def run(brief: Brief, bench: Bench) -> Transcript:
    """One blind ballot from every seat, at the same time."""
    transcript = await bench.blind_round(bench.new_transcript(brief), brief)
    limit = bench.meter.reached or ("max_turns" if transcript.turns < len(bench.jurors) else None)
    return transcript.with_stop(bench.stop_at(limit) if limit else Stop(reason="complete"))


panel = Protocol(
    run=run,
    count="mean",
    orchestrator=False,
    summary="independent jurors, counted",
    speaks="every juror once, at the same time",
    sees="nobody sees anything of the others",
    ends="complete when every seat was heard",
    calls="N",
    steps="1",
    drawing="""
1  all N jurors      vote, blind, at the same time
   count
""",
    most=lambda n, r: (n, 1),
)
