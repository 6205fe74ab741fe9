"""Numbers as spreadsheets write them, read from a cell."""

from __future__ import annotations

from pathlib import Path

import pytest

from venire.rubrics.errors import InvalidFile
from venire.rubrics.rows import cell_number, read_rows, without_thousands


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
    assert caught.value.problem.startswith(f"r.csv:2: '{number}' could have a decimal comma")
    assert caught.value.remedy == f"write {number.replace(',', '.')} or {number.replace(',', '')}"


@pytest.mark.parametrize(
    ("text", "plain"),
    [("1,250", "1250"), (" 1,000,000.5 ", " 1000000.5 "), ("4,5", "4,5"), ("1250,5", "1250,5"), ("0,125", "0,125")],
)  # fmt: skip
def test_only_commas_between_thousands_are_taken_out(text: str, plain: str) -> None:
    assert without_thousands(text) == plain


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
