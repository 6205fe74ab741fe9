"""Rows and scores as every host has them: of any type, with words for answers, and with nothing to say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from mixed_rubric import RUBRIC, SCORES, agreeing_server
from openai_server import ProviderServer, jury_of
from pydantic import BaseModel
from server_juries import jury_at
from written_transcripts import cast, transcript_of, written_run

from venire import Case, Jury, Stop, Store, VenireError, load_rubric
from venire.evals.plugins.judgement import (
    Judgement,
    counts_of,
    named_scores,
    names_with_best,
    numbers_of,
    one_share,
    share,
)
from venire.evals.plugins.promptfoo import get_assert
from venire.evals.plugins.samples import case_from_row, text_of
from venire.evals.plugins.sitting import case_from_sample, convene
from venire.orchestration.reading.export import verdicts
from venire.orchestration.reading.requirements import Requirement, write_junit
from venire.orchestration.verdict import verdict


class Draft(BaseModel):
    text: str


@dataclass
class Visit:
    day: date


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("Fièvre", "Fièvre"),
        (0, "0"),
        (False, "false"),
        ([], "[]"),
        ({"b": 1, "a": "é"}, '{"b": 1, "a": "é"}'),
        (Draft(text="Fever."), '{"text": "Fever."}'),
        (Visit(date(2026, 1, 2)), '{"day": "2026-01-02"}'),
        ({(1, 2): {3}}, '{"1,2": [3]}'),
        (b"\xff", '"_w=="'),
        (float("nan"), "NaN"),
    ],
)
def test_what_is_no_text_is_shown_as_json(value: Any, text: str) -> None:
    assert text_of(value) == text


def test_a_row_has_a_source_a_question_and_a_reference() -> None:
    case = case_from_row(
        {"task": "Summarise.", "notes": ["Monday.", "Tuesday."]}, "Fever.", "Good.", source="notes"
    )

    assert (case.question, case.output, case.reference) == ("Summarise.", "Fever.", "Good.")
    assert list(case.source) == ["Monday.", "Tuesday."]
    assert case_from_row({"a": 1, "b": 2}, "Fever.").question == '{"a": 1, "b": 2}'
    assert not case_from_row(None, "Fever.").question and not case_from_row({}, "Fever.").question
    pair = case_from_row({"task": "Summarise.", "notes": "Monday.", "old": "Cough."}, "Fever.", source="notes", against="old")  # fmt: skip
    assert pair.question == "Summarise." and {pair.output, pair.output_b} == {"Fever.", "Cough."}


def test_a_row_without_a_name_is_known_by_what_went_in_and_came_out() -> None:
    first, same, other = (case_from_row({"n": 1}, text).id for text in ("Fever.", "Fever.", "Cough."))

    assert first == same != other
    assert case_from_row({"n": 1}, "Fever.", name=0).id == "0"


def test_a_row_needs_its_source_and_an_output() -> None:
    with pytest.raises(VenireError, match=r"no field 'note'\n.*notes"):
        case_from_row({"notes": "Monday."}, "Fever.", source="note")
    with pytest.raises(VenireError, match="give the jury a text to judge"):
        case_from_row({"notes": "Monday."}, None)


@pytest.fixture(scope="module")
def reached() -> Iterator[Judgement]:
    with agreeing_server("a", "b") as server:
        jury = jury_at(server.url, "a", "b", protocol="panel")
        yield convene(RUBRIC, jury).hear_sync(case_from_sample(1, "Text."))


@pytest.fixture(scope="module")
def hung() -> Iterator[Judgement]:
    with ProviderServer(jury_of({"a": SCORES, "b": "No."})) as server:
        jury = jury_at(server.url, "a", "b", protocol="panel", quorum=2)
        yield convene(RUBRIC, jury).hear_sync(case_from_sample(1, "Text."))


def test_scores_are_numbers_or_words(reached: Judgement) -> None:
    told = {score.name: (score.number, score.label) for score in named_scores(reached, "jury.")}

    assert told == {
        "jury.accurate": (4, None),
        "jury.risk": (2, None),
        "jury.tone": (None, "plain"),
        "jury.plan": (None, "not_applicable"),
        "jury.safety": (4.0, None),
        "jury.overall": (4.0, None),
        "jury.hung": (0.0, None),
        "jury.abstentions": (0.0, None),
    }
    assert {score.name for score in named_scores(reached) if score.lower_is_better} == {
        "risk",
        "hung",
        "abstentions",
    }
    assert numbers_of(reached)["tone=plain"] == 1
    assert numbers_of(reached)["plan"] is None
    assert one_share(reached) == one_share(reached, "safety") == 0.75
    first, *others = (score.metadata for score in named_scores(replace(reached, fresh=False)))
    assert (first["case"], first["usd"]) == ("1", 0), "what the record holds costs nothing"
    assert {tuple(each) for each in others} == {("jury", "case")}
    assert "usd" not in named_scores(reached)[0].metadata, "no price is known"


def test_what_is_hung_is_no_number_anywhere(hung: Judgement) -> None:
    for score in named_scores(hung):
        assert (score.number is None) != (score.name in ("hung", "abstentions"))
        assert score.reason or score.number is not None
    counts = ("hung", "abstentions")
    assert {number for name, number in numbers_of(hung).items() if name not in counts} == {None}
    assert one_share(hung) is None and one_share(hung, "overall") is None


def test_one_hung_attribute_leaves_no_whole_and_takes_nothing_from_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both jurors answer `accurate`, one alone `risk`: two are needed."""
    jury = Jury.model_validate({"name": "j", "protocol": "panel", "quorum": 2, "seats": [{"name": name, "model": "scripted/none"} for name in "ab"]})  # fmt: skip
    whole = {"accurate": 4, "tone": "plain", "plan": "not_applicable"}
    ballots = [cast("a", {**whole, "risk": 2}), cast("b", whole, abstained=("risk",))]
    heard = transcript_of(ballots).with_stop(Stop(reason="complete"))
    judged = Judgement(verdict(heard, RUBRIC, jury, count="median"), RUBRIC, fresh=True)

    assert {name: (mark.status, mark.value, mark.share) for name, mark in judged.marks.items()} == {
        "accurate": ("reached", 4, 0.75),
        "risk": ("hung", None, None),
        "tone": ("reached", "plain", None),
        "plan": ("not_applicable", None, None),
        "safety": ("hung", None, None),
        "overall": ("hung", None, None),
    }
    assert one_share(judged) is None and one_share(judged, "accurate") == 0.75
    assert counts_of(judged)["hung"] == 1
    assert judged.misses("accurate>=4") == [] and len(judged.misses("accurate>=5", "safety>=1", "risk<=5")) == 3  # fmt: skip

    monkeypatch.setattr("venire.evals.plugins.promptfoo.convene", lambda *given, **options: _Said(judged))
    config: dict[str, Any] = {"rubric": RUBRIC, "jury": jury}
    plain, required, missed = (
        get_assert("Text.", {"config": {**config, **more}})
        for more in ({"prefix": "x."}, {"require": ["accurate>=4"]}, {"require": ["accurate>=5"]})
    )
    assert (plain["pass"], plain["reason"], plain["namedScores"]) == (False, "risk: hung", {"x.accurate": 0.75})  # fmt: skip
    assert (required["pass"], required["score"], missed["pass"]) == (True, 0.75, False)
    assert [part["score"] for part in plain["componentResults"]] == [0.75]


@dataclass
class _Said:
    """A sitting that has one judgement for every case."""

    judgement: Judgement

    def hear_sync(self, case: Any) -> Judgement:
        return self.judgement


def test_what_is_required_of_a_pair_is_of_the_hosts_own_output_under_either_label(tmp_path: Path) -> None:
    """The jury prefers the row's `output_a`, the host's own, in every case: its label is output A in some and output B in others."""
    cases = [Case.from_row({"id": f"c{n}", "output_a": "Left.", "output_b": "Right."}) for n in range(8)]
    votes = {case.id: {"x": {"preference": case.under_labels(-1)}} for case in cases}
    rubric = load_rubric("preference")
    store = Store.read(written_run(tmp_path / "run", rubric, cases, {"j": votes}))
    for _, counted in verdicts(store):
        judged = Judgement(counted, rubric, fresh=True)
        assert (judged.marks["preference"].value, judged.misses("preference>=1"), judged.misses("preference==1")) == (1, [], [])  # fmt: skip
        assert judged.misses("preference<=0") == ["preference<=0: it is 1"]
    store.release()
    assert {case.swapped for case in cases} == {True, False}
    # Of a run, it is between the row's outputs, as people's ratings are.
    for written, missed in (("preference<=-1", 0), ("preference>=0", 8)):
        assert write_junit(tmp_path / "run", [Requirement.parse(written, rubric)], None) == (missed, 8)


def test_a_score_that_has_no_best_is_refused_with_the_nearest() -> None:
    assert "tone" not in names_with_best(RUBRIC)
    with pytest.raises(VenireError, match=r"has no score 'acurate'\n.*accurate"):
        names_with_best(RUBRIC, ["acurate"])


def test_a_share_runs_from_the_worst_to_the_best_that_a_score_can_be() -> None:
    fields = RUBRIC.model_dump()
    fields["scales"]["ten"] = {"level": "ordinal", "anchors": {n: str(n) for n in range(11)}}
    fields["attributes"] = [*fields["attributes"], {"name": "reach", "question": "How far?", "scale": "ten"}]
    fields["composites"] = {"mixed": {"accurate": 0.5, "reach": 0.5}, "kinds": {"risk": 0.5, "safety": 0.5}}
    rubric = type(RUBRIC).model_validate(fields)

    # From 0.5 * 1 + 0.5 * 0 to 0.5 * 5 + 0.5 * 10.
    values = {"accurate": 2, "risk": 2, "safety": 2, "reach": 0, "mixed": 4.0}
    assert {name: share(rubric, name, value) for name, value in values.items()} == {
        "accurate": 0.25,
        "risk": 0.75,
        "safety": 0.25,
        "reach": 0.0,
        "mixed": 0.5,
    }
    # A question and its reverse add up to the same whatever was answered.
    assert share(rubric, "kinds", 3.0) is None
    assert share(rubric, "tone", "plain") is None and share(rubric, "accurate", None) is None
    assert share(rubric, "plan", "not_applicable") is None
