"""What a run still has to hear: the juries with cases that the record does not hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..agents.prices import Price
from ..personas.jury import Jury
from ..rubrics.case import Case
from ..rubrics.rubric import Rubric
from .arm_manifest import arm_manifest
from .record import Hearing, Store
from .record.manifest import arm_fingerprint, case_fingerprint
from .worked_examples import ScoredCases


class WorkLeft(NamedTuple):
    """How many cases there are, and the juries that have not heard every one of them."""

    cases: int
    juries: Sequence[Jury]


async def work_left(
    juries: Sequence[Jury],
    cases: Iterable[Case],
    rubric: Rubric,
    store: Store | None,
    *,
    seed: int,
    scored: ScoredCases,
    prices: Mapping[str, Price],
    retry: bool,
) -> WorkLeft:
    """Read every case once: those of `juries` that have not heard it as it is now; with `retry`, with every model reached."""
    if store is None:
        return WorkLeft(sum(1 for _ in cases), juries)
    numbers: dict[str, int] = {}
    for jury in juries:
        manifest = arm_manifest(rubric, jury, seed=seed, scored=scored, prices=prices)
        number = store.arm_number(jury.name, arm_fingerprint(manifest))
        if number is not None:
            numbers[jury.name] = number
    total = 0
    for case in cases:
        total += 1
        if not numbers:
            continue
        mark = case_fingerprint(case)
        for name, number in list(numbers.items()):
            heard = await store.last_hearing(number, case.id)
            if must_be_heard(store, heard, mark, retry=retry):
                del numbers[name]
    return WorkLeft(total, [jury for jury in juries if jury.name not in numbers])


def must_be_heard(store: Store, heard: Hearing | None, fingerprint: str, *, retry: bool) -> bool:
    """Whether a case has to be heard: never heard, changed since, or with `retry`, heard without one of the models."""
    if heard is None or heard.fingerprint != fingerprint:
        return True
    return retry and store.transcript(heard.number).unreached
