"""Rows and scores as every host has them: of any type, with words for answers, and with nothing to say."""

from __future__ import annotations

import asyncio
import importlib
import io
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import combinations
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from mixed_rubric import RUBRIC, SCORES, agreeing_server
from openai_server import ProviderServer, jury_of
from pydantic import BaseModel
from server_juries import jury_at
from written_transcripts import abstained, cast, transcript_of, written_run

from venire import Case, Jury, Rubric, Stop, Store, VenireError, load_rubric
from venire.agents.cost import Receipt
from venire.evals.plugins.judgement import (
    Judgement,
    counts_of,
    named_scores,
    names_with_best,
    numbers_of,
    one_share,
    share,
)
from venire.evals.plugins.promptfoo import call_api, get_assert, serve_assertions
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


ALONE = Jury.model_validate({"name": "j", "protocol": "panel", "seats": [{"name": "x", "model": "scripted/none"}]})  # fmt: skip


@dataclass
class _Panel:
    """A sitting whose juror prefers, of two texts, the one named for them, neither (`tie`) or gives no vote (`hung`)."""

    prefers: Mapping[str, str]
    usd: float | None = 0.1
    recorded: str = ""
    rubric: Rubric = field(default_factory=lambda: load_rubric("preference"))

    def hear_sync(self, case: Case) -> Judgement:
        sides = [str(case.output), str(case.output_b)]
        own, other = reversed(sides) if case.swapped else sides
        assert (case.question, case.reference) == ("Which?", None)
        preferred = self.prefers[own + other]
        spent = Receipt(calls=("k",), prompt=30, completion=4, cached=8, usd=self.usd)
        vote = case.under_labels({own: -1, other: 1}.get(preferred, 0))
        ballot = cast("x", {"preference": vote}, spent=spent)
        heard = transcript_of([abstained("x", "preference") if preferred == "hung" else ballot])
        heard = heard.model_copy(update={"case": case.id}).with_stop(Stop(reason="complete"))
        counted = verdict(heard, self.rubric, ALONE, count="median")
        return Judgement(counted, self.rubric, fresh=own + other != self.recorded)


def test_promptfoo_selects_the_output_that_is_preferred_to_each_of_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    convened: list[dict[str, Any]] = []

    def selected(sitting: Any, texts: str = "abc", **more: Any) -> dict[str, Any]:
        monkeypatch.setattr("venire.evals.plugins.promptfoo.convene", lambda rubric, jury, **options: convened.append(options) or sitting)  # fmt: skip
        config = {"rubric": "preference", "jury": "j", "question": "task", "workers": 2, "timeout": 9, "model": "m"}  # fmt: skip
        given = {"vars": {"outputs": list(texts), "task": "Which?", "secret": "Not shown."}}
        return call_api("", {"config": {**config, **more}}, given)

    for texts in ("abc", "bac", "cab", "bca"):
        best = {one + other: "b" if "b" in one + other else "a" for one, other in combinations(texts, 2)}
        found = selected(_Panel(best), texts)
        assert found["output"] == str(texts.index("b"))
        assert found["cost"] == pytest.approx(0.3)
        assert found["tokenUsage"] == {"total": 102, "prompt": 90, "completion": 12, "cached": 24, "numRequests": 3}  # fmt: skip
    assert convened == [{"model": "m"}] * 4
    known = selected(_Panel(best, recorded="ba"), "bca")
    assert known["tokenUsage"]["numRequests"] == 2 and known["cost"] == pytest.approx(0.2)
    assert "cost" not in selected(_Panel(best, usd=None), "bca")

    for prefers, why in (
        ({"ab": "a", "bc": "b", "ac": "c"}, "; 1 against 2: "),
        ({"ab": "tie", "ac": "a", "bc": "b"}, "0 against 1: tie"),
        ({"ab": "a", "ac": "hung", "bc": "b"}, "0 against 2: hung"),
    ):
        none = selected(_Panel(prefers))
        assert "output" not in none and none["tokenUsage"]["numRequests"] == 3 - (why[-4:] == "hung")
        assert none["error"].startswith("no output is preferred to every other: ")
        assert why in none["error"]
    assert "no variable 'tasc'" in selected(_Panel(best), question="tasc")["error"]
    assert "not 'other' of preference" in selected(_Panel(best), attribute="other")["error"]
    assert selected(_Panel(best), "bca", attribute="preference")["output"] == "0"
    assert "needs one attribute of a rubric with kind: pair" in selected(_Panel({}, rubric=RUBRIC))["error"]


def test_promptfoo_refuses_two_juries_under_one_name_and_answers_every_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard = transcript_of([cast("x", {"accurate": 4, "risk": 2, "tone": "plain", "plan": "not_applicable"}, spent=Receipt(calls=("k",), prompt=5))])  # fmt: skip
    judged = Judgement(verdict(heard.with_stop(Stop(reason="complete")), RUBRIC, ALONE, count="median"), RUBRIC, fresh=True)  # fmt: skip
    monkeypatch.setattr("venire.evals.plugins.promptfoo.convene", lambda *given, **options: _Said(judged))
    mine = {"rubric": "r", "jury": "j", "require": ["accurate>=4"]}

    def passes(*others: dict[str, Any]) -> bool:
        asserted = [{"type": "python", "config": each} for each in (mine, *others)]
        found = get_assert("Text.", {"config": mine, "test": {"assert": [*asserted, {"type": "is-json"}]}})
        assert found["pass"] or "two juries of this test have the prefix ''" in found["metadata"]["error"]
        assert found["tokensUsed"]["numRequests"] == 1 if found["pass"] else found["score"] == 0
        return bool(found["pass"])

    assert passes() and passes({**mine, "require": ["risk<=2"]}) and passes({"value": "no jury"})
    assert passes({**mine, "jury": "k", "prefix": "k."}) and not passes({**mine, "jury": "k"})
    assert not passes({**mine, "rubric": "s"})

    lines = [{"id": 1, "output": "Text.", "context": {"config": mine}}, {"id": 2, "output": "Text."}]
    answers = io.StringIO()
    serve_assertions(io.StringIO("".join(f"{json.dumps(line)}\n" for line in lines)), answers)
    told = {answer["id"]: answer["result"] for answer in map(json.loads, answers.getvalue().splitlines())}
    assert told[1]["pass"] is True and (told[2]["pass"], told[2]["score"], told[2]["metadata"]) == (False, 0, {"error": "KeyError: 'context'"})  # fmt: skip
    unread = get_assert("Text.", {"config": {**mine, "source": "note"}, "vars": {"notes": "Monday."}})
    assert (unread["pass"], unread["score"]) == (False, 0) and "no variable 'note'" in unread["reason"]


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
        assert judged.headline == "preference the output"
        label = "B" if next(case.swapped for case in cases if case.id == counted.case) else "A"
        assert judged.marks["preference"].reason.endswith(f"\njurors saw this output as output {label}")
    store.release()
    assert {case.swapped for case in cases} == {True, False}
    # Of a run, it is between the row's outputs, as people's ratings are.
    for written, missed in (("preference<=-1", 0), ("preference>=0", 8)):
        assert write_junit(tmp_path / "run", [Requirement.parse(written, rubric)], None) == (missed, 8)


def test_what_goes_to_people_is_counted_and_said_and_a_rubrics_own_names_go_before_counts() -> None:
    heard = transcript_of([cast("x", {"accurate": 4, "risk": 2, "tone": "plain", "plan": "not_applicable"})])
    counted = verdict(heard.with_stop(Stop(reason="complete")), RUBRIC, ALONE, count="median")
    passed = {"risk": "low support", "tone": "", "accurate": None}
    outcomes = {name: outcome.model_copy(update={"escalated": passed.get(name)}) for name, outcome in counted.outcomes.items()}  # fmt: skip
    judged = Judgement(counted.model_copy(update={"outcomes": outcomes}), RUBRIC, fresh=True)

    assert counts_of(judged) == {"hung": 0, "abstentions": 0, "to_people": 1}
    assert "passed on to people: low support" in judged.marks["risk"].reason
    assert "passed on" not in judged.marks["tone"].reason + judged.marks["accurate"].reason
    assert judged.headline == "accurate 4, risk 2, tone plain, plan not_applicable, safety 4.0, overall 4.0"

    fields = RUBRIC.model_dump()
    asked = {
        **fields,
        "attributes": [{"name": "hung", "question": "Is it?", "scale": "agree5"}],
        "composites": {},
    }
    rubric = Rubric.model_validate(asked)
    own = transcript_of([cast("x", {"hung": 4})]).with_stop(Stop(reason="complete"))
    named = Judgement(verdict(own, rubric, ALONE, count="median"), rubric, fresh=True)
    assert {score.name: score.number for score in named_scores(named)} == {"hung": 4, "abstentions": 0}
    assert numbers_of(named) == {"hung": 4, "abstentions": 0}


class _Named(SimpleNamespace):
    """Whatever a host makes of keywords."""


def _plug_in(monkeypatch: pytest.MonkeyPatch, name: str, heard: Judgement, **host: dict[str, Any]) -> tuple[Any, list[Case]]:  # fmt: skip
    """The plug-in of a host of which there are these modules alone, and the cases that its sitting was given."""
    for path, members in host.items():
        module = ModuleType(path.replace("__", "."))
        vars(module).update(members)
        parents = module.__name__.split(".")
        for at in range(1, len(parents)):
            parent = ".".join(parents[:at])
            monkeypatch.setitem(sys.modules, parent, sys.modules.get(parent) or ModuleType(parent))
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.delitem(sys.modules, f"venire.evals.plugins.{name}", raising=False)
    plug_in = importlib.import_module(f"venire.evals.plugins.{name}")
    monkeypatch.delitem(sys.modules, f"venire.evals.plugins.{name}")
    cases: list[Case] = []

    class Sitting:
        jury = ALONE

        def hear_sync(self, case: Case) -> Judgement:
            cases.append(case)
            return heard

        async def hear(self, case: Case) -> Judgement:
            return self.hear_sync(case)

    monkeypatch.setattr(plug_in, "convene", lambda rubric, jury, **options: Sitting())
    monkeypatch.setattr(plug_in, "warn_of_one_name", lambda *given: None)
    return plug_in, cases


@pytest.fixture
def half() -> Judgement:
    """`accurate` and a word are reached for 10 cents, `risk` is hung, `plan` does not apply."""
    jury = ALONE.model_copy(update={"quorum": 1})
    spent = Receipt(calls=("k",), usd=0.1)
    vote = cast("x", {"accurate": 4, "tone": "plain", "plan": "not_applicable"}, abstained=("risk",), spent=spent)  # fmt: skip
    heard = transcript_of([vote]).with_stop(Stop(reason="complete"))
    return Judgement(verdict(heard, RUBRIC, jury, count="median"), RUBRIC, fresh=True)


def test_helm_has_a_number_for_what_was_reached_and_counts_what_is_hung(
    monkeypatch: pytest.MonkeyPatch, half: Judgement
) -> None:
    class Stat(_Named):
        def add(self, value: float) -> Stat:
            self.value = value
            return self

    def stat(name: str) -> Stat:
        return Stat(name=name)

    plug_in, cases = _plug_in(
        monkeypatch, "helm", half, helm__benchmark__adaptation__adapter_spec={"AdapterSpec": _Named}, helm__benchmark__adaptation__request_state={"RequestState": _Named},
        helm__benchmark__annotation__annotator={"Annotator": object, "AnnotatorSpec": _Named}, helm__benchmark__metrics__metric={"Metric": object, "MetricSpec": _Named},
        helm__benchmark__metrics__metric_name={"MetricName": str}, helm__benchmark__metrics__metric_service={"MetricService": _Named}, helm__benchmark__metrics__statistic={"Stat": stat},
    )  # fmt: skip

    def state(trial: int, texts: tuple[str, ...] = ("Fever.", "Other."), correct: str | None = "Good.") -> Any:  # fmt: skip
        reference = None if correct is None else _Named(output=_Named(text=correct))
        instance = _Named(id="i7", input=_Named(text="Monday."), first_correct_reference=reference)
        completions = [_Named(text=text) for text in texts]
        return _Named(instance=instance, train_trial_index=trial, request=_Named(model="m"), result=_Named(completions=completions))  # fmt: skip

    found = plug_in.JuryAnnotator("r", "j", name="n").annotate(state(0))
    plug_in.JuryAnnotator("r", "j", shown_as="question").annotate(state(2, correct=None))
    first, again = cases
    assert (first.id, first.output, list(first.source), first.question, first.reference, first.system) == ("i7", "Fever.", ["Monday."], None, "Good.", "m")  # fmt: skip
    assert (again.id, list(again.source), again.question, again.reference) == ("i7-2", [], "Monday.", None)
    with pytest.raises(VenireError, match="give the jury a text to judge"):
        plug_in.JuryAnnotator("r", "j").annotate(state(0, ()))
    assert found["marks"]["risk"] == {"status": "hung", "value": None} and found["usd"] == 0.1

    metric = plug_in.JuryMetric("n")
    stats = metric.evaluate_generation(None, _Named(annotations={"n": found, "other": {}}), None, "")
    assert {each.name: each.value for each in stats} == {
        "n_accurate": 4, "n_accurate_hung": 0, "n_risk_hung": 1, "n_tone_hung": 0, "n_plan_hung": 0, "n_safety_hung": 1, "n_overall_hung": 1, "n_abstentions": 1,
    }  # fmt: skip
    annotators, metrics = plug_in.jury_specs("r", "j", name="n", model="m")
    assert annotators[0].args == {"rubric": "r", "jury": "j", "name": "n", "model": "m"} and metrics[0].args == {"name": "n"}  # fmt: skip


def test_mlflow_has_a_value_or_why_there_is_none_and_the_cost_once(
    monkeypatch: pytest.MonkeyPatch, half: Judgement
) -> None:
    plug_in, cases = _plug_in(
        monkeypatch, "mlflow", half, mlflow__entities={"AssessmentError": _Named, "AssessmentSource": _Named, "Feedback": _feedback},
        mlflow__genai__scorers={"Scorer": _Named, "scorer": lambda name: lambda function: function},
        mlflow__tracing__constant={"AssessmentMetadataKey": _Named(JUDGE_COST="cost")},
    )  # fmt: skip
    judge = plug_in.jury_scorer("r", "j", prefix="p.", source="notes", reference="best")
    found = {each.name: each for each in judge({"notes": "Monday.", "task": "Sum."}, "Fever.", {"best": "Good.", "other": "Bad."})}  # fmt: skip

    (case,) = cases
    assert (list(case.source), case.question, case.output, case.reference) == (["Monday."], "Sum.", "Fever.", "Good.")  # fmt: skip
    assert list(found) == [f"p.{name}" for name in (*half.marks, "hung", "abstentions")]
    assert {name: each.error.error_code for name, each in found.items() if each.error} == {"p.risk": "HUNG", "p.plan": "NOT_APPLICABLE", "p.safety": "HUNG", "p.overall": "HUNG"}  # fmt: skip
    assert (found["p.accurate"].value, found["p.tone"].value, found["p.risk"].value, found["p.hung"].value) == (4, "plain", None, 1)  # fmt: skip
    assert [name for name, each in found.items() if "cost" in each.metadata] == ["p.accurate"] and found["p.accurate"].metadata["cost"] == "0.1"  # fmt: skip
    assert found["p.risk"].error.error_message == found["p.risk"].rationale == half.marks["risk"].reason
    plug_in.jury_scorer("r", "j")({"task": "Sum."}, "Fever.", None)
    assert cases[-1].reference is None


def _feedback(metadata: dict[str, str] | None = None, error: Any = None, **fields: Any) -> _Named:
    return _Named(metadata=metadata or {}, error=error, **fields)


def test_langfuse_has_numbers_and_words_apart(monkeypatch: pytest.MonkeyPatch, half: Judgement) -> None:
    plug_in, cases = _plug_in(monkeypatch, "langfuse", half, langfuse={"Evaluation": _Named})
    evaluate = plug_in.jury_evaluator("r", "j", source="notes", prefix="p.")
    found = asyncio.run(evaluate(input={"notes": "Monday.", "task": "Sum."}, output="Fever.", expected_output="Good.", item=1))  # fmt: skip

    assert (list(cases[0].source), cases[0].question, cases[0].reference) == (["Monday."], "Sum.", "Good.")
    assert {each.name: (each.value, each.data_type) for each in found} == {
        "p.accurate": (4, "NUMERIC"), "p.tone": ("plain", "CATEGORICAL"), "p.plan": ("not_applicable", "CATEGORICAL"), "p.hung": (1.0, "NUMERIC"), "p.abstentions": (1.0, "NUMERIC"),
        **{f"p.{name}": ("hung", "CATEGORICAL") for name in ("risk", "safety", "overall")},
    }  # fmt: skip
    assert evaluate.__name__ == "j" and found[0].metadata["usd"] == 0.1


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
