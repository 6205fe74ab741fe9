"""One judgement, partly hung, as every host is given it: hosts' classes are plain ones here, and no package of theirs is needed."""

from __future__ import annotations

import asyncio
import importlib
import json
import math
import sys
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from mixed_rubric import RUBRIC
from written_transcripts import cast, transcript_of

from venire import Case, Jury, Stop
from venire.agents.cost import Receipt
from venire.evals import plugins
from venire.evals.plugins.judgement import Judgement
from venire.orchestration.verdict import verdict

JURY = Jury.model_validate({"name": "readers", "protocol": "panel", "quorum": 2, "seats": [{"name": name, "model": "scripted/none"} for name in "ab"]})  # fmt: skip


def judgement(*, fresh: bool = True, risk: bool = False) -> Judgement:
    """`accurate` 4 and `tone` plain; `plan` does not apply; of `risk` one vote is missing, unless it is asked for."""
    spent = Receipt(calls=("k",), prompt=9, completion=1, usd=0.25)
    whole = {"accurate": 4, "tone": "plain", "plan": "not_applicable"}
    second = cast("b", {**whole, "risk": 2}) if risk else cast("b", whole, abstained=("risk",))
    heard = transcript_of([cast("a", {**whole, "risk": 2}, spent=spent), second])
    counted = verdict(heard.with_stop(Stop(reason="complete")), RUBRIC, JURY, count="median")
    return Judgement(counted, RUBRIC, fresh=fresh)


class Sitting:
    """Gives the same judgement of every case, and keeps the cases."""

    rubric, jury = RUBRIC, JURY

    def __init__(self, given: Judgement) -> None:
        self.given, self.heard = given, list[Case]()

    def hear_sync(self, case: Case, **_: Any) -> Judgement:
        self.heard.append(case)
        return self.given

    async def hear(self, case: Case, **_: Any) -> Judgement:
        return self.hear_sync(case)


class Record(SimpleNamespace):
    """A host's class: it holds what it is made with."""

    def __init__(self, *places: Any, **fields: Any) -> None:
        super().__init__(**{f"at{n}": place for n, place in enumerate(places)}, **fields)


@pytest.fixture
def adapter(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[Any, Sitting]]]:
    """The adapter of a host whose modules have these names, and the sitting that it convenes."""
    loaded: list[str] = []

    def load(name: str, modules: dict[str, dict[str, Any]], given: Judgement | None = None) -> tuple[Any, Sitting]:  # fmt: skip
        for path, contents in modules.items():
            parts = path.split(".")
            for depth in range(1, len(parts) + 1):
                known = ".".join(parts[:depth])
                if known not in sys.modules or depth == len(parts):
                    monkeypatch.setitem(sys.modules, known, ModuleType(known))
            vars(sys.modules[path]).update(contents)
        full = f"venire.evals.plugins.{name}"
        monkeypatch.delitem(sys.modules, full, raising=False)
        monkeypatch.setattr(plugins, name, getattr(plugins, name, None), raising=False)
        module = importlib.import_module(full)
        loaded.append(full)
        sitting = Sitting(given or judgement())
        monkeypatch.setattr(module, "convene", lambda *_, **__: sitting)
        return module, sitting

    yield load
    for full in loaded:
        sys.modules.pop(full, None)


def test_langsmith_and_lm_evaluation_harness(adapter: Any) -> None:
    langsmith, sitting = adapter("langsmith", {})
    feedback = {row["key"]: row for row in langsmith.JuryEvaluator(RUBRIC, JURY, prefix="x.", source="notes", output="text")(inputs={"notes": "N.", "q": "Why?"}, outputs={"text": "T.", "other": 1}, reference_outputs={"good": "G."})}  # fmt: skip
    assert (feedback["x.accurate"]["score"], feedback["x.accurate"]["value"]) == (4, None)
    assert (feedback["x.risk"]["score"], feedback["x.risk"]["value"]) == (None, "hung")
    assert (feedback["x.tone"]["score"], feedback["x.tone"]["value"]) == (None, "plain")
    assert feedback["x.plan"]["value"] == "not_applicable" and feedback["x.hung"]["score"] == 1
    assert [row["metadata"].get("usd") for row in feedback.values()].count(0.25) == 1
    (case,) = sitting.heard
    assert (case.output, case.question, case.source, case.reference) == ("T.", "Why?", ("N.",), "G.")

    harness, sitting = adapter("lm_eval", {})
    results = harness.jury_results(RUBRIC, JURY, prefix="x.", question="q", source="notes", reference="good")
    doc = {"q": "Why?", "notes": "N.", "good": "G.", "secret": "S."}
    assert results(doc, ["T."]) == {"x.accurate": 4.0, "x.tone=plain": 1.0, "x.tone=odd": 0.0, "x.hung": 1.0, "x.abstentions": 1.0, "x.judged": 1.0}  # fmt: skip
    assert doc["x.jury"]["usd"] == 0.25 and "risk" in doc["x.jury"]  # type: ignore[index,operator]
    assert sitting.heard[0].reference == "G." and "S." not in sitting.heard[0].model_dump_json()
    assert results({**doc}, ["  "]) == {"x.judged": 0.0} and len(sitting.heard) == 1


def test_langfuse_pydantic_evals_and_phoenix(adapter: Any) -> None:
    langfuse, _ = adapter("langfuse", {"langfuse": {"Evaluation": Record}})
    evaluate = langfuse.jury_evaluator(RUBRIC, JURY, prefix="x.")
    kept = {each.name: each for each in asyncio.run(evaluate(input="Q?", output="T."))}
    assert (kept["x.accurate"].value, kept["x.accurate"].data_type) == (4, "NUMERIC")
    assert (kept["x.risk"].value, kept["x.risk"].data_type) == ("hung", "CATEGORICAL") and kept["x.risk"].comment  # fmt: skip

    evaluators = {"EvaluationReason": Record, "Evaluator": object, "EvaluatorContext": Record}
    module, sitting = adapter("pydantic_evals", {"pydantic_evals.evaluators": evaluators})
    made = module.JuryEvaluator(RUBRIC, JURY, source="notes", prefix="x.", record="postgresql://u:secret@h/d", max_usd=2)  # fmt: skip
    reasons = asyncio.run(made.evaluate(Record(inputs={"notes": "N."}, output="T.", expected_output="G.", name="one")))  # fmt: skip
    assert {name: reason.at0 for name, reason in reasons.items()} == {"x.accurate": 4, "x.risk": "hung", "x.tone": "plain", "x.plan": "not_applicable", "x.safety": "hung", "x.overall": "hung", "x.hung": 1.0, "x.abstentions": 1.0}  # fmt: skip
    assert sitting.heard[0].id == "one"
    shown = made.build_serialization_arguments()
    assert "secret" not in json.dumps(shown) and (shown["rubric"], shown["jury"], shown["max_usd"]) == ("mixed", "readers", 2)  # fmt: skip

    class Evaluator:
        def __init__(self, **fields: Any) -> None:
            vars(self).update(fields)

        def bind(self, named: dict[str, str]) -> None:
            self.bound = named

    phoenix, sitting = adapter("phoenix", {"phoenix.evals": {"Evaluator": Evaluator, "Score": Record}})
    made = phoenix.JuryEvaluator(RUBRIC, JURY, output="text", source="notes", reference="good")
    assert made.bound == {"output": "text", "source": "notes", "reference": "good"} and made.kind == "llm"
    scores = {each.name: each for each in made._evaluate({"output": "T.", "source": "N.", "reference": math.nan})}  # fmt: skip
    assert (scores["accurate"].score, scores["accurate"].direction, scores["risk"].direction) == (4, "maximize", "minimize")  # fmt: skip
    assert (scores["risk"].score, scores["risk"].label) == (None, "hung")
    assert sitting.heard[0].reference is None and sitting.heard[0].source == ("N.",)


def test_mlflow_and_deepeval(adapter: Any) -> None:
    mlflow, sitting = adapter("mlflow", {
        "mlflow.entities": {"AssessmentError": Record, "AssessmentSource": Record, "Feedback": Record},
        "mlflow.genai.scorers": {"Scorer": Record, "scorer": lambda name: lambda function: function},
        "mlflow.tracing.constant": {"AssessmentMetadataKey": SimpleNamespace(JUDGE_COST="cost")},
    })  # fmt: skip
    score = mlflow.jury_scorer(RUBRIC, JURY, prefix="x.", source="notes", reference="good")
    found = {each.name: each for each in score({"notes": "N."}, "T.", {"good": "G.", "other": "O."})}
    assert (found["x.accurate"].value, found["x.accurate"].error) == (4, None)
    assert (found["x.risk"].value, found["x.risk"].error.error_code) == (None, "HUNG")
    assert found["x.plan"].error.error_code == "NOT_APPLICABLE" and found["x.hung"].value == 1
    assert [each.metadata.get("cost") for each in found.values() if hasattr(each, "metadata")].count("0.25") == 1  # fmt: skip
    assert sitting.heard[0].reference == "G."

    class Metric:
        def is_successful(self) -> bool:
            self.success = self.error is None and self.score is not None and self.score >= self.threshold  # type: ignore[attr-defined]
            return self.success

    deepeval, sitting = adapter("deepeval", {"deepeval.metrics": {"BaseMetric": Metric}, "deepeval.test_case": {"LLMTestCase": Record}})  # fmt: skip
    metrics = {each.attribute: each for each in deepeval.jury_metrics(RUBRIC, JURY, threshold=0.8, prefix="x.")}  # fmt: skip
    assert list(metrics) == ["accurate", "risk", "plan", "overall"]
    test = Record(name=None, input="Q?", actual_output="T.", expected_output="G.", context=["one"], retrieval_context=[Record(context="two")])  # fmt: skip
    assert [metrics[name].measure(test) for name in metrics] == [0.75, None, None, None]
    assert (metrics["risk"].error is not None, metrics["plan"].error, metrics["plan"].skipped, metrics["risk"].skipped) == (True, None, True, False)  # fmt: skip
    assert metrics["accurate"].success is False and metrics["accurate"].evaluation_cost == 0.25
    assert metrics["accurate"].__name__ == "x.accurate (readers)"
    assert sitting.heard[0].source == ("one", "two") and len({case.id for case in sitting.heard}) == 1


def test_dspy_and_gepa(adapter: Any) -> None:
    class Example(dict[str, Any]):
        def toDict(self) -> dict[str, Any]:
            return dict(self)

        def inputs(self) -> Example:
            return Example({name: value for name, value in self.items() if name in ("notes", "q")})

        def labels(self) -> Example:
            return Example({name: value for name, value in self.items() if name not in ("notes", "q")})

    class Prediction(Example):
        pass

    gold = Example(notes="N.", q="Q?", answer="G.")
    for given, share in ((judgement(), None), (judgement(risk=True), 0.75)):
        dspy, sitting = adapter("dspy", {"dspy": {"Example": Example, "Prediction": Prediction}}, given)
        found = dspy.jury_metric(RUBRIC, JURY, source="notes")(gold, Prediction(reasoning="hmm", answer="T."))
        assert found["score"] == share and math.isnan(float(found) if share is None else math.nan)
        (case,) = sitting.heard
        assert (case.output, case.question, case.source, case.reference) == ("T.", "Q?", ("N.",), "G.")
        gepa, sitting = adapter("gepa", {"gepa.adapters.default_adapter.default_adapter": {"EvaluationResult": Record}}, given)  # fmt: skip
        evaluate = gepa.jury_evaluator(RUBRIC, JURY, failure_score=0.1, source="notes")
        result = evaluate({"input": "Q?", "answer": "G.", "additional_context": {"notes": "N."}}, "T.")
        assert result.at0 == (0.1 if share is None else share)
        assert ("this value is not a score" in result.at1) is (share is None)
        assert evaluate({"input": "Q?"}, " ").at0 == 0.1 and len(sitting.heard) == 1


def test_helm(adapter: Any) -> None:
    class Stat(Record):
        def add(self, value: float) -> Stat:
            self.value = value
            return self

    names = {"adaptation.adapter_spec": "AdapterSpec", "adaptation.request_state": "RequestState", "metrics.metric_name": "MetricName", "metrics.metric_service": "MetricService"}  # fmt: skip
    modules = {f"helm.benchmark.{path}": {name: Record} for path, name in names.items()} | {
        "helm.benchmark.annotation.annotator": {"Annotator": object, "AnnotatorSpec": Record},
        "helm.benchmark.metrics.metric": {"Metric": object, "MetricSpec": Record},
        "helm.benchmark.metrics.statistic": {"Stat": Stat},
    }
    helm, sitting = adapter("helm", modules)
    instance = Record(id="i1", input=Record(text="N."), first_correct_reference=Record(output=Record(text="G.")))  # fmt: skip
    state = Record(instance=instance, result=Record(completions=[Record(text="T."), Record(text="U.")]), train_trial_index=2, request=Record(model="m"))  # fmt: skip
    noted = helm.JuryAnnotator("r", "j", shown_as="source").annotate(state)
    (case,) = sitting.heard
    assert (case.id, case.output, case.source, case.reference, case.system) == ("i1-2", "T.", ("N.",), "G.", "m")  # fmt: skip
    assert noted["usd"] == 0.25 and noted["marks"]["risk"] == {"status": "hung", "value": None}
    state.annotations = {"venire": noted}
    stats = {each.at0.at0: each.value for each in helm.JuryMetric().evaluate_generation(None, state, None, "")}  # fmt: skip
    assert stats == {"venire_accurate": 4, **{f"venire_{name}_hung": float(name in ("risk", "safety", "overall")) for name in ("accurate", "risk", "tone", "plan", "safety", "overall")}, "venire_abstentions": 1.0}  # fmt: skip
    annotators, metrics = helm.jury_specs("r", "j", name="x", max_usd=1)
    assert annotators[0].args == {"rubric": "r", "jury": "j", "name": "x", "max_usd": 1} and metrics[0].args == {"name": "x"}  # fmt: skip


def test_promptfoo_counts_what_was_used_now(adapter: Any) -> None:
    for fresh, used in ((True, {"total": 10, "prompt": 9, "completion": 1, "cached": 0, "numRequests": 1}), (False, dict.fromkeys(("total", "prompt", "completion", "cached", "numRequests"), 0))):  # fmt: skip
        promptfoo, sitting = adapter("promptfoo", {}, judgement(fresh=fresh))
        config = {"rubric": RUBRIC, "jury": JURY, "question": "q", "source": "notes"}
        told = promptfoo.get_assert("T.", {"vars": {"q": "Q?", "notes": "N.", "other": "O."}, "config": config})  # fmt: skip
        assert told["tokensUsed"] == used and told["metadata"]["usd"] == (0.25 if fresh else 0.0)
        (case,) = sitting.heard
        assert (case.question, case.source) == ("Q?", ("N.",)) and "O." not in case.model_dump_json()
        wrong = promptfoo.get_assert("T.", {"vars": {}, "config": config})
        assert (wrong["pass"], wrong["score"]) == (False, 0) and "no variable 'q'" in wrong["reason"]
        for other, refused in (({"jury": "k"}, True), ({"jury": "k", "prefix": "k."}, False), ({"require": ["risk<=3"]}, False), ({"jury": "k", "rubric": None}, True)):  # fmt: skip
            beside = {"assert": [{"config": config}, {"type": "equals"}, {"config": {**config, **other}}]}
            given = {"vars": {"q": "Q?", "notes": "N."}, "config": config, "test": beside}
            told = promptfoo.get_assert("T.", given)
            assert ("two juries of this test" in told["reason"]) is refused is ("error" in told["metadata"])
