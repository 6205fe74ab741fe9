"""Label Studio's export as cases and ratings, and the first cases of a triage as its tasks, with nothing lost on the way."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from annotator_packages import checked_by_package, needs_annotators
from command_line import venire
from written_transcripts import written_run

from venire import Case, Rubric, Store, VenireError
from venire.evals.exchange import import_records
from venire.evals.exchange.annotation_tasks import annotation_tasks
from venire.orchestration.reading.export import ExportedRun
from venire.orchestration.reading.terminal import export_run
from venire.rubrics import load_rubric
from venire.rubrics.ratings import Rating, read_ratings

RUBRIC = Rubric.model_validate(
    {
        "name": "mine",
        "version": 1,
        "scales": {
            "agree": {"level": "ordinal", "anchors": {1: "Poor", 2: "Fair", 3: "Good"}},
            "share": {"level": "interval", "minimum": 0, "maximum": 1},
        },
        "attributes": [
            {"name": "accurate", "question": "Is it?", "scale": "agree"},
            {"name": "plan", "question": "Is there one?", "scale": "agree", "may_not_apply": True},
            {"name": "kept", "question": "How much is kept?", "scale": "share"},
        ],
    }
)


def result(name: str, kind: str, value: Any, **more: Any) -> dict[str, Any]:
    key = {"textarea": "text", "pairwise": "selected"}.get(kind, kind)
    return {"from_name": name, "to_name": "text", "type": kind, "value": {key: value, **more}}


def annotation(by: Any, *results: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"completed_by": by, "result": list(results), "was_cancelled": False, **more}


def task(number: int, *annotations: dict[str, Any], **more: Any) -> dict[str, Any]:
    data = {"summary": f"The summary of visit {number}.", "dialogue": [{"author": "Dr", "text": "Well?"}]}
    return {"id": number, "data": data, "annotations": list(annotations), **more}


def exported(folder: Path, tasks: Sequence[Any]) -> Path:
    file = folder / "export.json"
    file.write_text(json.dumps(tasks))
    return file


ANA = {"id": 3, "email": "ana@example.org", "first_name": "Ana"}


def test_texts_become_cases_and_each_answer_a_rating_by_whoever_gave_it(tmp_path: Path) -> None:
    file = exported(
        tmp_path,
        [
            task(
                1,
                annotation(ANA, result("accurate", "choices", ["Good"]), result("kept", "number", 0.5)),
                annotation(7, result("accurate", "rating", 2), result("plan", "choices", ["N/A"])),
            )
        ],
    )

    found = import_records("label-studio", file, rubric=RUBRIC)

    (case,) = found.cases
    assert (case.id, case.output, case.source) == ("1", "The summary of visit 1.", ("Dr: Well?",))
    assert [(each.rater, each.attribute, each.value) for each in found.ratings] == [
        ("ana@example.org", "accurate", 3.0),
        ("ana@example.org", "kept", 0.5),
        ("7", "accurate", 2.0),
        ("7", "plan", "not_applicable"),
    ]


def test_what_label_studio_does_not_count_is_counted_and_left_out(tmp_path: Path) -> None:
    good = result("accurate", "choices", ["Good"])
    file = exported(
        tmp_path,
        [
            task(
                1, annotation(7, good), annotation(8, good, was_cancelled=True), drafts=[{"result": [good]}]
            ),
            task(2, annotation(7, good), annotation(9), predictions=[{"result": [good]}, {"result": [good]}]),
        ],
    )

    found = import_records("label-studio", file)

    assert len(found.ratings) == 2
    assert {why: len(where) for why, where in found.records.skipped.items()} == {
        "cancelled annotations": 1,
        "drafts of tasks": 1,
        "predictions of tasks": 2,
        "annotations without a rating": 1,
    }
    assert found.to_json()["skipped"]["cancelled annotations"] == {"count": 1, "where": ["1"]}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (result("accurate", "choices", ["Good", "Fair"]), "several choices at once"),
        (result("accurate", "choices", ["Good"], start=3, end=9), "about a part of a text"),
        (result("accurate", "labels", ["Good"], start=3, end=9), "about a part of a text"),
        (result("accurate", "rating", True), "no single value"),
        (
            result("tree", "taxonomy", [["a", "b"]]),
            "an answer of the kind 'taxonomy' that has no single value",
        ),
        (
            {"type": "choices", "value": {"choices": ["Good"]}},
            "without the name of its question, or without a value",
        ),
        (
            {"from_name": "accurate", "type": "choices", "value": None},
            "without the name of its question, or without a value",
        ),
    ],
)
def test_an_answer_that_is_no_single_value_is_lost_by_name(
    tmp_path: Path, answer: dict[str, Any], why: str
) -> None:
    file = exported(tmp_path, [task(1, annotation(7, result("other", "rating", 2), answer))])

    found = import_records("label-studio", file)

    assert [each.attribute for each in found.ratings] == ["other"]
    ((reason, where),) = found.records.unreadable["rating"].items()
    assert why in reason and len(where) == 1
    assert any(why in note for note in found.notes)


def test_more_than_half_lost_is_an_error_that_says_what(tmp_path: Path) -> None:
    several = result("accurate", "choices", ["Good", "Fair"])
    file = exported(
        tmp_path,
        [task(n, annotation(7, several if n else result("accurate", "rating", 2))) for n in range(3)],
    )

    with pytest.raises(VenireError, match=r"2 of 3 ratings cannot be read: several choices at once \(2"):
        import_records("label-studio", file)


def test_values_off_the_scale_and_in_words_are_named(tmp_path: Path) -> None:
    tasks = [task(n, annotation(7, result("accurate", "rating", 2))) for n in range(4)]
    tasks += [
        task(8, annotation(7, result("accurate", "rating", 9))),
        task(9, annotation(7, result("accurate", "choices", ["dunno"]), result("mood", "rating", 1))),
    ]

    found = import_records("label-studio", exported(tmp_path, tasks), rubric=RUBRIC)

    assert found.check is not None
    assert (found.check.off_scale, found.check.in_words) == ({"accurate": ("9",)}, {"accurate": ("dunno",)})
    assert found.check.unknown_attributes == {"mood": 1}
    assert len(found.ratings) == 4
    assert "1 rating of 'accurate' is not on its scale, left out: 9" in found.notes


def test_without_a_rubric_words_among_numbers_stay_and_are_said(tmp_path: Path) -> None:
    answers = [["4"], ["Good"]]
    file = exported(tmp_path, [task(n, annotation(7, result("accurate", "choices", a))) for n, a in enumerate(answers)])  # fmt: skip

    found = import_records("label-studio", file)

    assert [each.value for each in found.ratings] == [4.0, "Good"]
    assert any("1 numbers and 1 words (Good)" in note for note in found.notes)


def test_a_comment_goes_to_the_rating_that_it_is_named_for(tmp_path: Path) -> None:
    file = exported(
        tmp_path,
        [
            task(
                1,
                annotation(
                    7,
                    result("accurate", "rating", 2),
                    result("clear", "rating", 1),
                    result("accurate_rationale", "textarea", ["=wrong", "dose"]),
                ),
            ),
            task(
                2,
                annotation(7, result("clear", "rating", 1), result("accurate_rationale", "textarea", ["x"])),
            ),
            task(3, annotation(7, result("clear", "rating", 1), result("notes", "textarea", ["in all"]))),
        ],
    )

    found = import_records("label-studio", file)

    assert [each.rationale for each in found.ratings] == ["=wrong\ndose", None, None, "in all"]


def test_a_second_annotation_by_one_person_is_a_second_round_and_nobody_is_unknown_twice(
    tmp_path: Path,
) -> None:
    two, three = (result("accurate", "rating", value) for value in (2, 3))
    file = exported(
        tmp_path,
        [
            task(
                1, annotation(7, three, created_at="2026-02-02"), annotation(7, two, created_at="2026-01-01")
            ),
            task(2, annotation(None, two), annotation(None, three)),
        ],
    )

    found = import_records("label-studio", file)

    assert [(each.rater, each.value, each.round) for each in found.ratings] == [
        ("7", 2.0, 1), ("7", 3.0, 2), ("unknown", 2.0, None), ("unknown 2", 3.0, None),
    ]  # fmt: skip


def test_every_round_is_held_to_the_scale_as_every_round_is_kept(tmp_path: Path) -> None:
    one, three, nine = (result("accurate", "rating", value) for value in (1, 3, 9))
    rounds = [
        task(1, annotation(7, nine, created_at="2026-01-01"), annotation(7, three, created_at="2026-02-02")),
        task(2, annotation(7, one, created_at="2026-01-01"), annotation(7, nine, created_at="2026-02-02")),
    ]

    found = import_records("label-studio", exported(tmp_path, rounds), rubric=RUBRIC)

    assert [(each.case, each.value, each.round) for each in found.ratings] == [("1", 3.0, 2), ("2", 1.0, 1)]
    assert found.check is not None and found.check.off_scale == {"accurate": ("9", "9")}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[]", "neither cases nor ratings"),
        ("{", "not valid JSON"),
        ("[1]", "item 1 is a int, not an object"),
        ('[{"id": 1, "text": "x", "accurate": "Good", "annotator": 1, "annotation_id": 4}]', "JSON-MIN"),
        ('[{"id": 1}]', "task 1 has no data"),
        (json.dumps([task(1), task(1)]), "both have the id '1'"),
        ('[{"id": 1, "data": {"summary": " "}}]', "1 of 1 cases cannot be read: no text to judge"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "export.json"
    file.write_text(text)

    with pytest.raises(VenireError, match=problem):
        import_records("label-studio", file)


def test_columns_are_guessed_or_named(tmp_path: Path) -> None:
    tasks = [{"id": 1, "data": {"a": "one", "b": "two", "key": "k1"}}]
    file = exported(tmp_path, tasks)

    found = import_records("label-studio", file, columns=["output=b", "question=a", "id=key"])

    assert [(each.id, each.output, each.question) for each in found.cases] == [("k1", "two", "one")]
    with pytest.raises(VenireError, match="no column named 'c'"):
        import_records("label-studio", file, columns=["output=c"])


def triaged(heard: Path, to: str, most: int = 100, human: str = "labels.csv") -> str:
    out = io.StringIO()
    done = venire(
        "triage", "run", "--human", human, "--to", to, "--most", most, "--resamples", 20, cwd=heard
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    out.write(done.stdout)
    return out.getvalue()


def test_the_first_cases_of_a_triage_come_back_with_every_rating(heard: Path, tmp_path: Path) -> None:
    tasks = triaged(heard, "label-studio")
    (tmp_path / "tasks.json").write_text(tasks)
    document = json.loads(tasks)

    back = import_records("label-studio", tmp_path / "tasks.json")

    assert document[0]["data"]["id"] == "c0" and "no verdict" in document[0]["data"]["why"]
    assert document[0]["predictions"] == [] and len(document[1]["predictions"]) == 4
    given = {(r.case, r.rater, r.attribute, r.value) for r in read_ratings(heard / "labels.csv")}
    assert {(r.case, r.rater, r.attribute, r.value) for r in back.ratings} == given
    assert {(case.id, case.system) for case in back.cases} == {(f"c{n}", "AB"[n % 2]) for n in range(12)}


def test_the_interface_asks_the_rubric_with_values_behind_its_words(heard: Path) -> None:
    out = io.StringIO()
    export_run(heard / "run", "label-studio-config", None, out, None)
    view = ElementTree.fromstring(out.getvalue())

    assert [text.get("value") for text in view.iter("Text")] == ["$output"]
    assert [choices.get("name") for choices in view.iter("Choices")] == ["accurate", "clear"]
    assert [(c.get("value"), c.get("alias")) for c in view.iter("Choice")][:2] == [
        ("1: a", "1"),
        ("2: b", "2"),
    ]


@needs_annotators("label_studio_sdk")
def test_label_studios_own_package_takes_interface_predictions_and_annotations(
    heard: Path, tmp_path: Path
) -> None:
    (tmp_path / "tasks.json").write_text(triaged(heard, "label-studio"))
    with (tmp_path / "config.xml").open("w") as out:
        export_run(heard / "run", "label-studio-config", None, out, None)

    assert checked_by_package("label_studio", tmp_path) == {"tasks": 12, "predictions": 44, "annotations": 12, "wrong": 0}  # fmt: skip


def test_the_command_writes_counts_and_says_what_it_left_out(tmp_path: Path) -> None:
    good = result("accurate", "choices", ["Good"])
    exported(tmp_path, [task(n, annotation(ANA, good), annotation(7, good)) for n in range(3)])

    done = venire("import", "label-studio", "export.json", "-o", "cases.jsonl", "--ratings", "r.csv", "--json", cwd=tmp_path)  # fmt: skip

    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["cases"], told["ratings"], told["raters"]) == (3, 6, 2)
    assert "texts used: summary as output, dialogue as source" in done.stderr
    with (tmp_path / "r.csv").open() as file:
        assert next(csv.DictReader(file)) == {
            "case": "0", "rater": "ana@example.org", "attribute": "accurate", "value": "Good"
        }  # fmt: skip


def test_the_command_needs_somewhere_to_write_and_a_known_format(tmp_path: Path) -> None:
    exported(tmp_path, [task(1)])
    nowhere = venire("import", "label-studio", "export.json", cwd=tmp_path)
    unknown = venire("import", "label-studo", "export.json", "-o", "c.jsonl", cwd=tmp_path)
    odd = venire("import", "label-studio", "export.json", "-o", "c.txt", cwd=tmp_path)

    assert [each.returncode for each in (nowhere, unknown, odd)] == [2, 2, 2]
    assert "did you mean 'label-studio'" in unknown.stderr
    assert len(odd.stderr.splitlines()) == 2 and not (tmp_path / "c.txt").exists()


def test_a_task_has_what_juries_jurors_and_people_answered_earlier_rounds_first(tmp_path: Path) -> None:
    """Two of three vote for a 3 on `accurate`, all for a half on `kept`; on `plan` nobody votes in the second case."""
    cases = [
        Case(id=name, output="It is so.", source=("A note.",), reference="Hidden.") for name in ("c1", "c2")
    ]
    votes = {
        name: {juror: {"accurate": value, "kept": 0.5, **({"plan": 2} if name == "c1" else {})} for juror, value in (("x", 3), ("y", 3), ("z", 1))}
        for name in ("c1", "c2")
    }  # fmt: skip
    ratings = (
        Rating("c1", "ana", "accurate", 2.0, round=2),
        Rating("c1", "ben", "accurate", 3.0),
        Rating("c1", "ana", "accurate", 1.0, round=1, rationale="at first"),
        Rating("c1", "ana", "kept", 0.2, round=2),
        Rating("c1", "ana", "colour", 9.0),
        Rating("c1", "cy", "accurate", None),
    )
    store = Store.read(written_run(tmp_path / "run", RUBRIC, cases, {"mine": votes}))
    try:
        first, second = annotation_tasks(ExportedRun(store, ratings=ratings))
    finally:
        store.release()

    (jury,) = first.juries
    assert (jury.by, dict(jury.values)) == ("mine", {"accurate": 3, "plan": 2, "kept": 0.5})
    assert jury.support == pytest.approx((2 / 3 + 1 + 1) / 3)
    assert dict(second.juries[0].values) == {"accurate": 3, "kept": 0.5}
    assert second.juries[0].support == pytest.approx((2 / 3 + 1) / 2)
    assert [(each.by, each.values["accurate"]) for each in first.jurors] == [("mine/x", 3), ("mine/y", 3), ("mine/z", 1)]  # fmt: skip
    assert [(each.by, dict(each.values)) for each in first.people] == [
        ("ben", {"accurate": 3.0}),
        ("ana", {"accurate": 1.0}),
        ("ana", {"accurate": 2.0, "kept": 0.2}),
    ]
    assert dict(first.people[1].rationales) == {"accurate": "at first"}
    assert "reference" not in first.texts and list(first.texts) == [
        "question",
        "audience",
        "source",
        "output",
    ]
    assert second.people == []


def test_a_swapped_pair_has_juries_and_jurors_answers_as_its_row_has_the_outputs(tmp_path: Path) -> None:
    rubric = load_rubric("preference")
    names = {name: Case.from_row({"id": name, "output_a": "One.", "output_b": "Two."}) for name in "abcdef"}
    assert {case.swapped for case in names.values()} == {True, False}
    vote = dict.fromkeys(rubric.names, -1)
    store = Store.read(written_run(tmp_path / "run", rubric, list(names.values()), {"mine": {name: {"x": vote} for name in names}}))  # fmt: skip
    try:
        found = {task.case.id: task for task in annotation_tasks(ExportedRun(store, ratings=()))}
    finally:
        store.release()

    for name, case in names.items():
        (jury,), (juror,) = found[name].juries, found[name].jurors
        assert set(jury.values.values()) == set(juror.values.values()) == {1 if case.swapped else -1}
