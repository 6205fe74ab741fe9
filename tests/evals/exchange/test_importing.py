"""A tool's texts and scores as cases, ratings and files: ids, rounds, scales, and what is lost on the way."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import pytest
from mixed_rubric import RUBRIC

from venire import Case, VenireError
from venire.evals.exchange.annotation_tasks import _texts, is_comment_name, rationale_of
from venire.evals.exchange.import_format import Item, ToolRecords, add_score, free_id, read_objects
from venire.evals.exchange.importing import (
    _attribute_names,
    _cases,
    _mixed_value_notes,
    _numbered_rounds,
    _on_scale,
    _refuse_lost_half,
    _roles,
    field_text,
    write_cases_file,
    write_ratings_file,
)
from venire.rubrics.ratings import Rating

FILE = Path("tool.json")


def test_a_tools_field_is_text_with_its_speakers_and_paragraphs() -> None:
    turns = [{"role": "user", "content": "Hi"}, {"content": ""}, {"from": "bot", "value": ["a", None, "b"]}]
    assert field_text(turns) == "user: Hi\nbot: a\n\nb"
    assert field_text({"dose": 5, "unit": "mg"}) == "dose: 5\nunit: mg"
    assert (field_text(None), field_text(0), field_text({"text": "x"})) == ("", "0", "x")


def test_items_become_cases_and_ratings_follow_the_id_that_a_column_gives() -> None:
    """Of four items one has no id of that column, one no text; notes that are a list stay apart, a blank one goes."""
    items = [
        Item("1", {"key": "p-1", "output": "one", "source": ["note", " ", "more"], "mood": 0}, {"lang": "en"}),
        Item("2", {"key": "p-2", "output": " "}), Item("3", {"output": "three"}), Item("4", {"key": 4, "output": "four", "mood": None}),
    ]  # fmt: skip
    records = ToolRecords(items=items, ratings=[Rating("1", "ann", "clear", 1), Rating("9", "ann", "clear", 2)])  # fmt: skip
    cases = _cases(FILE, records, _roles(FILE, items, ["id=key", "kept=mood"]))
    assert [(case.id, case.output, case.source, case.metadata) for case in cases] == [
        ("p-1", "one", ("note", "more"), {"lang": "en", "mood": 0}), ("4", "four", (), {}),
    ]  # fmt: skip
    assert records.unreadable["case"] == {"no 'key'": ["3"], "no text to judge": ["2"]}
    assert [rating.case for rating in records.ratings] == ["p-1", "9"]
    _refuse_lost_half(FILE, records, 2, 2)
    with pytest.raises(VenireError, match="2 of 3 cases cannot be read"):
        _refuse_lost_half(FILE, records, 1, 2)
    with pytest.raises(VenireError, match="both have the id 'p-1'"):
        _cases(FILE, ToolRecords(items=[items[0], items[0]]), _roles(FILE, items, ["id=key"]))


def test_what_one_person_said_again_is_a_later_round_and_nothing_else_is() -> None:
    given = [Rating("c", "ann", "clear", 1), Rating("c", "ben", "clear", 2, round=7), Rating("c", "ann", "risk", 3), Rating("c", "ann", "clear", 4), Rating("d", "ann", "clear", 5)]  # fmt: skip
    rounds, notes = _numbered_rounds(given)
    assert {(r.case, r.rater, r.attribute, r.round): r.value for r in rounds} == {
        ("c", "ann", "clear", 1): 1, ("c", "ann", "clear", 2): 4, ("c", "ben", "clear", 7): 2, ("c", "ann", "risk", None): 3, ("d", "ann", "clear", None): 5,
    }  # fmt: skip
    assert len(notes) == 1 and notes[0].endswith("ann of c") and not _numbered_rounds(given[:3])[1]


def test_every_round_is_held_against_the_rubric_and_what_does_not_apply_stays() -> None:
    given = [Rating("c", "ann", "accurate", 2, round=1), Rating("c", "ann", "accurate", 9, round=2), Rating("c", "ann", "tone", "plain"), Rating("c", "ann", "plan", "not_applicable"), Rating("c", "ann", "shape", "not_applicable"), Rating("c", "ben", "accurate", 5), Rating("x", "ben", "risk", 5)]  # fmt: skip
    kept, check = _on_scale(given, RUBRIC, ["c"])
    assert [(r.rater, r.attribute, r.value, r.round) for r in kept] == [
        ("ann", "accurate", 2, 1), ("ann", "tone", "plain", None), ("ann", "plan", "not_applicable", None), ("ben", "accurate", 5, None),
    ]  # fmt: skip
    assert (dict(check.off_scale), dict(check.no_case), check.blank) == ({"accurate": ("9",)}, {"x": 1}, 2)


def test_odd_names_of_attributes_are_made_plain_and_never_those_of_another() -> None:
    given = [Rating("c", "a", name, 1) for name in ("Clear text", "clear_text", "clear-text", "Tone", "tone")]
    named, renamed = _attribute_names(given, None)
    assert len({rating.attribute for rating in named}) == 5
    assert set(renamed) == {"Clear text", "Tone"} and renamed["Tone"] == "tone_2"
    given = [Rating("c", "a", name, 1) for name in ("tone_2", "Tone", "tone", "X 3", "X", "x?", "x")]
    assert [rating.attribute for rating in _attribute_names(given, None)[0]] == ["tone_2", "tone_3", "tone", "x_3", "x_2", "x_4", "x"]  # fmt: skip


def test_a_question_is_a_comments_by_its_last_word_or_its_whole_name() -> None:
    for name in ("accurate_rationale", "Clear-Comments", "NOTES", "Feedback", "why", "tone_WHY"):
        assert is_comment_name(name), name
    for name in ("accurate", "accurate_notes", "reasonable", "comment_count", "feedback_quality"):
        assert not is_comment_name(name), name
    comments = {"accurate_Reason": "own", "comments": "all", "tone-why": "of tone", "Notes": "more"}
    assert rationale_of("accurate", comments, RUBRIC.names) == "own"
    assert rationale_of("risk", comments, RUBRIC.names) == "all\nmore"
    assert rationale_of("risk", {"tone_reason": "x"}, RUBRIC.names) is None


def test_an_annotator_reads_the_turns_before_an_output_and_a_reference_only_where_jurors_do() -> None:
    turns = [{"role": "user", "content": "Is it so?"}, {"role": "assistant", "content": "It is."}]
    whole = Case.from_row({"id": "c", "messages": turns, "reference": "Yes."})
    after = Case.from_row({"id": "c", "messages": turns, "output": "No.", "source": "Note."})
    said = whole.output
    assert _texts(whole, shown_reference=True) == {"question": "", "audience": "", "source": "", "reference": "Yes.", "output": said}  # fmt: skip
    assert _texts(after, shown_reference=False) == {"question": "", "audience": "", "source": f"Note.\n\n{said}", "output": "No."}  # fmt: skip


def test_numbers_beside_words_are_said_where_no_rubric_converts_them() -> None:
    values = {"clear": [1, "good", 2], "tone": ["warm", "cold"], "risk": [1, "not_applicable", None]}
    given = [Rating(f"c{n}", "ann", name, value) for name, each in values.items() for n, value in enumerate(each)]  # type: ignore[arg-type]  # fmt: skip
    (note,) = _mixed_value_notes(given)
    assert "'clear' are 2 numbers and 1 words (good)" in note


def test_a_score_is_a_number_a_word_nothing_or_lost() -> None:
    records = ToolRecords()
    for value in (0, True, 0.5, " good ", "", None, math.nan, [1]):
        add_score(records, "c", "r", "a", value, "why" if value == 0.5 else "")
    assert [(r.value, r.rationale) for r in records.ratings] == [(0, None), (1, None), (0.5, "why"), ("good", None)]  # fmt: skip
    assert records.skipped == {"no score was given": ["c: a"] * 3}
    assert records.unreadable["rating"] == {"no single value": ["c: a"]}
    assert [free_id("x", taken) for taken in ((), ("x",), ("x", "x#2"))] == ["x", "x#2", "x#3"]


def test_objects_are_a_list_one_or_one_a_line_under_any_name(tmp_path: Path) -> None:
    for name, text, count in (("a.json", '[{"a": 1}, {"a": 2}]', 2), ("b.json", '{"a": 1}', 1), ("c.txt", '{"a": 1}\n\n{"a": 2}\n', 2), ("d.jsonl", '{"a": 1}\n', 1)):  # fmt: skip
        (tmp_path / name).write_text(text)
        assert [each["a"] for each in read_objects(tmp_path / name)] == [1, 2][:count]


def test_cases_and_ratings_are_written_with_all_that_they_hold(tmp_path: Path) -> None:
    cases = [Case(id="c1", output="x", source=("one", "two"), metadata={"ward": "w", "tags": ["é", 1], "question": "theirs"}), Case(id="c2", output="y", group="g")]  # fmt: skip
    for name in ("c.csv", "c.jsonl"):
        write_cases_file(cases, tmp_path / name)
    rows = [*csv.DictReader(io.StringIO((tmp_path / "c.csv").read_bytes().decode(), newline=""))]
    assert (rows[0]["source"], rows[0]["ward"], rows[0]["tags"], rows[0]["tool_question"]) == ("one\n\ntwo", "w", '["é", 1]', "theirs")  # fmt: skip
    assert (rows[1]["group"], rows[1]["ward"], rows[0]["group"]) == ("g", "", "")
    lines = [json.loads(line) for line in (tmp_path / "c.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [Case.from_row(line) for line in lines] == cases

    given = [Rating("c1", "ann", "clear", 4.0), Rating("c1", "ben", "clear", 0.1 + 0.2, round=0), Rating("c1", "ann", "tone", "warm")]  # fmt: skip
    write_ratings_file(given, tmp_path / "r.csv")
    written = [*csv.reader(io.StringIO((tmp_path / "r.csv").read_bytes().decode(), newline=""))]
    assert written == [["case", "rater", "attribute", "value", "round"], ["c1", "ann", "clear", "4", ""], ["c1", "ben", "clear", "0.30000000000000004", "0"], ["c1", "ann", "tone", "warm", ""]]  # fmt: skip
