"""`answer`: one seat answers the case's text in its own words. For systems under test, not for juries: nothing is judged."""

from __future__ import annotations

from ...agents.budget import LimitReached
from ...agents.cost import Receipt
from ...agents.model import Message, ModelFailure
from ...agents.prompting import Brief
from ...personas.jury import Jury
from ...rubrics.errors import VenireError
from ..bench import Bench
from ..transcript import Said, Stop, Transcript
from . import Protocol

NAME = "answer"
ABOUT = "answer"
"""What the entry with the answer is about."""


async def run(brief: Brief, bench: Bench) -> Transcript:
    """The first seat's words on the text, which reaches it as it is: it is the question, not the evidence."""
    (seat,) = bench.jurors.values()
    question = brief.exhibits[-1].text
    transcript = bench.new_transcript(brief)
    try:
        reply, key = await seat.gateway.say((Message("user", question),))
    except ModelFailure as failure:
        spent = Receipt().with_failures(failure.failures)
        lost = Said(
            round=1, who=seat.name, about=ABOUT, text=failure.detail, failed=failure.reason, spent=spent
        )
        return bench.add_entries(transcript, [lost]).with_stop(Stop(reason="complete"))
    except LimitReached as reached:
        lost = Said(round=1, who=seat.name, about=ABOUT, text="", failed="limit")
        return bench.add_entries(transcript, [lost]).with_stop(bench.stop_at(reached.limit))
    answered = Said(
        round=1,
        who=seat.name,
        about=ABOUT,
        text=reply.text,
        spent=Receipt().plus(key, reply),
        failed="refused" if reply.finish == "refusal" else None,
    )
    return bench.add_entries(transcript, [answered]).with_stop(Stop(reason="complete"))


def _check(jury: Jury) -> None:
    if len(jury.seats) != 1:
        raise VenireError(
            f"{jury.name}: protocol: answer is for one system, but the jury has {len(jury.seats)} seats",
            remedy="keep one seat; to have several models judge, use protocol: panel",
        )


answer = Protocol(
    run=run,
    count="mode",
    orchestrator=False,
    summary="one system answers a question in its own words; nothing is judged",
    speaks="The one seat answers once.",
    sees="The system sees the case's text unchanged, and nothing else.",
    ends="The deliberation is complete when the system has answered.",
    calls="1",
    steps="1",
    check=_check,
    judges=False,
    drawing="""
1  the system        answers
""",
    most=lambda n, r: (1, 1),
)
