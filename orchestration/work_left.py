"""What a run still has to hear: the juries with cases that the record does not hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..agents.prices import Price
from ..personas.jury import Jury
from ..rubrics.case import Case
from ..rubrics.rubric import Rubric
from .arm_manifest import arm_manifest
from .record import Hearing, Store
from .record.manifest import arm_fingerprint, case_fingerprint
from .worked_examples import ScoredCases


async def juries_with_work(
    juries: Sequence[Jury],
    cases: Iterable[Case],
    rubric: Rubric,
    store: Store,
    *,
    seed: int,
    scored: ScoredCases,
    prices: Mapping[str, Price],
    retry: bool,
) -> list[Jury]:
    """Those of `juries` that have not heard every case as it is now; with `retry`, with every model reached."""
    numbers: dict[str, int | None] = {}
    for jury in juries:
        manifest = arm_manifest(rubric, jury, seed=seed, scored=scored, prices=prices)
        numbers[jury.name] = store.arm_number(jury.name, arm_fingerprint(manifest))
    waiting = {name for name, number in numbers.items() if number is None}
    for case in cases:
        if len(waiting) == len(numbers):
            break
        mark = case_fingerprint(case)
        for name, number in numbers.items():
            if number is not None and name not in waiting:
                heard = await store.last_hearing(number, case.id)
                if must_be_heard(store, heard, mark, retry=retry):
                    waiting.add(name)
    return [jury for jury in juries if jury.name in waiting]


def must_be_heard(store: Store, heard: Hearing | None, fingerprint: str, *, retry: bool) -> bool:
    """Whether a case has to be heard: never heard, changed since, or with `retry`, heard without one of the models."""
    if heard is None or heard.fingerprint != fingerprint:
        return True
    return retry and store.transcript(heard.number).unreached
