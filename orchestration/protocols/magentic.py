"""`magentic`: the group chat of Microsoft Agent Framework, AutoGen's successor, with our jurors, limits and record."""

from __future__ import annotations

from dataclasses import replace

from ...agents.prompting import Brief
from ...personas.jury import Jury
from ..bench import Bench
from ..transcript import Transcript
from .magentic_chat import GroupChat
from .magentic_one import agent_names, magentic_one, preside, require


async def run(brief: Brief, bench: Bench) -> Transcript:
    """Agent Framework deliberates."""
    check(bench.jury)
    from .magentic_workflow import run_workflow

    return await preside(
        GroupChat(brief, bench, agent_names(bench.jury.seat_names), private=True), run_workflow
    )


def check(jury: Jury) -> None:
    """Refuse to begin without Agent Framework."""
    require(
        "the magentic protocol needs Microsoft Agent Framework",
        "agent-framework",
        "agent_framework",
        "agent_framework_orchestrations",
    )


magentic = replace(
    magentic_one,
    run=run,
    check=check,
    summary="the Magentic workflow of Microsoft Agent Framework (AutoGen's successor), with the jurors and limits of the jury file",
    sees="The orchestrator sees everything since its last plan. A juror sees what it was asked since, and the others' last ballots.",
    drawing=magentic_one.drawing.replace(
        "the plan, what was asked and the others' last ballots ",
        "what it was asked and the others' last ballots        ",
    ),
)
