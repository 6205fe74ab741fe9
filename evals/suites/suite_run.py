"""A suite run: systems answer and juries hear the answers, each through the same record as any jury.

A system is a jury of one seat that answers instead of judging.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from ...agents.cost import Cost
from ...agents.providers import Preflight
from ...orchestration.deliberate import models_asked
from ...orchestration.executors import Cluster
from ...orchestration.protocols.answer import ABOUT, NAME
from ...orchestration.reading.status import UnreachedModel, unreached_at
from ...orchestration.record import Location, Store, recorded_cost
from ...orchestration.record.private_files import write_atomically
from ...orchestration.record.store import run_exists
from ...orchestration.run_session import RunSession, run_session
from ...orchestration.runner import RunResult
from ...orchestration.transcript import UNREACHED, Said, Transcript
from ...personas.jury import Jury, ModelSettings, Seat
from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from ...rubrics.rubric import Rubric
from . import ANSWERS, MARK, VERDICTS
from .scenario import ScenarioCase
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
    case_by_question = {question_id(part, case): case for case in part.prompts}
    current = {
        number: case
        for number, case in case_by_question.items()
        if (stored_case := store.case(number)) is not None and stored_case.output == part.prompts[case]
    }
    answers: dict[str, dict[str, SystemAnswer]] = {}
    for system in suite.asked:
        arm = arms.get(arm_name(part.name, system.title))
        if arm is None:
            continue
        answers[system.title] = {
            current[transcript.case]: _answer(transcript)
            for transcript in store.transcripts(arm)
            if transcript.case in current
        }
    return answers


def recorded_answers(part: SuitePart) -> dict[str, dict[str, SystemAnswer]]:
    """The outputs that files gave, as answers."""
    case_ids = {case.id for case in part.cases}
    return {
        system: {
            case: SystemAnswer(output.text, "", output.prompt_tokens, output.completion_tokens)
            for case, output in outputs.items()
            if case in case_ids
        }
        for system, outputs in part.recorded.items()
    }


def all_answers(
    suite: LoadedSuite, part: SuitePart, store: Store | None
) -> dict[str, dict[str, SystemAnswer]]:
    """Every system's answers on a scenario."""
    return {**model_answers(suite, part, store), **recorded_answers(part)}


def _answer(transcript: Transcript) -> SystemAnswer:
    utterance = next(
        (entry for entry in transcript.entries if isinstance(entry, Said) and entry.about == ABOUT), None
    )
    if utterance is None:
        return SystemAnswer("", "limit")
    spent: Cost = utterance.spent.cost
    return SystemAnswer(
        utterance.text if utterance.failed is None else "",
        utterance.failed or "",
        spent.usage.prompt,
        spent.usage.completion,
        spent.usd,
        spent.calls,
    )


def judged_cases(part: SuitePart, answers: Mapping[str, Mapping[str, SystemAnswer]]) -> Iterator[Case]:
    """What the scenario's jury hears of its judged cases."""
    if part.scenario.seating is None:
        return
    for case in part.cases:
        if case.id in part.judged:
            yield from heard_cases(part, case, answers)


def heard_cases(
    part: SuitePart, case: ScenarioCase, answers: Mapping[str, Mapping[str, SystemAnswer]]
) -> Iterator[Case]:
    """The answers to one case as a jury hears them, each beside the baseline's where they are judged in pairs; none where nothing is said."""
    seating = part.scenario.seating
    assert seating is not None
    source = (
        part.prompts.get(case.id, "")
        if seating.source is None
        else str(case.columns.get(seating.source) or "")
    )
    given = {name: own[case.id] for name, own in answers.items() if case.id in own and not own[case.id].unreached}  # fmt: skip
    for system, answer in given.items():
        sides: dict[str, str] = {"output": answer.text, "system": system}
        if (against := seating.against) is not None:
            if system == against or against not in given:
                continue
            sides = {"output_a": answer.text, "system_a": system, "output_b": given[against].text, "system_b": against}  # fmt: skip
        if not any(text.strip() for side, text in sides.items() if side.startswith("output")):
            continue
        yield Case.from_row(
            {
                "id": judged_id(part, case.id, system),
                **sides,
                "source": (source,) if source.strip() else (),
                "reference": None if case.target is None else str(case.target),
                "group": group_of(part, case),
            }
        )


def group_of(part: SuitePart, case: ScenarioCase) -> str:
    """The group of a case, where the scenario names a column for it; else its own id."""
    group = case.columns.get(part.scenario.group) if part.scenario.group else None
    return case.id if group is None else str(group)


def judged_id(part: SuitePart, case: str, system: str) -> str:
    """The id under which a jury hears a system's answer to a case."""
    return f"{question_id(part, case)}@{system}"


@dataclass(frozen=True, slots=True)
class SuiteSession:
    """Where a suite is run, and how fast and by whom models may be asked."""

    folder: Path
    console: Console
    quiet: bool = False
    model: str | None = None
    """Fills seats of juries that name none."""
    base_url: str | None = None
    in_flight: int = 32
    rpm: int | None = None
    tpm: int | None = None
    retry: bool = False
    executor: str = "local"
    cluster: Cluster = field(default_factory=Cluster)
    preflight: Preflight = field(default_factory=Preflight)
    started: float = field(default_factory=time.monotonic)


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """How one session of a suite ended; `limit` is what stopped it, if anything did."""

    folder: Path
    heard: int
    skipped: int
    limit: str | None
    unreached: tuple[UnreachedModel, ...]
    not_run: dict[str, str]
    """Scenarios that were listed and skipped, and why."""

    def json(self) -> dict[str, Any]:
        return {
            "run": str(self.folder),
            "heard": self.heard,
            "skipped": self.skipped,
            "limit": self.limit,
            "unreached": [model.json() for model in self.unreached],
            "not_run": self.not_run,
        }


def suite_run_folder(named: Location | None, suite: Path) -> Path:
    """The run's directory: the one named, or beside the suite's file. A database is refused."""
    if isinstance(named, str):
        raise VenireError(
            "a suite writes several files, so it cannot be stored in a database",
            remedy="name a directory, not a database",
        )
    return named or suite.with_name(f"{suite.stem}-run")


def seated_jury(part: SuitePart, session: SuiteSession) -> tuple[Jury, Rubric] | None:
    """The jury that judges a scenario's answers, every seat with a model; None where a program scores them.

    Raises:
        ModelNotNamed: A seat names no model, and the session gives none.
    """
    seating = part.scenario.seating
    if seating is None:
        return None
    filled_jury = seating.jury.fill(model=session.model, base_url=session.base_url)
    models_asked(filled_jury)
    return filled_jury.model_copy(update={"name": arm_name(part.name, seating.jury.name)}), seating.rubric


def run_suite(suite: LoadedSuite, session: SuiteSession) -> SuiteRun:
    """Have every system answer every case, then every jury hear the answers; what the records hold is not asked again."""
    _check_reachable(suite, session)
    session.folder.mkdir(parents=True, exist_ok=True)
    mark = {"suite": suite.name, "file": str(suite.file.resolve())}
    write_atomically(session.folder / MARK, json.dumps(mark) + "\n")
    heard = skipped = 0
    limit: str | None = None
    for part in suite.parts:
        if limit is None and suite.asked:
            juries = [system_jury(system, part) for system in suite.asked]
            result = _hear(suite, session, ANSWERS, part, juries, RUBRIC, question_cases(part))
            heard, skipped, limit = heard + result.heard, skipped + result.skipped, result.limit
    for part in suite.parts:
        seated = seated_jury(part, session)
        if limit is not None or seated is None:
            continue
        cases = list(judged_cases(part, answers_at(suite, part, session.folder)))
        if cases:
            result = _hear(suite, session, VERDICTS, part, [seated[0]], seated[1], cases)
            heard, skipped, limit = heard + result.heard, skipped + result.skipped, result.limit
    unreached = [model for name in (ANSWERS, VERDICTS) if run_exists(session.folder / name) for model in unreached_at(session.folder / name)]  # fmt: skip
    return SuiteRun(session.folder, heard, skipped, limit, tuple(unreached), dict(suite.skipped))


def answers_at(suite: LoadedSuite, part: SuitePart, folder: Path) -> dict[str, Any]:
    """Every system's answers on a scenario, as the run in `folder` and the files have them."""
    store = Store.read(folder / ANSWERS) if run_exists(folder / ANSWERS) else None
    try:
        return dict(all_answers(suite, part, store))
    finally:
        if store is not None:
            store.release()


def _check_reachable(suite: LoadedSuite, session: SuiteSession) -> None:
    """Ask every model, the jurors' too, before the first answer is paid for; not where a record could be gone on with."""
    juries = [system_jury(system, part) for part in suite.parts for system in suite.asked]
    juries += [seated[0] for part in suite.parts if (seated := seated_jury(part, session)) is not None]
    models = [settings for jury in juries for settings in models_asked(jury)]
    if session.executor != "local" or any(run_exists(session.folder / name) for name in (ANSWERS, VERDICTS)):
        return
    asyncio.run(session.preflight.check(models))


def _hear(
    suite: LoadedSuite,
    session: SuiteSession,
    record: str,
    part: SuitePart,
    juries: Sequence[Jury],
    rubric: Rubric,
    cases: Sequence[Case],
) -> RunResult:
    """Have `juries` hear `cases`, with what is left of the suite's budget."""
    budget, paid = suite.suite.budget, paid_at(session.folder)
    elapsed = time.monotonic() - session.started
    if not session.quiet:
        doing = "answering" if record == ANSWERS else "judging"
        session.console.print(f"{part.name}: {doing}, {len(cases)} cases", highlight=False, markup=False)
    return run_session(
        RunSession(
            cases=cases,
            rubric=rubric,
            juries=juries,
            folder=session.folder / record,
            **budget.remaining(paid, elapsed),
            in_flight=session.in_flight,
            rpm=session.rpm,
            tpm=session.tpm,
            prices=suite.prices,
            seed=suite.suite.seed,
            retry=session.retry,
            executor=session.executor,
            cluster=session.cluster,
            preflight=session.preflight,
        ),
        session.console,
        quiet=session.quiet,
    )


def paid_at(folder: Path) -> Cost:
    """The cost of the calls that both records hold."""
    return sum((recorded_cost(folder / name) for name in (ANSWERS, VERDICTS)), Cost())
