"""Cases: what is put before a jury, read one at a time from JSONL or CSV."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from .errors import InvalidFile
from .files import near_column
from .rows import read_rows
from .yaml_files import Converted

_TEXTS = ("source", "reference", "question", "audience", "group", "system")
_ANY_NAMES = "; a sheet with other names becomes a folder with venire new FOLDER --from SHEET"
_KNOWN = {"id", "output", "metadata", *_TEXTS}


class Case(BaseModel):
    """One thing to be judged.

    What people said of it is not here, and `metadata` is kept out of every prompt: it may hold labels.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)

    id: str = Field(min_length=1)
    output: str = Field(min_length=1)
    """The text under judgement."""
    source: Converted[tuple[str, ...], str | Sequence[str] | None] = Field(default=(), validate_default=True)
    """What the output was made from: notes, a transcript."""
    reference: str | None = None
    """A known good answer. Jurors see it only if the rubric says so."""
    question: str | None = None
    audience: str | None = None
    group: str | None = None
    """Cases of one group (one patient, one site) stay together when cases are resampled or split."""
    system: str | None = None
    """Who produced the output. Jurors never see it."""
    metadata: dict[str, Any] = {}

    @field_validator("source", mode="before")
    @classmethod
    def _one_note_or_many(cls, value: Any) -> Any:
        if value is None:
            return ()
        return (value,) if isinstance(value, str) else value

    @field_validator("id", "output")
    @classmethod
    def _says_something(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("is blank")
        return value

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Case:
        """The case in one row of a file; columns without a meaning of their own become metadata."""
        known = {key: row[key] for key in ("id", "output", *_TEXTS) if row.get(key) not in (None, "")}
        extra = {key: value for key, value in row.items() if key not in _KNOWN}
        metadata = row.get("metadata") or {}
        if not isinstance(metadata, dict):
            extra["metadata"], metadata = metadata, {}
        return cls(**known, metadata={**metadata, **extra})


class Exhibit(BaseModel):
    """One named text that a juror may read."""

    model_config = ConfigDict(frozen=True)

    name: str
    text: str


@runtime_checkable
class Frame(Protocol):
    """A table in memory, as pandas has it."""

    def to_dict(self, orient: Literal["records"], /) -> list[dict[Any, Any]]: ...


def load_cases(cases: str | Path | Frame | Iterable[Mapping[str, Any]]) -> Iterator[Case]:
    """Each case of a .jsonl or .csv file, of a frame or of rows, in turn, so that memory does not grow with their number.

    Raises:
        InvalidFile: Whatever is wrong with a case, with its line or row.
    """
    seen: dict[str, str] = {}
    name = f"{cases}:" if isinstance(cases, str | Path) else "row "
    for number, row in _numbered_rows(cases):
        case = _case(f"{name}{number}", row)
        if case.id in seen:
            place = f"on line {seen[case.id]}" if isinstance(cases, str | Path) else f"in row {seen[case.id]}"
            raise InvalidFile(
                f"{name}{number}: the id {case.id!r} was used {place}",
                remedy="give every case an id of its own",
            )
        seen[case.id] = str(number)
        yield case
    if not seen:
        where = cases if isinstance(cases, str | Path) else "the rows"
        raise InvalidFile(f"{where}: no cases in it", remedy="write one case a line, with id and output")


def _numbered_rows(
    cases: str | Path | Frame | Iterable[Mapping[str, Any]],
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if isinstance(cases, str | Path):
        yield from read_rows(Path(cases), required=("id", "output"), otherwise=_ANY_NAMES)
        return
    rows = cases.to_dict("records") if isinstance(cases, Frame) else cases
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise InvalidFile(
                f"row {number}: a {type(row).__name__}", remedy="give mappings with the keys id and output"
            )
        yield number, {str(key): value for key, value in row.items() if not _is_missing(value)}


def _is_missing(value: Any) -> bool:
    """Whether a frame's cell is empty: None, NaN, or one of pandas' own signs for it."""
    nan = isinstance(value, float) and math.isnan(value)
    return value is None or nan or type(value).__name__ in ("NAType", "NaTType")


def count_cases(path: Path) -> int:
    """How many cases the file holds; reads it whole, so anything wrong in it is found before work starts."""
    return sum(1 for _ in load_cases(path))


def _case(where: str, row: Mapping[str, Any]) -> Case:
    for required in ("id", "output"):
        if row.get(required) in (None, ""):
            raise InvalidFile(
                f"{where}: {required!r} is missing",
                remedy=f"{near_column(required, row)}every case needs id and output (the text under judgement)",
            )
    try:
        return Case.from_row(row)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        message = (
            first["msg"].removeprefix("Value error, ").replace("a valid tuple", "a text or a list of texts")
        )
        raise InvalidFile(
            f"{where}: {field}: {message}", remedy=f"correct {field} of case {row.get('id')!r}"
        ) from None
