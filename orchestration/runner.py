"""The runner: every arm hears every case, many at once, and nothing that is done is done again."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Protocol

from ..agents.meter import BudgetSpent
from ..agents.prompting import prompts_hash
from ..personas.jury import Jury
from ..rubrics.case import Case
from ..rubrics.rubric import Rubric
from .bench import Court
from .deliberate import hear
from .protocols import protocol
from .store import Store
from .transcript import Transcript


class Progress(Protocol):
    """Told how the run goes."""

    def done(self, transcript: Transcript) -> None: ...

    def skipped(self, case: str, arm: str) -> None:
        """The case was finished before."""
        ...


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: `limit` names the budget that stopped it, or is None when all is done."""

    heard: int
    skipped: int
    limit: str | None


async def run_study(
    cases: Iterable[Case],
    rubric: Rubric,
    juries: Sequence[Jury],
    store: Store,
    court: Court,
    *,
    at_once: int,
    seed: int,
    progress: Progress,
) -> Ended:
    """Have every jury hear every case that `store` does not already hold, `at_once` at a time."""
    arms: list[tuple[int, Jury]] = []
    for jury in juries:
        court.check(jury, orchestrated=protocol(jury.protocol).orchestrator)
        manifest = _manifest(rubric, jury, seed)
        arms.append((await store.add_arm(jury.name, _hash(manifest), manifest), jury))
    work = ((case, arm, jury) for case in cases for arm, jury in arms)
    tally = _Tally()
    workers = [
        asyncio.create_task(_worker(work, rubric, store, court, tally, progress)) for _ in range(at_once)
    ]
    results = await asyncio.gather(*workers, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, BudgetSpent):
            raise result
    limit = next((result.limit for result in results if isinstance(result, BudgetSpent)), None)
    return Ended(tally.heard, tally.skipped, limit)


@dataclass(slots=True)
class _Tally:
    heard: int = 0
    skipped: int = 0


async def _worker(
    work: Iterator[tuple[Case, int, Jury]],
    rubric: Rubric,
    store: Store,
    court: Court,
    tally: _Tally,
    progress: Progress,
) -> None:
    """Hear one case after the other until there are none, or until the budget is spent."""
    for case, arm, jury in work:
        fingerprint = case_fingerprint(case)
        if store.has(arm, case.id, fingerprint):
            tally.skipped += 1
            progress.skipped(case.id, jury.name)
            continue
        court.budget.check()
        try:
            transcript = await hear(case, rubric, jury, court)
            await store.add(arm, case, fingerprint, transcript)
        except BudgetSpent:
            raise
        except Exception:
            # Whatever this is, it ends the run: the others finish what is in flight and stop too.
            court.budget.interrupted = True
            raise
        tally.heard += 1
        progress.done(transcript)


def case_fingerprint(case: Case) -> str:
    """A hash of what the jurors could have read; a changed label does not make a new case."""
    return _hash(case.model_dump(mode="json", exclude={"metadata", "group", "system"}))


def _manifest(rubric: Rubric, jury: Jury, seed: int) -> dict[str, Any]:
    return {
        "venire": version("venire"),
        "rubric": rubric.model_dump(mode="json"),
        "jury": jury.model_dump(mode="json"),
        "prompts": prompts_hash(),
        "seed": seed,
    }


def _hash(value: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
