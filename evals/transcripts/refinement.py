"""Refinement: pure rules that turn any proposal into an alignment with every index in one group at most, each change logged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Literal

from .alignment import AlignedGroup, Alignment, RefinementChange

RECOVERED = 0.65
"""The similarity from which a missed utterance and an unused segment between its neighbours' are taken for one."""

JOINED = 0.05
"""By how much a fragment must raise the similarity of a group to be joined to it."""

Groups = list[AlignedGroup]
Side = Literal["said", "heard"]


def refine(alignment: Alignment) -> Alignment:
    """The alignment after every rule, in order: legal places, duplicates, missed utterances, fragments.

    Adds no text; refining what was refined changes nothing. An alignment that its aligner abstained from stays as it is.
    """
    if alignment.abstention is not None:
        return alignment
    log: list[RefinementChange] = []
    groups = list(_legal(alignment, log))
    groups = _without_shared(
        alignment, groups, "heard", "duplicates-merged", "consecutive utterances share segment", log
    )
    groups = _without_shared(
        alignment, groups, "said", "fragments-joined", "consecutive segments of utterance", log
    )
    groups.sort(key=lambda group: (group.said, group.heard))
    # What one rule leaves may be another's to mend; each step uses up a place, so that there is an end.
    while _recover(alignment, groups, log) or _join(alignment, groups, log):
        pass
    return alignment.model_copy(update={"groups": tuple(groups), "log": (*alignment.log, *log)})


def _legal(alignment: Alignment, log: list[RefinementChange]) -> Iterator[AlignedGroup]:
    """The groups with places that exist, each once and in order; a group with an empty side is none."""
    for group in alignment.groups:
        said = tuple(sorted({place for place in group.said if 0 <= place < len(alignment.said)}))
        heard = tuple(sorted({place for place in group.heard if 0 <= place < len(alignment.heard)}))
        if (said, heard) != (group.said, group.heard):
            log.append(
                _change("legal-places", group, "places that do not exist, or stand twice, were taken out")
            )
        if said and heard:
            yield AlignedGroup(said=said, heard=heard)


def _without_shared(
    alignment: Alignment, groups: Groups, side: Side, rule: str, why: str, log: list[RefinementChange]
) -> Groups:
    """Groups that share a place on `side` are one where the other side's places follow each other; else the most similar keeps it."""
    opposite: Side = "said" if side == "heard" else "heard"
    while (shared := _first_shared(groups, side)) is not None:
        place, holders = shared
        places = {at: sorted({n for group in holders for n in getattr(group, at)}) for at in (side, opposite)}
        if all(later - earlier == 1 for earlier, later in pairwise(places[opposite])):
            whole = AlignedGroup(said=tuple(places["said"]), heard=tuple(places["heard"]))
            log.append(_change(rule, whole, f"{why} {place}"))
            groups = [*(group for group in groups if group not in holders), whole]
            continue
        groups = _kept_by_best(alignment, groups, holders, side, place, log)
    return groups


def _first_shared(groups: Sequence[AlignedGroup], side: str) -> tuple[int, Groups] | None:
    """The lowest place that several groups hold on a side, and those groups; equal groups count as several."""
    holders: dict[int, Groups] = {}
    for group in groups:
        for place in getattr(group, side):
            holders.setdefault(place, []).append(group)
    return min(
        ((place, of) for place, of in holders.items() if len(of) > 1),
        default=None,
        key=lambda holding: holding[0],
    )


def _kept_by_best(
    alignment: Alignment, groups: Groups, holders: Groups, side: str, place: int, log: list[RefinementChange]
) -> Groups:
    best = max(holders, key=alignment.group_similarity)
    result: Groups = []
    for group in groups:
        if group not in holders or group is best:
            result.append(group)
            continue
        remaining = tuple(number for number in getattr(group, side) if number != place)
        what = "segment" if side == "heard" else "utterance"
        log.append(_change("duplicate-dropped", group, f"{what} {place} is kept where it is most similar"))
        if remaining:
            result.append(group.model_copy(update={side: remaining}))
    return result


def _recover(alignment: Alignment, groups: Groups, log: list[RefinementChange]) -> bool:
    """Link each missed utterance to the most similar unused segment that lies between its neighbours' segments."""
    used = {place for group in groups for place in group.heard}
    aligned = {place for group in groups for place in group.said}
    before = len(groups)
    for missed in (place for place in range(len(alignment.said)) if place not in aligned):
        free = (
            place for place in _between_neighbours(missed, groups, len(alignment.heard)) if place not in used
        )
        pairs = [AlignedGroup(said=(missed,), heard=(place,)) for place in free]
        best = max(pairs, key=alignment.group_similarity, default=None)
        if best is not None and (alike := alignment.group_similarity(best)) >= RECOVERED:
            log.append(_change("miss-recovered", best, f"similarity {alike:.3f}"))
            groups.append(best)
            used.update(best.heard)
    groups.sort(key=lambda group: (group.said, group.heard))
    return len(groups) > before


def _between_neighbours(missed: int, groups: Iterable[AlignedGroup], heard: int) -> range:
    low, high = 0, heard
    for group in groups:
        if group.said[-1] < missed:
            low = max(low, group.heard[-1] + 1)
        elif group.said[0] > missed:
            high = min(high, group.heard[0])
    return range(low, high)


def _join(alignment: Alignment, groups: Groups, log: list[RefinementChange]) -> bool:
    """Join unused segments to the group beside them, where that makes the two sides more similar."""
    used = {place for group in groups for place in group.heard}
    joined = False
    for number, group in enumerate(groups):
        for segment in (group.heard[0] - 1, group.heard[-1] + 1):
            if 0 <= segment < len(alignment.heard) and segment not in used:
                longer = group.model_copy(update={"heard": tuple(sorted((*groups[number].heard, segment)))})
                gain = alignment.group_similarity(longer) - alignment.group_similarity(groups[number])
                if gain >= JOINED:
                    groups[number] = longer
                    used.add(segment)
                    log.append(_change("fragments-joined", longer, f"similarity rises by {gain:.3f}"))
                    joined = True
    return joined


def _change(rule: str, group: AlignedGroup, note: str) -> RefinementChange:
    return RefinementChange(rule=rule, said=group.said, heard=group.heard, note=note)
