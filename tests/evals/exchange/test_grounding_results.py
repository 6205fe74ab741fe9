"""RAGAS, RefChecker and RAGChecker files as those tools write them; what has no value is no 0."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pandas as pd
import pytest

from venire.evals.exchange.importing import import_records
from venire.rubrics.errors import InvalidFile

RAGAS = pd.DataFrame(
    {
        "user_input": ["Where is Paris?", "Who wrote Emma?"],
        "retrieved_contexts": [["Paris is in France.", "France is in Europe."], ["Emma is by Austen."]],
        "response": ["In France.", "Jane Austen."],
        "reference": ["France", "Austen"],
        "faithfulness": [0.5, math.nan],
        "answer_relevancy": [0.25, 1.0],
    }
)


@pytest.mark.parametrize("kind", ["csv", "records", "columns", "lines", "0.1"])
def test_ragas_in_every_form_that_pandas_saves(tmp_path: Path, kind: str) -> None:
    path = tmp_path / (
        "result.csv" if kind == "csv" else "result.jsonl" if kind == "lines" else "result.json"
    )
    if kind == "csv":
        RAGAS.to_csv(path)
    elif kind == "lines":
        RAGAS.to_json(path, orient="records", lines=True)
    elif kind == "0.1":
        old = {"user_input": "question", "retrieved_contexts": "contexts", "response": "answer", "reference": "ground_truth"}  # fmt: skip
        RAGAS.rename(columns=old).to_json(path, orient="records")
    else:
        RAGAS.to_json(path, orient=kind)

    found = import_records("ragas", path)

    first, second = found.cases
    assert (first.output, first.question, first.reference) == ("In France.", "Where is Paris?", "France")
    assert first.source == ("Paris is in France.", "France is in Europe.") and second.source == ("Emma is by Austen.",)  # fmt: skip
    scores = {(rating.case, rating.attribute): rating.value for rating in found.ratings}
    assert scores == {
        ("sample-1", "faithfulness"): 0.5,
        ("sample-1", "answer_relevancy"): 0.25,
        ("sample-2", "answer_relevancy"): 1.0,
    }
    assert found.records.skipped == {"no score was given": ["sample-2: faithfulness"]}


def test_a_sample_of_ragas_without_a_response_is_left_out_and_nothing_but_them_is_an_error(
    tmp_path: Path,
) -> None:
    rows = [{"user_input": "Q?", "response": text, "faithfulness": 0.0} for text in ("", "In France.")]
    (tmp_path / "r.json").write_text(json.dumps(rows))
    (tmp_path / "none.json").write_text(json.dumps(rows[:1]))

    found = import_records("ragas", tmp_path / "r.json")

    assert [each.case for each in found.ratings] == ["sample-2"]
    assert found.records.skipped == {"samples without a response": ["sample-1"]}
    with pytest.raises(InvalidFile, match="no sample has a `response`"):
        import_records("ragas", tmp_path / "none.json")


def test_refchecker_s_soft_and_strict_aggregates(tmp_path: Path) -> None:
    claims = [["Paris", "is in", "France"], ["Paris", "is", "small"]]
    items = [
        {"id": "a", "response": "In France.", "question": "Where?", "reference": ["Paris is in France."], "claims": claims, "ys": ["Entailment", "Neutral"], "Y": {"Entailment": 0.5, "Neutral": 0.5, "Contradiction": 0.0}},
        {"response": "No.", "reference": "x", "triplets": claims, "ys": ["Contradiction"], "Y": "Contradiction"},
        {"response": "Nothing to check.", "reference": "x", "claims": [], "ys": [], "Y": None},
        {"id": "empty", "response": ""},
    ]  # fmt: skip
    (tmp_path / "out.json").write_text(json.dumps(items, indent=2))

    found = import_records("refchecker", tmp_path / "out.json")

    assert [case.id for case in found.cases] == ["a", "response-2", "response-3"]
    assert found.cases[0].metadata == {"claims": claims, "ys": ["Entailment", "Neutral"]}
    assert {(r.case, r.attribute, r.value) for r in found.ratings} == {
        ("a", "entailment", 0.5), ("a", "neutral", 0.5), ("a", "contradiction", 0.0), ("response-2", "label", "Contradiction"),
    }  # fmt: skip
    assert set(found.records.skipped) == {"items without a response", "no score was given"}


def test_ragchecker_s_metrics_of_each_query(tmp_path: Path) -> None:
    item = {
        "query_id": "0",
        "query": "Longest river?",
        "gt_answer": "The Nile.",
        "response": "The Nile, 6,650 km.",
        "retrieved_context": [{"doc_id": "000", "text": "The Nile is long."}, {"doc_id": "001", "text": "So is the Amazon."}],
        "response_claims": [["Nile", "is", "longest"]],
        "gt_answer_claims": [["Nile", "is", "longest"]],
        "answer2response": ["Entailment"],
        "retrieved2response": [["Neutral", "Entailment"]],
        "metrics": {"precision": 0.75, "hallucination": 0.0, "self_knowledge": None},
    }  # fmt: skip
    (tmp_path / "out.json").write_text(json.dumps({"results": [item], "metrics": {"overall_metrics": {}}}))

    found = import_records("ragchecker", tmp_path / "out.json")

    [case] = found.cases
    assert case.source == ("The Nile is long.", "So is the Amazon.") and case.reference == "The Nile."
    assert set(case.metadata) == {"response_claims", "gt_answer_claims", "answer2response", "retrieved2response"}  # fmt: skip
    assert {r.attribute: r.value for r in found.ratings} == {"precision": 0.75, "hallucination": 0.0}


@pytest.mark.parametrize("kind", ["ragas", "refchecker", "ragchecker"])
def test_another_file_is_two_lines(tmp_path: Path, kind: str) -> None:
    (tmp_path / "x.json").write_text('[{"a": 1}]')

    with pytest.raises(InvalidFile) as error:
        import_records(kind, tmp_path / "x.json")

    assert "x.json" in error.value.problem and error.value.remedy
