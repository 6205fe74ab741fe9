"""Sheets of workbooks as cases and ratings, and workbooks made to do harm."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from workbooks import text_rows, write_ods, write_workbook, write_xls, write_xlsb

from venire import VenireError, load_cases
from venire.rubrics import workbook
from venire.rubrics.ratings import read_ratings
from venire.rubrics.rows import read_rows
from venire.rubrics.sheet_table import sheet_table
from venire.rubrics.workbook import Cell, WorkbookSheet, data_sheet, open_sheet, rater_sheets, twin_sheets

TWO_SHEETS = (
    '<sheet name="Old" sheetId="1" state="hidden" r:id="rId1"/><sheet name="New" sheetId="2" r:id="rId2"/>'
)


def rows_of(path: Path) -> list[tuple[int, list[object]]]:
    with open_sheet(path) as sheet:
        return [(number, list(cells)) for number, cells in sheet.rows]


def test_every_kind_of_cell(tmp_path: Path) -> None:
    styles = (
        '<numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/><numFmt numFmtId="165" formatCode="0.0&quot;days&quot;"/>'
        '</numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="20"/></cellXfs>'
    )
    sheet = (
        '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>1</v></c></row>'
        '<row r="3"><c r="A3"><v>3</v></c><c r="B3"><v>2.5</v></c><c r="C3" t="b"><v>1</v></c>'
        '<c r="D3" t="str"><f>A1</f><v>made</v></c><c r="E3" t="e"><v>#N/A</v></c><c r="F3" s="1"><v>45000</v></c>'
        '<c r="G3" s="2"><v>45000.5</v></c><c r="H3" s="3"><v>7</v></c><c r="I3" s="4"><v>0.75</v></c>'
        '<c r="AA3" t="inlineStr"><is><t>far _x0041_</t></is></c></row><row r="4"><c r="A4"/></row>'
    )
    rich = (
        '<si><r><t xml:space="preserve">two </t></r><r><rPr/><t>runs</t></r><rPh><t>read out</t></rPh></si>'
    )

    rows = rows_of(write_workbook(tmp_path / "a.xlsx", sheet, words=["a & b", rich], styles=styles))

    assert [number for number, _ in rows] == [1, 3]
    assert rows[0][1][:3] == ["a & b", None, "two runs"]
    cells = rows[1][1]
    assert cells[:9] == [3, 2.5, True, "made", None, "2023-03-15", "2023-03-15T12:00:00", 7, "18:00:00"]
    assert (len(cells), cells[26]) == (27, "far A")


def test_rows_keep_their_numbers_where_the_first_ones_are_empty(tmp_path: Path) -> None:
    sheet = '<row r="5"><c r="C5" t="str"><v>id</v></c></row><row r="9"><c r="C9"><v>1</v></c></row>'

    assert list(read_rows(write_workbook(tmp_path / "a.xlsx", sheet))) == [(9, {"id": "1"})]


def test_a_cell_that_is_merged_downwards_counts_in_each_of_its_rows(tmp_path: Path) -> None:
    def merged(rows: str, *ranges: str) -> list[list[str | None]]:
        cells = "".join(f'<mergeCell ref="{each}"/>' for each in ranges)
        book = write_workbook(
            tmp_path / "a.xlsx", f"{rows}</sheetData><mergeCells>{cells}</mergeCells><sheetData>"
        )
        with open_sheet(book) as sheet:
            return [[cell if cell is None else str(cell) for cell in cells] for _, cells in sheet.rows]

    table = (["id", "group", "x"], [1, "g", "a"], [2, "", ""], [3, "", "c"])
    assert merged(text_rows(*table), "B2:B3") == [
        ["id", "group", "x"],
        ["1", "g", "a"],
        ["2", "g", None],
        ["3", None, "c"],
    ]
    # With an empty column before it.
    moved = text_rows(*(["", *row] for row in table))
    assert merged(moved, "C2:C4")[2:] == [["2", "g", None], ["3", "g", "c"]]
    # A header of two rows, of which one cell is merged sideways, has each of its cells once.
    header = text_rows(["id", "Ana", ""], ["", "clear", "short"], [1, 4, 5])
    assert merged(header, "A1:A2", "B1:C1")[:2] == [["id", "Ana", None], [None, "clear", "short"]]


def test_cells_merged_sideways_side_by_side_name_their_columns_alone(tmp_path: Path) -> None:
    lines = ["", "clear", "", "kind", "", ""], ["text", "Ana", "Ben", "Ana", "Ben", "read?"], ["Words.", 4, 5, 3, 2, "yes"]  # fmt: skip
    merged = '<mergeCell ref="B1:C1"/><mergeCell ref="D1:E1"/>'
    book = write_workbook(
        tmp_path / "a.xlsx", f"{text_rows(*lines)}</sheetData><mergeCells>{merged}</mergeCells><sheetData>"
    )
    with open_sheet(book) as sheet:
        grid = [(line, [str(cell or "") for cell in cells]) for line, cells in sheet.rows]

    assert grid[0][1] == ["", "clear", "clear", "kind", "kind", ""]
    ((_, row),) = sheet_table(grid).rows
    assert list(row) == ["text", "clear - Ana", "clear - Ben", "kind - Ana", "kind - Ben", "read?"]


def test_every_format_is_read(tmp_path: Path) -> None:
    write_ods(tmp_path / "a.ods", ["id", "output"], ["x", "Étude."])
    write_xlsb(tmp_path / "a.xlsb", ["id", "output"], ["x", "Étude."])
    write_workbook(tmp_path / "a.xlsm", text_rows(["id", "output"], ["x", "Étude."]))

    for name in ("a.ods", "a.xlsb", "a.xlsm"):
        assert [(case.id, case.output) for case in load_cases(tmp_path / name)] == [("x", "Étude.")]
    assert list(read_rows(write_xls(tmp_path / "a.xls"))) == [(2, {"id": "a", "output": "1"})]


def test_a_sheet_is_chosen_by_name(tmp_path: Path) -> None:
    book = write_xls(tmp_path / "a.xls")

    assert list(read_rows(Path(f"{book}#Second"))) == [(2, {"id": "b", "output": "Étude.", "done": "true"})]
    with pytest.raises(
        VenireError, match=r"no sheet named 'Third'\n  -> name one of its sheets: First, Second"
    ):
        list(read_rows(Path(f"{book}#Third")))


def test_the_first_sheet_that_is_shown_is_read(tmp_path: Path) -> None:
    book = write_workbook(tmp_path / "a.xlsx", text_rows(["x"]), sheets=TWO_SHEETS)

    with open_sheet(book) as sheet:
        assert (sheet.name, sheet.visible, list(sheet.rows)) == ("New", ("New",), [(1, ["x"])])


def test_cases_and_ratings_are_read_as_from_a_csv_file(tmp_path: Path) -> None:
    cases = write_workbook(
        tmp_path / "c.xlsx", text_rows(["id", "output", "group"], [1, "Étude.", ""], [2, "B", "g"])
    )
    ratings = write_workbook(
        tmp_path / "r.xlsx",
        text_rows(
            ["case", "rater", "attribute", "value"], [1, "Ana", "clear", 4], [2, "Ana", "clear", "4,5"]
        ),
    )

    assert [(case.id, case.output, case.group) for case in load_cases(cases)] == [
        ("1", "Étude.", None),
        ("2", "B", "g"),
    ]
    assert [(rating.case, rating.value) for rating in read_ratings(ratings)] == [("1", 4.0), ("2", 4.5)]


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ((["id", "text"], [1, "A"]), r"c\.xlsx:1: the column 'output' is missing"),
        ((["id", "output"], [1, "A"], [1, "B"]), r"c\.xlsx:3: the id '1' was already used on line 2"),
        ((["id", "id"], [1, "A"]), "two columns are named 'id'"),
        ((["id", "output"],), "no cases were found"),
        ((), "the column 'id' is missing"),
    ],
)
def test_what_is_wrong_in_a_sheet_is_named_with_its_row(
    tmp_path: Path, rows: tuple[list[object], ...], problem: str
) -> None:
    with pytest.raises(VenireError, match=problem):
        list(load_cases(write_workbook(tmp_path / "c.xlsx", text_rows(*rows))))


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.xlsx", b"\xd0\xcf\x11\xe0 locked", "password"),
        ("a.xlsx", b"id,output\n1,a\n", "not an Excel workbook"),
        ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(4000), "the workbook cannot be read"),
        ("a.xls", b"", "not an Excel workbook"),
        ("a.xlsx", None, "no such file"),
    ],
)
def test_files_that_are_no_workbook(tmp_path: Path, name: str, content: bytes | None, problem: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(VenireError, match=problem):
        list(load_cases(tmp_path / name))


def write_with_part(path: Path, part: str, chunks: Callable[[], list[bytes]], *, times: int = 1) -> Path:
    """A workbook in which one part is made of these bytes, and stands under so many names."""
    plain = write_workbook(path.with_name("plain.xlsx"), text_rows(["id", "output"], [1, "A"]))
    with ZipFile(plain) as book, ZipFile(path, "w", ZIP_DEFLATED, compresslevel=9) as archive:
        for name in book.namelist():
            with archive.open(name, "w", force_zip64=True) as written:
                for chunk in chunks() if name == part else [book.read(name)]:
                    written.write(chunk)
        for number in range(times - 1):
            again = copy(archive.getinfo(part))
            again.filename = f"{number}.xml"
            archive.filelist.append(again)
    return path


SHEET, WORDS = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
ENTITIES = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
LAUGHS = (
    f'<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE x [<!ENTITY e0 "ha">{ENTITIES}]><worksheet xmlns="{MAIN}"><sheetData>'
    '<row r="1"><c r="A1" t="inlineStr"><is><t>&e9;</t></is></c></row></sheetData></worksheet>'
)
HEAD = f'<worksheet xmlns="{MAIN}"><sheetData>'.encode()
FAR = b'<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row></sheetData></worksheet>'
BLANK = b'<row r="%d"/>'

HARMFUL: dict[str, tuple[str, Callable[[], list[bytes]], int, str]] = {
    "entities in UTF-16": (SHEET, lambda: [LAUGHS.encode("utf-16")], 2_000, "cannot be read|the column 'id' is missing"),
    "entities in UTF-8": (SHEET, lambda: [LAUGHS.replace("UTF-16", "UTF-8").encode()], 2_000, "cannot be read"),
    "gigabytes": (WORDS, lambda: [b"<sst><si><t>", *[b"a" * 10**6] * 30], 36_000, "unpacks to more than 256 MB"),
    "much in one part": (WORDS, lambda: [b"<sst><si><t>", *[b"a" * 10**6] * 300], 400_000, "unpacks to more"),
    "nested tags": (SHEET, lambda: [HEAD, b"<a>" * 3_000_000], 100_000, "cannot be read"),
    "nested runs": (SHEET, lambda: [HEAD, b"<row><c><is>", b"<r>" * 3_000_000], 100_000, "cannot be read"),
    "cells far apart": (SHEET, lambda: [HEAD, FAR], 3_000, "takes more memory or time"),
    "a million empty rows": (SHEET, lambda: [HEAD, b"".join(BLANK % number for number in range(1, 1_000_001)), b"</sheetData></worksheet>"], 5_000_000, "the column 'id' is missing"),
}  # fmt: skip
"""By what each is: the part, what is written in it, the bytes of the file at the most, and what is said of it."""


SECONDS = 10
"""It takes less than three of an idle processor."""


@pytest.mark.parametrize("kind", HARMFUL)
def test_a_harmful_workbook_ends_in_two_lines_within_300_megabytes_and_seconds(
    tmp_path: Path, kind: str
) -> None:
    part, chunks, size, problem = HARMFUL[kind]
    book = write_with_part(tmp_path / "b.xlsx", part, chunks, times=100 if kind == "gigabytes" else 1)
    assert book.stat().st_size < size

    message, megabytes, seconds = read_measured(book)

    # Of a sheet in UTF-16 one release of the reader says that it is broken, and the next that it is empty.
    assert re.search(problem, message) and len(message.splitlines()) == 2
    assert megabytes < 300
    assert seconds < SECONDS


def test_a_spreadsheet_whose_cells_are_repeated_a_million_times_is_refused(tmp_path: Path) -> None:
    message, megabytes, seconds = read_measured(write_ods(tmp_path / "b.ods", ["id"], ["x"], repeated=10**6))

    assert "cannot be read" in message or "takes more memory or time" in message
    assert megabytes < 300
    assert seconds < SECONDS


def test_an_archive_that_is_cut_short_or_lies_about_its_sizes_is_refused(tmp_path: Path) -> None:
    whole = write_with_part(tmp_path / "b.xlsx", WORDS, lambda: [b"a" * 10**6]).read_bytes()
    cut = tmp_path / "cut.xlsx"
    cut.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(VenireError, match="not an Excel workbook"):
        list(load_cases(cut))
    lying = tmp_path / "lying.xlsx"
    real, said = (10**6).to_bytes(4, "little"), (10).to_bytes(4, "little")
    assert real in whole
    lying.write_bytes(whole.replace(real, said))
    with pytest.raises(VenireError, match="the workbook cannot be read"):
        list(load_cases(lying))


MEASURED = """
import resource, subprocess, sys
done = subprocess.run([sys.executable, "-c", "from venire.cli import main; main()", *sys.argv[1:]], stderr=subprocess.PIPE, text=True)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(done.returncode, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime)
print(done.stderr, end="")
"""
"""Measures from a small process: a child's peak begins with what its parent holds, which a process of tests may have much of."""


def read_measured(book: Path) -> tuple[str, float, float]:
    """What `venire run` says on stderr as it exits with 2, the megabytes of its largest process, and the seconds of all."""
    options = ["--rubric", "pdsqi-9", "--jury", "lens-single", "--output", str(book.parent / "run")]
    command = [sys.executable, "-c", MEASURED, "run", str(book), *options]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    figures, _, message = printed.partition("\n")
    code, megabytes, seconds = map(float, figures.split())
    assert code == 2, message
    return message, megabytes, seconds


@pytest.mark.skipif(find_spec("pyarrow") is not None, reason="pyarrow is installed")
def test_a_parquet_file_names_the_extra_that_it_needs(tmp_path: Path) -> None:
    (tmp_path / "c.parquet").write_bytes(b"PAR1")
    with pytest.raises(VenireError, match=r"pip install 'venire\[parquet\]'"):
        list(load_cases(tmp_path / "c.parquet"))


@pytest.mark.skipif(find_spec("pyarrow") is None, reason="pyarrow is not installed")
def test_cases_in_a_parquet_file(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"id": [1, 2], "output": ["A", "B"], "source": [["x", "y"], None]})
    pq.write_table(table, tmp_path / "c.parquet")

    found = list(load_cases(tmp_path / "c.parquet"))
    assert [(case.id, case.source) for case in found] == [("1", ("x", "y")), ("2", ())]


FEVER = "The patient was seen on Monday with a fever that had lasted for days."
COUGH = "The cough went away after five days of rest, and no medicine was given."
COVER: list[list[Cell]] = [["About this study"], ["Made in May"]]
SCORED: list[list[Cell]] = [["id", "summary", "clear"], ["1", FEVER, 4], ["2", COUGH, 5]]


@pytest.fixture
def book(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, list[list[Cell]]]], Path]:
    """Makes a workbook of sheets that are in memory."""

    def make(sheets: dict[str, list[list[Cell]]]) -> Path:
        @contextmanager
        def opened(path: Path) -> Iterator[WorkbookSheet]:
            name = str(path).partition("#")[2] or next(iter(sheets))
            yield WorkbookSheet(name, tuple(sheets), iter(list(enumerate(sheets[name], 1))))

        monkeypatch.setattr(workbook, "open_sheet", opened)
        monkeypatch.setattr(workbook, "visible_sheets", lambda path: tuple(sheets))
        return Path("b.xlsx")

    return make


@pytest.mark.parametrize(
    ("sheets", "taken"),
    [
        ({"Cover": COVER, "Data": SCORED}, "Data"),
        # Scores without texts are a summary of those with texts, wherever it stands.
        ({"Means": [["system", "mean", "n"], ["x", 4.5, 2]], "Data": SCORED}, "Data"),
        ({"Means": [["system", "mean", "n"], ["x", 4.5, 2]], "Cover": COVER}, "Means"),
        ({"Cover": COVER, "Texts": [["id", "summary"], ["1", FEVER], ["2", COUGH]]}, "Texts"),
        ({"Cover": COVER, "Notes": [["Nothing"]]}, "Cover"),
    ],
)
def test_the_data_stand_in_the_first_table_with_texts_and_scores(
    book: Callable[[dict[str, list[list[Cell]]]], Path], sheets: dict[str, list[list[Cell]]], taken: str
) -> None:
    path, note = data_sheet(book(sheets))

    assert path == Path(f"b.xlsx#{taken}")
    rest = [name for name in sheets if name != taken]
    assert note.startswith(f"b.xlsx: reading the sheet '{taken}'") and note.endswith(
        f"--sheet: {', '.join(rest)}"
    )


def test_one_sheet_and_a_sheet_for_each_rater_are_read_as_they_are_and_others_alike_are_asked_about(
    book: Callable[[dict[str, list[list[Cell]]]], Path],
) -> None:
    assert data_sheet(book({"Data": SCORED})) == (Path("b.xlsx"), "")
    assert data_sheet(book({"Anna Weber": SCORED, "Ben Cole": SCORED})) == (Path("b.xlsx"), "")
    with pytest.raises(VenireError, match="the sheets 'Week 1', 'Week 2' have the same columns") as error:
        data_sheet(book({"Week 1": SCORED, "Week 2": SCORED}))
    assert "--sheet 'Week 1'" in error.value.remedy


def test_sheets_are_alike_with_the_same_first_row_or_a_share_of_its_cells_of_three_at_least(
    book: Callable[[dict[str, list[list[Cell]]]], Path],
) -> None:
    path = book(
        {
            "a": [["id", "text", "clear", "kind", "note"]],
            "b": [["id", "text", "clear", "other", None]],
            "c": [["id", "text", "x", "y", "z"]],
            "d": [["id", "text", "clear"]],
            "e": [["id", "text", "sound"]],
            "f": [["id", None]],
        }
    )

    assert twin_sheets(path, "a", "abcdef") == ("a",)  # type: ignore[arg-type]
    assert twin_sheets(path, "a", "abcdef", share=0.6) == ("a", "b", "d")  # type: ignore[arg-type]
    assert twin_sheets(path, "d", "de", share=0.6) == ("d",)  # type: ignore[arg-type]
    assert twin_sheets(path, "f", "fa") == ()  # type: ignore[arg-type]


def test_sheets_are_peoples_where_they_hold_the_same_texts_and_no_column_says_who_rated(
    book: Callable[[dict[str, list[list[Cell]]]], Path],
) -> None:
    def sheets_of(*header: str, others: Sequence[Sequence[Cell]] = (), names: str = "Anna Weber,Ben Cole") -> tuple[str, ...]:  # fmt: skip
        one = [["1", FEVER, 4, COUGH], ["2", COUGH, 5, FEVER]]
        two = [
            [*row[:2], 3, *other] for row, other in zip(one, others or [row[3:] for row in one], strict=True)
        ]
        rows = {name: [list(header), *rows] for name, rows in zip(names.split(","), (one, two), strict=True)}
        return rater_sheets(book({name: [row[: len(header)] for row in each] for name, each in rows.items()}))

    people = ("Anna Weber", "Ben Cole")
    assert sheets_of("id", "summary", "clear") == people
    assert sheets_of("id", "summary", "clear", "comment", others=[["It is fine."], ["All of it is fine as it stands."]]) == people  # fmt: skip
    assert sheets_of("id", "summary", "clear", "source", others=[[FEVER * 2], [COUGH * 2]]) == ()
    assert sheets_of("id", "summary", "clear", "rater") == ()
    assert sheets_of("id", "summary", "clear", names="Anna Weber,week 2") == ()
    assert (
        rater_sheets(
            book({"Anna Weber": [["id", "clear"], ["1", 4]], "Ben Cole": [["id", "clear"], ["1", 5]]})
        )
        == ()
    )
    assert rater_sheets(book({"Anna Weber": SCORED})) == ()


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ({"width": 10_000}, None),
        ({"width": 10_001}, "the sheet has more than 10,000 columns"),
        ({"failure": "sheet", "sheets": ["May", "June"]}, "no sheet named 'July'\n  -> name one of its sheets: May, June"),
        ({"failure": "password"}, "the workbook has a password"),
        ({"failure": "broken"}, "the workbook cannot be read"),
    ],
)  # fmt: skip
def test_what_the_reading_process_says_of_a_workbook_is_told(
    header: dict[str, Any], problem: str | None
) -> None:
    if problem is None:
        workbook._check_opened(Path("b.xlsx"), "July", header)
    else:
        with pytest.raises(VenireError, match=problem):
            workbook._check_opened(Path("b.xlsx"), "July", header)


def test_rows_end_where_the_process_did_or_in_an_error_where_it_was_stopped() -> None:
    def rows(status: int) -> list[Any]:
        process: Any = SimpleNamespace(wait=lambda: status)
        return list(workbook._rows(Path("b.xlsx"), iter([["a", ""], ["", ""], ["", 0]]), process))

    assert rows(0) == [(1, ["a", None]), (3, [None, 0])]
    with pytest.raises(VenireError, match="more memory or time to read"):
        rows(-9)
