"""Tables as spreadsheets write them: what a cell holds, in which encoding, between which marks."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venire.rubrics.errors import InvalidFile
from venire.rubrics.rows import (
    _batch_rows,
    _plain,
    _text,
    _typed_row,
    cell_number,
    csv_cell,
    from_csv_cell,
    read_grid,
    read_rows,
    without_thousands,
)


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        ("4", 4.0),
        ("4,5", 4.5),
        (" 4,5 ", 4.5),
        ("\u00a04,5\u202f", 4.5),
        ("-4,5", -4.5),
        ("+4", 4.0),
        ("\u22121", -1.0),
        ("\u22124,5", -4.5),
        ("4.", 4.0),
        (".5", 0.5),
        (",5", 0.5),
        ("1e3", 1000.0),
        ("4,5E+01", 45.0),
        ("\uff14", 4.0),
        ("0,125", 0.125),
        ("1250,125", 1250.125),
        ("4,3333", 4.3333),
        (4.5, 4.5),
        (1250, 1250.0),
    ],
)
def test_a_number_has_a_decimal_point_or_comma(cell: object, number: float) -> None:
    assert cell_number(cell, "r.csv:2") == number


@pytest.mark.parametrize(
    "cell",
    ["", "good", "1,2,3", "1,250,000", "1, 2", "4,", "1.250,5", "1_2", "4 - good", "80%", "4/5", "5 (best)", None],
)  # fmt: skip
def test_what_is_not_a_number_alone_stays_a_word(cell: object) -> None:
    assert cell_number(cell, "r.csv:2") is None


@pytest.mark.parametrize("cell", ["1,250", "-1,250", "12,500", "4,333", " 100,000 "])
def test_a_comma_before_three_digits_is_not_guessed(cell: str) -> None:
    with pytest.raises(InvalidFile) as caught:
        cell_number(cell, "r.csv:2")

    number = cell.strip()
    assert caught.value.problem.startswith(
        f"r.csv:2: '{number}' is ambiguous: its comma could be a decimal comma"
    )
    assert caught.value.remedy == f"write {number.replace(',', '.')} or {number.replace(',', '')}"


@pytest.mark.parametrize(
    ("text", "plain"),
    [("1,250", "1250"), (" 1,000,000.5 ", " 1000000.5 "), ("4,5", "4,5"), ("1250,5", "1250,5"), ("0,125", "0,125")],
)  # fmt: skip
def test_only_commas_between_thousands_are_taken_out(text: str, plain: str) -> None:
    assert without_thousands(text) == plain


@given(st.text("'=+-@\t\n5a ", max_size=5))
def test_no_text_is_a_formula_in_a_csv_file_and_every_one_comes_back(text: str) -> None:
    written = csv_cell(text)

    assert from_csv_cell(written) == text
    assert not str(written).startswith(("=", "@", "\t", "\n")) or isinstance(cell_number(text, "r"), float)
    assert written == text or written == f"'{text}"


@pytest.mark.parametrize(
    ("value", "cell"),
    [(-1.5, -1.5), ("-1.5", "-1.5"), ("+2e3", "+2e3"), ("-1+1", "'-1+1"), ("'=1", "''=1"), ("it's", "it's"), (None, None)],
)  # fmt: skip
def test_numbers_stay_numbers_in_a_csv_file(value: Any, cell: Any) -> None:
    assert csv_cell(value) == cell


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_no_row_is_lost_in_any_encoding_or_between_any_marks(
    tmp_path: Path, encoding: str, mark: str
) -> None:
    file = tmp_path / "rows.csv"
    # The first lines are the same in UTF-8 and Windows-1252, the third is not.
    rows = [["id", "text"], ["1", "plain"], ["2", "déjà"], ["3", "plain"], ["4", "à"]]
    file.write_bytes("".join(f"{mark.join(row)}\r\n" for row in rows).encode(encoding))

    assert [(line, list(row.values())) for line, row in read_rows(file)] == list(enumerate(rows[1:], 2))
    assert read_grid(file) == list(enumerate(rows, 1))


def test_a_title_above_the_table_does_not_tell_its_marks_and_empty_rows_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text("Ours, and theirs\n\nid;x\n1;2\n;\n2;3\n")

    assert read_grid(tmp_path / "g.csv") == [(1, ["Ours, and theirs"]), (3, ["id", "x"]), (4, ["1", "2"]), (6, ["2", "3"])]  # fmt: skip


def test_lines_that_end_as_on_old_macs_are_lines(tmp_path: Path) -> None:
    file = tmp_path / "cases.csv"
    file.write_bytes(b'id,output\ra,"Two\rlines"\rb,One\r')

    assert [row for _, row in read_rows(file)] == [
        {"id": "a", "output": "Two\rlines"},
        {"id": "b", "output": "One"},
    ]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        (
            "c.jsonl",
            '{"id": "a", "output": "x", "output": "y"}',
            "the key 'output' appears more than once in one object",
        ),
        (
            "c.jsonl",
            '{"id": "a", "metadata": {"k": 1, "k": 2}}',
            "the key 'k' appears more than once in one object",
        ),
        ("c.csv", "id,output,output\na,x,y\n", "two columns are named 'output'"),
    ],
)
def test_what_is_named_twice_is_not_taken_from_the_last(
    tmp_path: Path, name: str, text: str, told: str
) -> None:
    (tmp_path / name).write_text(text)

    with pytest.raises(InvalidFile, match=told):
        list(read_rows(tmp_path / name))


def test_a_table_may_be_longer_than_any_of_its_rows(tmp_path: Path) -> None:
    file = tmp_path / "long.csv"
    file.write_text("id,text\n" + "".join(f"{number},{'x' * 2**20}\n" for number in range(6)))

    assert [(line, row["id"], len(row["text"])) for line, row in read_rows(file)] == [
        (number + 2, str(number), 2**20) for number in range(6)
    ]
    file.write_text('id,text\n1,x\n2,"' + f"{'x' * 2**20}\n" * 5 + '"\n')
    with pytest.raises(InvalidFile, match=r"long\.csv:6: the row has more than 4,194,304 bytes"):
        list(read_rows(file))


@pytest.mark.parametrize("row", ["a", "a,b,c", "a,b,"])
def test_a_row_of_a_csv_file_has_a_cell_for_each_column(tmp_path: Path, row: str) -> None:
    (tmp_path / "r.csv").write_text(f"id,x\na,b\n{row}\n")

    with pytest.raises(
        InvalidFile, match=f"r.csv:3: {row.count(',') + 1} cells, but the table has 2 columns"
    ):
        list(read_rows(tmp_path / "r.csv"))


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Decimal("1.50"), 1.5),
        (date(2024, 5, 1), "2024-05-01"),
        (datetime(2024, 5, 1, 12, 30), "2024-05-01T12:30:00"),
        ("é".encode(), "é"),
        ({"a": [1]}, {"a": [1]}),
        (1 + 2j, "(1+2j)"),
    ],
)
def test_a_value_of_a_table_is_what_json_has_for_it(value: Any, plain: Any) -> None:
    assert _plain(value) == plain and type(_plain(value)) is type(plain)


def test_rows_of_a_table_are_counted_through_its_batches() -> None:
    batches = [
        SimpleNamespace(to_pylist=lambda rows=rows: rows) for rows in ([{"a": 1}, {"a": 2}], [], [{"a": 3}])
    ]

    assert list(_batch_rows(batches)) == [(1, {"a": 1}), (2, {"a": 2}), (3, {"a": 3})]


def test_a_column_of_text_has_texts_or_nothing() -> None:
    typed = _typed_row({"a": 4, "b": None, "c": 4, "d": 4}, {"a": "string", "b": "string", "c": "int64"})

    assert typed == {"a": "4", "b": None, "c": 4}


@pytest.mark.parametrize(
    ("cell", "text"),
    [(20241231235959.0, "20241231235959"), (0.1 + 0.2, "0.3"), (4.0, "4"), (True, "true"), (None, ""), ("x", "x")],
)  # fmt: skip
def test_a_cell_of_a_workbook_is_the_text_that_a_person_sees(cell: Any, text: str) -> None:
    assert _text(cell) == text


def test_a_column_may_stand_in_the_place_of_another(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("id,b\n1,x\n")

    assert [row for _, row in read_rows(tmp_path / "r.csv", required=("id", "a|b|c"))] == [
        {"id": "1", "b": "x"}
    ]
    with pytest.raises(
        InvalidFile, match=r"r.csv:1: the column 'a' is missing(?s:.)*the columns id, a; or so"
    ):
        list(read_rows(tmp_path / "r.csv", required=("id", "a|c"), otherwise="; or so"))
