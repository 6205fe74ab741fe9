"""The files that `venire new` writes: cases, rubric, jury, single judge, study and ratings."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from ..orchestration.record.private_files import FOLDER_MODE, open_private
from ..rubrics.errors import VenireError
from ..rubrics.sheet import sheet_case_ids
from ..rubrics.sheet_columns import SheetColumns, attribute_name
from ..rubrics.sheet_scores import Bounds

RATERS = ("rater-1", "rater-2")
"""In a ratings template: two people, so that they can be held against each other."""
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_WORDS: Mapping[str, Mapping[int, str]] = {
    "yes_no": {0: "No", 1: "Yes"},
    "one_to_five": {1: "Very poor", 2: "Poor", 3: "Fair", 4: "Good", 5: "Very good"},
}
EXAMPLES = (
    {
        "id": "example-1",
        "source": "Put here what the text was made from: notes, a transcript, an article.",
        "output": "Put here the text that is to be judged.",
        "group": "patient-1",
        "system": "model-a",
    },
    {
        "id": "example-2",
        "source": "Cases of one patient, site or document have the same group.",
        "output": "If the texts were written by several systems or people, name the writer of each text under system.",
        "group": "patient-2",
        "system": "model-b",
    },
)


@dataclass(frozen=True, slots=True)
class Asked:
    """One attribute as a person wants it asked."""

    name: str
    question: str
    scale: Bounds
    steps: Mapping[int, str]
    """What each step of the scale means, where the sheet says."""


@dataclass(frozen=True, slots=True)
class Project:
    """What goes into the folder."""

    cases: Sequence[Mapping[str, str]]
    ratings: Sequence[Mapping[str, str]]
    """One row a case and rater, one column an attribute; blank where nobody has rated yet."""
    attributes: Sequence[str]
    rubric: str
    """As YAML, like those of the jury and the single judge."""
    jury: str
    single: str
    model: str | None
    base_url: str | None

    @property
    def rated(self) -> int:
        """How many scores there are."""
        return sum(bool(row.get(name)) for row in self.ratings for name in self.attributes)


def cases_of(rows: Sequence[Mapping[str, str]], columns: SheetColumns, sheet: Path) -> list[dict[str, str]]:
    """The cases in a sheet, in its order; several rows of one case, by different raters, are one.

    Raises:
        VenireError: There is no text to judge, or two rows with one id have different texts.
    """
    text = columns.one("output")
    if text is None:
        raise VenireError(
            f"{sheet}: no column holds the text to judge", remedy="name the column: --column output=COLUMN"
        )
    case_by_id: dict[str, dict[str, str]] = {}
    for row, name in zip(rows, sheet_case_ids(rows, columns), strict=True):
        if name is None:
            continue
        output = row[text].strip()
        case = {"id": name, "output": output, "source": _sources(row, columns)}
        case |= {
            role: row.get(column, "")
            for role in ("reference", "question", "audience", "group", "system")
            if (column := columns.one(role)) is not None  # type: ignore[arg-type]
        }
        case |= {_free_name(column): row.get(column, "") for column in columns.of("kept")}
        if name in case_by_id and case_by_id[name]["output"] != output:
            raise VenireError(
                f"{sheet}: two rows with the id {name!r} have different texts",
                remedy="give every text its own id, or use another column as id: --column id=COLUMN",
            )
        case_by_id.setdefault(name, case)
    if not case_by_id:
        raise VenireError(
            f"{sheet}: no row has a text in the column {text!r}",
            remedy="name another column: --column output=COLUMN",
        )
    return list(case_by_id.values())


def blank_ratings(cases: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """A template for two people, where nobody has rated."""
    return [{"case": case["id"], "rater": rater} for case in cases for rater in RATERS]


def rubric_yaml(name: str, asked: Sequence[Asked]) -> str:
    """A rubric that asks these attributes."""
    scales: dict[str, dict[str, object]] = {}
    attributes = []
    for attribute in asked:
        low, high, any_number = attribute.scale
        ends = [_NUMBERS[abs(end)] if abs(end) < len(_NUMBERS) else str(abs(end)) for end in (low, high)]
        ends[0] = f"minus_{ends[0]}" if low < 0 else ends[0]
        scale = "yes_no" if (low, high, any_number) == (0, 1, False) else "_to_".join(ends)
        words = attribute.steps or _WORDS.get(scale) or {n: str(n) for n in range(low, high + 1)}
        steps: dict[str, object] = {
            "level": "binary" if scale == "yes_no" else "ordinal",
            "anchors": dict(words),
        }
        definition = {"level": "interval", "minimum": low, "maximum": high} if any_number else steps
        if scales.setdefault(scale, definition) != definition:
            scale = f"{attribute.name}_{scale}"
            scales[scale] = definition
        attributes.append({"name": attribute.name, "question": attribute.question, "scale": scale})
    document = {"name": name, "version": 1, "scales": scales, "attributes": attributes}
    return "# What is asked. Raise the version when a word below changes.\n" + _yaml(document)


def write_project(folder: Path, project: Project) -> list[Path]:
    """Write the files; an error where the folder has something in it already."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise VenireError(f"{folder} exists already and is not empty", remedy="name a new folder")
    folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    rating_columns = ["case", "rater", *project.attributes]
    case_columns = list(dict.fromkeys(name for case in project.cases for name in case))
    files = {
        "cases.csv": _csv(case_columns, project.cases),
        "ratings.csv": _csv(rating_columns, project.ratings),
        "rubric.yaml": project.rubric,
        "jury.yaml": project.jury,
        "single.yaml": project.single,
        "study.yaml": _study(folder.resolve().name, project),
    }
    for name, text in files.items():
        with open_private(folder / name) as file:
            file.write(text)
    return [folder / name for name in files]


def _study(name: str, project: Project) -> str:
    document: dict[str, object] = {
        "name": attribute_name(name) or "study",
        "cases": "cases.csv",
        "rubric": "rubric.yaml",
        "ratings": "ratings.csv",
        "attributes": list(project.attributes),
    }
    if project.model:
        document["model"] = project.model
    if project.base_url:
        document["base_url"] = project.base_url
    document["arms"] = [{"jury": "jury.yaml"}, {"jury": "single.yaml"}]
    return "# Which agrees better with people: the jury, or one judge?\n" + _yaml(document)


def _sources(row: Mapping[str, str], columns: SheetColumns) -> str:
    return "\n\n".join(filter(None, (row.get(column, "").strip() for column in columns.of("source"))))


def _free_name(column: str) -> str:
    """A column's name, told apart from those that mean something in a file of cases."""
    reserved = {"id", "output", "source", "reference", "question", "audience", "group", "system", "metadata"}
    return f"sheet_{column}" if column in reserved else column


def _csv(columns: Sequence[str], rows: Iterable[Mapping[str, str]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _yaml(document: Mapping[str, object]) -> str:
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=110)
