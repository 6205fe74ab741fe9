"""`second-reading`: everyone votes, reads their own reasons again, and votes once more. Nobody hears anybody."""

from __future__ import annotations

from importlib.resources import files

from pydantic import Field

from venire.plugin import (
    Bench,
    Brief,
    Entry,
    Options,
    Prompts,
    Protocol,
    Stop,
    Transcript,
    any_of,
    entry_of,
    hard_limits,
    limits_of,
    together,
)

PROMPTS = Prompts(files("second_reading") / "prompts")


class SecondReadingOptions(Options):
    """What a jury file may say under `options:`."""

    readings: int = Field(default=2, ge=2, le=5)
    """How often each juror votes."""
    doubt: str = "What would a careful critic say against it?"
    """The question that each juror puts to its own last answer."""


async def run(brief: Brief, bench: Bench) -> Transcript:
    """A blind round; then rounds in which each juror has its own last answers before it, and nothing else."""
    options = bench.jury.options_as(SecondReadingOptions)
    ended = any_of(hard_limits(bench.meter), limits_of(bench.jury, brief.rubric))
    transcript = await bench.blind_round(bench.new_transcript(brief), brief)
    for number in range(2, options.readings + 1):
        if stop := ended(transcript):
            return transcript.with_stop(stop)
        transcript = await _read_again(transcript, brief, bench, number, options.doubt)
    return transcript.with_stop(hard_limits(bench.meter)(transcript) or Stop(reason="complete"))


async def _read_again(
    transcript: Transcript, brief: Brief, bench: Bench, number: int, doubt: str
) -> Transcript:
    standing, asked = transcript.standing(), brief.rubric.names

    async def read_again(name: str) -> Entry:
        own = {a: standing[a][name].vote for a in asked if name in standing.get(a, {})}
        reasons = "\n".join(f"{attribute}: {vote.rationale}" for attribute, vote in own.items())
        turn = await bench.jurors[name].ask(
            brief,
            asked,
            PROMPTS,
            "second-look",
            round=number,
            own=own,
            parts={"doubt": doubt},
            # A model wrote it after reading the case, so it is fenced like a text under judgement.
            quotes={"reasons": reasons},
        )
        return entry_of(turn, "revision")

    names = list(bench.jurors)[: bench.turns_left(transcript)]
    return bench.add_entries(transcript, await together(read_again(name) for name in names))


second_reading = Protocol(
    run=run,
    options=SecondReadingOptions,
    prompts=PROMPTS,
    count="lowest",
    orchestrator=False,
    summary="everyone votes twice or more, with their own reasons before them",
    speaks="All jurors vote at the same time, in every reading.",
    sees="In round one a juror sees only the case; later also its own answers.",
    ends="The deliberation ends after the last reading, or at a limit.",
    calls="2N calls for N jurors, or N for each reading",
    steps="2 steps, or as many as the readings",
    most=lambda n, r: (min(2, r) * n, min(2, r)),
)
