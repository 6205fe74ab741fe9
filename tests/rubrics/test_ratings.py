"""Ratings in a table: one a row or one column an attribute, what is blank, given twice or no score, and what is read as a sheet."""

from __future__ import annotations

from pathlib import Path

import pytest

from venire.rubrics.errors import InvalidFile
from venire.rubrics.ratings import Rating, read_ratings


def read(folder: Path, text: str, name: str = "r.csv") -> list[Rating]:
    (folder / name).write_text(text, encoding="utf-8")
    return list(read_ratings(folder / name))


def test_one_rating_a_row_has_a_number_a_word_or_nothing_a_round_and_a_reason(tmp_path: Path) -> None:
    table = """case,rater,attribute,value,round,rationale
c1,ann,x,"4,5",0,'=SUM(1)
c1,ann,x,4,1, so
c1,ann,x,,1,
c1,ben,x,NaN,,
c1,ben,x,,0,
c1,ben,x, good ,,why
c1,ben,y,0,2,
"""
    assert read(tmp_path, table) == [
        Rating("c1", "ann", "x", 4.5, 0, "=SUM(1)"),
        Rating("c1", "ann", "x", 4.0, 1, " so"),
        Rating("c1", "ann", "x", None, 1),
        Rating("c1", "ben", "x", None),
        Rating("c1", "ben", "x", None, 0),
        Rating("c1", "ben", "x", "good", None, "why"),
        Rating("c1", "ben", "y", 0.0, 2),
    ]
    # No spreadsheet has been at a file of JSON: its apostrophe is the person's own.
    line = '{"case": 1, "rater": "ann", "attribute": "x", "value": 3, "rationale": "\'=SUM(1)"}'
    assert read(tmp_path, line, "r.jsonl") == [Rating("1", "ann", "x", 3.0, None, "'=SUM(1)")]


def test_one_column_an_attribute_is_a_rating_in_every_cell_with_the_rows_round_and_reason(
    tmp_path: Path,
) -> None:
    found = read(tmp_path, "rater\tcase\tvalid\ty\tround\trationale\nann\tc1\t4\t\t1\twhy\nben\tc1\t5\tno\t1\t\n", "r.tsv")  # fmt: skip

    assert found == [
        Rating("c1", "ann", "valid", 4.0, 1, "why"),
        Rating("c1", "ann", "y", None, 1, "why"),
        Rating("c1", "ben", "valid", 5.0, 1),
        Rating("c1", "ben", "y", "no", 1),
    ]


@pytest.mark.parametrize(
    ("rounds", "again"), [(("", "0"), True), (("0", ""), True), (("1", "1"), True), (("", "1"), False)]
)
def test_a_rating_given_twice_is_an_error_and_a_blank_round_is_round_0(
    tmp_path: Path, rounds: tuple[str, str], again: bool
) -> None:
    table = "case,rater,attribute,value,round\nc1,ann,y,4,1\nc1,ann,x,4,{}\nc1,ben,x,4,0\nc2,ann,x,4,0\nc1,ann,x,5,{}\n".format(*rounds)  # fmt: skip
    if not again:
        assert len(read(tmp_path, table)) == 5
        return
    with pytest.raises(InvalidFile, match=r"r.csv:6: 'ann' rated 'x' of case 'c1' on line 3 too"):
        read(tmp_path, table)


def test_texts_beside_ratings_are_no_attribute_where_numbers_and_comments_are(tmp_path: Path) -> None:
    def attributes(header: str, row: str) -> set[str]:
        return {each.attribute for each in read(tmp_path, f"case,rater,{header}\nc1,ann,{row}\n")}

    assert attributes("accurate,output", "4,Fine.") == {"accurate"}
    assert attributes("accurate,output", "4,-3.5") == {"accurate", "output"}
    assert attributes("accurate,comment", "4,Fine.") == {"accurate", "comment"}
    assert attributes("accurate,output,round", "4,Fine.,1") == {"accurate", "output"}
    long = "It came from the note that was written on the ward that evening. " * 3
    assert attributes("accurate,remark on it all", f"4,{long}") >= {"accurate"}
    assert attributes("accurate,what", f"4,{long}") == {"accurate"}


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("case,rater,attribute\nc1,ann,x\n", "r.csv:1: the column 'value' is missing"),
        ("case,rater,attribute,valeu\nc1,ann,x,4\n", "r.csv:1: the column 'value' is missing"),
        ("case,attribute,value\nc1,x,4\n", "r.csv:1: the column 'rater' is missing"),
        ("case,rater,attribute,value\nc1,ann,3,4\n", "r.csv:1: it is not clear whether"),
        ("case,rater,round\nc1,ann,1\n", "r.csv:1: the table has no column of scores"),
        ("case,rater,attribute,value\nc1,ann,x,4\n,ben,x,4\n", "r.csv:3: 'case' is blank"),
        ("case,rater,x\nc1,ann,inf\n", "r.csv:2: 'inf' is not a score"),
        ("case,rater,x\nc1,ann,4\nc1,ben,\"1,250\"\n", "r.csv:3: '1,250' is ambiguous"),
        ("case,rater,x,round\nc1,ann,4,first\n", "r.csv:2: round 'first' is not a number"),
        ("case,rater,x\n", "no ratings were found"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_as_ratings_is_said_with_its_line(
    tmp_path: Path, table: str, problem: str
) -> None:
    with pytest.raises(InvalidFile) as refused:
        read(tmp_path, table)
    assert problem in refused.value.problem


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        ('"y": 4', "r.jsonl:3: the column 'x' is missing"),
        ('"x": 4, "y": [1]', r"r.jsonl:3: [1] is not a single number or word"),
        ('"x": true, "y": 4', "r.jsonl:3: True is not a single number or word"),
    ],
)
def test_a_row_of_json_has_every_column_of_the_first_and_single_values(
    tmp_path: Path, second: str, problem: str
) -> None:
    lines = f'{{"case": 1, "rater": "ann", "x": 4, "y": null}}\n\n{{"case": 2, "rater": "ann", {second}}}\n'
    with pytest.raises(InvalidFile) as refused:
        read(tmp_path, lines, "r.jsonl")
    assert problem in refused.value.problem
