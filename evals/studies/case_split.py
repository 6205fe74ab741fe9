"""Which cases arms are chosen on, and which are kept back to score what was chosen."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from ..ratings.clusters import clusters
from ..statistics.paired_test import LEAST_CLUSTERS
from .schema import Split

FEWEST = 4
"""Cases, or groups of cases, without which no report can be made."""


@dataclass(frozen=True, slots=True)
class CaseSplit:
    """Case ids. `selection` is in an order drawn by the seed, so that any first part of it is a fair sample."""

    selection: tuple[str, ...]
    test: tuple[str, ...]
    scored: int
    """How many cases or groups arms are scored on: the test cases', or all where each is held out in turn."""

    @property
    def notes(self) -> tuple[str, ...]:
        """That no interval can be given, where arms are scored on too few cases or groups."""
        if self.scored >= LEAST_CLUSTERS:
            return ()
        where = "of the test part" if self.test else "of the study"
        return (
            f"The {self.scored} cases or groups {where} cannot tell arms apart: no interval, p or recommendation is given below "
            f"{LEAST_CLUSTERS}. Give cases of more groups (cases of one group count as one; without `group` each counts), or hold out more.",
        )


def split_cases(cases: Sequence[str], groups: Mapping[str, str], split: Split, *, seed: int) -> CaseSplit:
    """The cases in two parts; those of one group are never parted.

    Args:
        cases: Case ids.
        groups: By case id its group; one without a group is not in it.

    Raises:
        VenireError: The split names what is not there, parts a group, or leaves nothing to choose on.
    """
    cluster = dict(zip(cases, clusters(pd.Series(list(cases), dtype=object), groups), strict=True))
    number = len(set(cluster.values()))
    if number < FEWEST:
        raise VenireError(
            f"{number} cases (or groups of cases) are too few to choose arms on some and score them on others",
            remedy=f"give {FEWEST} or more to run it, and {LEAST_CLUSTERS} or more to score on for an interval; cases of one group count as one",
        )
    test = _test_cases(cluster, groups, split, seed)
    torn = {cluster[case] for case in cases if case in test} & {
        cluster[case] for case in cases if case not in test
    }
    if torn:
        raise VenireError(
            f"cases of the group {min(torn).removeprefix('group ')!r} are on both sides",
            remedy="keep each group whole: name groups in place of cases",
        )
    selection = [case for case in cases if case not in test]
    random.Random(seed).shuffle(selection)
    if not selection:
        raise VenireError("the split leaves no case to choose arms on", remedy="make the test part smaller")
    scored = {cluster[case] for case in (test or cases)}
    return CaseSplit(tuple(selection), tuple(case for case in cases if case in test), len(scored))


def _test_cases(
    cluster: Mapping[str, str], groups: Mapping[str, str], split: Split, seed: int
) -> Collection[str]:
    """The cases that the split names; or, for a share, whole clusters drawn by the seed."""
    if split.groups:
        _refuse_unknown("group", split.groups, groups.values())
        return frozenset(case for case in cluster if groups.get(case) in split.groups)
    if isinstance(split.test, tuple):
        _refuse_unknown("case", split.test, cluster)
        return frozenset(split.test)
    members: dict[str, list[str]] = {}
    for case, name in cluster.items():
        members.setdefault(name, []).append(case)
    order = sorted(members)
    random.Random(seed).shuffle(order)
    wanted, drawn = round((split.test or 0.0) * len(cluster)), list[str]()
    for name in order:
        # A group goes in where that brings the part nearer to the size that was asked for.
        if abs(len(drawn) + len(members[name]) - wanted) < abs(len(drawn) - wanted):
            drawn += members[name]
    return frozenset(drawn)


def _refuse_unknown(what: str, named: Sequence[str], known: Collection[str]) -> None:
    """Raises `VenireError` where the split names a group or case that is not there."""
    unknown = [name for name in named if name not in known]
    if unknown:
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        raise VenireError(
            f"no {what} {unknown[0]!r}{more} among the cases", remedy=nearest(unknown[0], sorted(set(known)))
        )
