"""OpenAI's graders API over a jury: what a sample becomes, what a reward is, and that hung is none."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from venire import Rubric
from venire.evals.plugins.judgement import Mark, share
from venire.evals.service.case_request import RequestError, read_case
from venire.evals.service.graders import (
    ERRORS,
    case_document,
    grader_answer,
    read_grader_run,
    rewarded_name,
)

RUBRIC = Rubric.model_validate(
    {
        "name": "note",
        "version": 1,
        "scales": {
            "agree5": {"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}},
            "tone": {"level": "nominal", "anchors": {"plain": "plain", "rude": "rude"}},
        },
        "attributes": [
            {"name": "accurate", "question": "Is it?", "scale": "agree5"},
            {"name": "risk", "question": "Is it?", "scale": "agree5", "better": "low", "may_not_apply": True},
            {"name": "tone", "question": "Which?", "scale": "tone"},
        ],
    }
)


def graded(name: str = "jury", *, item: Any = None, **more: Any) -> bytes:
    grader = {"type": "score_model", "name": name, "model": "any", "input": [], **more}
    return json.dumps({"grader": grader, "model_sample": "The text.", "item": item or {}}).encode()


def judgement(abstentions: Any = (), **values: Any) -> Any:
    """What the jury found; None is hung, `n/a` does not apply."""
    status = {None: "hung", "n/a": "not_applicable"}
    marks = {
        name: Mark(name, status.get(value, "reached"), value, share(RUBRIC, name, value), "no quorum")  # type: ignore[arg-type]
        for name, value in values.items()
    }
    tokens = {"prompt": 10, "completion": 5, "cached": 0}
    found = {"case": "c", "arm": "panel", "seconds": 1.5, "abstentions": list(abstentions), "tokens": tokens}
    return SimpleNamespace(rubric=RUBRIC, marks=marks, document=found)


@pytest.mark.parametrize(
    ("name", "values", "reward"),
    [
        ("jury", {"accurate": 5, "risk": 2, "tone": "rude"}, 0.875),
        ("accurate", {"accurate": 3, "risk": None, "tone": None}, 0.5),
        ("risk", {"accurate": 3, "risk": 1, "tone": None}, 1.0),
        ("jury", {"accurate": 4, "risk": "n/a", "tone": "plain"}, 0.75),
        ("jury", {"accurate": 1, "risk": 5, "tone": "plain"}, 0.0),
        ("jury", {"accurate": 5, "risk": None, "tone": "plain"}, None),
        ("accurate", {"accurate": None, "risk": 1, "tone": "plain"}, None),
        ("risk", {"accurate": 5, "risk": "n/a", "tone": "plain"}, None),
    ],
)
def test_a_reward_runs_from_worst_to_best_and_hung_is_none(
    name: str, values: dict[str, Any], reward: float | None
) -> None:
    answer = grader_answer(read_grader_run(graded(name)), judgement(**values))

    assert answer["reward"] == reward
    assert answer["metadata"]["errors"]["other_error"] is (reward is None)
    assert answer["metadata"]["errors"].keys() == ERRORS.keys()
    assert answer["metadata"]["token_usage"] == 15 and answer["sub_rewards"]["tone"] is None
    assert answer["metadata"]["hung"] == {
        each: "no quorum" for each, value in values.items() if value is None
    }


def test_a_range_is_what_worst_and_best_become_and_reasons_are_flagged() -> None:
    run = read_grader_run(graded("accurate", range=[-1, 1]))
    lost = [{"reason": "refused", "detail": ""}, {"reason": "unavailable", "detail": "HTTP 500"}]

    best = grader_answer(run, judgement(accurate=5, risk=1, tone="plain"))
    hung = grader_answer(run, judgement(lost, accurate=None, risk=1, tone="plain"))

    assert (best["reward"], best["sub_rewards"]["risk"]) == (1.0, 1.0)
    errors = hung["metadata"]["errors"]
    assert errors["model_grader_refusal_error"] and errors["model_grader_server_error_details"] == "HTTP 500"


def test_an_items_texts_are_the_cases_and_its_samples_share_a_group() -> None:
    item = {"id": 7, "prompt": "Summarise.", "reference_answer": "Good.", "source": ["a", "b"], "label": 3, "context": "x"}  # fmt: skip

    case = read_case(case_document(read_grader_run(graded(item=item))))

    assert (case.output, case.question, case.reference, case.source, case.group) == ("The text.", "Summarise.", "Good.", ("a", "b"), "7")  # fmt: skip
    assert case.metadata == {"item": 7, "label": 3, "context": "x"} and case.id.startswith("case-")


@pytest.mark.parametrize(
    ("body", "status", "problem"),
    [
        (b"{", 400, "no JSON"),
        (b"[]", 422, "the body"),
        (b'{"grader": {"type": "python", "name": "x"}, "model_sample": "x"}', 422, "grader.type"),
        (b'{"grader": {"type": "score_model"}, "model_sample": ""}', 422, "model_sample"),
        (b'{"grader": {"type": "score_model"}, "model_sample": "x", "item": []}', 422, "item"),
        (b'{"grader": {"type": "score_model", "range": [1, 1]}, "model_sample": "x"}', 422, "range"),
        (b'{"grader": {"type": "score_model", "range": [0, 1e999]}, "model_sample": "x"}', 422, "range"),
    ],
)
def test_what_is_no_grader_of_this_kind_is_refused(body: bytes, status: int, problem: str) -> None:
    with pytest.raises(RequestError, match=problem) as refused:
        read_grader_run(body)

    assert refused.value.status == status


def test_what_has_no_order_is_refused_before_it_is_judged() -> None:
    assert rewarded_name(read_grader_run(graded("jury")), RUBRIC) is None
    with pytest.raises(RequestError, match="tone has no scale with an order"):
        rewarded_name(read_grader_run(graded("tone")), RUBRIC)
