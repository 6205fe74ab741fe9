"""`magentic-one`: AutoGen's MagenticOneGroupChat with our jurors, limits and record; the published arm of 004."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from pydantic import BaseModel, create_model

from ...agents.answers import UnusableAnswer, read_answer
from ...agents.brief import Brief
from ...agents.cost import Receipt
from ...agents.orchestrator import NAME, Finding
from ...agents.prompting import form_of, repair_request, words
from ...personas.jury import Jury
from ...rubrics.ballot import Abstention
from ...rubrics.errors import MissingExtra
from ...rubrics.rubric import Rubric
from ...rubrics.shapes import STRICT, TEXT, Legal, inline
from ..bench import Bench
from ..transcript import Abstained, Decided, Entry, Said, Stop, Transcript
from ..worked_examples import ShotOptions
from .magentic_chair import Chair, Final
from .magentic_floor import Floor
from .protocol import Protocol


async def run(brief: Brief, bench: Bench) -> Transcript:
    """AutoGen deliberates; then its final answer is read, and every seat that it passed over is recorded."""
    check(bench.jury)
    from .magentic_team import sit

    shape = final_shape(brief.rubric)
    floor = Floor(brief, bench, agent_names(bench.jury.seat_names))
    chair = Chair(floor, words("magentic-final", form=form_of(shape)))
    await sit(floor, chair)
    await _close(floor, chair, shape)
    assert floor.stop is not None
    return floor.transcript.with_stop(floor.stop)


def check(jury: Jury) -> None:
    """Refuse to begin without AutoGen."""
    for package in ("autogen_agentchat", "autogen_core"):
        if find_spec(package) is None:
            raise MissingExtra(
                f"the magentic-one protocol needs AutoGen ({package} is not installed)",
                remedy="pip install 'venire[autogen]'",
            )


def agent_names(seats: Iterable[str]) -> dict[str, str]:
    """A name for each seat that AutoGen accepts: an identifier, not its orchestrator's, and no other seat's."""
    taken = {"MagenticOneOrchestrator"}
    names: dict[str, str] = {}
    for seat in seats:
        name = seat.replace("-", "_")
        while name in taken:
            name += "_"
        taken.add(name)
        names[seat] = name
    return names


def final_shape(rubric: Rubric) -> type[BaseModel]:
    """The JSON object in the final answer: for each attribute the reasons, then the score."""
    return _shape(tuple((name, Legal.of(rubric, name)) for name in rubric.names))


@lru_cache(maxsize=256)
def _shape(questions: tuple[tuple[str, Legal], ...]) -> type[BaseModel]:
    fields: dict[str, Any] = {
        name: (
            create_model(f"Final_{name}", __config__=STRICT, rationale=(TEXT, ...), score=(legal.score, ...)),
            ...,
        )
        for name, legal in questions
    }
    return create_model("FinalAnswer", __config__=STRICT, **fields)


async def _close(floor: Floor, chair: Chair, shape: type[BaseModel]) -> None:
    """The last step: the final answer, what it decides, and who was never called on."""
    unheard = list(_unheard(floor))
    final = chair.final
    if final is None:
        floor.transcript = floor.bench.add_entries(floor.transcript, unheard)
        return
    said = Said(
        round=_now(floor),
        who=NAME,
        about="final",
        text=final.text,
        saw=floor.thread,
        spent=final.spent,
    )
    try:
        decided: list[Entry] = [_decision(floor, read_answer(final.text, shape, final.messages), Receipt())]
        problem = ""
    except UnusableAnswer as misread:
        decided, problem = [], misread.failure.detail
    floor.transcript = floor.bench.add_entries(floor.transcript, [said, *decided, *unheard])
    if problem:
        await _repair(floor, chair, final, shape, problem)


async def _repair(floor: Floor, chair: Chair, final: Final, shape: type[BaseModel], problem: str) -> None:
    """Have the final answer given once more in its form; what it does not decide then is left to the ballots."""
    asked = (*final.messages, *repair_request(final.text, problem, floor.brief.nonce))
    said = await chair.ask(asked, inline(shape))
    if floor.broken is not None:
        raise floor.broken
    if said is None:
        return
    text, spent = said
    try:
        floor.add(_decision(floor, read_answer(text, shape, final.messages), spent))
    except UnusableAnswer as misread:
        floor.note("silence", f"the final answer cannot be read: {misread.failure.detail}", spent)
        assert floor.stop is not None
        floor.stop = floor.stop.model_copy(update={"detail": "the final answer could not be read"})


def _decision(floor: Floor, answer: BaseModel, spent: Receipt) -> Decided:
    standing = floor.transcript.standing()
    findings = []
    for name in type(answer).model_fields:
        part: Any = getattr(answer, name)
        weighed = tuple(standing.get(name, {}))
        findings.append(Finding(attribute=name, value=part.score, rationale=part.rationale, weighed=weighed))
    saw = dict.fromkeys(held.entry for votes in standing.values() for held in votes.values())
    return Decided(round=_now(floor), findings=tuple(findings), saw=tuple(saw), spent=spent)


def _unheard(floor: Floor) -> Iterable[Abstained]:
    heard = {entry.speaker for entry in floor.transcript.heard}
    stop = floor.stop or Stop(reason="orchestrator")
    satisfied = stop.reason in ("complete", "consensus")
    for seat in floor.agents:
        if seat not in heard:
            abstention = Abstention(
                juror=seat,
                round=1,
                reason="not_called" if satisfied else "limit",
                detail=f"the deliberation ended before it was called on ({stop})",
                asked=floor.brief.rubric.names,
            )
            yield Abstained(abstention=abstention, round=1, purpose="vote")


def _now(floor: Floor) -> int:
    return max(1, floor.transcript.rounds)


magentic_one = Protocol(
    run=run,
    options=ShotOptions,
    check=check,
    count="decision",
    orchestrator=True,
    summary="AutoGen's own MagenticOneGroupChat with the same jurors and limits: the published arm, its faults guarded",
    speaks="the orchestrator lists facts and plans; then, over and over, it fills a ledger and one juror it names speaks",
    sees="the orchestrator: all since its last plan; a juror: the plan, what was asked since, the others' last ballots",
    ends="complete or consensus when the orchestrator is satisfied; turns, rounds, stall, replans, budget, time or "
    "orchestrator otherwise; then its final answer decides every attribute",
    calls="2RN + 4 when the orchestrator is satisfied after R rounds, 2RN + 3 when max_rounds ends it; "
    "three more for each re-plan",
    steps="the same: every call waits for the one before",
    drawing="""
1  orchestrator      lists the facts
2  orchestrator      makes a plan
   +-- over and over ----------------------------------------------------------------------------+
3  | orchestrator    fills a ledger: satisfied? stuck? who speaks next, and on what?              |
   | code            a ledger nobody can follow goes back; at a limit it ends; stuck: 1 and 2 anew |
4  | that juror      votes, seeing the plan, what was asked and the others' last ballots           |
   +----------------------------------------------------------------------------------------------+
5  orchestrator      gives the final answer, which decides every attribute
""",
    most=lambda n, r: (2 * r * n + 6, 2 * r * n + 6),
)
