"""Where the table of a person's own sheet begins and ends, and its rows as one case and person each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from .sheet_columns import AGGREGATE, NAMES, Role, SheetColumns
from .sheet_scores import plain_name, score_of

_ATTRIBUTE = "attribute|criterion|criteria|dimension|aspect|metric|kriterium|merkmal|aspekt|critere|criterio|aspecto|atributo"
"""Names of a column that says what each row's score is of."""
Grid = Sequence[tuple[int, Sequence[str]]]
_JOINT = " - "


def sheet_table(grid: Grid, *, delimited: bool = False) -> tuple[list[tuple[int, dict[str, str]]], list[str]]:
    """The rows under a sheet's header, with their lines, and notes of what was passed over: a title, a header of two rows, empty columns.

    Raises:
        ValueError: Two columns have one name; or, in a `delimited` text, a row has more cells than there are columns.
    """
    if not grid:
        return [], []
    width = max(len(cells) for _, cells in grid)
    rows = [(line, [*cells, *[""] * (width - len(cells))]) for line, cells in grid]
    filled = [sum(map(bool, cells)) for _, cells in rows]
    usual = sorted(filled)[len(filled) // 2]
    top = next(
        place for place, number in enumerate(filled) if number >= min(2, usual) and 2 * number >= usual
    )
    notes = [
        f"line {line} is skipped, because it is above the header: {' '.join(filter(None, cells))[:60]}"
        for line, cells in rows[:top]
    ]
    (_, names), body = rows[top], rows[top + 1 :]
    if top and len(set(filter(None, names))) < sum(map(bool, names)) and any(rows[top - 1][1]):
        names = _joined_header(rows[top - 1][1], names)
        notes[-1] = f"the header has two rows: {', '.join(name for name in names if _JOINT in name)}"
    if len(body) > 1 and any(cell.startswith('{"ImportId"') for cell in body[1][1]):
        notes.append(
            f"lines {body[0][0]} and {body[1][0]} are skipped, because Qualtrics describes its columns there"
        )
        body = body[2:]
    if body and _is_second_header(names, body[0][1], [cells for _, cells in body[1:4]]):
        names, body = _joined_header(names, body[0][1]), body[1:]
        notes.append(f"the header has two rows: {', '.join(name for name in names if _JOINT in name)}")
    named = max(place for place, name in enumerate(names) if name) + 1
    for line, cells in body if delimited else ():
        if any(cells[named:]):
            raise ValueError(
                f"line {line}: {sum(map(bool, cells[named:])) + named} cells under {named} columns: quote cells with a separator in them"
            )
    _refuse_second_table(names, body)
    body, left_out = _without_totals(body)
    notes += left_out
    used = [place for place in range(width) if names[place] or any(cells[place] for _, cells in body)]
    titles = {place: names[place] or f"column {place + 1}" for place in used}
    twice = [name for name in titles.values() if list(titles.values()).count(name) > 1]
    if twice:
        raise ValueError(f"two columns are named {twice[0]!r}")
    return [(line, {titles[place]: cells[place] for place in used}) for line, cells in body], notes


def _refuse_second_table(names: Sequence[str], body: Grid) -> None:
    """Raises ValueError where, below an empty row, a row of names of columns stands over others."""
    known = {name for spellings in NAMES.values() for name in spellings.split("|")} | set(
        map(plain_name, names)
    )
    for (above, _), (line, cells) in pairwise(body):
        words = [plain_name(cell) for cell in cells if cell]
        if line > above + 1 and len(words) > 1 and sum(word in known for word in words) > 1:
            raise ValueError(f"line {line}: a second table begins; put it into a sheet of its own")


def _without_totals(
    body: list[tuple[int, list[str]]],
) -> tuple[list[tuple[int, list[str]]], list[str]]:
    """The rows without those at the end that hold means or totals, and a note for each."""
    notes: list[str] = []
    rows = list(body)
    while rows:
        line, cells = rows[-1]
        words = [cell for cell in cells if cell and score_of(cell) is None and _number(cell) is None]
        if not words or not all(AGGREGATE.fullmatch(plain_name(word)) for word in words):
            break
        rows.pop()
        notes.append(
            f"line {line} is left out, because it is computed from the rows above: {' '.join(filter(None, cells))[:60]}"
        )
    return rows, notes[::-1]


def _number(cell: str) -> float | None:
    try:
        return float(cell.replace(",", "."))
    except ValueError:
        return None


def _is_second_header(names: Sequence[str], below: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether the row below the header names parts of columns that the header names together."""
    spanned = [place for place, name in enumerate(below) if name and not names[place]]
    parts = [name for name in below if name]
    return (
        bool(spanned)
        and all(any(names[:place]) for place in spanned)
        and all(len(name) < 40 and score_of(name) is None for name in parts)
        and any(score_of(cells[place]) is not None for cells in body for place in spanned)
    )


def _joined_header(names: Sequence[str], below: Sequence[str]) -> list[str]:
    joined, span = [], ""
    for name, part in zip(names, below, strict=True):
        span = name or span
        joined.append(f"{span}{_JOINT}{part}" if span and part else name or part)
    return joined


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


def rows_by_attribute(
    rows: Sequence[Mapping[str, str]], columns: SheetColumns
) -> tuple[list[dict[str, str]], SheetColumns] | None:
    """One row a case and person, with a column for each attribute, of rows that name what their one score is of; else None."""
    named = [name for name in columns.of("kept") if plain_name(name) in _ATTRIBUTE.split("|")]
    scores = columns.of("rating")
    if len(named) != 1 or len(scores) != 1:
        return None
    (subject,), (score,) = named, scores
    telling = [name for name, role in columns.roles.items() if role not in ("rating", "kept", "left out")]
    pivoted: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows:
        kept = {name: cell for name, cell in row.items() if name not in (subject, score)}
        whole = pivoted.setdefault(tuple(row.get(name, "").strip() for name in telling), kept)
        attribute = row.get(subject, "").strip()
        if not attribute or attribute in whole:
            return None
        whole[attribute] = row.get(score, "")
    if len(pivoted) == len(rows):
        return None
    attributes = dict.fromkeys(row[subject].strip() for row in rows)
    roles = {name: role for name, role in columns.roles.items() if name not in (subject, score)}
    filled = [{**dict.fromkeys(attributes, ""), **row} for row in pivoted.values()]
    return filled, SheetColumns({**roles, **dict.fromkeys(attributes, "rating")})


def ids_by_system(
    rows: Sequence[Mapping[str, str]], columns: SheetColumns
) -> tuple[list[dict[str, str]], SheetColumns] | None:
    """Rows with an id for each text where systems share ids, which become the groups; None where ids tell the texts apart."""
    name, system, text = columns.one("id"), columns.one("system"), columns.one("output")
    if name is None or system is None or text is None:
        return None
    texts = {(row.get(name, ""), row.get(system, ""), row.get(text, "")) for row in rows if row.get(text)}
    by_id, by_both = ({key[:size] for key in texts} for size in (1, 2))
    if len(by_id) == len(by_both) or len(by_both) < len(texts):
        return None
    split = [
        {**row, name: f"{row.get(name, '')}-{row.get(system, '')}", "shared id": row.get(name, "")}
        for row in rows
    ]
    role: Role = "group" if columns.one("group") is None else "kept"
    return split, SheetColumns({**columns.roles, "shared id": role})


def carry_merged(rows: Sequence[dict[str, str]], columns: SheetColumns) -> int:
    """Gives rows that have ratings but neither id nor text those of the row above, as merged cells mean them; how many."""
    text, name = columns.one("output"), columns.one("id")
    own = [*columns.of("rating"), *columns.of("rater")]
    shared = [
        column
        for column, role in columns.roles.items()
        if role not in ("rating", "rater", "kept", "left out")
    ]
    carried = 0
    if name is None and columns.one("rater") is None:
        return 0
    for above, row in pairwise(rows):
        if (
            text
            and above.get(text)
            and not row.get(text)
            and not (name and row.get(name))
            and any(row.get(c) for c in own)
        ):
            row.update({column: row.get(column) or above.get(column, "") for column in shared})
            carried += 1
    return carried
