"""Planted truth: texts with faults put into them, so that the faults, their places and the right scores are known."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict

from ...rubrics.case import Case
from .faults.fabrication import find_fabrication
from .faults.fault import Edit, FaultFinder, Material
from .faults.negation import find_negation
from .faults.number import find_number
from .faults.omission import find_omission
from .faults.order import find_order
from .faults.repetition import find_repetition
from .faults.stigma import find_stigma
from .faults.term import find_term
from .passages import Truth, passages

ATTRIBUTES = {
    "number": "accurate",
    "negation": "accurate",
    "term": "accurate",
    "fabrication": "accurate",
    "omission": "thorough",
    "order": "organized",
    "repetition": "succinct",
    "stigma": "stigmatizing",
}
"""Each kind of fault, and the one attribute that it lowers."""
KINDS = tuple(ATTRIBUTES)
BEST, WORST = 5, 1

_FINDERS: Mapping[str, FaultFinder] = {
    # In the order in which they are planted: what moves or takes away whole sentences comes before what changes words.
    "omission": find_omission,
    "order": find_order,
    "repetition": find_repetition,
    "stigma": find_stigma,
    "number": find_number,
    "negation": find_negation,
    "term": find_term,
    "fabrication": find_fabrication,
}
_TRIES = 6


class Fault(BaseModel):
    """One planted fault: its kind, what it lowers and by how much, and the words before and after it, with their place."""

    model_config = ConfigDict(frozen=True)

    kind: str
    attribute: str
    points: int
    start: int
    end: int
    before: str
    after: str


class PlantedText(BaseModel):
    """A text with all that is wrong in it."""

    model_config = ConfigDict(frozen=True)

    output: str
    faults: tuple[Fault, ...] = ()

    @property
    def scores(self) -> dict[str, int]:
        """The right score of each attribute: 5, less the points of its faults, and never below 1; stigmatizing 0 or 1."""
        lost = dict.fromkeys(dict.fromkeys(ATTRIBUTES.values()), 0)
        for fault in self.faults:
            lost[fault.attribute] += fault.points
        return {
            attribute: int(points > 0) if attribute == "stigmatizing" else max(WORST, BEST - points)
            for attribute, points in lost.items()
        }


def truth_of(case: Case) -> Truth:
    """What the case's text is held against: its source, or itself where it has none."""
    return Truth(case.source or (case.output,))


def plant(
    text: str, truth: Truth, kinds: Sequence[str], rng: random.Random, *, foreign: Sequence[str] = ()
) -> PlantedText | None:
    """`text` with one fault of each of `kinds` (a kind may be named twice); None where one finds no place.

    A fault that would leave the text true is not planted: a number that the source also gives, a term that it also
    uses, a sentence that it bears out, or the loss of something that is said elsewhere in the text.
    """
    planted = PlantedText(output=text)
    for kind in sorted(kinds, key=list(_FINDERS).index):
        for _ in range(_TRIES):
            material = Material(planted.output, truth, foreign)
            edit = _FINDERS[kind](material, rng)
            if edit is None:
                return None
            if not any(_overlap(edit, fault) for fault in planted.faults):
                planted = _with_fault(planted, kind, edit)
                break
        else:
            return None
    return planted


def foreign_sentences(cases: Sequence[Case], case: Case) -> list[str]:
    """The sentences of texts about other cases: what a made-up statement about this one can be taken from."""
    group = case.group or case.id
    return [p.text for other in cases if (other.group or other.id) != group for p in passages(other.output)]


def _overlap(edit: Edit, fault: Fault) -> bool:
    if fault.kind == "order":
        return False
    return (edit.start < fault.end and fault.start < edit.end) or edit.start <= fault.start <= edit.end


def _with_fault(planted: PlantedText, kind: str, edit: Edit) -> PlantedText:
    text = planted.output
    shift = len(edit.after) - (edit.end - edit.start)
    moved = [
        fault.model_copy(
            update={
                "start": fault.start + (shift if fault.start >= edit.end else 0),
                "end": fault.end + (shift if fault.end >= edit.end else 0),
            }
        )
        for fault in planted.faults
    ]
    fault = Fault(
        kind=kind,
        attribute=ATTRIBUTES[kind],
        points=edit.points,
        start=edit.start,
        end=edit.start + len(edit.after),
        before=text[edit.start : edit.end],
        after=edit.after,
    )
    return PlantedText(output=text[: edit.start] + edit.after + text[edit.end :], faults=(*moved, fault))
