"""From a case to a verdict: the straight line, in Python."""

from __future__ import annotations

import asyncio

from ..agents.brief import brief
from ..personas.jury import CountingRule, Jury
from ..rubrics.case import Case
from ..rubrics.rubric import Rubric
from .bench import Court
from .protocols import protocol
from .transcript import Transcript
from .verdict import Verdict, verdict


async def hear(case: Case, rubric: Rubric, jury: Jury, court: Court) -> Transcript:
    """What `jury` says of `case`, under its own protocol, in `court`."""
    way = protocol(jury.protocol)
    return await way.run(brief(case, rubric), court.bench(jury, case.id, orchestrated=way.orchestrator))


def recount(transcript: Transcript, rubric: Rubric, jury: Jury, count: CountingRule | None = None) -> Verdict:
    """The verdict that a transcript implies: by `count`, or the jury's rule, or the protocol's."""
    return verdict(transcript, rubric, jury, count=count or jury.count or protocol(jury.protocol).count)


async def deliberate(
    case: Case, rubric: Rubric, jury: Jury, *, model: str | None = None, base_url: str | None = None
) -> Verdict:
    """The verdict of `jury` on `case`; `model` fills seats that name none, else the embedded model does."""
    jury = jury.fill(model=model, base_url=base_url)
    court = Court(scored=frozenset({case.id}))
    try:
        court.check(jury, orchestrated=protocol(jury.protocol).orchestrator)
        return recount(await hear(case, rubric, jury, court), rubric, jury)
    finally:
        await court.close()


def deliberate_sync(
    case: Case, rubric: Rubric, jury: Jury, *, model: str | None = None, base_url: str | None = None
) -> Verdict:
    """`deliberate`, for code that is not async."""
    return asyncio.run(deliberate(case, rubric, jury, model=model, base_url=base_url))
