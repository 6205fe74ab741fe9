"""A run's cards, recounted under any share, threshold and weight without a call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...orchestration.reading.claim_card import ClaimCard, claim_card
from ...orchestration.reading.export import verdicts
from ...orchestration.record import Arm, Store
from ...orchestration.verdict import Verdict
from ...personas.options import ClaimOptions, ShareName
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ...rubrics.ratings import Rating


def claim_arms(store: Store, arm: str | None = None) -> list[Arm]:
    """The arms of a run that checked claims, or the one that is named.

    Raises:
        VenireError: There is no such arm.
    """
    found = [each for each in store.arms() if each.jury.protocol == "decompose-verify"]
    if not found:
        raise VenireError(
            f"{store.name}: no jury of this run checked claims",
            remedy="run one with protocol: decompose-verify",
        )
    if arm is None:
        return found
    named = [each for each in found if each.name == arm]
    if not named:
        raise VenireError(
            f"no arm named {arm!r} in this run checked claims",
            remedy=nearest(arm, [each.name for each in found]),
        )
    return named


def recounted_options(
    options: ClaimOptions,
    *,
    share: ShareName | None = None,
    threshold: float | None = None,
    central_weight: float | None = None,
) -> ClaimOptions:
    """The jury's options with what is to be counted otherwise."""
    given = {"share": share, "threshold": threshold, "central_weight": central_weight}
    return options.model_copy(update={name: value for name, value in given.items() if value is not None})


def cards(
    store: Store,
    arm: Arm,
    options: ClaimOptions,
    *,
    case: str | None = None,
    people: Iterable[Rating] = (),
) -> Iterator[tuple[Verdict, ClaimCard]]:
    """Each case of the arm with its card, in the order of the case file.

    Raises:
        VenireError: The run has no such case.
    """
    if case is not None and store.case(case) is None:
        raise VenireError(f"{store.name}: no case {case!r} in it", remedy=nearest(case, store.case_ids()))
    said = tuple(people)
    for _, verdict in verdicts(store, arm=arm.name, case=case):
        texts = None if store.redacted else store.case(verdict.case)
        yield verdict, claim_card(verdict, arm.jury, arm.rubric, texts, options=options, people=said)


def case_groups(store: Store) -> dict[str, object]:
    """The group of each case that has one."""
    found = ((name, store.case(name)) for name in store.case_ids())
    return {name: case.group for name, case in found if case is not None and case.group is not None}
