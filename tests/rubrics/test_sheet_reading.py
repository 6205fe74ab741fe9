"""What people's own sheets say: which cells are scores and on which scale, where the table stands, whose score it is, what each column holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from venire.rubrics.errors import InvalidFile
from venire.rubrics.ratings import Rating, read_ratings
from venire.rubrics.sheet_columns import (
    SheetColumns,
    attribute_names,
    competing_texts,
    guess_columns,
    unplaced_texts,
    unread_scores,
)
from venire.rubrics.sheet_people import OVERALL, scores_by_person, unclear_persons
from venire.rubrics.sheet_scores import (
    Bounds,
    clear_stray_scores,
    doubtful_scales,
    is_form_status,
    is_scores,
    noted_scale,
    odd_score,
    scale_bounds,
    scales_of,
    score_of,
    without_aggregates,
    without_scale,
)
from venire.rubrics.sheet_table import (
    carry_merged,
    ids_by_system,
    rows_by_attribute,
    rows_by_person,
    sheet_table,
)

LONG = "The patient has had a fever since Monday"


@pytest.mark.parametrize(
    ("cell", "score"),
    [
        ("4", 4), ("4.5", 4.5), ("4,5", 4.5), ("0", 0), ("10", 10), ("11", None), ("-1", None), ("4 - good", 4),
        ("4: good", 4), ("4 (good)", 4), ("4-5", None), ("4-May", None), ("5 - abr", None), ("3-mars 2024", None), ("4 - decent", 4), ("4-maybe", 4), ("4 5", None), ("3*", None), ("", None), ("four", None),
        ("yes", 1), ("No", 0), ("Ja", 1), ("nein", 0), ("Sí", 1), ("80%", None), ("1,250", None), ("1234", None),
    ],
)  # fmt: skip
def test_a_score_is_a_small_number_alone_or_before_its_label(cell: str, score: float | None) -> None:
    assert score_of(cell) == score


@pytest.mark.parametrize(("cell", "score"), [("80%", 80), ("100", 100), ("101", None), ("11", 11)])
def test_a_percentage_is_a_score_only_on_a_scale_to_a_hundred(cell: str, score: float | None) -> None:
    assert score_of(cell, 100) == score


@pytest.mark.parametrize(
    ("column", "name", "ends"),
    [
        ("Clarity (1-5)", "Clarity", (1, 5)),
        ("Clarity [0 to 10]", "Clarity", (0, 10)),
        ("Harm (0 = none, 3 = severe)", "Harm", (0, 3)),
        ("Harm (3 = severe, 0 = none, see page 12)", "Harm", (0, 3)),
        ("Safe (y/n)", "Safe", None),
        ("Share (%)", "Share", None),
        ("Clarity", "Clarity", None),
        ("Clarity (Smith)", "Clarity (Smith)", None),
        ("(1-5)", "(1-5)", None),
    ],
)
def test_a_scale_may_stand_behind_a_name(column: str, name: str, ends: tuple[int, int] | None) -> None:
    assert (without_scale(column), noted_scale(column)) == (name, ends)


@pytest.mark.parametrize(
    ("column", "cells", "bounds"),
    [
        ("x", ["1", "5"], (1, 5, False)),
        ("x", ["1", "3"], (1, 5, False)),
        ("x", ["2", "6"], (1, 7, False)),
        ("x", ["1", "8"], (1, 10, False)),
        ("x", ["0", "1"], (0, 1, False)),
        ("x", ["1", "1"], (0, 1, False)),
        ("x", ["0.2", "1"], (0, 1, True)),
        ("x", ["0", "3"], (0, 3, False)),
        ("x", ["0", "2.5"], (0, 3, False)),
        ("x", ["0", "5"], (0, 5, False)),
        ("x", ["0", "6"], (0, 10, False)),
        ("x", ["1", "10"], (1, 10, False)),
        ("x", ["1", "11"], (0, 100, True)),
        ("x", [], (1, 5, False)),
        ("x (0-10)", ["1"], (0, 10, False)),
        ("x (0-11)", ["1"], (0, 11, True)),
        ("x (1-7)", ["1", "3"], (1, 7, False)),
    ],
)
def test_the_scale_of_a_column_is_as_it_says_or_the_smallest_usual_one(
    column: str, cells: list[str], bounds: tuple[int, int, bool]
) -> None:
    assert scale_bounds(column, cells) == Bounds(*bounds)


@pytest.mark.parametrize(
    ("columns", "last"),
    [
        ({"a": ["1", "7"], "x": ["2", "4"]}, (1, 7)),
        ({"a": ["1", "5"], "b": ["1", "7"], "x": ["2", "4"]}, (1, 5)),
        ({"a": ["1", "5"], "b": ["1", "7"], "x": ["2", "6"]}, (1, 7)),
        ({"a": ["1", "5"], "x (1-7)": ["2", "3"]}, (1, 7)),
        ({"a": ["0", "9"], "x": ["2", "10"]}, (0, 10)),
        ({"a": ["0", "9"], "x (1-10)": ["2", "10"]}, (1, 10)),
        ({"a": ["1", "7"], "x": ["2", "5"]}, (1, 5)),
        ({"a": ["0", "3"], "x": ["2", "4"]}, (1, 5)),
        ({"a": ["1", "7"], "x": ["0.5", "3.5"]}, (0, 4)),
        ({"a": ["20", "90"], "x": ["2", "4"]}, (1, 5)),
    ],
)
def test_only_a_scale_that_nothing_states_or_reaches_is_taken_from_another_column(
    columns: dict[str, list[str]], last: tuple[int, int]
) -> None:
    *_, found = scales_of(columns).values()

    assert found == Bounds(*last)


def test_a_scale_is_doubtful_where_no_column_states_or_reaches_its_end() -> None:
    assert doubtful_scales({"a": ["2", "4"], "b": ["3", ""]}) == [(("a", "b"), Bounds(1, 5), 4.0)]
    assert doubtful_scales({"a": ["2", "4"], "b": ["3", "5"]}) == []
    assert doubtful_scales({"a (1-5)": ["2", "4"]}) == []


@pytest.mark.parametrize(
    ("column", "cells", "scored"),
    [
        ("x", ["4", "3", "2"], True),
        ("x", ["4", "4", "4"], False),
        ("accurate", ["4", "4", "4"], True),
        # A few may be missing, or no score.
        ("x", ["4", "n/a", "2", "-99"], True),
        ("x", ["4", "3*", "2", "1"], True),
        ("x", ["4", "3*", "2?", "1"], False),
        ("x", ["4", "a", "b", "c"], False),
        ("x", ["yes", "no"], False),
        ("safe", ["yes", "no"], True),
        ("age", ["4", "3"], False),
        ("BLEU", ["0.4", "0.3"], False),
        ("quality", ["40", "80", "70"], True),
        ("x", ["40", "80", "70"], False),
        ("quality", ["4", "8", "70"], True),
        ("x (0-100)", ["40", "80", "70"], True),
    ],
)
def test_scores_are_known_by_their_cells_and_by_their_name(
    column: str, cells: list[str], scored: bool
) -> None:
    assert is_scores(column, cells) is scored


def test_a_score_that_alone_widens_its_scale_may_be_a_code() -> None:
    usual = ["1", "2", "3", "4", "5", "4", "3", "2"]

    def odd(*more: str, others: list[str] | None = None) -> str | None:
        return odd_score("x", {"x": [*usual, *more], "y": others or usual})

    assert odd("9") == "9"
    assert odd("9", "9") == "9", "far from the rest, however often"
    assert odd("0") == "0"
    assert odd("0.5") is None and odd("7.5") is None, "no code has half a point"
    assert odd("7", "7") is None, "near the rest, and not alone"
    assert odd("9", others=[*usual, "8"]) is None, "another column has such scores too"
    assert odd("5") is None
    assert odd_score("x", {"x": ["1", "2", "3", "9"]}) is None, "among so few, nothing is odd"
    assert odd_score("x (1-9)", {"x (1-9)": [*usual, "9"]}) is None


def test_cells_that_hold_no_score_are_blanked_and_told_with_their_lines() -> None:
    texts = ["1", "n/a", " 0 ", "6", "5", "", "4-5"]
    rows = [(line, {"Clarity (1-5)": cell, "x": cell}) for line, cell in enumerate(texts, 2)]
    notes = clear_stray_scores(rows, ["Clarity (1-5)", "x"])

    assert [row["Clarity (1-5)"] for _, row in rows] == ["1", "", "", "", "5", "", ""]
    assert [row["x"] for _, row in rows] == ["1", "", "0", "6", "5", "", ""]
    assert [note.split(",")[0] for note in notes] == [
        "line 3", "line 4", "line 5", "line 8", "'Clarity (1-5)': 2 of 6 scores can be used",
        "line 3", "line 8", "'x': 4 of 6 scores can be used",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("column", "cells", "status"),
    [
        ("notes_complete", ["0", "2", ""], True),
        ("Complete?", ["Complete", "Incomplete"], True),
        ("notes_complete", ["0", "5"], False),
        ("complete", ["0", "1"], False),
    ],
)
def test_a_forms_own_state_is_no_score(column: str, cells: list[str], status: bool) -> None:
    assert is_form_status(column, cells) is status


def grid(*rows: str, first: int = 1) -> list[tuple[int, list[str]]]:
    """The rows with their lines; an empty one is left out, as the reader does."""
    return [(line, row.split("|")) for line, row in enumerate(rows, first) if row]


def test_the_table_begins_at_its_header_and_ends_before_its_totals() -> None:
    rows, notes, beside = sheet_table(
        grid("Our trial", "", "id|text|x|", "1|one|4|", "2|two|3|", "Mean||3.5|", "total|||7")
    )

    assert rows == [(4, {"id": "1", "text": "one", "x": "4"}), (5, {"id": "2", "text": "two", "x": "3"})]
    assert [" ".join(note.split()[:2]) for note in notes] == ["line 1", "line 6", "line 7"]
    assert beside == [["Our trial"]]
    assert len(sheet_table(grid("id|text|x", "1|one|4", "total|a text|3"))[0]) == 2, (
        "a case, whatever its name"
    )


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        (("id|Smith||Jones|", "|tone|style|tone|style", "1|4|5|3|2", "2|1|2|3|4"), ["id", "Smith - tone", "Smith - style", "Jones - tone", "Jones - style"]),
        (("|Smith||Jones|", "id|x|y|x|y", "1|4|5|3|2", "2|1|2|3|4"), ["id", "Smith - x", "Smith - y", "Jones - x", "Jones - y"]),
        # A row below the header that is no part of it.
        (("id|x|y", "1|4|5", "2|1|2"), ["id", "x", "y"]),
        (("id||y", "1|one|5", "2|two|2"), ["id", "column 2", "y"]),
    ],
)  # fmt: skip
def test_a_header_may_have_two_rows(rows: tuple[str, ...], columns: list[str]) -> None:
    table, *_ = sheet_table(grid(*rows))

    assert list(table[0][1]) == columns
    assert [row[columns[0]] for _, row in table] == ["1", "2"]


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (("id|x|x", "1|4|5"), "two columns are named 'x'"),
        (("id|output", "1|one", "", "id|output", "2|two"), "line 4: a second table"),
        (("id|x", "1|4|5"), "line 2: 3 cells under 2 columns"),
    ],
)
def test_what_is_no_one_table_is_refused(rows: tuple[str, ...], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        sheet_table(grid(*rows), delimited=True)


def test_qualtrics_own_rows_are_passed_over() -> None:
    rows, notes, beside = sheet_table(
        grid("Q1|Q2", "How clear?|Who?", '{"ImportId":"a"}|{"ImportId":"b"}', "4|Ana")
    )

    assert rows == [(4, {"Q1": "4", "Q2": "Ana"})]
    assert (notes[0].startswith("lines 2 and 3 are skipped"), beside) == (True, [])


def columns_of(**roles: Any) -> SheetColumns:
    return SheetColumns({name.replace("_", " "): role for name, role in roles.items()})


def test_columns_by_person_become_rows_by_person() -> None:
    columns = columns_of(id="id", Ana_x="rating", Ana_y="rating", Ben_x="rating")
    scores = {"Ana x": ("Ana", "x"), "Ana y": ("Ana", "y"), "Ben x": ("Ben", "x")}
    rows, made = rows_by_person([{"id": "1", "Ana x": "4", "Ana y": "5", "Ben x": "3"}], columns, scores)

    assert rows == [{"id": "1", "rater": "Ana", "x": "4", "y": "5"}, {"id": "1", "rater": "Ben", "x": "3"}]
    assert made.roles == {"id": "id", "rater": "rater", "x": "rating", "y": "rating"}


def test_rows_by_attribute_become_one_row_a_case_and_person() -> None:
    columns = columns_of(id="id", rater="rater", criterion="kept", score="rating")

    def made(*cells: str) -> Any:
        names = ("id", "rater", "criterion", "score")
        return rows_by_attribute([dict(zip(names, each.split("|"), strict=True)) for each in cells], columns)

    rows, roles = made("1|Ana|x|4", "1|Ana|y|5", "1|Ben|x|3", "2|Ana|y|2")
    assert rows == [
        {"x": "4", "y": "5", "id": "1", "rater": "Ana"},
        {"x": "3", "y": "", "id": "1", "rater": "Ben"},
        {"x": "", "y": "2", "id": "2", "rater": "Ana"},
    ]
    assert roles.of("rating") == ("x", "y") and "criterion" not in roles.roles
    assert made("1|Ana|x|4", "1|Ana|x|5") is None, "one attribute twice"
    assert made("1|Ana|x|4", "2|Ana|x|5") is None, "no row is joined to another"
    assert made("1|Ana||4", "1|Ana|y|5") is None


def test_systems_that_share_ids_get_some_of_their_own() -> None:
    columns = columns_of(id="id", system="system", text="output")

    def made(*cells: str) -> Any:
        return ids_by_system([dict(zip(("id", "system", "text"), each.split("|"), strict=True)) for each in cells], columns)  # fmt: skip

    rows, roles, _ = made("1|a|one", "1|b|two", "2|a|three")
    assert [(row["id"], row["shared id"]) for row in rows] == [("1-a", "1"), ("1-b", "1"), ("2-a", "2")]
    assert roles.one("group") == "shared id"
    assert made("1|a|one", "2|b|two") is None, "ids tell the texts apart"
    assert made("1|a|one", "1|b|two", "1|b|three") is None, "system and id do not"
    assert ids_by_system([], columns_of(id="id", text="output")) is None


def test_merged_cells_are_those_of_the_row_above_where_only_ratings_stand() -> None:
    columns = columns_of(id="id", text="output", group="group", rater="rater", x="rating", note="kept")
    rows = [
        {"id": "1", "text": "one", "group": "g", "rater": "Ana", "x": "4", "note": "n"},
        {"id": "", "text": "", "group": "", "rater": "Ben", "x": "3", "note": ""},
        {"id": "", "text": "", "group": "", "rater": "Eve", "x": "2", "note": ""},
        {"id": "2", "text": "", "group": "", "rater": "Ana", "x": "5", "note": ""},
        {"id": "3", "text": "three", "group": "h", "rater": "Ana", "x": "5", "note": ""},
        {"id": "", "text": "", "group": "", "rater": "", "x": "", "note": "later"},
    ]

    assert carry_merged(rows, columns) == 2
    assert [(r["id"], r["text"], r["group"], r["note"]) for r in rows] == [
        ("1", "one", "g", "n"), ("1", "one", "g", ""), ("1", "one", "g", ""), ("2", "", "", ""), ("3", "three", "h", ""),
        ("", "", "", "later"),
    ]  # fmt: skip
    assert carry_merged(rows, columns_of(text="output", x="rating")) == 0, "nothing tells rows apart"


@pytest.mark.parametrize(
    ("columns", "whose"),
    [
        (["Dr Lee: accurate", "Dr Roy: accurate"], {"Dr Lee": "accurate", "Dr Roy": "accurate"}),
        (["accurate (Rater 1)", "accurate (Rater 2)"], {"Rater 1": "accurate", "Rater 2": "accurate"}),
        (["accurate - ana", "accurate - ben"], {"ana": "accurate", "ben": "accurate"}),
        (["ana: accurate", "ana: safe", "ben: accurate", "ben: safe"], {"ana": "safe", "ben": "safe"}),
        (["accurate_r1 (1-5)", "accurate_r2 (1-5)"], {"r1": "accurate (1-5)", "r2": "accurate (1-5)"}),
        (["Dr Lee", "Dr Roy", "Mean"], {"Dr Lee": OVERALL, "Dr Roy": OVERALL}),
        (["accurate - ana", "accurate - ben", "accurate - mean"], {"ana": "accurate", "ben": "accurate"}),
        (["ana: accurate", "ana: safe", "ben: accurate"], {"ana": "safe", "ben": "accurate"}),
        (["Dr. Lee: x", "Dr. Roy: x", "Dr. Lee: y"], {"Dr. Lee": "y", "Dr. Roy": "x"}),
        (["Correct? (y/n) JM", "Correct? (y/n) PK"], {"JM": "Correct? (y/n)", "PK": "Correct? (y/n)"}),
        # No two persons, or it cannot be told.
        (["ana: accurate", "ana: safe"], {}),
        (["ana_x", "ana_y", "ben_x", "ben_y"], {}),
        (["accurate", "safe: for patients"], {}),
        (["accurate - clear", "accurate - safe"], {}),
    ],
)
def test_columns_by_person_are_told_where_it_is_plain(columns: list[str], whose: dict[str, str]) -> None:
    found = scores_by_person(columns)

    assert dict(found.values()) == whose
    assert len(found) in (0, len(without_aggregates(columns)))


@pytest.mark.parametrize(
    ("columns", "asked"),
    [
        (["alpha - north", "alpha - south", "beta - north", "beta - south"], 4),
        (["Lee", "Roy"], 2),
        (["Accuracy Lee", "Accuracy Roy"], 2),
        (["accuracy1", "accuracy2"], 2),
        (["Accuracy", "Fluency"], 0),
        (["accurate", "safe"], 0),
    ],
)
def test_columns_that_may_be_a_persons_are_asked_about(columns: list[str], asked: int) -> None:
    assert len(unclear_persons(columns)) == asked


def table(columns: str, *rows: str) -> tuple[list[str], list[dict[str, str]]]:
    names = columns.split("|")
    return names, [dict(zip(names, row.split("|"), strict=True)) for row in rows]


ROLES: list[tuple[str, tuple[str, ...], dict[str, str]]] = [
    ("case|summary|rater|x", (f"1|{LONG} 1|Ana|4", f"2|{LONG} 2|Ben|2"), {"case": "id", "summary": "output", "rater": "rater", "x": "rating"}),
    # Beside a summary, a note is what it was made from; alone it is judged.
    ("id|note|summary", (f"1|{LONG} n|{LONG} 1", f"2|{LONG} m|{LONG} 2"), {"id": "id", "note": "source", "summary": "output"}),
    ("id|note", (f"1|{LONG} n", f"2|{LONG} m"), {"id": "id", "note": "output"}),
    ("id|AI discharge note|reference", (f"1|{LONG} n|{LONG} 1", f"2|{LONG} m|{LONG} 2"), {"AI discharge note": "output", "reference": "reference"}),
    # What was worked out from scores is none, and a rater's own number is no score.
    ("id|summary|accuracy|mean", (f"1|{LONG} 1|4|4", f"2|{LONG} 2|2|2"), {"accuracy": "rating", "mean": "kept"}),
    ("id|summary|rater|years|x", tuple(f"{n}|{LONG} {n}|{who}|{age}|{n}" for n in (1, 2, 3) for who, age in (("Ana", 4), ("Ben", 9))), {"years": "kept", "x": "rating"}),
    ("segmento|traducción|revisora|fluidez", tuple(f"s{n}|{LONG} {n}|{who}|{n}" for n, who in enumerate(("Ana", "Eva", "Ana"), 1)), {"revisora": "rater"}),
    ("id|text|comment|accurate", (f"1|{LONG} 1|{LONG}|4", f"2|{LONG} 2|{LONG}|2"), {"text": "output", "comment": "kept", "accurate": "rating"}),
    # A column of ids is the one that tells texts apart.
    ("ticket|order id|answer", (f"7|a1|{LONG} 1", f"7|a2|{LONG} 2"), {"order id": "id", "ticket": "kept"}),
    ("#|reply", (f"1|{LONG} 1", f"2|{LONG} 2", f"3|{LONG} 3"), {"#": "id", "reply": "output"}),
    ("patient id|summary", (f"p1|{LONG} 1", f"p2|{LONG} 2"), {"patient id": "id"}),
    ("patient id|summary", (f"p1|{LONG} 1", f"p1|{LONG} 2", f"p2|{LONG} 3"), {"patient id": "group"}),
    ("id|summary|which bot?", (f"1|{LONG} 1|a", f"2|{LONG} 2|a"), {"which bot?": "system"}),
    ("id|summary|which bot?", (f"1|{LONG} 1|a", f"2|{LONG} 2|b"), {"which bot?": "kept"}),
    ("id|question|answer", (f"1|{LONG} q|{LONG} 1", f"2|{LONG} q|{LONG} 2"), {"question": "question", "answer": "output"}),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "rows", "roles"), ROLES)
def test_a_columns_role_is_told_by_its_name_and_its_cells(
    columns: str, rows: tuple[str, ...], roles: dict[str, str]
) -> None:
    found = guess_columns(*table(columns, *rows)).roles

    assert {name: found[name] for name in roles} == roles


def test_columns_without_names_are_told_by_what_they_hold() -> None:
    names, rows = table("A|B|C|D", "1|a long text that is judged|3|²", "2|another|5|y")
    guessed = guess_columns(names, rows)

    assert (guessed.one("output"), guessed.of("rating"), guessed.of("kept")) == ("B", ("C",), ("A", "D"))
    assert scale_bounds("C", ["²", "7"]) == scale_bounds("C", ["7"])


def test_only_named_attributes_are_ratings_where_some_are_named() -> None:
    names, rows = table("id|summary|Accuracy|Clarity (1-5)", f"1|{LONG} 1|4|2", f"2|{LONG} 2|2|3")

    assert guess_columns(names, rows, attributes=["clarity"]).of("rating") == ("Clarity (1-5)",)
    assert guess_columns(names, rows).of("rating") == ("Accuracy", "Clarity (1-5)")


def test_a_role_that_one_column_has_goes_to_another_and_one_of_many_stays() -> None:
    columns = columns_of(a="output", b="kept", c="source")

    assert columns.with_role("b", "output").roles == {"a": "kept", "b": "output", "c": "source"}
    assert columns.with_role("b", "source").roles == {"a": "output", "b": "source", "c": "source"}


def test_texts_and_scores_that_cannot_be_told_are_asked_about() -> None:
    names, rows = table(
        "id|first|second|third|accuracy",
        *(f"{n}|{LONG} {n}|{LONG}, also {LONG} {n}|short|{word}" for n, word in ((1, "good"), (2, "bad"))),
    )
    columns = guess_columns(names, rows)

    assert set(competing_texts(columns, rows)) == {"first", "second"}
    assert unplaced_texts(columns, rows) == ("second",)
    assert unplaced_texts(columns.with_role("second", "source"), rows) == ()
    assert unread_scores(columns, rows) == ("accuracy",)
    named, summaries = table("id|summary|memo", f"1|{LONG} 1|{LONG} a", f"2|{LONG} 2|{LONG} b")
    assert competing_texts(guess_columns(named, summaries), summaries) == ()


def test_every_attribute_has_a_plain_name_of_its_own() -> None:
    names = attribute_names(["Clinically useful? (1-5)", "clinically useful", "正確", "2nd", "Précis"])

    assert list(names.values()) == [
        "clinically_useful",
        "clinically_useful_2",
        "attribute_3",
        "a_2nd",
        "precis",
    ]
    # A number that another column has in its own name is not given again.
    assert list(attribute_names(["Tone 3", "Tone", "tone"]).values()) == ["tone_3", "tone", "tone_3_3"]


def read(tmp_path: Path, text: str) -> list[Rating]:
    (tmp_path / "ratings.csv").write_text(text, encoding="utf-8")
    return list(read_ratings(tmp_path / "ratings.csv"))


def test_ratings_are_read_in_each_of_their_forms(tmp_path: Path) -> None:
    long = read(tmp_path, "case,rater,attribute,value,round,rationale\n1,Ana,x,4,2,'=why\n1,Ben,x,nan,,\n1,Bob,x,-NaN,,\n1,Eve,x,good,,\n")  # fmt: skip
    wide = read(tmp_path, 'case,rater,x,y,round\n1,Ana,4,"3,5",1\n2,Ana,, ,1\n')
    by_person = read(tmp_path, "case,x (Dr Lee),x (Dr Roy)\n1,4,5\n")

    assert long == [
        Rating("1", "Ana", "x", 4.0, 2, "=why"),
        Rating("1", "Ben", "x", None),
        Rating("1", "Bob", "x", None),
        Rating("1", "Eve", "x", "good"),
    ]
    assert [(r.case, r.attribute, r.value, r.round) for r in wide] == [
        ("1", "x", 4.0, 1), ("1", "y", 3.5, 1), ("2", "x", None, 1), ("2", "y", None, 1),
    ]  # fmt: skip
    assert [(r.rater, r.attribute, r.value) for r in by_person] == [
        ("Dr Lee", "x", 4.0),
        ("Dr Roy", "x", 5.0),
    ]


@pytest.mark.parametrize(
    ("text", "people"),
    [
        (f"id,summary,clear\n1,{LONG} a,4\n2,{LONG} b,3\n", {"rater-1"}),
        # Somebody rated twice, or two people once; or the column has a slip of the pen.
        (f"id,summary,clear\n1,{LONG} a,4\n1,{LONG} a,3\n", None),
        ("case,ratr,clear\n1,Ana,4\n2,Ben,3\n", None),
        ("case,clear\n1,4\n2,3\n", None),
    ],
)
def test_a_sheet_that_names_no_rater_is_one_raters_where_each_text_is_rated_once(
    tmp_path: Path, text: str, people: set[str] | None
) -> None:
    if people is None:
        with pytest.raises(InvalidFile, match="'rater' is missing"):
            read(tmp_path, text)
    else:
        assert {rating.rater for rating in read(tmp_path, text)} == people


@pytest.mark.parametrize(
    ("second", "kept"),
    [
        ("1,Ana,x,3,", None), ("1,Ana,x,3,0", None), ("1,Ana,x,3,1", 2), ("1,Ben,x,3,", 2), ("1,Ana,y,3,", 2), ("2,Ana,x,3,", 2), ("1,Ana,x,,", 2),
    ],
)  # fmt: skip
def test_one_person_rates_an_attribute_of_a_case_once_a_round(
    tmp_path: Path, second: str, kept: int | None
) -> None:
    text = f"case,rater,attribute,value,round\n1,Ana,x,4,\n{second}\n"
    if kept is None:
        with pytest.raises(InvalidFile, match=r"ratings.csv:3: 'Ana' rated 'x' of case '1' on line 2 too"):
            read(tmp_path, text)
    else:
        assert len(read(tmp_path, text)) == kept
