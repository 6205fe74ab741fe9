"""Cases: what is put before a jury, one output, a pair of them or a conversation, read one at a time from JSONL or CSV."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, Protocol, Self, runtime_checkable

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_serializer,
    model_validator,
)

from .conversation import SpokenMessage, conversation_text
from .errors import InvalidFile, VenireError
from .files import near_column, nearest
from .rows import read_rows
from .yaml_files import Converted, wrong

_TEXTS = ("source", "reference", "question", "audience", "group", "system")
_ANY_NAMES = "; for a sheet with other names, run venire new FOLDER --from SHEET"
_KNOWN = {"id", "output", "metadata", *_TEXTS}
PAIR_COLUMNS = ("output_a", "output_b")
_OF_PAIRS = ("output_b", "system_b", "swapped")
"""Fields that only a pair has."""
Label = Literal["A", "B"]


class Case(BaseModel):
    """One thing to be judged, or two to be compared.

    What people said of it is not here, and `metadata` is kept out of every prompt: it may hold labels.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)

    id: str = Field(min_length=1)
    output: str
    """The text under judgement; of a pair, output A."""
    output_b: str | None = None
    """The second text of a pair, which jurors know as output B. One of the two may be empty."""
    messages: tuple[SpokenMessage, ...] = ()
    """A conversation or an agent's trajectory. It is what is judged where `output` is its text: see `from_row`; else what came before the output."""
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
    system_b: str | None = None
    """Who produced output B."""
    swapped: bool = False
    """Whether the row had output A as its `output_b`: see `from_row`."""
    metadata: dict[str, Any] = {}

    @field_validator("source", mode="before")
    @classmethod
    def _one_note_or_many(cls, value: Any) -> Any:
        if value is None:
            return ()
        return (value,) if isinstance(value, str) else value

    @field_validator("id")
    @classmethod
    def _has_name(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("is blank")
        return value

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.output.strip() and not (self.output_b or "").strip():
            raise wrong("is blank" if self.output_b is None else "both outputs are blank", "output")
        if self.output_b is not None and self.swapped != is_swapped(self.id):
            raise wrong(
                "`swapped` cannot be set, because the labels A and B are assigned at random\nremove `swapped`, or make the pair with Case.from_row in Python",
                "swapped",
            )
        return self

    @model_serializer(mode="wrap")
    def _as_before_pairs(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """As it was before there were pairs and messages, where it has none: a record knows its cases by this."""
        fields: dict[str, Any] = handler(self)
        if not self.messages:
            fields.pop("messages", None)
        elif "messages" in fields:
            fields["messages"] = [each.model_dump(mode="json", exclude_unset=True) for each in self.messages]
        if self.output_b is None:
            for name in _OF_PAIRS:
                fields.pop(name, None)
        return fields

    @property
    def is_conversation(self) -> bool:
        """Whether its messages are what is judged."""
        return bool(self.messages) and self.output == conversation_text(self.messages)

    @property
    def sides(self) -> tuple[str, str]:
        """The systems behind output A and output B; where they are not named, the columns of the row."""
        first, second = reversed(PAIR_COLUMNS) if self.swapped else PAIR_COLUMNS
        return self.system or first, self.system_b or second

    def preferred_system(self, preference: float) -> str:
        """The system that a preference is for: that of output A below 0, of output B above, `tie` at 0.

        The one way from labels to systems.
        """
        return "tie" if preference == 0 else self.sides[preference > 0]

    def under_labels(self, preference: float) -> float:
        """A preference between the row's `output_a` (below 0) and `output_b` as one between output A and output B; and the other way round."""
        return -preference if self.swapped else preference

    def as_row(self) -> dict[str, Any]:
        """The row that `from_row` makes this case of; what is not set is left out."""
        row = self.model_dump(mode="json", exclude_defaults=True)
        if self.is_conversation:
            del row["output"]
        if self.output_b is None:
            return row
        sides = [(self.output, self.system), (self.output_b, self.system_b)]
        for name in ("output", "system", *_OF_PAIRS):
            row.pop(name, None)
        for side, (output, system) in zip("ab", reversed(sides) if self.swapped else sides, strict=True):
            row |= {f"output_{side}": output} | ({f"system_{side}": system} if system else {})
        return row

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Case:
        """The case in one row of a file; columns without a meaning of their own become metadata.

        A row without `output` that has `output_a` and `output_b` is a pair. Which of them jurors know as output A is drawn by
        a hash of its id, so that a preference for a label is not one for a system. A row with `messages` and no output is a
        conversation, judged whole; `messages` that are no list, nor the JSON of one, are metadata.
        """
        pair = is_pair(row)
        fields = {key: row[key] for key in ("id", "output", *_TEXTS) if row.get(key) not in (None, "")}
        meant = {*_KNOWN, *PAIR_COLUMNS, "system_a", "system_b"} if pair else _KNOWN
        extra = {key: value for key, value in row.items() if key not in meant}
        messages = _messages(extra.get("messages"))
        if messages is not None:
            del extra["messages"]
            fields["messages"] = _MESSAGES.validate_python({"messages": messages})["messages"]
            if not pair and "output" not in fields:
                fields["output"] = conversation_text(fields["messages"])
        metadata = row.get("metadata") or {}
        if not isinstance(metadata, dict):
            extra["metadata"], metadata = metadata, {}
        if pair:
            sides = [
                # A number may be an output, or the name of a system: 0 is one.
                (
                    "" if row.get(f"output_{side}") is None else row[f"output_{side}"],
                    None if row.get(f"system_{side}") in (None, "") else row[f"system_{side}"],
                )
                for side in "ab"
            ]
            fields["swapped"] = is_swapped(str(row.get("id")))
            (fields["output"], fields["system"]), (fields["output_b"], fields["system_b"]) = (
                reversed(sides) if fields["swapped"] else sides
            )
        return cls(**fields, metadata={**metadata, **extra})


_MESSAGES = TypeAdapter(dict[Literal["messages"], tuple[SpokenMessage, ...]])


def _messages(cell: Any) -> Any:
    """The messages in a cell; None where it holds none."""
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        try:
            cell = json.loads(cell)
        except ValueError:
            return None
    return cell if isinstance(cell, list | tuple) and cell else None


def turn_cases(cases: Iterable[Case]) -> Iterator[Case]:
    """Each turn of the assistant in each conversation as a case of its own, after the messages before it; those of one conversation share a group.

    Raises:
        VenireError: A case has no messages, or none of the assistant.
    """
    for case in cases:
        places = [at for at, message in enumerate(case.messages) if message.role == "assistant"]
        if not case.is_conversation or not places:
            raise VenireError(
                f"case {case.id!r} has no message of the assistant to judge",
                remedy="give `messages` with a message of the assistant, and no `output`",
            )
        for at in places:
            yield case.model_copy(
                update={
                    "id": f"{case.id}~turn-{at + 1}",
                    "group": case.group or case.id,
                    "messages": case.messages[:at],
                    "output": conversation_text(case.messages[at : at + 1], first=at + 1),
                }
            )


def is_pair(row: Mapping[str, Any]) -> bool:
    """Whether a row holds two outputs to be compared, and not one to be judged."""
    return row.get("output") in (None, "") and any(column in row for column in PAIR_COLUMNS)


def is_swapped(case: str) -> bool:
    """Whether jurors know the row's `output_b` as output A."""
    return coin(case, "label")


def coin(case: str, what: str) -> bool:
    """A fair coin for one case and purpose, the same whenever it is thrown."""
    return hashlib.sha256(f"{what}\0{case}".encode("utf-8", "surrogatepass")).digest()[0] % 2 == 1


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
    ids: dict[str, str] = {}
    name = f"{cases}:" if isinstance(cases, str | Path) else "row "
    for number, row in _numbered_rows(cases):
        case = _case(f"{name}{number}", row)
        if case.id in ids:
            place = f"on line {ids[case.id]}" if isinstance(cases, str | Path) else f"in row {ids[case.id]}"
            raise InvalidFile(
                f"{name}{number}: the id {case.id!r} was already used {place}",
                remedy="give every case an id of its own",
            )
        ids[case.id] = str(number)
        yield case
    if not ids:
        origin = cases if isinstance(cases, str | Path) else "the rows"
        raise InvalidFile(
            f"{origin}: no cases were found", remedy="write one case per line, with id and output"
        )


def pairs_among(cases: Iterable[Case], *, against: str | None = None) -> list[Case]:
    """Every pair of systems for the same question and source, or each system against one; comparisons of one question share a group.

    Raises:
        VenireError: A case names no system, or neither question nor source; two of one system have the same; or there is no pair.
    """
    by_question: dict[tuple[str | None, tuple[str, ...]], dict[str, Case]] = {}
    for case in cases:
        if case.system is None or not (case.question or case.source):
            missing = "system" if case.system is None else "question, and no source"
            raise VenireError(
                f"case {case.id!r} has no {missing}",
                remedy="add it: outputs are paired if they answer the same question or have the same source",
            )
        systems = by_question.setdefault((case.question, case.source), {})
        if case.system in systems:
            raise VenireError(
                f"cases {systems[case.system].id!r} and {case.id!r} are both by the system {case.system!r}, for the same question and source",
                remedy="keep one output of each system",
            )
        systems[case.system] = case
    known = {name for systems in by_question.values() for name in systems}
    if against is not None and against not in known:
        raise VenireError(
            f"no case was written by the system {against!r}", remedy=nearest(against, sorted(known))
        )
    made = [
        _pair(systems[one], systems[other], group=next(iter(systems.values())).id)
        for systems in by_question.values()
        for one, other in combinations(sorted(systems), 2)
        if against in (None, one, other)
    ]
    if not made:
        raise VenireError(
            "no two systems have a case with the same question and source",
            remedy="give the outputs of two systems the same question and source, spelt in the same way",
        )
    return made


def _pair(one: Case, other: Case, group: str) -> Case:
    row = {
        "id": f"{one.id}~{other.id}",
        "output_a": one.output,
        "output_b": other.output,
        "system_a": one.system,
        "system_b": other.system,
        "group": one.group or group,
        **{name: getattr(one, name) for name in ("question", "source", "reference", "audience")},
    }
    return Case.from_row(row)


def _numbered_rows(
    cases: str | Path | Frame | Iterable[Mapping[str, Any]],
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if isinstance(cases, str | Path):
        yield from read_rows(Path(cases), required=("id", "output|output_a|messages"), otherwise=_ANY_NAMES)
        return
    rows = cases.to_dict("records") if isinstance(cases, Frame) else cases
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise InvalidFile(
                f"row {number} is a {type(row).__name__}, not a mapping",
                remedy="give mappings with the keys id and output",
            )
        yield (
            number,
            {
                str(key): "" if _is_missing(value) else value
                for key, value in row.items()
                if key in PAIR_COLUMNS or not _is_missing(value)
            },
        )


def _is_missing(value: Any) -> bool:
    """Whether a frame's cell is empty: None, NaN, or one of pandas' own signs for it."""
    nan = isinstance(value, float) and math.isnan(value)
    return value is None or nan or type(value).__name__ in ("NAType", "NaTType")


def count_cases(path: Path) -> int:
    """How many cases the file holds; reads it whole, so anything wrong in it is found before work starts."""
    return sum(1 for _ in load_cases(path))


def _case(place: str, row: Mapping[str, Any]) -> Case:
    text = () if _messages(row.get("messages")) is not None else ("output",)
    needed = ("id", *(PAIR_COLUMNS if is_pair(row) else text))
    for column in needed:
        if row.get(column) is None or (row[column] == "" and column not in PAIR_COLUMNS):
            raise InvalidFile(
                f"{place}: {column!r} is missing",
                remedy=f"{near_column(column, row)}give every case an id and one of these: output (the text to judge), output_a and output_b (two texts to compare), or messages (a conversation)",
            )
    try:
        return Case.from_row(row)
    except ValidationError as error:
        detail = error.errors()[0]
        field = ".".join(str(part) for part in detail["loc"])
        message = (
            detail["msg"].removeprefix("Value error, ").replace("a valid tuple", "a text or a list of texts")
        )
        raise InvalidFile(
            f"{place}: {field}: {message}", remedy=f"correct {field} of case {row.get('id')!r}"
        ) from None
