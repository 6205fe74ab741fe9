"""A file of clean cases made into one of planted cases: each text as it is, and once with each kind of fault that finds a place."""

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

from ...orchestration.record.atomic_write import write_atomically
from ...rubrics.case import Case
from ...rubrics.errors import VenireError
from ...rubrics.files import nearest
from .passages import passages
from .planting import KINDS, PlantedText, foreign_sentences, plant, truth_of

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
        known = {"faults": [fault.model_dump() for fault in self.planted.faults], "split": self.split}
        return {**document, "metadata": {**document.get("metadata", {}), **known}}


def check_kinds(kinds: Sequence[str]) -> tuple[str, ...]:
    """The kinds of fault that were asked for; a `VenireError` for one that is not known."""
    for kind in kinds:
        if kind not in KINDS:
            raise VenireError(f"no fault of the kind {kind!r}", remedy=nearest(kind, KINDS))
    if not kinds:
        raise VenireError("no kind of fault is named", remedy=f"name some of {', '.join(KINDS)}")
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


def write_planted(found: Sequence[PlantedCase], folder: Path) -> dict[str, object]:
    """Write `cases.jsonl` and `labels.csv` (and a case file for each split), and say how many of each kind there are."""
    folder.mkdir(parents=True, exist_ok=True)
    splits = dict.fromkeys(each.split for each in found)
    files = {"cases.jsonl": list(found)}
    if len(splits) > 1:
        files |= {f"{split}.jsonl": [each for each in found if each.split == split] for split in splits}
    for name, chosen in files.items():
        lines = (json.dumps(each.row(), ensure_ascii=False) + "\n" for each in chosen)
        write_atomically(folder / name, "".join(lines))
    write_atomically(folder / "labels.csv", _labels(found))
    clean = [each for each in found if not each.planted.faults]
    planted = Counter(fault.kind for each in found for fault in each.planted.faults)
    return {
        "cases": len(found),
        "clean": len(clean),
        "planted": {kind: planted[kind] for kind in KINDS if planted[kind]},
        "splits": dict(Counter(each.split for each in found)),
        "folder": str(folder),
    }


def _labels(found: Sequence[PlantedCase]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("case", "rater", "attribute", "value"))
    for each in found:
        writer.writerows(
            (each.case.id, RATER, attribute, score) for attribute, score in each.planted.scores.items()
        )
    return text.getvalue()
