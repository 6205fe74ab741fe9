"""Planted truth: texts with faults put into them, so that the faults, their places and the right scores are known."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from ...orchestration.record.private_files import write_atomically
from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from .faults import (
    find_fabrication,
    find_negation,
    find_number,
    find_omission,
    find_order,
    find_repetition,
    find_stigma,
    find_term,
)
from .passages import Edit, FaultFinder, Material, Truth, passages

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
    return [p.text for donor in cases if (donor.group or donor.id) != group for p in passages(donor.output)]


def _overlap(edit: Edit, fault: Fault) -> bool:
    if fault.kind == "order":
        return False
    return (edit.start < fault.end and fault.start < edit.end) or edit.start <= fault.start <= edit.end


def _with_fault(planted: PlantedText, kind: str, edit: Edit) -> PlantedText:
    text = planted.output
    shift = len(edit.after) - (edit.end - edit.start)
    shifted = [
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
    return PlantedText(output=text[: edit.start] + edit.after + text[edit.end :], faults=(*shifted, fault))


RATER = "construction"
"""Who gives the right scores: nobody but the faults themselves."""


@dataclass(frozen=True)
class PlantedCase:
    """A case whose text has known faults, or none."""

    case: Case
    planted: PlantedText
    split: str

    def row(self) -> dict[str, object]:
        """The case as a line of a case file; what was planted is metadata, which no juror sees."""
        document = self.case.model_dump(mode="json", exclude_none=True)
        planted = {"faults": [fault.model_dump() for fault in self.planted.faults], "split": self.split}
        return {**document, "metadata": {**document.get("metadata", {}), **planted}}


def check_kinds(kinds: Sequence[str]) -> tuple[str, ...]:
    """The kinds of fault that were asked for; a `VenireError` for one that is not known."""
    for kind in kinds:
        if kind not in KINDS:
            raise VenireError(f"there is no kind of fault named {kind!r}", remedy=nearest(kind, KINDS))
    if not kinds:
        raise VenireError("no kind of fault is named", remedy=f"choose from {', '.join(KINDS)}")
    return tuple(dict.fromkeys(kinds))


def planted_cases(
    cases: Sequence[Case],
    kinds: Sequence[str] = KINDS,
    *,
    seed: int = 0,
    shares: Mapping[str, float] | None = None,
) -> Iterator[PlantedCase]:
    """Each case clean, and once with each of `kinds` where it can be planted, in a split that its whole document shares.

    Chance is drawn for each case and kind apart: taking cases or kinds away does not change the others.
    """
    sentences = [p.text for case in cases for p in passages(case.output)] if "fabrication" in kinds else []
    groups = {case.group or case.id for case in cases}
    for case in cases:
        group = case.group or case.id
        split = split_of(group, seed, shares)
        yield PlantedCase(case.model_copy(update={"group": group}), PlantedText(output=case.output), split)
        truth = truth_of(case)
        foreign = sentences if len(groups) == len(cases) else foreign_sentences(cases, case)
        for kind in kinds:
            rng = random.Random(f"{seed}\0{case.id}\0{kind}")
            planted = plant(case.output, truth, [kind], rng, foreign=foreign)
            if planted is not None:
                update = {"id": f"{case.id}~{kind}", "group": group, "output": planted.output}
                yield PlantedCase(case.model_copy(update=update), planted, split)


def split_of(group: str, seed: int, shares: Mapping[str, float] | None) -> str:
    """The split of a document, by a hash of its group: its texts never stand on two sides."""
    place = int(hashlib.sha256(f"{seed}\0{group}".encode()).hexdigest()[:12], 16) / 16**12
    reached = 0.0
    for name, share in (shares or {}).items():
        reached += share
        if place < reached:
            return name
    return list(shares)[-1] if shares else "all"


def write_planted(cases: Sequence[PlantedCase], folder: Path) -> dict[str, object]:
    """Write `cases.jsonl` and `labels.csv` (and a case file for each split), and say how many of each kind there are."""
    folder.mkdir(parents=True, exist_ok=True)
    splits = dict.fromkeys(planted_case.split for planted_case in cases)
    files = {"cases.jsonl": list(cases)}
    if len(splits) > 1:
        files |= {
            f"{split}.jsonl": [planted_case for planted_case in cases if planted_case.split == split]
            for split in splits
        }
    for name, split_cases in files.items():
        lines = (json.dumps(planted_case.row(), ensure_ascii=False) + "\n" for planted_case in split_cases)
        write_atomically(folder / name, "".join(lines))
    write_atomically(folder / "labels.csv", _labels(cases))
    clean = [planted_case for planted_case in cases if not planted_case.planted.faults]
    planted = Counter(fault.kind for planted_case in cases for fault in planted_case.planted.faults)
    return {
        "cases": len(cases),
        "clean": len(clean),
        "planted": {kind: planted[kind] for kind in KINDS if planted[kind]},
        "splits": dict(Counter(planted_case.split for planted_case in cases)),
        "folder": str(folder),
    }


def _labels(cases: Sequence[PlantedCase]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("case", "rater", "attribute", "value"))
    for planted_case in cases:
        writer.writerows(
            (planted_case.case.id, RATER, attribute, score)
            for attribute, score in planted_case.planted.scores.items()
        )
    return text.getvalue()
