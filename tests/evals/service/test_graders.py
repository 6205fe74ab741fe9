"""OpenAI's graders API over a jury: what a sample becomes, what a reward is, that hung is none; by OpenAI's own client too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from openai_server import Call, Refusal, jury_of
from plugin_hosts import needs, run_in_hosts
from served_jury import CASE, TOKEN, asked, served

from venire import Rubric
from venire.evals.plugins.judgement import Mark, share
from venire.evals.service.graders import (
    ERRORS,
    case_document,
    grader_answer,
    read_grader_run,
    rewarded_name,
)
from venire.evals.service.judging import RequestError, read_case

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
    tokens = {"prompt": 10, "completion": 5, "cached": 4}
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
    flagged = {flag for flag, value in answer["metadata"]["errors"].items() if value}
    assert flagged == (set() if reward is not None else {"other_error", "unresponsive_reward_error"})
    assert answer["metadata"]["errors"].keys() == ERRORS.keys()
    assert answer["metadata"]["token_usage"] == 15 and answer["sub_rewards"]["tone"] is None
    assert answer["metadata"]["hung"] == {
        each: "no quorum" for each, value in values.items() if value is None
    }


def test_a_range_is_what_worst_and_best_become_and_reasons_are_flagged() -> None:
    run = read_grader_run(graded("accurate", range=[-1, 1]))
    lost = [{"reason": "refused", "detail": "no"}, {"reason": "unparsable", "detail": "what"}, {"reason": "limit", "detail": "most"}, *2 * [{"reason": "unavailable", "detail": "HTTP 500"}]]  # fmt: skip

    best = grader_answer(run, judgement(accurate=5, risk=1, tone="plain"))
    hung = grader_answer(run, judgement(lost, accurate=None, risk=1, tone="plain"))
    # Cached tokens are some of the prompt's.
    assert best["metadata"]["token_usage"] == 15
    assert best["model_grader_token_usage_per_model"] == {"panel": {"prompt_tokens": 10, "completion_tokens": 5, "cached_tokens": 4, "total_tokens": 15}}  # fmt: skip

    assert (best["reward"], best["sub_rewards"]["risk"]) == (1.0, 1.0)
    errors = hung["metadata"]["errors"]
    assert errors["model_grader_refusal_error"] and errors["model_grader_server_error_details"] == "HTTP 500"
    assert errors["model_grader_parse_error"] and not errors["python_grader_server_error"]
    for ends, reward in (((0, 10), 7.5), ((1, 0), 0.25), ((2, -2), -1.0), ((0.5, 0.6), 0.575)):
        ranged = read_grader_run(graded("accurate", range=list(ends)))
        assert grader_answer(ranged, judgement(accurate=4, risk=1, tone="plain"))["reward"] == reward


def test_an_items_texts_are_the_cases_and_its_samples_share_a_group() -> None:
    item = {"id": 7, "prompt": "Summarise.", "reference_answer": "Good.", "source": ["a", "b"], "label": 3, "context": "x"}  # fmt: skip

    case = read_case(case_document(read_grader_run(graded(item=item))), RUBRIC)

    assert (case.output, case.question, case.reference, case.source, case.group) == ("The text.", "Summarise.", "Good.", ("a", "b"), "7")  # fmt: skip
    assert case.metadata == {"item": 7, "label": 3, "context": "x"} and case.id.startswith("case-")
    # A key of a case counts before another's word for it, wherever it stands; null says nothing, and a group of its own counts before the id.
    odd = {"prompt": "No.", "question": "Yes?", "context": None, "source": {"a": 1}, "id": 1, "group": "g", "audience": "nurses"}  # fmt: skip
    case = read_case(case_document(read_grader_run(graded(item=odd))), RUBRIC)
    assert (case.question, case.source, case.group, case.audience) == ("Yes?", ('{"a": 1}',), "g", "nurses")
    assert case.metadata == {"prompt": "No.", "context": None, "item": 1}


@pytest.mark.parametrize(
    ("body", "status", "problem"),
    [
        (b"{", 400, "not JSON"),
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
    with pytest.raises(RequestError, match="tone has no ordered scale"):
        rewarded_name(read_grader_run(graded("tone")), RUBRIC)


GRADERS = "/v1/fine_tuning/alpha/graders/run"
HUNG = "wrist"
"""Where this stands in the text, two of three jurors give no answer."""


def grader(sample: str, **item: Any) -> dict[str, Any]:
    score_model = {"type": "score_model", "name": "accurate", "model": "any", "input": []}
    return {"grader": score_model, "model_sample": sample, "item": item}


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    scores, refusing = (jury_of({"a": 2, "b": 2, "c": 2}), jury_of({"a": Refusal(), "b": Refusal(), "c": 2}))
    folder = tmp_path_factory.mktemp("served")

    def answer(sent: Call) -> Any:
        return (refusing if HUNG in sent.prompt else scores)(sent)

    with served(folder, answer, "--max-body", 4096, quorum=2) as running:
        yield running


def test_it_has_the_guards_of_every_address(serving: Any) -> None:
    server, provider = serving
    before = len(provider.calls)
    body = grader("x")
    refusals = [
        asked(server, body, path=GRADERS, token=None),
        asked(server, body, path=GRADERS, token="another"),
        asked(
            server, body, path=GRADERS, headers={"Host": "evil.example", "Content-Type": "application/json"}
        ),
        asked(server, b" " * 5000 + json.dumps(body).encode(), path=GRADERS),
        asked(server, body, path=GRADERS, headers={"Content-Type": "text/plain"}),
        asked(server, None, path=GRADERS, method="GET"),
    ]

    assert [status for ((status, _),) in refusals] == [401, 401, 421, 413, 415, 405]
    assert all(set(problem) == {"problem", "remedy"} for ((_, problem),) in refusals)
    assert len(provider.calls) == before


def test_a_sample_is_graded_once_and_hung_has_no_reward(serving: Any) -> None:
    server, provider = serving
    ((_, first),) = asked(server, grader("Summary.", id=1, source="Note."), path=GRADERS)
    calls = len(provider.calls)
    ((_, again),) = asked(server, grader("Summary.", id=1, source="Note."), path=GRADERS)
    ((status, hung),) = asked(server, grader(f"The {HUNG}."), path=GRADERS)

    assert first == again and first["reward"] is not None and not first["metadata"]["errors"]["other_error"]
    assert calls == len(provider.calls) - 3
    assert (status, hung["reward"], hung["metadata"]["errors"]["unresponsive_reward_error"]) == (
        200,
        None,
        True,
    )
    assert "accurate" in hung["metadata"]["hung"]


def test_a_spent_budget_is_said(tmp_path: Path) -> None:
    with served(tmp_path, jury_of({"a": 3, "b": 3, "c": 3}), "--max-tokens", 1) as (server, _):
        asked(server, CASE)
        ((status, graded),) = asked(server, grader("Another."), path=GRADERS)

    assert (status, set(graded)) == (503, {"problem", "remedy"})


@needs("openai")
def test_openais_own_client_reaches_the_jury(serving: Any, tmp_path: Path) -> None:
    server, _ = serving
    program = Path(__file__).parent / "in_openai_client.py"
    ended = run_in_hosts("python", "-W", "ignore", program, server.url, TOKEN, cwd=tmp_path)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert json.loads(ended.stdout.splitlines()[-1]) == {"reward": 0.5, "hung": None}
