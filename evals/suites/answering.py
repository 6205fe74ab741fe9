"""Systems answer through the same record as juries: each is a jury of one seat that answers instead of judging."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...agents.cost import Cost
from ...orchestration.protocols.answer import ABOUT, NAME
from ...orchestration.record import Store
from ...orchestration.transcript import UNREACHED, Said, Transcript
from ...personas.jury import Jury, ModelSettings, Seat
from ...rubrics.case import Case
from ...rubrics.rubric import Rubric
from .suite import LoadedSuite, SuitePart, System, arm_name

RUBRIC = Rubric.model_validate(
    {
        "name": "answer",
        "version": 1,
        "description": "Nothing is asked of a jury: a system answers.",
        "scales": {"answered": {"level": "binary", "anchors": {0: "No", 1: "Yes"}}},
        "attributes": [{"name": "answered", "question": "Did the system answer?", "scale": "answered"}],
    }
)
"""A record's arms have a rubric; this one is never put to anybody."""


@dataclass(frozen=True, slots=True)
class SystemAnswer:
    """What a system answered to one case."""

    text: str
    failed: str = ""
    """Why there is none."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    usd: float | None = None
    calls: int = 0

    @property
    def unreached(self) -> bool:
        """Whether the system could not be asked, which says nothing of what it knows."""
        return self.failed in (*UNREACHED, "limit")


def system_jury(system: System, part: SuitePart) -> Jury:
    """The system as it answers one scenario: temperature 0, and no more tokens than the scenario's answers have, unless it says otherwise."""
    fields = {name: getattr(system, name) for name in ModelSettings.model_fields}
    if fields["temperature"] is None:
        fields["temperature"] = 0.0
    if fields["max_tokens"] is None:
        fields["max_tokens"] = part.scenario.answer.max_tokens
    seat = Seat.model_validate({**fields, "name": "system"})
    return Jury(name=arm_name(part.name, system.title), protocol=NAME, seats=(seat,))


def question_cases(part: SuitePart) -> list[Case]:
    """The prompts as cases: nothing of a case but what its prompt shows is in them."""
    return [Case(id=question_id(part, case), output=prompt) for case, prompt in part.prompts.items()]


def question_id(part: SuitePart, case: str) -> str:
    """The id of a case in the record of answers, which holds all scenarios."""
    return f"{part.name}/{case}"


def model_answers(
    suite: LoadedSuite, part: SuitePart, store: Store | None
) -> dict[str, dict[str, SystemAnswer]]:
    """The recorded answers of the suite's models on a scenario, by system and case; only those to the prompts as they are now."""
    if store is None:
        return {}
    arms = {arm.name: arm for arm in store.arms()}
    asked = {question_id(part, case): case for case in part.prompts}
    current = {
        number: case
        for number, case in asked.items()
        if (stored := store.case(number)) is not None and stored.output == part.prompts[case]
    }
    found: dict[str, dict[str, SystemAnswer]] = {}
    for system in suite.asked:
        arm = arms.get(arm_name(part.name, system.title))
        if arm is None:
            continue
        found[system.title] = {
            current[transcript.case]: _answer(transcript)
            for transcript in store.transcripts(arm)
            if transcript.case in current
        }
    return found


def recorded_answers(part: SuitePart) -> dict[str, dict[str, SystemAnswer]]:
    """The outputs that files gave, as answers."""
    known = {case.id for case in part.cases}
    return {
        system: {
            case: SystemAnswer(each.text, "", each.prompt_tokens, each.completion_tokens)
            for case, each in outputs.items()
            if case in known
        }
        for system, outputs in part.recorded.items()
    }


def all_answers(
    suite: LoadedSuite, part: SuitePart, store: Store | None
) -> dict[str, dict[str, SystemAnswer]]:
    """Every system's answers on a scenario."""
    return {**model_answers(suite, part, store), **recorded_answers(part)}


def _answer(transcript: Transcript) -> SystemAnswer:
    said = next(
        (entry for entry in transcript.entries if isinstance(entry, Said) and entry.about == ABOUT), None
    )
    if said is None:
        return SystemAnswer("", "limit")
    spent: Cost = said.spent.cost
    return SystemAnswer(
        said.text if said.failed is None else "",
        said.failed or "",
        spent.usage.prompt,
        spent.usage.completion,
        spent.usd,
        spent.calls,
    )


def judged_cases(part: SuitePart, answers: Mapping[str, Mapping[str, SystemAnswer]]) -> Iterator[Case]:
    """The answers that the scenario's jury hears: those to its judged cases that say something."""
    seating = part.scenario.seating
    if seating is None:
        return
    for case in part.cases:
        if case.id not in part.judged:
            continue
        source = (
            part.prompts.get(case.id, "")
            if seating.source is None
            else str(case.columns.get(seating.source) or "")
        )
        group = case.columns.get(part.scenario.group) if part.scenario.group else None
        for system, its in answers.items():
            given = its.get(case.id)
            if given is None or not given.text.strip():
                continue
            yield Case(
                id=judged_id(part, case.id, system),
                output=given.text,
                source=(source,) if source.strip() else (),
                reference=None if case.target is None else str(case.target),
                group=str(group) if group is not None else case.id,
                system=system,
            )


def judged_id(part: SuitePart, case: str, system: str) -> str:
    """The id under which a jury hears a system's answer to a case."""
    return f"{question_id(part, case)}@{system}"
