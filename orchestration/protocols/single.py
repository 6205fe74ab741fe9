"""`single`: one judge, asked k times: the baseline that every jury must beat."""

from __future__ import annotations

from ...agents.brief import Brief
from ..bench import Bench, together
from ..transcript import Stop, Transcript, entry_of
from .examples import worked_examples
from .protocol import Protocol


async def run(brief: Brief, bench: Bench) -> Transcript:
    """k independent ballots of the first seat; the repeats are told apart as judge#2, judge#3 ..."""
    judge = next(iter(bench.jurors.values()))
    examples = worked_examples(bench.jury.shots, brief.rubric, bench.scored)
    asked = bench.jury.repeats
    if bench.jury.limits.max_turns is not None:
        asked = min(asked, bench.jury.limits.max_turns)
    turns = await together(
        judge.cast(
            brief,
            brief.rubric.names,
            examples=examples,
            repeat=number,
            name=judge.name if number == 0 else f"{judge.name}#{number + 1}",
        )
        for number in range(asked)
    )
    transcript = bench.noted(bench.opened(brief), [entry_of(turn, "repeat") for turn in turns])
    limit = bench.meter.reached or ("max_turns" if asked < bench.jury.repeats else None)
    return transcript.ended(bench.stop_at(limit) if limit else Stop(reason="complete"))


single = Protocol(
    run=run,
    count="median",
    orchestrator=False,
    summary="one judge, zero- or few-shot, k repeats, the median of them",
    speaks="the first seat, k times at once",
    sees="the case, and worked examples where the jury names them",
    ends="complete when all repeats were made",
    calls="k",
    steps="1",
    drawing="""
1  the first seat    votes k times, at the same time
   count             the median of its votes
""",
    most=lambda n, r: (1, 1),
)
