import json

import pytest

from venire.evals.ratings.folds import shared_group_note
from venire.evals.ratings.people import load_ratings
from venire.rubrics.errors import InvalidFile

LONG = "case,rater,attribute,value\nc1,ana,clear,4\nc1,ben,clear,5\nc1,ana,tone,warm\nc1,ben,tone,\n"


def written(tmp_path, text, name="ratings.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_long_csv_types_each_attribute_by_itself(tmp_path):
    table = load_ratings(written(tmp_path, LONG))

    assert table.columns.tolist() == ["case", "rater", "attribute", "value"]
    assert table["value"].tolist() == [4.0, 5.0, "warm"]
    assert table.attrs["blank"] == 1


def test_numbers_throughout_are_a_column_of_floats(tmp_path):
    table = load_ratings(written(tmp_path, LONG.replace("warm", "2").replace("ben,tone,", "ben,tone,3")))

    assert table["value"].dtype == float


def test_jsonl_holds_the_same(tmp_path):
    lines = [
        {"case": 1, "rater": "ana", "attribute": "clear", "value": 4, "round": 1, "rationale": "a\u2028b"},
        {"case": 1, "rater": "ana", "attribute": "clear", "value": 5, "round": 2, "rationale": ""},
        {"case": 2, "rater": "ana", "attribute": "clear", "value": None},
    ]
    text = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    table = load_ratings(written(tmp_path, text, "ratings.jsonl"))

    assert table["case"].tolist() == ["1", "1"]
    assert table["value"].tolist() == [4.0, 5.0]
    assert table["round"].tolist() == [1, 2]
    assert table["rationale"].tolist() == ["a\u2028b", None]
    assert table.attrs["blank"] == 1


def test_wide_csv(tmp_path):
    table = load_ratings(written(tmp_path, "case,rater,clear,tone\nc1,ana,4,3\nc1,ben,,2\n"))

    assert sorted(zip(table["rater"], table["attribute"], table["value"], strict=True)) == [
        ("ana", "clear", 4.0),
        ("ana", "tone", 3.0),
        ("ben", "tone", 2.0),
    ]


def test_a_byte_order_mark_and_quoted_newlines_are_no_trouble(tmp_path):
    text = '\ufeffcase,rater,attribute,value,rationale\nc1,ana,clear,4,"two\nlines"\n'

    assert load_ratings(written(tmp_path, text))["rationale"].tolist() == ["two\nlines"]


@pytest.mark.parametrize(
    "text",
    [
        "case;rater;attribute;value\nc1;ana;clear;4,5\nc2;ana;clear;3,0\n",
        "case\trater\tattribute\tvalue\nc1\tana\tclear\t4,5\nc2\tana\tclear\t3\n",
        'case,rater,attribute,value\nc1,ana,clear,"4,5"\nc2,ana,clear,3\n',
        "case;rater;clear\nc1;ana;\u00a04,5\nc2;ana;3,0\n",
    ],
    ids=["semicolons", "tabs", "quotes", "wide"],
)
def test_decimal_commas_are_numbers_whatever_stands_between_cells(tmp_path, text):
    assert load_ratings(written(tmp_path, text))["value"].tolist() == [4.5, 3.0]


@pytest.mark.parametrize(
    ("text", "name", "problem"),
    [
        ("", "r.csv", "r.csv: no ratings were found"),
        ("case,rater,attribute,value\n", "r.csv", "r.csv: no ratings were found"),
        (
            b"case,rater,attribute,value\nc1,\xc3\xa9,a,1\nc1,\xff,a,1\n",
            "r.csv",
            "r.csv:3: the text is not valid UTF-8",
        ),
        ("case,ratr,attribute,value\nc1,a,b,1\n", "r.csv", "r.csv:1: the column 'rater' is missing"),
        ("case,rater,attribute,value\nc1,a,b\n", "r.csv", "r.csv:2: 3 cells, but the table has 4 columns"),
        (
            "case,rater,attribute,value\nc1,a,b,1\nc1,a,b,2\n",
            "r.csv",
            "r.csv:3: 'a' rated 'b' of case 'c1' on line 2 too",
        ),
        ("case,rater,attribute,value\n,a,b,1\n", "r.csv", "r.csv:2: 'case' is blank"),
        ("case;rater;attribute;value\nc1;a;b;1,5\nc2;a;b;1,250\n", "r.csv", "r.csv:3: '1,250' is ambiguous"),
        ('case,rater,attribute,value\nc1,a,b,"1\n', "r.csv", "not valid CSV"),
        ('{"case": 1,\n', "r.jsonl", "r.jsonl:1: this is not valid JSON"),
        ("[1, 2]\n", "r.jsonl", "r.jsonl:1: each line must be a JSON object"),
        (
            '{"case": 1, "rater": "a", "attribute": "b"}\n',
            "r.jsonl",
            "r.jsonl:1: the column 'value' is missing",
        ),
        (
            '{"case": 1, "rater": "a", "attribute": "b", "value": [1]}\n',
            "r.jsonl",
            "not a single number or word",
        ),
    ],
)
def test_every_mistake_names_the_file_and_the_line(tmp_path, text, name, problem):
    with pytest.raises(InvalidFile) as caught:
        load_ratings(written(tmp_path, text, name))

    assert problem in caught.value.problem
    assert caught.value.remedy


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InvalidFile, match="no such file"):
        load_ratings(tmp_path / "absent.csv")


def test_a_directory_is_not_a_file(tmp_path):
    with pytest.raises(InvalidFile, match="is a directory"):
        load_ratings(tmp_path)


def test_wide_without_an_attribute(tmp_path):
    with pytest.raises(InvalidFile, match="no column of scores"):
        load_ratings(written(tmp_path, "case,rater\nc1,ana\n"))


def test_a_split_that_parts_groups_is_said_part_by_part():
    parts = {"a": "train", "b": "train", "c": "train", "d": "test", "e": "test", "f": "dev"}
    groups = {"a": "g1", "d": "g1", "b": "g2", "e": "g3", "f": "g2"}

    said = shared_group_note(parts, groups, "split")
    assert "1 of the 2 cases of 'test' and 1 of the 1 cases of 'dev'" in said
    assert shared_group_note(parts, {"a": "g1", "b": "g1"}, "split") == ""
    assert shared_group_note({"a": "train"}, groups, "split") == "" == shared_group_note({}, {}, "split")
