"""Where the table of a person's own sheet begins and ends, and its rows as one case and person each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import count, pairwise, starmap
from typing import NamedTuple

from .sheet_columns import NAMES, Role, SheetColumns, attribute_column
from .sheet_scores import AGGREGATE, is_missing, legend_scale, plain_name, score_of, without_scale
from .sheet_texts import text_kind

Grid = Sequence[tuple[int, Sequence[str]]]
_JOINT = " - "
_NUMBER = re.compile(r"[-\d.,%/ ]+")


class SheetTable(NamedTuple):
    """A table in a sheet."""

    rows: list[tuple[int, dict[str, str]]]
    """With their lines."""
    notes: list[str]
    """What was passed over: a title, a header of two rows, empty columns."""
    beside: list[list[str]]
    """The cells of each line above, below and at its side."""


def sheet_table(grid: Grid, *, delimited: bool = False) -> SheetTable:
    """The rows under a sheet's header.

    Raises:
        ValueError: Two columns have one name; or, in a `delimited` text, a row has more cells than there are columns.
    """
    if not grid:
        return SheetTable([], [], [])
    width = max(len(cells) for _, cells in grid)
    rows = [(line, [*cells, *[""] * (width - len(cells))]) for line, cells in grid]
    filled = [sum(map(bool, cells)) for _, cells in rows]
    usual = sorted(filled)[len(filled) // 2]
    top = next(
        place
        for place, (_, cells) in enumerate(rows)
        if filled[place] >= min(2, usual)
        and 2 * filled[place] >= usual
        # `Date: | June` above a table is no header.
        and not (filled[place] == 2 < usual - 1 and all(cells[:2]))
    )
    notes = [
        f"line {line} is skipped, because it is above the header: {' '.join(filter(None, cells))[:60]}"
        for line, cells in rows[:top]
    ]
    beside = [list(filter(None, cells)) for _, cells in rows[:top]]
    (_, names), body = rows[top], rows[top + 1 :]
    if top and len(set(filter(None, names))) < sum(map(bool, names)) and any(rows[top - 1][1]):
        names = _joined_header(rows[top - 1][1], names)
        notes[-1] = f"the header has two rows: {', '.join(name for name in names if _JOINT in name)}"
    if len(body) > 1 and any(cell.startswith('{"ImportId"') for cell in body[1][1]):
        notes.append(
            f"lines {body[0][0]} and {body[1][0]} are skipped, because Qualtrics describes its columns there"
        )
        body = body[2:]
    if body and _is_second_header(names, body[0][1], [cells for _, cells in body[1:]]):
        names, body = _joined_header(names, body[0][1]), body[1:]
        notes.append(f"the header has two rows: {', '.join(name for name in names if _JOINT in name)}")
    if body and _describes_columns(body[0][1], [cells for _, cells in body[1:]]):
        notes.append(
            f"line {body[0][0]} is skipped, because it has words where all other lines have numbers: {' '.join(filter(None, body[0][1]))[:60]}"
        )
        beside.append(list(filter(None, body[0][1])))
        body = body[1:]
    if (side := _side_table(names, body)) is not None:
        lines = [names[side:], *(cells[side:] for _, cells in body)]
        beside += [[cell for cell in line if cell] for line in lines if any(line)]
        notes.append(f"what stands to the right of an empty column is left out: {' '.join(beside[-1])[:60]}")
        names, body = names[:side], [(line, cells[:side]) for line, cells in body]
        width = side
    named = max(place for place, name in enumerate(names) if name) + 1
    for line, cells in body if delimited else ():
        if any(cells[named:]):
            raise ValueError(
                f"line {line}: {sum(map(bool, cells[named:])) + named} cells under {named} columns; put quotes around cells that contain a separator"
            )
    _refuse_second_table(names, body)
    body, below = _without_notes(body, usual)
    for line, words in below:
        notes.append(f"line {line} is skipped, because it is below the table: {words[:60]}")
        beside.append([words])
    body, left_out = _without_totals(body)
    notes += left_out
    used = [place for place in range(width) if names[place] or any(cells[place] for _, cells in body)]
    titles = {place: names[place] or f"column {place + 1}" for place in used}
    twice = [name for name in titles.values() if list(titles.values()).count(name) > 1]
    if twice:
        raise ValueError(f"two columns are named {twice[0]!r}")
    table = [(line, {titles[place]: cells[place] for place in used}) for line, cells in body]
    return SheetTable(table, notes, beside)


def _side_table(names: Sequence[str], body: Grid) -> int | None:
    """The place of an empty column to whose right there is something else: half as many rows at most, or the steps of a scale."""
    columns = list(zip(names, *(cells for _, cells in body), strict=True))
    first = next((place for place, cells in enumerate(columns) if any(cells)), 0)
    for gap, cells in enumerate(columns):
        right = [row[gap:] for _, row in body if any(row[gap:])]
        if gap <= first or any(cells) or not (right or any(names[gap:])):
            continue
        steps = [list(filter(None, row)) for row in right]
        if 2 * len(right) <= len(body) or (legend_scale(steps) and len(right) < len(body)):
            return gap
    return None


def _without_notes(
    body: list[tuple[int, list[str]]], usual: int
) -> tuple[list[tuple[int, list[str]]], list[tuple[int, str]]]:
    """The rows without those at the end that are notes, and these: one cell in a table of three columns or more, not in its column of texts
    unless an empty row stands before it."""
    rows, below = list(body), []
    while len(rows) > 1:
        line, cells = rows[-1]
        filled = [place for place, cell in enumerate(cells) if cell]
        in_text = _longest(rows[:-1]) in filled
        if len(filled) > 1 or usual < 3 or (in_text and _first_line(line, cells) <= rows[-2][0] + 1):
            break
        below.append((line, cells[filled[0]]))
        rows.pop()
    return rows, below[::-1]


def _refuse_second_table(names: Sequence[str], body: Grid) -> None:
    """Raises ValueError where, below an empty row, a row of names of columns stands over others."""
    known = {name for spellings in NAMES.values() for name in spellings.split("|")} | set(
        map(plain_name, names)
    )
    for (above, _), (line, cells) in pairwise(body):
        words = {plain_name(cell) for cell in cells if cell}
        named = [word for word in words if word in known or (len(word.split()) < 4 and text_kind(word))]
        if _first_line(line, cells) > above + 1 and len(named) > 1:
            raise ValueError(f"line {line}: a second table begins; put it into a sheet of its own")


def _first_line(line: int, cells: Sequence[str]) -> int:
    """Where a row begins that ends on a line of a text file, a cell of which may have several; of a workbook, whose rows are numbered, no later."""
    return line - sum(cell.count("\n") for cell in cells)


def _without_totals(
    body: list[tuple[int, list[str]]],
) -> tuple[list[tuple[int, list[str]]], list[str]]:
    """The rows without those at the end that hold means, totals or counts, and a note for each.

    They have words for such under any column, or one word under the first, as no row above, and nothing under that of the texts.
    """
    notes: list[str] = []
    rows = list(body)
    while len(rows) > 1:
        line, cells = rows[-1]
        words = [cell for cell in cells if cell and not cell[0].isdigit()]
        first = next(place for place, cell in enumerate(rows[0][1]) if cell)
        is_new = cells[first] not in {above[first] for _, above in rows[:-1]}
        labelled = words == [cells[first]] and is_new and not cells[_longest(rows[:-1])]
        if not (labelled or (words and all(AGGREGATE.fullmatch(plain_name(word)) for word in words))):
            break
        rows.pop()
        notes.append(
            f"line {line} is left out, because it is computed from the rows above: {' '.join(filter(None, cells))[:60]}"
        )
    return rows, notes[::-1]


def _longest(rows: Sequence[tuple[int, Sequence[str]]]) -> int:
    """The place of the column with the longest texts."""
    lengths = [sum(map(len, column)) for column in zip(*(cells for _, cells in rows), strict=True)]
    return lengths.index(max(lengths))


def _is_second_header(names: Sequence[str], below: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether the row below the header names parts of columns that the header names together."""
    first = next((place for place, name in enumerate(names) if name), 0)
    spanned = [
        place for place, name in enumerate(below)
        if name and (names.count(names[place]) > 1 if names[place] else place > first)
    ]  # fmt: skip
    return (
        bool(spanned)
        and all(len(name) < 40 and not _NUMBER.fullmatch(name) for name in below if name)
        and not any(cells[place] == below[place] for cells in body for place in spanned)
        and any(score_of(cells[place]) is not None for cells in body[:3] for place in spanned)
    )


def _describes_columns(line: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether words stand in the line under each of two or more columns of numbers, as a survey's questions or the scale do: not one word under all
    beside a text, which is a case that somebody could not score."""
    numbers = [
        place for place, cells in enumerate(zip(*body, strict=True))
        if any(cells) and all(_NUMBER.fullmatch(cell) for cell in cells if not is_missing(cell))
    ]  # fmt: skip
    words = [line[place] for place in numbers if line[place]]
    has_text = bool(line[_longest([(0, cells) for cells in body])]) if body else False
    return (
        len(words) > 1
        and (len(set(words)) > 1 or not has_text)
        and not any(_NUMBER.fullmatch(word) or is_missing(word) for word in words)
    )


def _joined_header(names: Sequence[str], below: Sequence[str]) -> list[str]:
    joined, span = [], ""
    # A workbook says how far each name goes, and has it in each of its cells.
    spans_are_known = any(name and name == after for name, after in pairwise(names))
    for name, part in zip(names, below, strict=True):
        span = name or ("" if spans_are_known else span)
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


def subject_of(rows: Sequence[Mapping[str, str]], columns: SheetColumns) -> str | None:
    """The column that says what each row's scores are of."""
    kept = columns.of("kept")
    return attribute_column(kept, {name: [row.get(name, "") for row in rows] for name in kept})


def rows_by_attribute(
    rows: Sequence[Mapping[str, str]], columns: SheetColumns
) -> tuple[list[dict[str, str]], SheetColumns] | None:
    """One row a case and person, with a column for each attribute, of rows that name what their one score is of; else None."""
    subject, scores = subject_of(rows, columns), columns.of("rating")
    if subject is None or len(scores) != 1:
        return None
    (score,) = scores
    scale = score[len(without_scale(score)) :]
    telling = [name for name, role in columns.roles.items() if role not in ("rating", "kept", "left out")]
    pivoted: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows:
        others = {name: cell for name, cell in row.items() if name not in (subject, score)}
        whole = pivoted.setdefault(tuple(row.get(name, "").strip() for name in telling), others)
        attribute = row.get(subject, "").strip() + scale
        if attribute == scale or attribute in whole:
            return None
        whole[attribute] = row.get(score, "")
    if len(pivoted) == len(rows):
        return None
    attributes = dict.fromkeys(row[subject].strip() + scale for row in rows)
    roles = {name: role for name, role in columns.roles.items() if name not in (subject, score)}
    filled = [{**dict.fromkeys(attributes, ""), **row} for row in pivoted.values()]
    return filled, SheetColumns({**roles, **dict.fromkeys(attributes, "rating")})


def ids_by_system(
    rows: Sequence[Mapping[str, str]], columns: SheetColumns
) -> tuple[list[dict[str, str]], SheetColumns, str] | None:
    """Rows with an id for each text where systems, or parts of the sheet, share ids, and the column that tells them apart; None where ids do.

    What systems made of one thing belongs together: the shared ids become the groups.
    """
    name, text = columns.one("id"), columns.one("output")
    system = columns.one("system") or _telling_column(rows, columns)
    if name is None or system is None or text is None:
        return None
    texts = {(row.get(name, ""), row.get(system, ""), row.get(text, "")) for row in rows if row.get(text)}
    by_id, by_both = ({key[:size] for key in texts} for size in (1, 2))
    if len(by_id) == len(by_both) or len(by_both) < len(texts):
        return None
    split = [{**row, name: f"{row.get(name, '')}-{row.get(system, '')}"} for row in rows]
    given = [column for role in ("source", "question") for column in columns.of(role)]
    things = {(row.get(name, ""), *(row.get(column, "") for column in given)) for row in rows}
    if columns.one("system") is None and (not given or len(things) > len(by_id)):
        return split, columns, system
    for row, whole in zip(split, rows, strict=True):
        row["shared id"] = whole.get(name, "")
    role: Role = "group" if columns.one("group") is None else "kept"
    return split, SheetColumns({**columns.roles, system: "system", "shared id": role}), system


def _telling_column(rows: Sequence[Mapping[str, str]], columns: SheetColumns) -> str | None:
    """The one column without a role whose values, each beside several ids, tell apart the texts of one id."""
    name, text = columns.one("id") or "", columns.one("output") or ""
    texts = {(row.get(name, ""), row.get(text, "")) for row in rows}

    def tells(column: str) -> bool:
        pairs = {(row.get(name, ""), row.get(column, "")) for row in rows}
        each = {(row.get(name, ""), row.get(column, ""), row.get(text, "")) for row in rows}
        values = {value for _, value in pairs}
        return all(values) and 1 < len(values) <= len(pairs) / 2 and len(each) == len(pairs) == len(texts)

    matches = [column for column in columns.of("kept") if tells(column)]
    return matches[0] if len(matches) == 1 else None


def ids_by_text(rows: Sequence[dict[str, str]], columns: SheetColumns) -> dict[str, list[str]]:
    """Gives further texts of one id ids of their own, where the same people rated each, or they have few words in common: by id, those given.

    Otherwise one text may be another's with a slip of the pen.
    """
    name, text, rater = columns.one("id"), columns.one("output"), columns.one("rater")
    raters: dict[str, dict[str, set[str]]] = {}
    for row in rows if name and text else ():
        if row.get(name or "") and (words := row.get(text or "", "").strip()):
            by_text = raters.setdefault(row[name or ""], {})
            by_text.setdefault(words, set()).add(row.get(rater, "") if rater else "")
    given: dict[str, list[str]] = {}
    own: dict[tuple[str, str], str] = {}
    for shared, by_text in raters.items():
        if len(by_text) == 1 or (
            len(set(map(frozenset, by_text.values()))) > 1 and any(starmap(_are_alike, pairwise(by_text)))
        ):
            continue
        for number, words in enumerate(list(by_text)[1:], 2):
            own[shared, words] = next(
                each for n in count(number) if (each := f"{shared}-{n}") not in (*raters, *own.values())
            )
            given.setdefault(shared, []).append(own[shared, words])
    for row in rows if given else ():
        shared = row.get(name or "", "")
        row[name or ""] = own.get((shared, row.get(text or "", "").strip()), shared)
    return given


def _are_alike(text: str, other: str) -> bool:
    words, others = (set(plain_name(each).split()) for each in (text, other))
    return 2 * len(words & others) >= len(words | others)


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
    keys = [column for column in (text, name) if column]
    for above, row in pairwise(rows):
        if (
            any(above.get(key) for key in keys)
            and not any(row.get(key) for key in keys)
            and any(row.get(c) for c in own)
        ):
            row.update({column: row.get(column) or above.get(column, "") for column in shared})
            carried += 1
    return carried
