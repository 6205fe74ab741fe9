"""`second-reading`: everyone votes, reads their own reasons again, and votes once more. Nobody hears anybody."""

from __future__ import annotations

from venire import Stop, Transcript
from venire.agents.brief import Brief
from venire.orchestration import Bench, Protocol
from venire.orchestration.bench import together
from venire.orchestration.conditions import any_of, hard_limits, limits_of
from venire.orchestration.counting import Counted, Rule, Tally
from venire.orchestration.transcript import Entry, entry_of


async def run(brief: Brief, bench: Bench) -> Transcript:
    """Two rounds at the most; the second is each juror with its own first answers, and nothing else."""
    transcript = await bench.blind_round(bench.new_transcript(brief), brief)
    if stop := any_of(hard_limits(bench.meter), limits_of(bench.jury, brief.rubric))(transcript):
        return transcript.with_stop(stop)
    standing, asked = transcript.standing(), brief.rubric.names

    async def reread(name: str) -> Entry:
        own = {a: standing[a][name].vote for a in asked if name in standing.get(a, {})}
        turn = await bench.jurors[name].revise(brief, asked, round=2, own=own, heard=())
        return entry_of(turn, "revision")

    names = list(bench.jurors)[: bench.turns_left(transcript)]
    transcript = bench.add_entries(transcript, await together(reread(name) for name in names))
    return transcript.with_stop(hard_limits(bench.meter)(transcript) or Stop(reason="complete"))


second_reading = Protocol(
    run=run,
    count="lowest",
    orchestrator=False,
    summary="everyone votes twice, the second time with their own reasons before them",
    speaks="all jurors at the same time, twice",
    sees="round one: nothing; round two: one's own answers",
    ends="complete after two rounds, or at a limit",
    calls="2N",
    steps="2",
    most=lambda n, r: (min(2, r) * n, min(2, r)),
)


def by_lowest(tally: Tally) -> Counted:
    """The lowest vote: nothing passes that one juror would not pass."""
    if not tally.scale.ordered:
        return Counted(None, "none", "answers without an order have no lowest")
    return Counted(min(tally.votes.values(), key=float), "lowest")


lowest = Rule("the lowest vote", by_lowest)
