"""What the columns of a person's own sheet hold: guessed from their names and cells, to be shown and confirmed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

Role = Literal[
    "id",
    "output",
    "source",
    "reference",
    "question",
    "audience",
    "group",
    "system",
    "rater",
    "rating",
    "kept",
    "left out",
]
ROLES: tuple[Role, ...] = get_args(Role)
ONCE: tuple[Role, ...] = ("id", "output", "reference", "question", "audience", "group", "system", "rater")
"""Roles that one column has at the most; several may be sources, ratings or kept as they are."""
MEANING: Mapping[Role, str] = {
    "id": "the case's id",
    "output": "the text that is judged",
    "source": "what the text was made from",
    "reference": "a known good text",
    "question": "what was asked for",
    "audience": "whom it is for",
    "group": "cases that belong together, such as a patient's",
    "system": "who or what wrote the text",
    "rater": "the person who rated",
    "rating": "people's scores of one attribute",
    "kept": "not shown to jurors",
    "left out": "not used",
}
_NAMES: Mapping[Role, str] = {
    "id": "id|case|case id|case no|case number|record id|note id|item|item id|nr|no|number|key",
    "output": "output|summary|ai summary|answer|response|reply|completion|generated text|generated summary|model output|candidate|draft|"
    "text|generated note|ai note|letter|report",
    "source": "source|sources|notes|note|patient notes|clinical notes|transcript|conversation|document|context|input|original|"
    "chart|record|source text|passage|article|dialogue|dialog",
    "reference": "reference|gold|gold standard|expected|expected output|ideal|target|human summary|reference summary|ground truth",
    "question": "question|prompt|query|task|instruction|instructions|request|asked",
    "audience": "audience|reader|for whom",
    "group": "group|patient|patient id|mrn|medical record number|hospital number|encounter|ward|site|hospital|clinic|document id|cluster|subject",
    "system": "system|model|written by|author|generator|produced by|writer|version|source model|engine|bot|assistant|vendor",
    "rater": "rater|rated by|reviewer|reviewed by|annotator|assessor|clinician|scorer|rater id|judge|doctor",
}
_ENDINGS: Sequence[tuple[str, Role]] = sorted(
    (
        (name, role)
        for role in ("output", "source", "reference", "question")
        for name in _NAMES[role].split("|")
    ),
    key=lambda each: -len(each[0]),
)
"""Names of texts with which a longer name may end, such as `AI discharge summary`; the longest first."""
_SHORT_ENDINGS: Sequence[tuple[Role, Sequence[str]]] = (
    ("id", ("id", "no", "nr", "number", "code", "key")),
    ("system", ("system", "model", "bot", "assistant", "engine", "vendor", "author", "writer")),
)
"""Names of short cells with which a longer name may end, such as `Ticket No.` or `Which bot?`."""
_BY_PERSON = tuple(map(re.compile, (r"([^:]+):([^:]+)", r"(.+?) [-–] (.+)", r"([^()]+)\(([^()]+)\)")))
"""How a column's name may hold a person and an attribute."""
_PERSON = re.compile(
    r"\b(dr|prof|mr|mrs|ms|rater|reviewer|annotator|nurse|doctor|physician|clinician|expert|person|judge)\b",
    re.IGNORECASE,
)
_TEXT = 20
"""Characters of a cell, on average, from which on a column holds texts."""
_SCORES = range(11)
_MOST_SCORES = 11


@dataclass(frozen=True, slots=True)
class SheetColumns:
    """The role of every column."""

    roles: Mapping[str, Role]

    def of(self, role: Role) -> tuple[str, ...]:
        """The columns with this role, in the sheet's order."""
        return tuple(name for name, column_role in self.roles.items() if column_role == role)

    def one(self, role: Role) -> str | None:
        return next(iter(self.of(role)), None)

    def with_role(self, column: str, role: Role) -> SheetColumns:
        """The columns with another role for one; whichever had it before, where only one can, is kept as it is."""
        roles: dict[str, Role] = {
            name: "kept" if role in ONCE and used == role else used for name, used in self.roles.items()
        }
        return replace(self, roles={**roles, column: role})


def guess_columns(
    columns: Sequence[str], rows: Sequence[Mapping[str, str]], *, attributes: Collection[str] = ()
) -> SheetColumns:
    """What each column seems to hold; columns named as one of `attributes` hold ratings."""
    roles: dict[str, Role] = {}
    for column in columns:
        if attribute_name(column) in attributes:
            roles[column] = "rating"
    for role, names in _NAMES.items():
        spellings = names.split("|")
        free = [column for column in columns if column not in roles]
        match = next((c for name in spellings for c in free if _plain(c) == name), None)
        if match is not None:
            roles[match] = role
    cells = {column: [row.get(column, "").strip() for row in rows] for column in columns}
    for column in (name for name in columns if name not in roles and _is_text(cells[name])):
        ending = next((role for name, role in _ENDINGS if _plain(column).endswith(f" {name}")), None)
        if ending is not None and (ending == "source" or ending not in roles.values()):
            roles[column] = ending
    for role, endings in _SHORT_ENDINGS:
        free = [name for name in columns if name not in roles and not _is_text(cells[name])]
        if role not in roles.values() and (
            match := next((c for c in free if _ends_with(c, endings) and _may_be(role, cells[c])), None)
        ):
            roles[match] = role
    if "output" not in roles.values():
        longest = max(
            (column for column in columns if column not in roles),
            key=lambda column: sum(map(len, cells[column])),
            default=None,
        )
        if longest is not None:
            roles[longest] = "output"
    if not attributes:
        roles |= {c: "rating" for c in columns if c not in roles and _is_scores(cells[c])}
    return SheetColumns({column: roles.get(column, "kept") for column in columns})


def scores_by_person(columns: SheetColumns) -> dict[str, tuple[str, str]]:
    """By column of scores, whose they are and of what, where all columns say so: `Dr Lee: accurate`, `accurate (Dr Lee)`.

    Empty where one does not, where the sheet has a column for the rater, or where it cannot be told which part is the person.
    """
    names = columns.of("rating")
    if len(names) < 2 or columns.one("rater") is not None:
        return {}
    for form in _BY_PERSON:
        parts = [match.groups() for name in names if (match := form.fullmatch(name.strip()))]
        heads, tails = ({part[side].strip() for part in parts} for side in (0, 1))
        if len(parts) < len(names) or len(set(parts)) < len(heads) * len(tails):
            continue
        persons = [all(map(_PERSON.search, side)) for side in (heads, tails)]
        varying = [len(side) > 1 == len(other) for side, other in ((heads, tails), (tails, heads))]
        is_person = persons if persons[0] != persons[1] else varying
        if is_person[0] != is_person[1]:
            person_side = 0 if is_person[0] else 1
            return {
                name: (part[person_side].strip(), part[1 - person_side].strip())
                for name, part in zip(names, parts, strict=True)
            }
    return {}


def rows_by_person(
    rows: Sequence[Mapping[str, str]], columns: SheetColumns, scores: Mapping[str, tuple[str, str]]
) -> tuple[list[dict[str, str]], SheetColumns]:
    """Each row once for each person, with the person under `rater` and that person's scores under what they are of."""
    people = dict.fromkeys(person for person, _ in scores.values())
    roles = {name: role for name, role in columns.roles.items() if name not in scores}
    roles |= {"rater": "rater", **{subject: "rating" for _, subject in scores.values()}}
    unpivoted = [
        {
            **{name: cell for name, cell in row.items() if name not in scores},
            "rater": person,
            **{subject: row.get(name, "") for name, (judge, subject) in scores.items() if judge == person},
        }
        for row in rows
        for person in people
    ]
    return unpivoted, SheetColumns(roles)


def attribute_name(column: str) -> str:
    """A column's name as the name of an attribute: `Clinically useful?` is `clinically_useful`; empty where no letter fits."""
    plain = unicodedata.normalize("NFKD", column.casefold()).encode("ascii", "ignore").decode()
    name = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")
    return f"a_{name}" if name[:1].isdigit() else name


def attribute_names(columns: Sequence[str]) -> dict[str, str]:
    """By column, a name that no other has; those that cannot be written in plain letters are numbered."""
    names: dict[str, str] = {}
    for place, column in enumerate(columns, 1):
        name = attribute_name(column)
        names[column] = name if name and name not in names.values() else f"{name or 'attribute'}_{place}"
    return names


def _plain(column: str) -> str:
    return " ".join(re.sub(r"[^a-z0-9]+", " ", column.casefold()).split())


def _ends_with(column: str, words: Sequence[str]) -> bool:
    return _plain(column).rpartition(" ")[2] in words


def _may_be(role: Role, cells: Sequence[str]) -> bool:
    """Whether cells tell every row apart, as an id must, or not every one, as the name of a system."""
    texts = [cell for cell in cells if cell]
    distinct = len(set(texts)) == len(texts)
    return bool(texts) and (distinct and len(texts) > 1 if role == "id" else not distinct or len(texts) == 1)


def _is_text(cells: Sequence[str]) -> bool:
    texts = [cell for cell in cells if cell]
    return bool(texts) and sum(map(len, texts)) >= _TEXT * len(texts)


def _is_scores(cells: Sequence[str]) -> bool:
    """Whether the cells are whole numbers of a small scale, as people give scores."""
    texts = [cell for cell in cells if cell]
    scores = {cell for cell in texts if cell.isdecimal() and int(cell) in _SCORES}
    return len(scores) > 1 and len(scores) <= _MOST_SCORES and all(cell in scores for cell in texts)
