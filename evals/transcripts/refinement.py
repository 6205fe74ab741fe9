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
        said_places = tuple(sorted({place for place in group.said if 0 <= place < len(alignment.said)}))
        heard_places = tuple(sorted({place for place in group.heard if 0 <= place < len(alignment.heard)}))
        if (said_places, heard_places) != (group.said, group.heard):
            log.append(
                _change(
                    "legal-places",
                    group,
                    "positions that do not exist or appear twice were removed from the group",
                )
            )
        if said_places and heard_places:
            yield AlignedGroup(said=said_places, heard=heard_places)


def _without_shared(
    alignment: Alignment, groups: Groups, side: Side, rule: str, reason: str, log: list[RefinementChange]
) -> Groups:
    """Groups that share a place on `side` are one where the other side's places follow each other; else the most similar keeps it."""
    opposite: Side = "said" if side == "heard" else "heard"
    while (shared_place := _first_shared(groups, side)) is not None:
        place, holders = shared_place
        places = {at: sorted({n for group in holders for n in getattr(group, at)}) for at in (side, opposite)}
        if all(next_place - place_before == 1 for place_before, next_place in pairwise(places[opposite])):
            merged = AlignedGroup(said=tuple(places["said"]), heard=tuple(places["heard"]))
            log.append(_change(rule, merged, f"{reason} {place}"))
            groups = [*(group for group in groups if group not in holders), merged]
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
        noun = "segment" if side == "heard" else "utterance"
        log.append(
            _change(
                "duplicate-dropped",
                group,
                f"{noun} {place} is kept only in the group to which it is most similar",
            )
        )
        if remaining:
            result.append(group.model_copy(update={side: remaining}))
    return result


def _recover(alignment: Alignment, groups: Groups, log: list[RefinementChange]) -> bool:
    """Link each missed utterance to the most similar unused segment that lies between its neighbours' segments."""
    busy = {place for group in groups for place in group.heard}
    aligned = {place for group in groups for place in group.said}
    old_count = len(groups)
    for missed in (place for place in range(len(alignment.said)) if place not in aligned):
        free = (
            place for place in _between_neighbours(missed, groups, len(alignment.heard)) if place not in busy
        )
        pairs = [AlignedGroup(said=(missed,), heard=(place,)) for place in free]
        best = max(pairs, key=alignment.group_similarity, default=None)
        if best is not None and (alike := alignment.group_similarity(best)) >= RECOVERED:
            log.append(_change("miss-recovered", best, f"similarity {alike:.3f}"))
            groups.append(best)
            busy.update(best.heard)
    groups.sort(key=lambda group: (group.said, group.heard))
    return len(groups) > old_count


def _between_neighbours(missed: int, groups: Iterable[AlignedGroup], segment_count: int) -> range:
    low, high = 0, segment_count
    for group in groups:
        if group.said[-1] < missed:
            low = max(low, group.heard[-1] + 1)
        elif group.said[0] > missed:
            high = min(high, group.heard[0])
    return range(low, high)


def _join(alignment: Alignment, groups: Groups, log: list[RefinementChange]) -> bool:
    """Join unused segments to the group beside them, where that makes the two sides more similar."""
    used_segments = {place for group in groups for place in group.heard}
    any_joined = False
    for number, group in enumerate(groups):
        for segment in (group.heard[0] - 1, group.heard[-1] + 1):
            if 0 <= segment < len(alignment.heard) and segment not in used_segments:
                longer = group.model_copy(update={"heard": tuple(sorted((*groups[number].heard, segment)))})
                gain = alignment.group_similarity(longer) - alignment.group_similarity(groups[number])
                if gain >= JOINED:
                    groups[number] = longer
                    used_segments.add(segment)
                    log.append(_change("fragments-joined", longer, f"similarity rises by {gain:.3f}"))
                    any_joined = True
    return any_joined


def _change(rule: str, group: AlignedGroup, note: str) -> RefinementChange:
    return RefinementChange(rule=rule, said=group.said, heard=group.heard, note=note)
