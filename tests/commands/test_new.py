"""`venire new`: a folder that can be run, from a sheet or from a few questions."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner, Result
from workbooks import text_rows, write_workbook, write_xls

from venire import Rubric, load_cases, load_jury, load_rubric
from venire.cli import app
from venire.commands.own_sheet import _ends_at, _settle_scales
from venire.commands.project_files import Asked, cases_of, rubric_yaml
from venire.commands.starting import _say_unseen
from venire.evals.studies.plan import plan_study
from venire.rubrics.errors import VenireError
from venire.rubrics.sheet import sheet_case_ids, sheet_ratings
from venire.rubrics.sheet_columns import SheetColumns

HEADER = ["Note ID", "Transcript", "AI summary", "Model", "Reviewer", "Clinically useful?", "Comment"]
ROWS = [
    [
        f"n{number}",
        f"What was said {number}.",
        f"Summary {number}.",
        "m1",
        rater,
        1 + (number + shift) % 5,
        "ok",
    ]
    for number in range(6)
    for shift, rater in enumerate(("Ana", "Ben"))
]


def new(*arguments: object, typed: str | None = None) -> Result:
    return CliRunner().invoke(app, ["new", *map(str, arguments)], input=typed, catch_exceptions=True)


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    return write_workbook(tmp_path / "mine.xlsx", text_rows(HEADER, *ROWS))


def test_a_sheet_is_chosen_by_name_and_otherwise_the_first_is_read_and_named(tmp_path: Path) -> None:
    book = write_xls(tmp_path / "two.xls")

    first = new(tmp_path / "a", "--from", book, "--jury", "lens-jury", "--yes")
    second = new(tmp_path / "b", "--from", book, "--sheet", "Second", "--jury", "lens-jury", "--yes")
    third = new(tmp_path / "c", "--from", book, "--sheet", "Third", "--yes")
    none = new(tmp_path / "d", "--sheet", "Third", "--yes")

    assert (
        "two.xls: reading the sheet 'First'; to read another sheet, give its name with --sheet: Second"
        in first.stderr
    )
    assert "--sheet" not in second.stderr
    assert [case.output for case in load_cases(tmp_path / "b" / "cases.csv")] == ["Étude."]
    assert "its sheets: First, Second" in str(third.exception)
    assert "no workbook was given" in str(none.exception)


def test_a_sheet_with_ratings_becomes_a_study_that_can_be_planned(tmp_path: Path, sheet: Path) -> None:
    ended = new(tmp_path / "p", "--from", sheet, "--jury", "lens-jury", "--yes")

    assert ended.exit_code == 0, ended.output
    cases = list(load_cases(tmp_path / "p" / "cases.csv"))
    assert [case.id for case in cases] == [f"n{number}" for number in range(6)]
    assert (cases[0].source, cases[0].system, cases[0].metadata) == (
        ("What was said 0.",),
        "m1",
        {"Comment": "ok"},
    )
    rubric = load_rubric(tmp_path / "p" / "rubric.yaml")
    assert rubric.names == ("clinically_useful",)
    assert load_jury(tmp_path / "p" / "jury.yaml").name == "lens-jury"
    assert "$schema" not in (tmp_path / "p" / "jury.yaml").read_text()
    with (tmp_path / "p" / "ratings.csv").open() as file:
        ratings = list(csv.DictReader(file))
    assert len(ratings) == 12
    assert ratings[1] == {"case": "n0", "rater": "Ben", "clinically_useful": "2"}
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "p").iterdir()} == {0o600}
    assert plan_study(tmp_path / "p" / "study.yaml").study.name == "p"


def test_a_column_is_corrected_by_hand_and_by_option(tmp_path: Path, sheet: Path) -> None:
    asked = new(
        *(tmp_path / "p", "--from", sheet, "--jury", "lens-jury"),
        typed="n\nComment\ngroup\ny\nIs it useful on the ward?\n",
    )
    assert asked.exit_code == 0, asked.output
    assert next(load_cases(tmp_path / "p" / "cases.csv")).group == "ok"
    assert "Is it useful on the ward?" in (tmp_path / "p" / "rubric.yaml").read_text()

    told = new(tmp_path / "q", "--from", sheet, "--jury", "lens-jury", "--column", "group=Comment", "--yes")
    assert told.exit_code == 0, told.output
    assert next(load_cases(tmp_path / "q" / "cases.csv")).group == "ok"


def test_without_a_sheet_a_few_questions_are_asked(tmp_path: Path) -> None:
    ended = new(tmp_path / "p", typed="kind, clear\nIs it kind?\n\nlens-jury\n")

    assert ended.exit_code == 0, ended.output
    assert load_rubric(tmp_path / "p" / "rubric.yaml").names == ("kind", "clear")
    lines = (tmp_path / "p" / "ratings.csv").read_text().splitlines()
    assert lines[:2] == ["case,rater,kind,clear", "example-1,rater-1,,"]
    assert "fill in" in ended.output


def test_a_model_goes_into_the_study(tmp_path: Path) -> None:
    ended = new(tmp_path / "p", "--model", "server/a", "--base-url", "http://127.0.0.1:8000/v1", "--yes")

    assert ended.exit_code == 0, ended.output
    text = (tmp_path / "p" / "study.yaml").read_text()
    assert "model: server/a" in text and "base_url: http://127.0.0.1:8000/v1" in text


def test_rows_without_ids_or_raters_get_some(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("text,score\nOne.,1\nTwo.,5\n,3\nOne.,2\n")

    ended = new(tmp_path / "p", "--from", tmp_path / "s.csv", "--yes")

    assert ended.exit_code == 0, ended.output
    assert [case.id for case in load_cases(tmp_path / "p" / "cases.csv")] == ["case-1", "case-2"]
    rated = (tmp_path / "p" / "ratings.csv").read_text().splitlines()
    assert rated[1:] == ["case-1,rater-1,1", "case-2,rater-1,5", "case-1,rater-2,2"]
    assert "1 row left out, because the column 'text' has no text there" in ended.output


def test_a_sheet_of_replies_as_an_office_keeps_it(tmp_path: Path) -> None:
    sheet = tmp_path / "tickets.csv"
    sheet.write_text(
        "Ticket No.;What was asked;Bot's reply;Which bot?;Received on\n"
        "T-1;When do you open on Sundays?;We open at 11:00 on Sundays.;Marian;2026-01-01\n"
        "T-2;When do you open on Sundays?;We open at 11:00 on Sundays.;Dewey;2026-01-02\n"
        ";;;;\n"
        "T-3;Do you print posters, and how large?;We print up to A3, in colour.;Marian;2026-01-03\n",
        encoding="utf-8-sig",
    )

    ended = new(tmp_path / "p", "--from", sheet, "--yes")

    assert ended.exit_code == 0, ended.output
    cases = list(load_cases(tmp_path / "p" / "cases.csv"))
    assert [case.id for case in cases] == ["T-1", "T-2", "T-3"]
    assert [case.system for case in cases] == ["Marian", "Dewey", "Marian"]
    assert cases[2].question == "Do you print posters, and how large?"
    assert "left out" not in ended.output
    assert "no column holds the source" in ended.output


def test_rows_with_one_text_and_no_ratings_are_cases_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("reply,branch\nThe same text twice.,a\nThe same text twice.,b\n")

    ended = new(tmp_path / "p", "--from", tmp_path / "s.csv", "--yes")

    assert ended.exit_code == 0, ended.output
    assert len(list(load_cases(tmp_path / "p" / "cases.csv"))) == 2


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--from", "no.csv"), "no.csv"),
        (("--from", "empty.csv"), "the sheet has no rows"),
        (("--from", "twice.csv"), "different texts"),
        (("--from", "good.csv", "--column", "group=Nothing"), "no column named 'Nothing'"),
        (("--from", "good.csv", "--column", "gruop=id"), "no role named 'gruop'"),
        (("--jury", "stanses"), "stanses"),
        (("--rubric", "clinicalnote"), "clinicalnote"),
    ],
)
def test_mistakes_are_two_lines_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.csv").write_text("id,output\n")
    (tmp_path / "twice.csv").write_text("id,output,rater\na,One word.,Ana\na,One word too.,Ben\n")
    (tmp_path / "good.csv").write_text("id,output\na,One.\n")

    ended = new("p", *arguments, "--yes")

    assert isinstance(ended.exception, VenireError)
    assert problem in ended.exception.problem
    assert not (tmp_path / "p").exists()


def test_a_folder_with_something_in_it_is_left_alone_and_no_answer_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "mine.txt").write_text("mine")
    assert "not empty" in str(new(tmp_path / "p", "--yes").exception)
    assert "--yes" in str(new(tmp_path / "q", typed="").exception)
    assert not (tmp_path / "q").exists()


def test_attributes_in_any_alphabet_have_names_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(
        "id,output,Précis,正確,明瞭,2nd\na,One.,1,2,3,4\nb,Two.,5,4,3,2\nc,Three.,1,1,1,1\n"
    )

    ended = new(tmp_path / "p", "--from", tmp_path / "s.csv", "--yes")

    assert ended.exit_code == 0, ended.output
    names = load_rubric(tmp_path / "p" / "rubric.yaml").names
    assert names == ("precis", "attribute_2", "attribute_3", "a_2nd")
    assert (tmp_path / "p" / "ratings.csv").read_text().splitlines()[1] == "a,rater-1,1,2,3,4"


def test_several_notes_in_one_cell_are_paragraphs(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text('{"id": 1, "output": "A", "source": ["x", "y"]}\n')

    assert new(tmp_path / "p", "--from", tmp_path / "s.jsonl", "--yes").exit_code == 0
    assert next(load_cases(tmp_path / "p" / "cases.csv")).source == ("x\n\ny",)


def test_messages_in_one_cell_are_a_conversation(tmp_path: Path) -> None:
    said = [
        {"role": "user", "content": "Is it safe?"},
        {"role": "assistant", "content": [{"type": "text", "text": "Of what?"}]},
    ]
    row = {"id": 1, "messages": said, "response": "It is safe.", "source": [{"dose": 5}]}
    (tmp_path / "s.jsonl").write_text(json.dumps(row))

    assert new(tmp_path / "p", "--from", tmp_path / "s.jsonl", "--yes").exit_code == 0
    case = next(load_cases(tmp_path / "p" / "cases.csv"))
    assert case.question == "Turn 1, user:\n    Is it safe?\nTurn 2, assistant:\n    Of what?"
    assert case.source == ('{"dose": 5}',)


def test_a_sheet_with_a_column_for_each_person_becomes_ratings_by_each(tmp_path: Path) -> None:
    rows = ["MRN,Progress notes,AI discharge summary,Dr Lee: accurate,Dr Roy: accurate"]
    rows += [
        f"P{n},Fever 38.{n} on Monday; rest.,Fever of 38.{n} on Monday.,{1 + n % 5},{1 + n % 4}"
        for n in range(6)
    ]
    (tmp_path / "sheet.csv").write_text("\n".join(rows))

    made = tmp_path / "made"
    ended = new(made, "--from", tmp_path / "sheet.csv", "--jury", "lens-jury", "--yes")

    assert ended.exit_code == 0, ended.output
    assert "6 cases, 1 attribute, 12 ratings by 2 people" in ended.output
    assert (made / "ratings.csv").read_text().splitlines()[:3] == [
        "case,rater,accurate",
        "P0,Dr Lee,1",
        "P0,Dr Roy,1",
    ]
    assert (made / "cases.csv").read_text().splitlines()[0] == "id,output,source"


ROLES: dict[str, Any] = {"text": "output", "notes": "source", "more": "source", "who": "rater", "accurate": "rating", "branch": "kept", "x": "left out"}  # fmt: skip


def row(text: str, who: str = "", score: str = "", **cells: str) -> dict[str, str]:
    return {"text": text, "who": who, "accurate": score, "notes": "", "more": "", "branch": "", "x": "", **cells}  # fmt: skip


def test_rows_are_one_case_where_nothing_but_the_person_and_the_scores_differ() -> None:
    columns = SheetColumns(ROLES)
    rows = [
        row("One.", "ann", "4", notes=" n ", more="m", branch="b"),
        row("One.", "bob", "2", notes="n", more="m", branch="c"),
        row(" ", "ann", "3"),
        row("One.", "ann", "1", notes="other"),
    ]
    assert sheet_case_ids(rows, columns) == ["case-1", "case-1", None, "case-2"]
    first, second = cases_of(rows, columns, Path("s.csv"))
    assert first == {"id": "case-1", "output": "One.", "source": "n\n\nm", "branch": "b"}
    assert (second["id"], second["source"]) == ("case-2", "other")
    ratings = sheet_ratings(rows, columns)
    assert ratings == [
        {"case": "case-1", "rater": "ann", "accurate": "4"},
        {"case": "case-1", "rater": "bob", "accurate": "2"},
        {"case": "case-2", "rater": "ann", "accurate": "1"},
    ]
    unnamed = sheet_ratings([row("One.", score="4"), row("One.", score="4"), row("Two.", score="5")], columns)
    assert [(each["case"], each["rater"]) for each in unnamed] == [("case-1", "rater-1"), ("case-1", "rater-2"), ("case-2", "rater-1")]  # fmt: skip
    for second_score in ("4", "3"):
        twice = [row("One.", "ann", "4"), row("One.", "ann", second_score)]
        if second_score == "4":
            assert len(sheet_ratings(twice, columns)) == 1
        else:
            with pytest.raises(VenireError, match="rated the case 'case-1' twice"):
                sheet_ratings(twice, columns)
    named = SheetColumns({**ROLES, "nr": "id"})
    assert sheet_case_ids([row("One.", nr=" 7 "), row("Two.", nr="")], named) == ["7", "case-1"]
    with pytest.raises(VenireError, match="different texts"):
        cases_of([row("One.", nr="7"), row("Two.", nr="7")], named, Path("s.csv"))
    alone = SheetColumns({"text": "output", "id": "kept"})
    assert sheet_case_ids([{"text": "One."}, {"text": "One."}], alone) == ["case-1", "case-2"]
    (kept, _) = cases_of([{"text": "One.", "id": "k"}, {"text": "One."}], alone, Path("s.csv"))
    assert kept["sheet_id"] == "k"
    assert sheet_ratings([{"text": "One."}], alone) == []


@pytest.mark.parametrize(
    ("given", "ends"),
    [
        ({1: 6, 2: 8, 3: 6, 4: 7}, True),
        ({1: 10, 3: 10, 4: 10}, False),
        ({1: 12, 2: 12, 3: 12, 4: 5}, False),
        ({1: 12, 2: 12, 3: 11, 4: 5}, True),
        ({1: 5, 2: 5, 3: 5, 4: 4}, False),
        ({1: 5, 2: 4, 3: 5, 4: 5}, False),
        ({1: 6, 2: 6, 3: 6, 3.5: 6}, False),
    ],
)
def test_a_scale_ends_where_every_step_is_often_given(given: dict[float, int], ends: bool) -> None:
    """A step that nobody gave, or a highest one that is rare, may be one of a longer scale that people avoid."""
    assert _ends_at(max(given), 1, given) is ends


@pytest.mark.parametrize(("top", "number", "refused"), [(4, 24, True), (4, 12, False), (8, 24, False), (5, 24, False)])  # fmt: skip
def test_a_highest_score_that_is_rare_among_many_must_be_said_to_be_the_end_unless_it_is_of_ten(
    top: int, number: int, refused: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    scores = [top, *(1 + place % (top - 1) for place in range(number - 1))]
    rows = [{"text": f"Text {place}.", "score": str(score)} for place, score in enumerate(scores)]
    columns = SheetColumns({"text": "output", "score": "rating"})
    if refused:
        with pytest.raises(VenireError, match="the scale may end there or at 5") as error:
            _settle_scales(Path("s.csv"), columns, rows, yes=True)
        assert "--scale 1-4 or --scale 1-5" in error.value.remedy
    else:
        assert _settle_scales(Path("s.csv"), columns, rows, yes=True).roles == columns.roles
        assert ("the scale is assumed to be" in capsys.readouterr().err) == (top != 5)


def test_the_end_of_a_scale_is_chosen_from_the_highest_score_given_to_the_usual_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    offered: list[str] = []

    def answer(question: str, *, type: click.Choice[str], err: bool) -> str:
        offered.extend(type.choices)
        return type.choices[-1]

    monkeypatch.setattr(click, "prompt", answer)
    rows = [{"text": f"Text {n}.", "score": str(4 if n == 9 else 1 + n % 3)} for n in range(24)]
    columns = _settle_scales(Path("s.csv"), SheetColumns({"text": "output", "score": "rating"}), rows, yes=False)  # fmt: skip

    assert offered == ["4", "5"]
    assert columns.of("rating") == ("score (1-5)",) and rows[9] == {"text": "Text 9.", "score (1-5)": "4"}


def test_only_rows_with_something_in_them_are_said_to_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    columns = SheetColumns(ROLES | {"branch": "id"})
    _say_unseen([row("One."), row("", notes="n"), row(" ")], columns)
    assert "1 row left out" in capsys.readouterr().err
    _say_unseen([row("One."), row("")], columns)
    assert capsys.readouterr().err == ""
    _say_unseen([row("One."), row("")], SheetColumns(ROLES))
    assert "numbered: case-1, case-2" in capsys.readouterr().err


def test_questions_on_the_same_ends_with_other_steps_have_scales_of_their_own() -> None:
    halves, steps = Asked("halves", "?", (0, 10, True), {}), Asked("steps", "?", (0, 10, False), {})
    again = Asked("again", "?", (0, 10, True), {})
    words = Asked("words", "?", (0, 1, False), {0: "wrong", 1: "right"})
    plain = Asked("plain", "?", (0, 1, False), {})
    for order in ((halves, steps, again, words, plain), (plain, words, steps, again, halves)):
        rubric = Rubric.model_validate(yaml.safe_load(rubric_yaml("r", order)))
        assert {name: rubric.scale_of(name).level for name in rubric.names} == {
            "halves": "interval", "steps": "ordinal", "again": "interval", "words": "binary", "plain": "binary"
        }  # fmt: skip
        assert (
            rubric.scale_of("words").anchors == {0: "wrong", 1: "right"} != rubric.scale_of("plain").anchors
        )


def test_a_rubric_of_ones_own_is_asked_about_as_far_as_people_rated_it_with_the_judge_that_fits_the_jury(
    tmp_path: Path, sheet: Path
) -> None:
    scale = {"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}}
    asked = [{"name": name, "question": "Is it?", "scale": "five"} for name in ("tone", "clinically_useful")]
    own = tmp_path / "own.yaml"
    own.write_text(
        yaml.safe_dump({"name": "own", "version": 1, "scales": {"five": scale}, "attributes": asked})
    )
    ended = new(tmp_path / "a", "--from", sheet, "--rubric", own, "--jury", "lens-jury", "--model", "server/m", "--base-url", "http://h/v1", "--yes")  # fmt: skip
    assert ended.exit_code == 0, (ended.output, ended.exception)
    study = yaml.safe_load((tmp_path / "a/study.yaml").read_text())

    assert (study["attributes"], study["model"], study["base_url"]) == (["clinically_useful"], "server/m", "http://h/v1")  # fmt: skip
    assert (tmp_path / "a/rubric.yaml").read_text() == own.read_text()
    assert load_jury(tmp_path / "a/single.yaml").name == load_jury("lens-single").name
    assert "12 ratings by 2 people" in ended.stdout and "fill in" not in ended.stdout
    blank = new(tmp_path / "b", "--rubric", own, "--jury", "single", "--model", "server/m", "--yes")
    study = yaml.safe_load((tmp_path / "b/study.yaml").read_text())
    assert study["attributes"] == ["tone", "clinically_useful"] and "base_url" not in study
    assert load_jury(tmp_path / "b/single.yaml").name == load_jury("single").name
    assert (
        "0 ratings yet" in blank.stdout and "1. fill in" in blank.stdout and "3. venire study" in blank.stdout
    )
