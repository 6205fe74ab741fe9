"""Alignments on disk: ours, and the released ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ...orchestration.record.atomic_write import write_atomically
from ...rubrics.errors import InvalidFile
from ...rubrics.files import read_json
from .alignment import AlignedGroup, Alignment

_REMEDY = "name a file that venire align wrote, or a released one with golden_indices and asr_indices"


def write_alignment(path: Path, alignment: Alignment) -> None:
    write_atomically(path, json.dumps(alignment.to_json(), ensure_ascii=False, indent=1) + "\n")


def read_alignment(path: Path) -> Alignment:
    """An alignment that `write_alignment` wrote, with both talks."""
    document = read_json(path)
    if not isinstance(document, dict) or "groups" not in document:
        raise InvalidFile(f"{path}: no alignment", remedy="name a file that venire align wrote")
    try:
        return Alignment.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InvalidFile(
            f"{path}: {where}: {first['msg']}", remedy="name a file that venire align wrote"
        ) from None


def read_groups(path: Path) -> tuple[AlignedGroup, ...]:
    """The groups of an alignment in a file, ours or a released one."""
    document = read_json(path)
    if not isinstance(document, dict):
        raise InvalidFile(f"{path}: no alignment", remedy=_REMEDY)
    if "groups" in document:
        rows, names = document["groups"], ("said", "heard")
    elif "alignments" in document:
        rows, names = document["alignments"], ("golden_indices", "asr_indices")
    else:
        raise InvalidFile(f"{path}: no alignment", remedy=_REMEDY)
    if not isinstance(rows, list):
        raise InvalidFile(f"{path}: the groups are no list", remedy=_REMEDY)
    groups = [_group(row, names, f"{path}: group {number}") for number, row in enumerate(rows)]
    return tuple(group for group in groups if group.said and group.heard)


def _group(row: Any, names: Sequence[str], where: str) -> AlignedGroup:
    sides = [row.get(name) if isinstance(row, dict) else None for name in names]
    places = [[side] if isinstance(side, int) else side for side in sides]
    for side in places:
        if not isinstance(side, list) or not all(
            isinstance(p, int) and not isinstance(p, bool) and p >= 0 for p in side
        ):
            raise InvalidFile(f"{where}: {' and '.join(names)} are not both lists of places", remedy=_REMEDY)
    return AlignedGroup(said=tuple(places[0] or ()), heard=tuple(places[1] or ()))
