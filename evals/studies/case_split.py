"""Which cases arms are chosen on, and which are kept back to score what was chosen."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from .schema import Split

FEWEST = 4
"""Cases, or groups of cases, without which no report can be made."""


@dataclass(frozen=True, slots=True)
class CaseSplit:
    """Case ids. `selection` is in an order drawn by the seed, so that any first part of it is a fair sample."""

    selection: tuple[str, ...]
    test: tuple[str, ...]


def split_cases(cases: Sequence[Case], split: Split, *, seed: int) -> CaseSplit:
    """The cases in two parts; those of one group are never parted by chance.

    Raises:
        VenireError: The split names what is not there, or leaves nothing to choose on.
    """
    units = {case.group or f"case {case.id}" for case in cases}
    if len(units) < FEWEST:
        raise VenireError(
            f"{len(units)} cases (or groups of cases) are too few to choose arms on some and score them on others",
            remedy=f"give {FEWEST} or more",
        )
    test = _test_cases(cases, split, random.Random(seed))
    torn = {case.group for case in cases if case.id in test} & {
        case.group for case in cases if case.id not in test
    }
    if torn - {None}:
        raise VenireError(
            f"cases of the group {min(filter(None, torn))!r} are on both sides",
            remedy="keep each group whole: name groups in place of cases",
        )
    order = [case.id for case in cases if case.id not in test]
    random.Random(seed).shuffle(order)
    if not order:
        raise VenireError("the split leaves no case to choose arms on", remedy="make the test part smaller")
    return CaseSplit(tuple(order), tuple(case.id for case in cases if case.id in test))


def _test_cases(cases: Sequence[Case], split: Split, rng: random.Random) -> frozenset[str]:
    if split.groups:
        known = {case.group for case in cases if case.group is not None}
        _all_known("group", split.groups, known)
        return frozenset(case.id for case in cases if case.group in split.groups)
    if isinstance(split.test, tuple):
        _all_known("case", split.test, {case.id for case in cases})
        return frozenset(split.test)
    units: dict[str, list[str]] = {}
    for case in cases:
        units.setdefault(f"case {case.id}" if case.group is None else f"group {case.group}", []).append(
            case.id
        )
    order = sorted(units)
    rng.shuffle(order)
    wanted, drawn = round((split.test or 0.0) * len(cases)), list[str]()
    for unit in order:
        # A group goes in where that brings the part nearer to the size that was asked for.
        if abs(len(drawn) + len(units[unit]) - wanted) < abs(len(drawn) - wanted):
            drawn += units[unit]
    return frozenset(drawn)


def _all_known(what: str, named: Sequence[str], known: set[str]) -> None:
    lost = [name for name in named if name not in known]
    if lost:
        more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
        raise VenireError(
            f"no {what} {lost[0]!r}{more} among the cases", remedy=nearest(lost[0], sorted(known))
        )
