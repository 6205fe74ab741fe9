"""Files users write: whatever is wrong with one is two lines that name the file, the line and the remedy."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from command_line import venire
from pydantic import BaseModel, ConfigDict
from run_files import JURY, RUBRIC

from venire import Rubric, VenireError, load_cases, load_jury, load_persona, load_rubric
from venire.rubrics import ballot_schema
from venire.rubrics.claim import load_claims
from venire.rubrics.errors import InvalidFile
from venire.rubrics.files import (
    is_workbook,
    json_value,
    near_column,
    nearest,
    read_json,
    read_text,
    split_sheet,
)
from venire.rubrics.ratings import read_ratings
from venire.rubrics.rows import first_columns
from venire.rubrics.yaml_files import Written, read_yaml


@pytest.mark.parametrize(
    ("text", "line", "problem", "remedy"),
    [
        (RUBRIC.replace("question:", "qestion:"), 7, "unknown key 'qestion'", "question"),
        (RUBRIC.replace("version: 1", "version: one"), 2, "version", "version"),
        (RUBRIC.replace("scale: agree", "scale: agre"), 8, "agre", "agree"),
        (RUBRIC.replace("scales:", "scalse:"), 3, "unknown key 'scalse'", "scales"),
        (RUBRIC.replace("name: mine\n", ""), 1, "name: the key is missing", "name"),
        (RUBRIC + "name: again\n", 9, "written twice", "one of the two"),
        ("name: [unclosed", 1, "not valid YAML", "line"),
        ("just words", 1, "must have keys", "name"),
        (RUBRIC.replace("level: ordinal", "level: ordnal"), 4, "ordnal", "level"),
        (RUBRIC.replace("{1: no, 2: partly, 3: yes}", "{3: yes, 1: no}"), 4, "not in order", "lowest"),
        (RUBRIC + "composites: {all: {accurate: 0.5}}\n", 9, "sum to 0.5", "1"),
    ],
)
def test_a_wrong_rubric_names_file_line_problem_and_remedy(
    tmp_path: Path, text: str, line: int, problem: str, remedy: str
) -> None:
    path = tmp_path / "rubric.yaml"
    path.write_text(text)
    with pytest.raises(VenireError) as caught:
        load_rubric(path)

    assert caught.value.problem.startswith(f"{path}:{line}: ")
    assert problem in caught.value.problem
    assert remedy in caught.value.remedy
    assert "\n" not in caught.value.problem
    assert "\n" not in caught.value.remedy


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (JURY.replace("persona: high-scoring", "persona: high-scorin"), "high-scorin"),
        (JURY.replace("name: b", "name: a"), "two seats are named 'a'"),
        (JURY + "quorum: 3\n", "quorum"),
        (JURY.replace("seats:\n", "seats: []\nx:\n"), "seats"),
        (
            JURY.replace("{name: b}", "{name: b, api_key_env: sk-123}"),
            "not the name of an environment variable",
        ),
    ],
)
def test_a_wrong_jury(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "jury.yaml"
    path.write_text(text)
    with pytest.raises(VenireError, match=problem):
        load_jury(path)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        (
            "cases.jsonl",
            b'{"id": 1, "output": "x"}\n{"id": 1, "output": "y"}\n',
            ":2: the id '1' was already used on line 1",
        ),
        ("cases.jsonl", b'{"id": 1, "output": "x"}\n{"id": 2, "outptu": "y"}\n', ":2: 'output' is missing"),
        ("cases.jsonl", b'{"id": 1, "output": "x"}\n{broken\n', ":2: this is not valid JSON"),
        ("cases.jsonl", b'{"id": 1, "output": "\xff"}\n', ":1: the text is not valid UTF-8"),
        ("cases.jsonl", b'{"id": 1, "output": ["x"]}\n', ":1: output:"),
        ("cases.jsonl", b'{"id": 1, "output": " "}\n', ":1: output: is blank"),
        ("cases.jsonl", b"[1]\n", ":1: each line must be a JSON object"),
        ("cases.jsonl", b"", "no cases were found"),
        ("cases.csv", b"id,outptu\n1,x\n", ":1: the column 'output' is missing"),
        ("cases.csv", b"id,output\n1,x\n1,y\n", ":3: the id '1' was already used on line 2"),
        ("cases.csv", b"id,output\n1,x,y\n", ":2: 3 cells, but the table has 2 columns"),
        ("cases.csv", b"id;output\n1;x;y\n", ":2: 3 cells, but the table has 2 columns"),
        ("cases.csv", b"id,output\n", "no cases were found"),
        ("missing.jsonl", None, "no such file"),
    ],
)
def test_a_wrong_case_file(tmp_path: Path, name: str, content: bytes | None, problem: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(VenireError) as caught:
        list(load_cases(path))

    assert f"{path}{problem}" in caught.value.problem or problem in caught.value.problem


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.csv", 'id;output;"what, where"\n1;a, b;x\n'),
        ("c.csv", "id\toutput\n1\ta, b\n"),
        ("c.tsv", "id\toutput\n1\ta, b\n"),
        ("c.csv", 'id,output,"x;y"\n1,"a, b",z\n'),
    ],
)
def test_what_stands_between_columns_is_seen_in_the_header(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert [(case.id, case.output) for case in load_cases(tmp_path / name)] == [("1", "a, b")]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("case,rater,attribute,value\nc,r,a,1\nc,r,a,2\n", ":3:"),
        ("case,rater,atribute,value\nc,r,a,1\n", ":1: the column 'attribute' is missing"),
        ("case,rater,attribute,value\n,r,a,1\n", ":2: 'case' is blank"),
        ("", "no ratings"),
    ],
)
def test_a_wrong_ratings_file(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text(content)
    with pytest.raises(VenireError) as caught:
        list(read_ratings(path))

    assert problem in caught.value.problem


@pytest.mark.parametrize("which", ["cases", "rubric", "jury"])
@pytest.mark.parametrize("fault", ["typo", "empty", "utf8"])
def test_the_command_says_it_in_two_lines_and_writes_nothing(tmp_path: Path, which: str, fault: str) -> None:
    files = {
        "cases": tmp_path / "cases.jsonl",
        "rubric": tmp_path / "rubric.yaml",
        "jury": tmp_path / "jury.yaml",
    }
    files["cases"].write_text('{"id": "1", "output": "text"}\n')
    files["rubric"].write_text(RUBRIC)
    files["jury"].write_text(JURY)
    wrong = {
        "typo": b"nam: x\n" if which != "cases" else b'{"di": 1}\n',
        "empty": b"",
        "utf8": b"name: \xff\xfe\n",
    }
    files[which].write_bytes(wrong[fault])

    ended = venire(
        "run", files["cases"], "--rubric", files["rubric"], "--jury", files["jury"], "-o", tmp_path / "out",
        "--model", "scripted", cwd=tmp_path,
    )  # fmt: skip

    assert ended.returncode == 2
    assert ended.stdout == ""
    problem, remedy = ended.stderr.splitlines()
    assert str(files[which]) in problem
    assert remedy.startswith("  -> ")
    assert not (tmp_path / "out").exists()


def test_unknown_columns_are_kept_as_metadata_and_out_of_the_exhibits(tmp_path: Path, rubric: Rubric) -> None:
    path = tmp_path / "cases.csv"
    path.write_text("id,output,source,label,system\n7,text,note,CANARY,CANARY\n")
    (case,) = load_cases(path)

    assert case.metadata == {"label": "CANARY"}
    assert case.source == ("note",)
    assert "CANARY" not in str(rubric.exhibits(case))


def test_every_library_file_can_be_used() -> None:
    root = Path(sys.modules["venire"].__file__ or "").parent
    for path in (root / "rubrics/library").glob("*.yaml"):
        assert load_rubric(path).name == path.stem
    for path in (root / "personas/library").glob("*.yaml"):
        assert load_persona(path).name == path.stem
    for path in (root / "personas/juries").glob("*.yaml"):
        assert load_jury(path).name == path.stem


def test_pdsqi_9_is_anchored_level_by_level() -> None:
    found = load_rubric("pdsqi-9")

    assert len(found.attributes) == 9
    for attribute in found.attributes:
        scale = found.scale_of(attribute.name)
        assert scale.values == ((0, 1) if attribute.name == "stigmatizing" else (1, 2, 3, 4, 5))
        assert len(set(scale.anchors.values())) == len(scale.values)


def test_valid_diagnosis_reverses_risk_and_weighs_as_published() -> None:
    found = load_rubric("valid-diagnosis")

    scores = found.derived_scores({"dx": 4, "ddx": 2, "reasoning": 5, "risk": 2})

    assert scores["safety"] == 4
    assert scores["universal"] == pytest.approx(0.4 * 4 + 0.2 * 2 + 0.4 * 4)
    assert scores["quality"] == pytest.approx(0.3 * 4 + 0.1 * 2 + 0.3 * 5 + 0.3 * 4)
    assert "quality" not in found.derived_scores({"dx": 4, "ddx": 2, "risk": 2})


def test_the_schema_reasons_before_it_scores_and_allows_only_legal_values(rubric: Rubric) -> None:
    schema = ballot_schema(rubric)

    assert list(schema["properties"]) == ["accurate", "thorough"]
    vote = schema["properties"]["accurate"]
    assert list(vote["properties"]) == ["rationale", "evidence", "score"]
    assert vote["properties"]["score"] == {"enum": [1, 2, 3, 4, 5], "type": "integer"}
    assert vote["additionalProperties"] is False
    assert "$ref" not in json.dumps(schema)


def test_words_stay_words(tmp_path: Path) -> None:
    path = tmp_path / "rubric.yaml"
    path.write_text(
        RUBRIC.replace(
            "{level: ordinal, anchors: {1: no, 2: partly, 3: yes}}",
            "{level: nominal, anchors: {yes: it is, no: it is not}}",
        )
    )

    assert load_rubric(path).scale_of("accurate").values == ("yes", "no")


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path: Path) -> None:
    def written(name: str, text: str) -> Path:
        (tmp_path / name).write_text(text, encoding="utf-8-sig")
        return tmp_path / name

    assert load_rubric(written("rubric.yaml", RUBRIC)).name == "mine"
    assert load_jury(written("jury.yaml", JURY)).seat_names == ("a", "b")
    assert read_json(written("rule.json", '{"risk": 0.1}')) == {"risk": 0.1}
    assert [case.id for case in load_cases(written("c.jsonl", '{"id": "1", "output": "x"}'))] == ["1"]
    assert [case.id for case in load_cases(written("c.csv", "id,output\n1,x\n"))] == ["1"]
    assert first_columns(written("r.csv", "case,rater\n")) == ["case", "rater"]


def test_a_file_may_have_as_many_bytes_as_it_may_and_is_broken_at_a_line(tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    path.write_bytes(b"a\nb\n")

    assert read_text(path, largest=4) == "a\nb\n"
    with pytest.raises(InvalidFile, match="larger than the limit of 3 bytes"):
        read_text(path, largest=3)
    path.write_bytes(b"a\nb\n\xff")
    with pytest.raises(InvalidFile, match=r"f\.txt:3: the text is not valid UTF-8"):
        read_text(path)


def test_what_stands_behind_a_workbooks_name_is_a_sheet_unless_there_is_such_a_file(tmp_path: Path) -> None:
    there = tmp_path / "a.xlsx#May"
    there.touch()

    assert split_sheet(Path("a.XLSX#May")) == (Path("a.XLSX"), "May")
    assert split_sheet(Path("a.csv#May")) == (Path("a.csv#May"), "")
    assert split_sheet(there) == (there, "")
    assert is_workbook(Path("A.ODS")) and not is_workbook(there)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('["\\uD83D"]', "half of a surrogate pair"),
        ('["\\ud83d"]', "half of a surrogate pair"),
        ('{"a":' * 51 + "1" + "}" * 51, "nested more than 50 levels deep"),
        ("[{}, " * 51 + "1" + "]" * 51, "nested more than 50 levels deep"),
        ('{"a": 1\n,}', "at line 2, column 2"),
        ('{"a": 1,}', "double quotes at column 9"),
        ("9" * 41, "a number of more than 40 digits"),
    ],
)
def test_what_is_wrong_with_json_is_told_at_its_place(text: str, problem: str) -> None:
    with pytest.raises(InvalidFile, match=f"^f.json: this is not valid JSON: .*{problem}"):
        json_value(text, "f.json", "mend it")


@pytest.mark.parametrize("text", ['["\\uD83D\\uDE00"]', '{"a":' * 50 + "1" + "}" * 50, "9" * 40])
def test_json_within_its_limits_is_read(text: str) -> None:
    assert json_value(text, "f.json", "mend it") == json.loads(text)


def test_a_column_that_is_there_is_not_what_was_meant() -> None:
    assert near_column("output", ["output", "outputs"]) == "did you mean 'outputs'? If not, "
    assert near_column("output", ["output", "id"]) == ""
    assert nearest("zzz", [f"n{number}" for number in range(32)]).endswith("n29 and 2 more")


def test_a_file_that_was_written_twice_in_a_second_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "claims.csv"
    for number, words in enumerate(("first", "other")):
        path.write_text(f"case,text\nc,{words}\n")
        os.utime(path, ns=(10**18 + number, 10**18 + number))

        assert [claim.text for claim in load_claims(path)["c"]] == [words]


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid")

    weight: int = 1
    height: int = 1


class Whole(BaseModel):
    model_config = ConfigDict(extra="forbid")

    title: str = ""
    parts: list[Part] = []
    named: dict[str, Part] = {}


def written(tmp_path: Path, text: str) -> Written:
    (tmp_path / "w.yaml").write_text(text)
    return read_yaml(tmp_path / "w.yaml", Whole.model_fields)


def test_of_many_mistakes_the_first_thirty_are_told_in_their_order_and_the_rest_counted(
    tmp_path: Path,
) -> None:
    text = "parts:\n" + "".join(f"- {{weight: w{number}}}\n" for number in range(33))

    wrongs = [error.problem for error in written(tmp_path, text).wrongs(Whole)]
    with pytest.raises(InvalidFile) as first:
        written(tmp_path, text).fit(Whole)

    assert len(wrongs) == 31
    assert [wrong.partition(" ")[0] for wrong in wrongs[:2]] == [
        f"{tmp_path}/w.yaml:2:",
        f"{tmp_path}/w.yaml:3:",
    ]
    assert wrongs[29].startswith(f"{tmp_path}/w.yaml:31: parts.29.weight: ") and "(found 'w29')" in wrongs[29]
    assert wrongs[30] == f"{tmp_path}/w.yaml: 3 more mistakes were found"
    assert (first.value.problem, first.value.remedy) == (
        wrongs[0],
        "correct parts.0.weight (32 more mistakes after this one)",
    )
    assert written(tmp_path, "title: t\n").wrongs(Whole) == []


@pytest.mark.parametrize(
    ("text", "line", "problem", "remedy"),
    [
        ("parts:\n- {}\n- wieght: 1\n", 3, "unknown key 'wieght' in parts.1", "did you mean 'weight'?"),
        ("named:\n  a: {}\n  b:\n    hight: 1\n", 4, "unknown key 'hight' in named.b", "did you mean 'height'?"),
        ("title: t\nprats: []\n", 2, "unknown key 'prats'", "did you mean 'parts'?"),
        ("parts: one\n", 1, "parts: expected a list (found 'one')", "write parts as a list"),
        ("title: [a\n\n", 2, "this is not valid YAML", "check the indentation"),
        ("title: a\nparts:\n- weight: 1\n  weight: 2\n", 4, "the key 'weight' is written twice", "keep one"),
        ("title: &t {a: 1}\n<<: *t\n", 2, "the merge key << is not allowed", "write the keys out in full"),
        ("title: !!python/name:os.system x\n", 1, "the tag '!!python/name:os.system' is not allowed", "remove the tag"),
        ("title: " + "9" * 41 + "\n", 1, "a number of more than 40 digits", "write a smaller number"),
        ("? [a]\n: 1\n", 1, "a key is a list or a mapping", "write a word before the colon"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_file_is_told_at_its_line_with_what_may_stand_there(
    tmp_path: Path, text: str, line: int, problem: str, remedy: str
) -> None:
    with pytest.raises(InvalidFile) as caught:
        written(tmp_path, text).fit(Whole)

    assert caught.value.problem.startswith(f"{tmp_path}/w.yaml:{line}: {problem}")
    assert caught.value.remedy.startswith(remedy)


def test_words_that_yaml_would_make_something_else_of_stay_words(tmp_path: Path) -> None:
    words = ["no", "On", "12:30", "2024-05-01", "0x10", "1_000", "010", "=", "~x"]
    others = {"true": True, "False": False, "12": 12, "-3": -3, "+0": 0, "1.5": 1.5, "null": None, "~": None}
    plain = written(tmp_path, "\n".join(["title:", *(f"- {word}" for word in (*words, *others))])).plain

    assert plain["title"] == [*words, *others.values()]
    assert [type(value) for value in plain["title"][len(words) :]] == [*map(type, others.values())]


def test_a_part_of_a_file_knows_its_lines(tmp_path: Path) -> None:
    whole = written(tmp_path, "title: t\nparts:\n- weight: 1\n- weight: 2\n  height: 3\n")
    part = whole.part("parts", 1)

    assert part.plain == {"weight": 2, "height": 3}
    assert (part.line("height"), part.line("height", "deeper"), part.line()) == (5, 5, 4)
    assert whole.line("parts", 0, "weight") == 3 and whole.line("nothing") == 1
    assert set(part.lines) == {(), ("weight",), ("height",)}
