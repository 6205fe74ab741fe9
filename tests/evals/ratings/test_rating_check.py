"""Ratings that cannot be used are counted and named; more than half of them is an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import venire

from venire import VenireError
from venire.evals.ratings.people import check_ratings, usable_ratings
from venire.evals.ratings.question import Question
from venire.rubrics.scale import Scale

FIVE = Question(Scale(level="ordinal", anchors={n: str(n) for n in range(1, 6)}), "high")
WORDS = Question(Scale(level="nominal", anchors={"note": "", "letter": ""}), "high")
QUESTIONS = {"accurate": FIVE, "kind": WORDS}
CASES = [f"c{number}" for number in range(10)]
DEMO = Path(__file__).parents[3] / "evals" / "demo"


def table(*changes: tuple[str, str, object]) -> pd.DataFrame:
    """Ana's ratings of ten cases; each change is a further row (case, attribute, value)."""
    rows = [(case, "accurate", 3) for case in CASES] + [(case, "kind", "note") for case in CASES]
    return pd.DataFrame(
        [(case, "Ana", attribute, value) for case, attribute, value in (*rows, *changes)],
        columns=["case", "rater", "attribute", "value"],
    )


def test_nothing_is_said_where_nothing_is_left_out() -> None:
    kept, check = check_ratings(table(), QUESTIONS, cases=CASES)

    assert (len(kept), check.lost, check.notes) == (20, 0, ())


@pytest.mark.parametrize(
    ("change", "note"),
    [
        (("c99", "accurate", 3), "1 rating left out, because no case has this id: c99"),
        (
            ("c1", "elegant", 3),
            "attributes left out, because people rated them but the juries were not asked about them: 'elegant' (1)",
        ),
        (("c10", "accurate", 9), "1 rating of 'accurate' is not on its scale, left out: 9"),
        (("c10", "accurate", "Mostly"), "1 rating of 'accurate' is not a number, left out: Mostly"),
        (("c10", "kind", "poem"), "1 rating of 'kind' is not on its scale, left out: poem"),
    ],
)
def test_each_kind_of_loss_is_named(change: tuple[str, str, object], note: str) -> None:
    cases = [*CASES, "c10"] if change[0] == "c10" else CASES

    kept, check = check_ratings(table(change), QUESTIONS, cases=cases)

    assert len(kept) == 20
    assert check.lost == 1
    assert note in check.notes
    json.dumps(check.to_json())


def test_cases_nobody_rated_are_named() -> None:
    _, check = check_ratings(table(), QUESTIONS, cases=[*CASES, *(f"d{n}" for n in range(7))])

    assert check.notes == ("7 cases without a rating: d0, d1, d2, d3, d4 and 2 more",)


def test_blank_and_inapplicable_ratings_are_no_loss() -> None:
    given = table(("c1", "accurate", None), ("c2", "other", None))
    given.loc[0, "value"] = "not_applicable"

    _, check = check_ratings(given, QUESTIONS, cases=CASES)

    assert (check.lost, check.blank) == (0, 3)


def test_more_than_half_lost_is_an_error_unless_the_run_goes_on() -> None:
    given = table().assign(case=[f"other-{n}" for n in range(20)])
    with pytest.raises(
        VenireError,
        match=r"20 of the 20 ratings cannot be used: 20 ratings left out, because no case has this id",
    ):
        check_ratings(given, QUESTIONS, cases=CASES)

    kept, check = check_ratings(given, QUESTIONS, cases=CASES, more_to_come=True)
    assert (len(kept), check.lost) == (0, 20)


def test_a_rating_given_twice_is_refused_and_a_later_round_replaces_an_earlier_one() -> None:
    with pytest.raises(VenireError, match="more than once"):
        check_ratings(table(("c1", "accurate", 4)), QUESTIONS)
    rounds = pd.concat([table().assign(round=1), table(("c1", "kind", "note")).iloc[:1].assign(round=2)])

    kept, check = check_ratings(rounds, QUESTIONS, cases=CASES)

    assert (len(kept), check.earlier, check.lost) == (20, 1, 0)


def test_no_ratings_at_all() -> None:
    kept, check = check_ratings(table().iloc[:0], QUESTIONS, cases=CASES)

    assert kept.empty
    assert check.unrated == tuple(CASES)


def test_of_a_table_without_cases_only_values_are_checked() -> None:
    kept, notes = usable_ratings(table(("c1", "elegant", 4), ("c10", "accurate", 9)), QUESTIONS)

    assert len(kept) == 21
    assert notes == (
        "the scale of attributes that are not in the rubric is guessed from their values: elegant",
        "1 rating of 'accurate' is not on its scale, left out: 9",
    )


@pytest.mark.parametrize("questions", [None, {}], ids=["no rubric", "not in the rubric"])
def test_a_word_among_numbers_makes_no_scale_of_words(questions: dict[str, Question] | None) -> None:
    given = table(("c1", "charm", 4), ("c2", "charm", 3), ("c3", "charm", "good"), ("c1", "colour", "red"))
    mine = given[given["attribute"].isin(["charm", "colour"])]

    kept, notes = usable_ratings(mine, questions)

    assert list(kept["value"]) == [4, 3, "red"]
    assert notes[-1] == "1 rating of 'charm' is not a number, left out: good"


@pytest.mark.parametrize("questions", [None, {}], ids=["no rubric", "not in the rubric"])
@pytest.mark.parametrize("value", ["4 - good", "80%", "4/5", "5 (best)", "\u22121 point", "1,2,3"])
def test_words_that_begin_with_a_number_are_named(questions: dict[str, Question] | None, value: str) -> None:
    given = table(("c1", "charm", "good"), *((case, "charm", value) for case in ("c2", "c3")))

    kept, notes = usable_ratings(given[given["attribute"].isin(["charm", "kind"])], questions)

    assert value in list(kept["value"])
    assert [note for note in notes if "read as words" in note] == [
        f"values of 'charm' such as {value!r} were read as words: write only the number if they are numbers"
    ]


def test_a_few_words_that_begin_with_a_number_are_left_out_by_name() -> None:
    given = table(*((case, "charm", 4) for case in ("c1", "c2")), ("c3", "charm", "5 (best)"))

    kept, notes = usable_ratings(given[given["attribute"] == "charm"], None)

    assert list(kept["value"]) == [4, 4]
    assert notes == ("1 rating of 'charm' is not a number, left out: 5 (best)",)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dropped")
    venire(
        *(
            "run",
            DEMO / "cases.jsonl",
            "--rubric",
            "clinical-note",
            "--jury",
            "lens-jury",
            "-o",
            "run",
            "--quiet",
        ),
        cwd=path,
    )
    lines = (DEMO / "labels.csv").read_text().splitlines()
    kept = [line.replace("demo-03", "dmo-03") for line in lines if "demo-05" not in line]
    kept[1:3] = ["demo-01,construction,accurate,9", "demo-01,construction,thorough,Mostly"]
    (path / "some.csv").write_text("\n".join([*kept, "demo-07,construction,elegant,3"]) + "\n")
    (path / "none.csv").write_text("\n".join([lines[0], *(f"x{line}" for line in lines[1:])]) + "\n")
    return path


@pytest.mark.parametrize(
    "command",
    [
        ["triage", "run"],
        ["calibrate", "run"],
        ["compare", "run", "--full"],
        ["threshold", "run", "--score", "accurate"],
        ["metrics", DEMO / "cases.jsonl", "--family", "edit", "--rubric", "clinical-note", "--attribute", "accurate"],
    ],
    ids=lambda command: command[0],
)  # fmt: skip
def test_commands_name_what_they_left_out_and_refuse_what_is_mostly_lost(
    folder: Path, command: list[Any]
) -> None:
    told = venire(*command, "--human", "some.csv", "--resamples", "20", cwd=folder)

    assert told.returncode == 0, told.stderr
    for words in (
        "dmo-03",
        "'elegant' (1)",
        "'accurate' is not on its scale",
        "Mostly",
        "2 cases without a rating",
    ):
        assert words in told.stdout
    refused = venire(*command, "--human", "none.csv", "--resamples", "20", cwd=folder)
    assert refused.returncode == 2
    assert len(refused.stderr.strip().splitlines()) == 2
    assert "120 of the 120 ratings cannot be used" in refused.stderr


def test_the_json_counts_what_was_left_out(folder: Path) -> None:
    told = venire("compare", "run", "--human", "some.csv", "--resamples", "20", "--json", cwd=folder)

    found = json.loads(told.stdout)["ratings"]
    assert found["given"] - found["kept"] == 5 + 1 + 1 + 1
    assert found["unrated_cases"] == ["demo-03", "demo-05"]


def test_a_person_of_an_arms_name_is_told_apart_and_what_has_no_value_is_counted_once() -> None:
    given = table(("c1", "tone", 3), ("x9", "tone", 3), ("c1", "tone", ""), ("c2", "tone", None))
    given["case"] = given["case"].replace("c9", "x9")
    given.attrs["blank"] = 2
    kept, check = check_ratings(given, QUESTIONS, taken={"Ana"}, cases=CASES)

    assert set(kept["rater"]) == {"Ana (person)"} and given["rater"].eq("Ana").all()
    assert (check.given, check.kept, check.blank, check.earlier) == (22, 18, 4, 0)
    assert (dict(check.no_case), dict(check.unknown_attributes), check.unrated) == ({"x9": 3}, {"tone": 1}, ("c9",))  # fmt: skip
    whole = check_ratings(given, QUESTIONS)[1]
    assert (whole.kept, whole.unrated, dict(whole.no_case)) == (20, (), {})


@pytest.mark.parametrize(("lost", "refused"), [(10, False), (11, True)])
def test_half_of_the_ratings_may_be_lost_and_no_more(lost: int, refused: bool) -> None:
    given = table().assign(value=3).query("attribute == 'accurate'")
    given = pd.concat([given, given.assign(rater="Ben")])
    given["value"] = [9.0] * lost + [5.0, 1.0] + [3] * (18 - lost)
    if refused:
        with pytest.raises(VenireError, match="11 of the 20 ratings cannot be used"):
            check_ratings(given, QUESTIONS)
    else:
        kept, check = check_ratings(given, QUESTIONS)
        assert (len(kept), check.off_scale) == (10, {"accurate": ("9",) * 10})
        assert kept["value"].tolist()[:3] == [5.0, 1.0, 3.0]


def test_words_are_stray_by_attribute_and_only_where_most_values_are_numbers() -> None:
    """Of `charm` half are words, which stay; of `wit` one of three, which goes; a blank value is no word."""
    values = {"charm": ["4", "good"], "wit": ["4", 3, "good"], "colour": ["red", "red", "red"], "pace": [1, None]}  # fmt: skip
    rows = [(f"c{n}", "Ana", name, value) for name, each in values.items() for n, value in enumerate(each)]
    given = pd.DataFrame(rows, columns=["case", "rater", "attribute", "value"])
    given.attrs["blank"] = 2
    kept, notes = usable_ratings(given, None)

    assert kept.groupby("attribute")["value"].agg(list).to_dict() == {**values, "wit": ["4", 3], "pace": [1, None]}  # fmt: skip
    assert notes[0].startswith("2 ratings without a value") and len(notes) == 2 and "'wit'" in notes[1]
