"""Attributes that are asked only where another has a certain value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT
from openai_server import Call, ProviderServer, filled
from pydantic import ValidationError
from server_juries import jury_at

from venire import Case, Rubric, deliberate_sync, load_rubric
from venire.agents.prompting import rubric_text


def conditional(**asked_if: Any) -> Rubric:
    return Rubric.model_validate(
        {
            "name": "concordance",
            "version": 1,
            "scales": {
                "agree": {"level": "binary", "anchors": {0: "No", 1: "Yes"}},
                "choice": {"level": "nominal", "anchors": {"ai": "AI", "human": "Human"}},
            },
            "attributes": [
                {"name": "concordant", "question": "The same?", "scale": "agree"},
                {"name": "preference", "question": "Which?", "scale": "choice", "asked_if": asked_if},
            ],
        }
    )


def test_a_vote_counts_only_of_a_juror_who_met_the_condition() -> None:
    said = {"a": {"concordant": 1, "preference": "ai"}, "b": {"concordant": 0, "preference": "human"}}

    def answer(call: Call) -> Any:
        assert call.schema is not None
        return filled(call.schema, said[call.model].get)

    with ProviderServer(answer) as server:
        case, rubric = Case(id="c", output="Words."), conditional(concordant=1)
        both = deliberate_sync(case, rubric, jury_at(server.url, "a", "b", protocol="panel"))
        neither = deliberate_sync(case, rubric, jury_at(server.url, "b", protocol="panel"))

    assert (both["preference"].status, both["preference"].value) == ("reached", "ai")
    assert neither["preference"].status == "not_applicable"


def test_the_jury_reads_on_what_it_depends() -> None:
    assert "not_applicable: wherever it is not the case that concordant is 1" in rubric_text(
        conditional(concordant=1)
    )


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ({"concordent": 1}, "not the name of an attribute that comes before"),
        ({"preference": "ai"}, "not the name of an attribute that comes before"),
        ({"concordant": 5}, "not a value of"),
    ],
)
def test_a_condition_that_can_never_hold_is_refused(condition: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        conditional(**condition)


def test_a_rubric_without_conditions_is_recorded_as_before() -> None:
    assert all("asked_if" not in each for each in conditional().model_dump(mode="json")["attributes"])


def test_a_rubric_that_is_loaded_again_is_the_same_one_unless_its_file_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "notes.yaml"
    path.write_text((ROOT / "rubrics/library/clinical-note.yaml").read_text(encoding="utf-8"))
    first = load_rubric(path)
    assert load_rubric(path) is first

    path.write_text(path.read_text(encoding="utf-8").replace(first.attributes[0].question, "Is it so?"))

    assert load_rubric(path).attributes[0].question == "Is it so?"
