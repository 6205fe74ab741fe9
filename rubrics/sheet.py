"""A person's own sheet as one row a case and rater: what is told by its columns and cells is said, what is not is asked or refused."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from .conversation import SpokenMessage, conversation_text
from .errors import InvalidFile, VenireError, count_words
from .files import is_workbook, nearest, split_sheet
from .rows import DELIMITED, MOST_COLUMNS, read_grid, read_rows, too_wide
from .sheet_columns import (
    ROLES,
    Role,
    SheetColumns,
    attribute_name,
    attribute_names,
    competing_texts,
    guess_columns,
    texts_by_place,
    unplaced_people,
    unplaced_texts,
    unread_scores,
    yes_no_answers,
)
from .sheet_marks import read_marks
from .sheet_people import OVERALL, scores_by_person, scores_of_people, unclear_persons
from .sheet_scores import (
    clear_stray_scores,
    is_form_status,
    legend_scale,
    noted_scale,
    odd_score,
    scale_told_of,
    score_of,
    told_scale,
    told_steps,
    without_scale,
)
from .sheet_table import (
    carry_merged,
    ids_by_system,
    ids_by_text,
    rows_by_attribute,
    rows_by_person,
    sheet_table,
    subject_of,
)

Ask = Callable[[str, Sequence[str]], str]
"""Puts a question to the person, who answers with one of the choices."""
Say = Callable[[str], None]
Rows = list[dict[str, str]]
_MESSAGES = TypeAdapter(Annotated[list[SpokenMessage], Field(min_length=1)])
_LEGENDS = 4
"""Sheets beside that of the ratings in which a legend is looked for."""


def read_sheet(
    sheet: Path,
    *,
    say: Say,
    ask: Ask | None = None,
    attributes: Sequence[str] = (),
    named: Sequence[str] = (),
    scales: Sequence[str] = (),
    people: Sequence[str] = (),
    ratings_only: bool = False,
) -> tuple[Rows, SheetColumns]:
    """The rows of a sheet as text, and what its columns seem to hold, corrected by what was `named`.

    Args:
        ask: Without it, a sheet that may be read in two ways is refused.
        people: Who rated, as the names of columns have them.
        ratings_only: Which text is judged does not matter, where ids tell the cases apart.

    Raises:
        VenireError: The sheet may be read in two ways, or in none; the remedy names the option that says how.
    """
    try:
        numbered, beside = _sheet_rows(sheet, say)
    except ValueError as error:
        raise InvalidFile(
            f"{sheet}: {error}", remedy="correct the sheet, and give each column its own name"
        ) from None
    rows = [row for _, row in numbered]
    if not rows:
        raise InvalidFile(
            f"{sheet}: the sheet has no rows", remedy="put one text in each row, below a row of column names"
        )
    marks = read_marks(rows)
    for column, with_scale in marks.items():
        say(f"{column!r} is read as numbers: {with_scale!r}")
    _rename_cells(rows, marks)
    names = list(dict.fromkeys(name for row in rows for name in row))
    if len(names) > MOST_COLUMNS:
        raise too_wide(sheet, len(names))
    columns = guess_columns(names, rows, attributes=attributes)
    for pair in named:
        role, _, column = pair.partition("=")
        if role not in ROLES:
            raise VenireError(f"--column {pair}: no role named {role!r}", remedy=nearest(role, ROLES))
        if column not in columns.roles:
            raise VenireError(f"{sheet}: no column named {column!r}", remedy=nearest(column, names))
        columns = columns.with_role(column, role)  # type: ignore[arg-type]
    doubts = _Doubts(sheet, rows, named, ask, say)
    if not ratings_only or columns.one("id") is None:
        columns = doubts.settle_texts(columns)
    columns = doubts.settle_raters(doubts.settle_words(columns))
    if carried := carry_merged(rows, columns):
        say(
            f"rows without an id and a text are read as further ratings of the case above them ({count_words(carried, 'row')})"
        )
    columns = _with_scales(sheet, columns, rows, scales, beside, say)
    for note in (*_repeated_lines(numbered, columns), *clear_stray_scores(numbered, columns.of("rating"))):
        say(note)
    scores_by_column = {name: [row.get(name, "") for row in rows] for name in columns.of("rating")}
    for name in scores_by_column:
        if (odd := odd_score(name, scores_by_column)) is not None:
            doubts.settle_odd_score(name, odd, numbered)
    if (
        len(columns.of("rating")) > 1
        and columns.one("rater") is None
        and subject_of(rows, columns) is not None
    ):
        rows, columns = rows_by_person(
            rows, columns, {name: (name, OVERALL) for name in columns.of("rating")}
        )
        say(f"each column of scores is read as one rater's: {', '.join(scores_by_column)}")
    if (by_attribute := rows_by_attribute(rows, columns)) is not None:
        rows, columns = by_attribute
        say(
            f"each row is read as one score of one attribute; the attributes are: {', '.join(map(without_scale, columns.of('rating')))}"
        )
    if (by_system := ids_by_system(rows, columns)) is not None:
        rows, columns, telling = by_system
        say(
            f"several texts share an id but differ in {telling!r}, which is now added to each text's id"
            + ("; the shared id is used as the group" if columns.one("group") == "shared id" else "")
        )
    for name, others in ids_by_text(rows, columns).items():
        say(f"several texts have the id {name!r}; the others are read as {', '.join(map(repr, others))}")
    ratings = columns.of("rating") if columns.one("rater") is None else ()
    scores = (
        doubts.named_people(ratings, people) or scores_by_person(ratings) or doubts.settle_people(ratings)
    )
    if scores:
        raters, subjects = (
            ", ".join(dict.fromkeys(without_scale(pair[side]) for pair in scores.values())) for side in (0, 1)
        )
        say(f"{len(scores)} columns are read as people's scores (attributes: {subjects}; people: {raters})")
        rows, columns = rows_by_person(rows, columns, scores)
    if not attributes:
        _check_scales_are_shared(sheet, rows, columns)
    return rows, columns


def _check_scales_are_shared(sheet: Path, rows: Sequence[Mapping[str, str]], columns: SheetColumns) -> None:
    """An error where people's scores of one attribute are on different scales: two are stated, or some go beyond 10 and others do not."""
    rater = columns.one("rater")
    stated: dict[str, str] = {}
    for name in columns.of("rating") if rater else ():
        if (other := stated.setdefault(attribute_name(name), name)) != name:
            raise VenireError(
                f"{sheet}: people's scores of {without_scale(name)!r} are on two scales: {other!r} and {name!r}",
                remedy="write all of them on one scale; if they are of two attributes, give these different names",
            )
    for name in columns.of("rating") if rater else ():
        by_rater: dict[str, list[float]] = {}
        for row in rows:
            if (cell := row.get(name, "")) and (who := row.get(rater or "", "")):
                by_rater.setdefault(who, []).append(float(cell))
        highest = {who: max(scores) for who, scores in by_rater.items() if len(scores) > 2}
        if not noted_scale(name) and min(highest.values(), default=0) <= 10 < max(
            highest.values(), default=0
        ):
            ends = " and ".join(f"{who}'s go up to {most:g}" for who, most in highest.items())
            raise VenireError(
                f"{sheet}: the scores of {name!r} seem to be on different scales: {ends}",
                remedy="write all of them on one scale; if they are on one, write it behind the columns' names, as in Tone (0-100), or give --scale 0-100",
            )


def _repeated_lines(
    numbered: Sequence[tuple[int, Mapping[str, str]]], columns: SheetColumns
) -> Iterator[str]:
    """A note for each row of a named rater that says just what an earlier one says."""
    lines: dict[tuple[str, ...], int] = {}
    for line, row in numbered if columns.one("rater") else ():
        earlier = lines.setdefault(tuple(row.get(name, "") for name in columns.roles), line)
        if earlier != line:
            yield f"line {line} repeats line {earlier} and is counted once"


def sheet_case_ids(
    rows: Sequence[Mapping[str, str]], columns: SheetColumns, *, ratings_only: bool = False
) -> list[str | None]:
    """The id of each row's case; None where a row has no text to judge, or with `ratings_only` neither that nor an id.

    Without a column of ids, rows are cases of their own, unless people rated: then rows that differ in nothing but the person
    and the scores are one case.
    """
    text, id_column = columns.one("output") or "", columns.one("id")
    has_ratings = columns.one("rater") is not None or bool(columns.of("rating"))
    telling_columns = [
        name for name, role in columns.roles.items() if role not in ("rater", "rating", "kept", "left out")
    ]
    numbers: dict[tuple[str, ...], int] = {}
    ids: list[str | None] = []
    for place, row in enumerate(rows):
        name = row.get(id_column, "").strip() if id_column else ""
        if not row.get(text, "").strip() and not (ratings_only and name):
            ids.append(None)
            continue
        alike = tuple(row.get(name, "").strip() for name in telling_columns) if has_ratings else (str(place),)
        ids.append(name or f"case-{numbers.setdefault(alike, len(numbers) + 1)}")
    return ids


def sheet_ratings(
    rows: Sequence[Mapping[str, str]], columns: SheetColumns, *, ratings_only: bool = False
) -> Rows:
    """People's ratings in a sheet: `case`, `rater` and a column for each attribute; those whom the sheet does not name are numbered.

    Raises:
        VenireError: A person rated a case twice, with different scores.
    """
    scores = attribute_names(columns.of("rating"))
    rater = columns.one("rater")
    unnamed = Counter[str]()
    """How often each case was rated by nobody who is named: each time by another."""
    by_rater: dict[tuple[str, str], dict[str, str]] = {}
    for row, case in zip(rows, sheet_case_ids(rows, columns, ratings_only=ratings_only), strict=True):
        if case is None or not scores:
            continue
        rater_name = row.get(rater, "").strip() if rater else ""
        if not rater_name:
            unnamed[case] += 1
            rater_name = f"rater-{unnamed[case]}"
        scores_given = {name: row.get(column, "") for column, name in scores.items()}
        rating = {"case": case, "rater": rater_name} | scores_given
        earlier = by_rater.setdefault((case, rater_name), rating)
        if earlier is not rating and earlier != rating:
            raise VenireError(
                f"{rater_name!r} rated the case {case!r} twice, with different scores",
                remedy="keep one of the two rows, or give the rows different raters or ids",
            )
    return list(by_rater.values())


def rename_columns(columns: SheetColumns, rows: Sequence[dict[str, str]], names: Mapping[str, str]) -> SheetColumns:  # fmt: skip
    _rename_cells(rows, names)
    return replace(columns, roles={names.get(name, name): role for name, role in columns.roles.items()})


def _rename_cells(rows: Sequence[dict[str, str]], names: Mapping[str, str]) -> None:
    for row in rows:
        cells = {names.get(name, name): cell for name, cell in row.items()}
        row.clear()
        row.update(cells)


def _sheet_rows(sheet: Path, say: Say) -> tuple[list[tuple[int, dict[str, str]]], list[list[str]]]:
    """The rows of a person's table as text, with their lines, and the cells of what stands beside it; what stands above its header is said."""
    file, taken = split_sheet(sheet)
    if not (is_workbook(file) or file.suffix.lower() in DELIMITED):
        return [
            (line, {str(name): _cell_text(cell) for name, cell in row.items()})
            for line, row in read_rows(sheet)
        ], []
    raters: tuple[str, ...] = ()
    if is_workbook(file) and not taken:
        from .workbook import rater_sheets

        raters = rater_sheets(file)
    rows: list[tuple[int, dict[str, str]]] = []
    beside = _legends(sheet)
    if raters:
        say(f"the sheets {', '.join(map(repr, raters))} hold the same texts and are read as one rater each")
    for rater in raters or ("",):
        table = sheet_table(
            read_grid(Path(f"{file}#{rater}") if rater else sheet), delimited=not is_workbook(file)
        )
        rows += [(line, {**row, "rater": rater} if rater else row) for line, row in table.rows]
        for note in table.notes:
            say(note)
        beside = table.beside + beside
    return rows, beside


def _legends(sheet: Path) -> list[list[str]]:
    """The rows of narrow sheets beside that of the table."""
    file, taken = split_sheet(sheet)
    if not is_workbook(file):
        return []
    from .workbook import visible_sheets

    others = [name for name in visible_sheets(file) if name != taken] if taken else []
    grids = [read_grid(Path(f"{file}#{name}")) for name in others[:_LEGENDS]]
    return [
        cells for grid in grids for _, line in grid[:50] if 0 < len(cells := list(filter(None, line))) < 4
    ]


def _cell_text(cell: Any) -> str:
    """A cell as text; several notes in one cell, as JSON may have them, are paragraphs, and messages a conversation."""
    if isinstance(cell, list):
        try:
            return conversation_text(_MESSAGES.validate_python(cell))
        except ValidationError:
            return "\n\n".join(map(_cell_text, cell))
    if isinstance(cell, dict):
        return json.dumps(cell, ensure_ascii=False)
    return "" if cell is None else str(cell)


@dataclass(frozen=True, slots=True)
class _Doubts:
    """What a sheet does not tell: asked of a person, where there is one, unless the command line names it; else the sheet is refused."""

    sheet: Path
    rows: Sequence[Mapping[str, str]]
    named: Sequence[str]
    ask: Ask | None
    say: Say

    def settle_texts(self, columns: SheetColumns) -> SheetColumns:
        """The columns with one text that is judged and a role for every other; what only a place tells is said."""
        texts = competing_texts(columns, self.rows)
        if texts and not any(pair.startswith("output=") for pair in self.named):
            error = VenireError(
                f"{self.sheet}: the text to judge could be in the column {' or '.join(map(repr, texts))}",
                remedy=f"say which, and what the other is, such as: --column output={texts[-1]!r} --column source={texts[0]!r} (or kept={texts[0]!r}, "
                "if jurors must not see it)",
            )
            text = self._answer("Which column holds the text to judge?", texts, error)
            columns = columns.with_role(text, "output")
        rivals = [text for text in texts if columns.roles[text] == "kept"]
        for text in dict.fromkeys([*unplaced_texts(columns, self.rows), *rivals]):
            error = VenireError(
                f"{self.sheet}: the column {text!r} could be the source, which jurors see, or something that they must not see",
                remedy=f"say which: --column source={text!r}, --column reference={text!r}, --column kept={text!r} or, if it is the text to judge, "
                f"--column output={text!r}",
            )
            columns = self._with_role(
                columns, text, ("source", "reference", "question", "kept", "output"), error
            )
            if columns.one("output") == text:
                return self.settle_texts(columns)
        for text in texts_by_place(columns, self.rows):
            if f"{columns.roles[text]}={text}" not in self.named:
                self.say(
                    f"{text!r} stands before the judged text and is taken as its {columns.roles[text]}, which jurors see; if they must not, "
                    f"give --column kept={text!r}"
                )
        return columns

    def settle_words(self, columns: SheetColumns) -> SheetColumns:
        """The columns, where none holds scores that nobody was told of: words that may be scores are asked about, others refused."""
        for name in columns.of("kept"):
            if is_form_status(name, cells := [row.get(name, "") for row in self.rows]) and any(cells):
                self.say(
                    f"the column {name!r} is read as REDCap's status of a form, not as scores; if it holds scores, give --column rating={name!r}"
                )
        for name in yes_no_answers(columns, self.rows):
            error = VenireError(
                f"{self.sheet}: the yes and no in {name!r} may be people's scores of the text, or a fact about the case",
                remedy=f"say which: --column rating={name!r} or --column kept={name!r}",
            )
            question = f"Are the yes and no in {name!r} people's scores of the text?"
            if f"kept={name}" not in self.named and self._answer(question, ("yes", "no"), error) == "yes":
                columns = columns.with_role(name, "rating")
        for name in unread_scores(columns, self.rows):
            unread = InvalidFile(
                f"{self.sheet}: the column {name!r} seems to hold scores, but not as numbers from 0 to 10 or from 0 to 100",
                remedy=f"write numbers such as 4; if the column does not hold scores, give --column kept={name!r}",
            )
            question = f"Are the cells of {name!r} people's scores of the text?"
            if f"kept={name}" not in self.named and self._answer(question, ("yes", "no"), unread) == "yes":
                raise unread
        return columns

    def settle_raters(self, columns: SheetColumns) -> SheetColumns:
        """The columns with a role for each that may name who rated."""
        subject = subject_of(self.rows, columns)
        for name in unplaced_people(columns, self.rows):
            error = VenireError(
                f"{self.sheet}: {name!r} may name the people who rated, or something else",
                remedy=f"say which: --column rater={name!r}, --column system={name!r}, --column group={name!r} or --column kept={name!r}",
            )
            if name != subject:
                columns = self._with_role(columns, name, ("rater", "system", "group", "kept"), error)
        return columns

    def settle_odd_score(self, column: str, odd: str, rows: Sequence[tuple[int, dict[str, str]]]) -> None:
        """Blanks a score that alone widens a column's scale, if the person says that it is none."""
        cells = [(line, row) for line, row in rows if row.get(column) == odd]
        others = [float(row[column]) for _, row in rows if row.get(column) not in ("", odd, None)]
        problem = f"line {cells[0][0]}, column {column!r}: {odd} is far from the other scores, which are {min(others):g} to {max(others):g}"
        ends = (
            f"{min(0, int(float(odd)))}-{max(10, int(float(odd)))}"
            if float(odd) > 1
            else f"{odd}-{max(others):g}"
        )
        error = VenireError(
            f"{self.sheet}: {problem}",
            remedy=f"leave the cell empty if it holds no score; if it does, give the scale: --scale {column!r}={ends}",
        )
        if self._answer(f"{problem}. Is {odd} a score?", ("yes", "no"), error) == "no":
            for _, row in cells:
                row[column] = ""

    def named_people(self, ratings: Sequence[str], people: Sequence[str]) -> dict[str, tuple[str, str]]:
        """By column, whose scores it holds and of what, where the command line names the people."""
        scores = scores_of_people(ratings, people)
        for person in people:
            if person not in (rater for rater, _ in scores.values()):
                raise VenireError(
                    f"{self.sheet}: no column of scores names {person!r}", remedy=nearest(person, ratings)
                )
        if unnamed := [name for name in ratings if people and name not in scores]:
            raise VenireError(
                f"{self.sheet}: none of {', '.join(people)} is named by the column {unnamed[0]!r}",
                remedy=f"name whoever rated there with one more --rater, or leave the column out: --column kept={without_scale(unnamed[0])!r}",
            )
        return scores

    def settle_people(self, ratings: Sequence[str]) -> dict[str, tuple[str, str]]:
        """By column, whose scores it holds and of what, where that has to be asked; empty where they are nobody's by name."""
        parts = unclear_persons(ratings)
        if not parts or any(
            f"rating={name}" in self.named or f"rating={without_scale(name)}" in self.named for name in parts
        ):
            return {}
        first, shown = next(iter(parts)), ", ".join(map(repr, list(parts)[:4]))
        if not any(second for _, second in parts.values()):
            problem = f"are {shown} people who rated, or attributes?"
            error = VenireError(
                f"{self.sheet}: {problem}",
                remedy=f"if they are people, give {_rater_options(parts)}; if they are attributes, --column rating={without_scale(first)!r}",
            )
            is_people = self._answer(problem.capitalize(), ("people", "attributes"), error) == "people"
            return {name: (name, OVERALL) for name in parts} if is_people else {}
        error = VenireError(
            f"{self.sheet}: which part of the column names {shown} is the rater's name, and which the attribute?",
            remedy=f"name the people, such as {_rater_options(part for _, part in parts.values())}; if no part is a person, give --column rating={without_scale(first)!r}",
        )
        question = f"Which part of the column names {shown} is the rater's name?"
        side = self._answer(question, ("first", "second", "neither"), error)
        if side == "neither":
            return {}
        return {name: pair if side == "first" else (pair[1], pair[0]) for name, pair in parts.items()}

    def _answer(self, question: str, choices: Sequence[str], error: VenireError) -> str:
        if self.ask is None:
            raise error
        return self.ask(question, choices)

    def _with_role(
        self, columns: SheetColumns, column: str, roles: Sequence[Role], error: VenireError
    ) -> SheetColumns:
        if f"kept={column}" in self.named:
            return columns
        role = self._answer(f"What does the column {column!r} hold?", roles, error)
        return columns.with_role(column, role)  # type: ignore[arg-type]


def _rater_options(people: Iterable[str]) -> str:
    return " ".join(f"--rater {quote(without_scale(person))}" for person in dict.fromkeys(people))


def _with_scales(
    sheet: Path,
    columns: SheetColumns,
    rows: Sequence[dict[str, str]],
    scales: Sequence[str],
    beside: Sequence[Sequence[str]],
    say: Say,
) -> SheetColumns:
    """The columns of scores with the scales that the command line or the sheet tells behind their names."""
    open_scales = [name for name in columns.of("rating") if noted_scale(name) is None]
    lines = [" ".join(cells) for cells in beside]
    ends_by_column = {name: ends for name in open_scales if (ends := scale_told_of(name, lines))}
    open_scales = [name for name in open_scales if name not in ends_by_column]
    told = told_scale(lines) or legend_scale(beside)
    scores = [
        score for row in rows for name in open_scales if (score := score_of(row.get(name, ""))) is not None
    ]
    if told and scores and 4 * sum(told[0] <= score <= told[1] for score in scores) >= 3 * len(scores):
        ends_by_column |= dict.fromkeys(open_scales, told)
    for low, high in dict.fromkeys(ends_by_column.values()):
        say(f"the sheet says that its scale is {low} to {high}")
    for scale in scales:
        column, _, ends_text = scale.rpartition("=")
        numbers = re.fullmatch(r"(\d{1,3})-(\d{1,3})", ends_text.strip())
        if numbers is None or int(numbers[1]) >= int(numbers[2]):
            raise VenireError(
                f"--scale {scale}: not a scale",
                remedy="write its ends, such as 1-4, or a column and its ends",
            )
        if column and column not in columns.of("rating"):
            raise VenireError(
                f"{sheet}: no column of scores named {column!r}", remedy=nearest(column, columns.of("rating"))
            )
        ends_by_column |= dict.fromkeys(
            [column] if column else columns.of("rating"), (int(numbers[1]), int(numbers[2]))
        )
    steps = told_steps(beside)
    words = {
        ends: "".join(f", {step} = {steps[step]}" for step in sorted(steps))
        if steps and ends == (min(steps), max(steps)) else ""
        for ends in ends_by_column.values()
    }  # fmt: skip
    return rename_columns(
        columns,
        rows,
        {
            name: f"{without_scale(name)} ({ends[0]}-{ends[1]}{words[ends]})"
            for name, ends in ends_by_column.items()
        },
    )
