"""How right an alignment is beside a gold one: what is matched at all, and whether to exactly the right places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from ...rubrics.errors import VenireError
from .alignment import AlignedGroup


@dataclass(frozen=True, slots=True)
class AlignmentAccuracy:
    """Errors of an alignment, as the paper counts them and by group.

    References:
        Ellis, Joselowitz et al. (2025), "WER is Unaware", section 5.1.2 and appendix B.2.
    """

    said: int
    heard: int
    gold_groups: int
    said_errors: tuple[int, ...]
    """Utterances called missed that are not, or the other way round."""
    heard_errors: tuple[int, ...]
    """Segments called unused that are not, or the other way round."""
    wrong_utterances: tuple[int, ...]
    """Utterances that are linked to other segments than the gold links them to."""
    wrong_groups: tuple[AlignedGroup, ...]
    """Gold groups that are not found as they are."""
    invented_groups: tuple[AlignedGroup, ...]
    """Groups of utterances or segments that the gold leaves alone altogether."""
    repeated_heard: tuple[int, ...]
    """Segments that stand in several groups of the alignment."""
    repeated_said: tuple[int, ...]

    @property
    def said_accuracy(self) -> float:
        return _share(self.said, len(self.said_errors))

    @property
    def heard_accuracy(self) -> float:
        return _share(self.heard, len(self.heard_errors))

    @property
    def structural(self) -> float:
        """The share of utterances that are linked to exactly the right segments, none among them."""
        return _share(self.said, len(self.wrong_utterances))

    @property
    def structural_groups(self) -> float:
        """The share of gold groups that are found, an invented one counted as one that is not."""
        return _share(
            self.gold_groups + len(self.invented_groups), len(self.wrong_groups) + len(self.invented_groups)
        )

    def to_json(self) -> dict[str, Any]:
        def documents(groups: Sequence[AlignedGroup]) -> list[Any]:
            return [group.model_dump(mode="json") for group in groups]

        def measure(n: int, errors: Sequence[Any], accuracy: float) -> dict[str, Any]:
            return {"n": n, "errors": list(errors), "accuracy": None if isnan(accuracy) else accuracy}

        return {
            "said": measure(self.said, self.said_errors, self.said_accuracy),
            "heard": measure(self.heard, self.heard_errors, self.heard_accuracy),
            "structural": measure(self.said, self.wrong_utterances, self.structural),
            "structural_groups": measure(
                self.gold_groups, documents(self.wrong_groups), self.structural_groups
            )
            | {"invented": documents(self.invented_groups)},
            "repeated": {"said": list(self.repeated_said), "heard": list(self.repeated_heard)},
        }

    def sentences(self) -> list[str]:
        sentences = [
            f"{len(self.said_errors)} of {self.said} utterances and {len(self.heard_errors)} of {self.heard} segments are wrongly counted "
            f"as matched or unmatched by the alignment (accuracy {self.said_accuracy:.3f} for utterances, {self.heard_accuracy:.3f} for segments).",
            f"{len(self.wrong_utterances)} utterances are linked to other segments than in the gold alignment (structural accuracy "
            f"{self.structural:.3f}); {len(self.wrong_groups)} of {self.gold_groups} gold groups are not found exactly, "
            f"and {len(self.invented_groups)} groups link utterances and segments that the gold alignment leaves unlinked.",
        ]
        if self.repeated_heard or self.repeated_said:
            sentences.append(
                f"The alignment puts some segments or utterances into several groups: segments {list(self.repeated_heard)}, utterances {list(self.repeated_said)}."
            )
        return sentences


def alignment_accuracy(
    groups: Sequence[AlignedGroup], gold: Sequence[AlignedGroup], *, said: int, heard: int
) -> AlignmentAccuracy:
    """The errors of `groups` beside `gold`, of so many utterances and segments.

    Raises:
        VenireError: The gold names a place that there is not.
    """
    for side, count in (("said", said), ("heard", heard)):
        last_place = max((place for group in gold for place in getattr(group, side)), default=-1)
        if last_place >= count:
            raise VenireError(
                f"the gold alignment names position {last_place} of what was {side}, but the last position is {count - 1}",
                remedy="check that the gold alignment belongs to these two transcripts, and to the same speaker",
            )
    links, gold_links = _links(groups), _links(gold)
    linked_heard, gold_heard = ({place for group in of for place in group.heard} for of in (groups, gold))
    exact = {(tuple(sorted(group.said)), tuple(sorted(group.heard))) for group in groups}
    return AlignmentAccuracy(
        said,
        heard,
        len(gold),
        tuple(place for place in range(said) if (place in links) != (place in gold_links)),
        tuple(place for place in range(heard) if (place in linked_heard) != (place in gold_heard)),
        tuple(place for place in range(said) if links.get(place, set()) != gold_links.get(place, set())),
        tuple(
            group for group in gold if (tuple(sorted(group.said)), tuple(sorted(group.heard))) not in exact
        ),
        tuple(
            group
            for group in groups
            if not gold_links.keys() & set(group.said) or not gold_heard & set(group.heard)
        ),
        _repeats(group.heard for group in groups),
        _repeats(group.said for group in groups),
    )


def _links(groups: Iterable[AlignedGroup]) -> dict[int, set[int]]:
    heard_by_said: dict[int, set[int]] = {}
    for group in groups:
        for place in group.said:
            heard_by_said.setdefault(place, set()).update(group.heard)
    return heard_by_said


def _repeats(sides: Iterable[Iterable[int]]) -> tuple[int, ...]:
    counts = Counter(place for side in sides for place in set(side))
    return tuple(sorted(place for place, times in counts.items() if times > 1))


def _share(n: int, errors: int) -> float:
    return (n - errors) / n if n else float("nan")
