"""Argilla's records as cases and ratings, and the first cases of a triage as its records, with nothing lost on the way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from annotator_packages import checked_by_package, needs_annotators
from command_line import venire

from venire import VenireError, load_rubric
from venire.evals.exchange import import_records
from venire.evals.exchange.annotation_tasks import Answers
from venire.evals.exchange.argilla import _exported_suggestions
from venire.orchestration.reading.terminal import export_run
from venire.rubrics.ratings import Rating, read_ratings

ANA, BEN = "3f0c1b3e-0000-4000-8000-000000000001", "3f0c1b3e-0000-4000-8000-000000000002"


def record(name: str, responses: Any, **more: Any) -> dict[str, Any]:
    """A record as `records.to_json` writes it."""
    return {
        "id": name, "fields": {"response": f"The text of {name}.", "prompt": "Summarise."}, "metadata": {"split": "test"},
        "suggestions": {}, "responses": responses, "vectors": {}, "status": "completed", "_server_id": None, **more,
    }  # fmt: skip


def said(value: Any, user: str = ANA, **more: Any) -> dict[str, Any]:
    return {"value": value, "user_id": user, **more}


def written(folder: Path, *records: Any) -> Path:
    file = folder / "records.json"
    file.write_text(json.dumps(records))
    return file


def test_records_become_cases_and_submitted_responses_ratings(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        record(
            "r1",
            {
                "accurate": [said(4), said(2, BEN)],
                "tone": [said("plain")],
                "accurate_rationale": [said("Dose is off.")],
            },
            suggestions={"accurate": {"value": 5, "score": None, "agent": "m"}},
        ),
        record(
            "r2",
            {"accurate": [said(3, status="draft"), said(1, BEN, status="discarded")], "tone": [said(None)]},
        ),
    )

    found = import_records("argilla", file)

    first = found.cases[0]
    assert (first.id, first.output, first.question, first.metadata) == (
        "r1", "The text of r1.", "Summarise.", {"split": "test"},
    )  # fmt: skip
    assert [(r.rater, r.attribute, r.value, r.rationale) for r in found.ratings] == [
        (ANA, "accurate", 4.0, "Dose is off."),
        (BEN, "accurate", 2.0, None),
        (ANA, "tone", "plain", None),
    ]
    assert {why: len(where) for why, where in found.records.skipped.items()} == {
        "suggestions by models": 1,
        "draft responses": 1,
        "discarded responses": 1,
        "responses without a value": 1,
    }


@pytest.mark.parametrize(
    "value", [["a", "b"], [{"value": "a", "rank": 1}], [{"start": 1, "end": 2, "label": "x"}]]
)
def test_rankings_spans_and_several_labels_are_lost_by_name(tmp_path: Path, value: Any) -> None:
    file = written(tmp_path, record("r1", {"accurate": [said(4)], "kinds": [said(value)]}))

    found = import_records("argilla", file)

    assert found.records.unreadable["rating"] == {
        "an answer that is a ranking, spans or several labels": ["r1: kinds"]
    }
    assert len(found.ratings) == 1


def test_flattened_records_keep_the_status_of_their_responses(tmp_path: Path) -> None:
    flat = {
        "id": "r1", "status": "completed", "_server_id": None, "response": "A text.", "accurate.responses": [4, 1],
        "accurate.responses.users": [ANA, BEN], "accurate.responses.status": ["submitted", "discarded"],
        "accurate.suggestion": 5, "accurate.suggestion.agent": "m", "accurate.suggestion.score": None,
    }  # fmt: skip

    found = import_records("argilla", written(tmp_path, flat))

    assert [(r.rater, r.value) for r in found.ratings] == [(ANA, 4.0)]
    assert found.cases[0].output == "A text." and set(found.records.skipped) == {"suggestions by models", "discarded responses"}  # fmt: skip


def test_a_folder_with_settings_tells_free_text_from_labels(tmp_path: Path) -> None:
    (tmp_path / ".argilla").mkdir()
    questions = [
        {"name": "fix", "settings": {"type": "text"}},
        {"name": "kept", "settings": {"type": "text"}},
    ]
    (tmp_path / ".argilla" / "settings.json").write_text(json.dumps({"questions": questions}))
    written(
        tmp_path, record("r1", {"accurate": [said(4)], "fix": [said("Say 5 mg.")], "kept": [said("0.5")]})
    )

    found = import_records("argilla", tmp_path)

    assert [(r.attribute, r.value, r.rationale) for r in found.ratings] == [
        ("accurate", 4.0, "Say 5 mg."), ("kept", 0.5, "Say 5 mg."),
    ]  # fmt: skip


def test_responses_of_another_shape_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        VenireError, match="the responses of record 'r1' are not in the form that Argilla writes"
    ):
        import_records("argilla", written(tmp_path, record("r1", {"accurate": [4]})))


def test_records_out_and_in_again_hold_every_rating(heard: Path, tmp_path: Path) -> None:
    done = venire("triage", "run", "--human", "labels.csv", "--to", "argilla", "--most", 100, "--resamples", 20, "-o", tmp_path / "records.json", "--json", cwd=heard)  # fmt: skip
    assert done.returncode == 0, done.stderr
    with (tmp_path / "settings.json").open("w") as out:
        export_run(heard / "run", "argilla-settings", None, out, None)
    records = json.loads((tmp_path / "records.json").read_text())

    back = import_records("argilla", tmp_path / "records.json")

    assert len(json.loads(done.stdout)["cases"]) == len(records) == 12
    assert records[0]["id"] == "c0" and records[0]["suggestions"] == {} and "no verdict" in records[0]["metadata"]["venire_why"]  # fmt: skip
    assert "accurate: j0 " in records[1]["metadata"]["venire_votes"]
    given = {(r.case, r.rater, r.attribute, r.value) for r in read_ratings(heard / "labels.csv")}
    assert {(r.case, r.rater, r.attribute, r.value) for r in back.ratings} == given


def test_earlier_rounds_and_a_round_that_skips_a_question_survive(heard: Path, tmp_path: Path) -> None:
    given = [
        Rating("c3", "ana", "clear", 5.0, rationale="plain"),
        Rating("c3", "ana", "accurate", 2.0, round=1),
        Rating("c3", "ana", "accurate", 4.0, round=2, rationale="read again"),
    ]
    with (tmp_path / "records.json").open("w") as out:
        export_run(heard / "run", "argilla", None, out, None, case="c3", ratings=given)

    back = import_records("argilla", tmp_path / "records.json")

    assert set(back.ratings) == set(given)


def test_the_reason_for_an_earlier_score_is_not_the_reason_for_a_later_one(heard: Path, tmp_path: Path) -> None:  # fmt: skip
    given = [
        Rating("c3", "ana", "accurate", 2.0, round=1, rationale="dose is off"),
        Rating("c3", "ana", "clear", 3.0, round=1, rationale="long"),
        Rating("c3", "ana", "accurate", 4.0, round=2),
    ]
    with (tmp_path / "records.json").open("w") as out:
        export_run(heard / "run", "argilla", None, out, None, case="c3", ratings=given)

    back = {(each.attribute, each.value): each.rationale for each in import_records("argilla", tmp_path / "records.json").ratings}  # fmt: skip
    assert back == {("accurate", 2.0): None, ("accurate", 4.0): None, ("clear", 3.0): "long"}


def test_the_first_jury_whose_verdict_is_an_answer_makes_the_suggestion() -> None:
    asked = load_rubric("pdsqi-9")
    forms = {name: (asked.by_name[name], asked.scale_of(name)) for name in asked.names[:3]}
    one, two, three = forms
    low, high = forms[one][1].values[0], forms[one][1].values[-1]
    juries = [Answers("first", {one: low, two: 2.5}), Answers("second", {one: high, two: high, three: "not_applicable"})]  # fmt: skip
    made = _exported_suggestions(juries, forms)

    assert {name: (each["value"], each["agent"]) for name, each in made.items()} == {
        one: (low, "venire first"), two: (high, "venire second"), three: ("not_applicable", "venire second"),
    }  # fmt: skip


@needs_annotators("argilla")
def test_argillas_own_package_reads_them_and_what_it_writes_is_read_again(
    heard: Path, tmp_path: Path
) -> None:
    for name, to in (("records.json", "argilla"), ("settings.json", "argilla-settings")):
        with (tmp_path / name).open("w") as out:
            ratings = list(read_ratings(heard / "labels.csv"))
            export_run(heard / "run", to, None, out, None, ratings=ratings)

    found = checked_by_package("argilla", tmp_path)

    assert found == {"records": 12, "suggestions": 22, "responses": 24, "wrong": 0}
    assert len(import_records("argilla", tmp_path / "back.json").ratings) == 24
