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
    arms = [a for a in store.arms() if a.jury.protocol == "decompose-verify"]
    if not arms:
        raise VenireError(
            f"{store.name}: no jury of this run checked claims",
            remedy="run one with protocol: decompose-verify",
        )
    if arm is None:
        return arms
    matches = [a for a in arms if a.name == arm]
    if not matches:
        raise VenireError(
            f"no arm named {arm!r} in this run checked claims", remedy=nearest(arm, [a.name for a in arms])
        )
    return matches


def recounted_options(
    options: ClaimOptions,
    *,
    share: ShareName | None = None,
    threshold: float | None = None,
    central_weight: float | None = None,
) -> ClaimOptions:
    """The jury's options with what is to be counted otherwise."""
    overrides = {"share": share, "threshold": threshold, "central_weight": central_weight}
    return options.model_copy(update={name: value for name, value in overrides.items() if value is not None})


def cards(
    store: Store, arm: Arm, options: ClaimOptions, *, case: str | None = None, people: Iterable[Rating] = ()
) -> Iterator[tuple[Verdict, ClaimCard]]:
    """Each case of the arm with its card, in the order of the case file.

    Raises:
        VenireError: The run has no such case.
    """
    if case is not None and store.case(case) is None:
        raise VenireError(f"{store.name}: no case {case!r} in it", remedy=nearest(case, store.case_ids()))
    ratings = tuple(people)
    for _, verdict in verdicts(store, arm=arm.name, case=case):
        texts = None if store.redacted else store.case(verdict.case)
        yield verdict, claim_card(verdict, arm.jury, arm.rubric, texts, options=options, people=ratings)


def case_groups(store: Store) -> dict[str, object]:
    """The group of each case that has one."""
    cases = ((name, store.case(name)) for name in store.case_ids())
    return {name: case.group for name, case in cases if case is not None and case.group is not None}
