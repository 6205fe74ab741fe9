"""Readers of published benchmark files: rows with `id`, `target` and the columns that a prompt may name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ...rubrics.errors import InvalidFile
from ...rubrics.files import near_column, nearest, read_json
from ...rubrics.rows import read_rows

Row = dict[str, Any]
CaseReader = Callable[[Path, str], Iterator[Row]]
"""From a published file, and which part of it is wanted, to rows."""


def pubmedqa(file: Path, part: str) -> Iterator[Row]:
    """PubMedQA's labelled questions (Jin et al., 2019); the test split alone where `test_ground_truth.json` lies beside them."""
    split = file.with_name("test_ground_truth.json")
    test_ids = _object(split) if split.is_file() else None
    for name, entry in _object(file).items():
        if test_ids is None or name in test_ids:
            yield {
                "id": str(name),
                "question": _field(file, entry, "QUESTION"),
                "context": "\n\n".join(map(str, _field(file, entry, "CONTEXTS"))),
                "target": _field(file, entry, "final_decision"),
            }


def medec(file: Path, part: str) -> Iterator[Row]:
    """MEDEC's clinical texts with one planted error or none (Ben Abacha et al., 2024); its blank rows are left out."""
    for line, row in read_rows(file, required=("Text ID", "Text", "Error Flag")):
        if not str(row.get("Text ID") or "").strip():
            continue
        flag = str(row.get("Error Flag") or "").strip()
        if flag not in ("0", "1"):
            raise InvalidFile(
                f"{file}:{line}: the error flag is {flag!r}",
                remedy="write 0 for a correct text, 1 for an error",
            )
        yield {
            "id": str(row["Text ID"]),
            "text": str(row["Text"]),
            "target": "error" if flag == "1" else "correct",
        }


def aci_bench(file: Path, part: str) -> Iterator[Row]:
    """ACI-Bench's encounters (Yim et al., 2023): the dialogue, and the note as what is right; the id is the encounter's."""
    for encounter in _field(file, _object(file), "data"):
        name = str(_field(file, encounter, "file"))
        yield {
            "id": name.partition("-")[0],
            "dialogue": str(_field(file, encounter, "src")),
            "target": str(_field(file, encounter, "tgt")),
            "setting": name.partition("-")[2],
        }


def mts_dialog(file: Path, part: str) -> Iterator[Row]:
    """MTS-Dialog's short dialogues (Ben Abacha et al., 2023), with the section of the note that a clinician wrote."""
    for _, row in read_rows(file, required=("ID", "section_header", "section_text", "dialogue")):
        yield {
            "id": str(row["ID"]),
            "section": str(row["section_header"]),
            "dialogue": str(row["dialogue"]),
            "target": str(row["section_text"]),
        }


def medagents(file: Path, part: str) -> Iterator[Row]:
    """The hard questions of one of MedAgentsBench's seven sets (Tang et al., 2025), by the number that its predictions name."""
    items = read_json(file)
    sets = sorted({str(_field(file, entry, "dataset")) for entry in items})
    if part not in sets:
        raise InvalidFile(f"{file}: no set {part!r} in it", remedy=nearest(part, sets))
    for entry in items:
        if entry["dataset"] == part:
            yield {
                "id": str(_field(file, entry, "qid")),
                "question": str(_field(file, entry, "question")).strip(),
                "options": _field(file, entry, "options"),
                "target": _field(file, entry, "answer_idx"),
            }


READERS: Mapping[str, CaseReader] = {
    "pubmedqa": pubmedqa,
    "medec": medec,
    "aci-bench": aci_bench,
    "mts-dialog": mts_dialog,
    "medagents": medagents,
}


def _object(file: Path) -> Mapping[str, Any]:
    document = read_json(file)
    if not isinstance(document, Mapping):
        raise InvalidFile(f"{file}: no object in it", remedy="name the file as it was published")
    return document


def _field(file: Path, entry: Any, name: str) -> Any:
    if not isinstance(entry, Mapping) or name not in entry:
        hint = near_column(name, entry) if isinstance(entry, Mapping) else ""
        raise InvalidFile(
            f"{file}: an item without {name!r}", remedy=f"{hint}name the file as it was published"
        )
    return entry[name]
