"""Excel sheets as cases and ratings."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from workbooks import text_rows, write_workbook

from venire import VenireError, load_cases
from venire.rubrics.ratings import read_ratings
from venire.rubrics.workbook import sheet_rows


def test_every_kind_of_cell(tmp_path: Path) -> None:
    styles = (
        '<numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/><numFmt numFmtId="165" formatCode="0.0&quot;days&quot;"/>'
        '</numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/></cellXfs>'
    )
    sheet = (
        '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>1</v></c></row>'
        '<row r="3"><c r="A3"><v>3</v></c><c r="B3"><v>2.5</v></c><c r="C3" t="b"><v>1</v></c>'
        '<c r="D3" t="str"><f>A1</f><v>made</v></c><c r="E3" t="e"><v>#N/A</v></c><c r="F3" s="1"><v>45000</v></c>'
        '<c r="G3" s="2"><v>45000.5</v></c><c r="H3" s="3"><v>7</v></c>'
        '<c r="AA3" t="inlineStr"><is><t>far _x0041_</t></is></c></row><row r="4"><c r="A4"/></row>'
    )
    rich = "<si><r><t>two </t></r><r><rPr/><t>runs</t></r><rPh><t>read out</t></rPh></si>"

    rows = list(sheet_rows(write_workbook(tmp_path / "a.xlsx", sheet, words=["a & b", rich], styles=styles)))

    assert rows[0] == (1, ["a & b", None, "two runs"])
    number, cells = rows[1]
    assert (number, len(rows)) == (3, 2)
    assert cells[:8] == [3, 2.5, True, "made", None, "2023-03-15", "2023-03-15T12:00:00", 7]
    assert (len(cells), cells[26]) == (27, "far A")


def test_the_first_sheet_that_is_shown_is_read(tmp_path: Path) -> None:
    sheets = (
        '<sheet name="A" sheetId="1" state="hidden" r:id="rId9"/><sheet name="B" sheetId="2" r:id="rId2"/>'
    )
    assert list(sheet_rows(write_workbook(tmp_path / "a.xlsx", text_rows(["x"]), sheets=sheets))) == [
        (1, ["x"])
    ]


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
        ((["id", "text"], [1, "A"]), r"c\.xlsx:1: no column 'output'"),
        ((["id", "output"], [1, "A"], [1, "B"]), r"c\.xlsx:3: the id '1' was used on line 2"),
        ((["id", "id"], [1, "A"]), "two columns are named 'id'"),
        ((["id", "output"],), "no cases in it"),
        ((), "no column 'id'"),
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
        ("a.xlsx", b"not a zip", "not an Excel workbook"),
        ("a.xls", b"", "an old Excel file"),
        ("a.xlsx", None, "No such file"),
    ],
)
def test_files_that_are_no_workbook(tmp_path: Path, name: str, content: bytes | None, problem: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(VenireError, match=problem):
        list(load_cases(tmp_path / name))


def test_a_workbook_that_unpacks_to_too_much_or_has_entities_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bomb = write_workbook(tmp_path / "b.xlsx", text_rows(["id", "output"]), words=["<si><t>&a;</t></si>"])
    with pytest.raises(VenireError, match="cannot be read"):
        list(load_cases(bomb))
    doctype = write_workbook(tmp_path / "d.xlsx", "</sheetData></worksheet><!DOCTYPE a><a><b>")
    with pytest.raises(VenireError, match="cannot be read"):
        list(load_cases(doctype))
    monkeypatch.setattr("venire.rubrics.workbook.LARGEST_PART", 100)
    with pytest.raises(VenireError, match="unpacks to more than"):
        list(load_cases(write_workbook(tmp_path / "c.xlsx", text_rows(["id", "output"]))))


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
