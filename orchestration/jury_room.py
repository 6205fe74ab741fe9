"""A jury in the seat of one agent: what is said in its room, as it is said, and the verdict. AutoGen's and Agent Framework's alike."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

from pydantic import BaseModel, ConfigDict

from ..agents.model import digest
from ..personas.jury import Jury
from ..rubrics.case import Case
from ..rubrics.errors import VenireError
from ..rubrics.rubric import Rubric
from .bench import Court
from .deliberate import hear, ready, recount
from .transcript import Abstained, Cast, Checked, Controlled, Decided, Entry, Extracted, Ledger, Said, Stop
from .verdict import Outcome
from .worked_examples import ScoredCases


class VerdictMessage(BaseModel):
    """A verdict as agents carry it: what became of each attribute, and why the jury stopped."""

    model_config = ConfigDict(frozen=True)

    case: str
    stop: Stop
    outcomes: Mapping[str, Outcome]
    derived: Mapping[str, float]


async def jury_room(
    case: Case, rubric: Rubric, jury: Jury, link: Callable[[asyncio.Future[VerdictMessage]], object] = id
) -> AsyncGenerator[Entry | VerdictMessage, None]:
    """What is said in the jury room, as it is said; then the verdict. `link` is given what to cancel."""
    spoken: asyncio.Queue[Entry | None] = asyncio.Queue()
    deliberation = asyncio.ensure_future(_deliberate(case, rubric, jury, spoken))
    link(deliberation)
    try:
        while (entry := await spoken.get()) is not None:
            yield entry
        yield await deliberation
    finally:
        deliberation.cancel()


async def _deliberate(
    case: Case, rubric: Rubric, jury: Jury, spoken: asyncio.Queue[Entry | None]
) -> VerdictMessage:
    court = Court(scored=ScoredCases.of([case]), listener=lambda _, entry: spoken.put_nowait(entry))
    try:
        await asyncio.to_thread(ready, jury, court, rubric)
        verdict = recount(await hear(case, rubric, jury, court), rubric, jury)
    finally:
        await court.close()
        spoken.put_nowait(None)
    return VerdictMessage(
        case=verdict.case, stop=verdict.stop, outcomes=verdict.outcomes, derived=verdict.derived
    )


def case_from(texts: Sequence[str]) -> Case:
    """The last text as what is judged, with those before it as its source."""
    if not texts:
        raise VenireError("the jury was given no text to judge", remedy="give the jury a task")
    *source, output = texts
    return Case(id=digest("\0".join(texts))[:12], source=tuple(source), output=output)


def jury_description(jury: Jury, rubric: Rubric) -> str:
    """What the jury is for, as other agents are told."""
    return (
        jury.description
        or f"a jury that judges a text by the rubric {rubric.name} (jurors: {len(jury.seats)})"
    )


def entry_text(entry: Entry) -> str:
    """An entry of the transcript as text."""
    match entry:
        case Cast():
            ballot = entry.ballot
            given = [f"{v.attribute}: {v.value}. {v.rationale}" for v in ballot.votes]
            return "\n".join((*given, *(f"{a.attribute}: abstains ({a.reason})" for a in ballot.abstained)))
        case Abstained():
            return f"abstains ({entry.abstention.reason}: {entry.abstention.detail})"
        case Ledger():
            return "\n".join(f"{d.attribute}: {d.dispute} {d.question}" for d in entry.disputes)
        case Decided():
            return "\n".join(f"{f.attribute}: {f.value}. {f.rationale}" for f in entry.findings)
        case Said():
            return entry.text
        case Extracted() | Checked() | Controlled():
            return entry.summary
