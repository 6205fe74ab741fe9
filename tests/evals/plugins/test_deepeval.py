"""The metrics in DeepEval itself: in `deepeval test run` and in `evaluate()`, as its own results give them back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from plugin_hosts import (
    CANARY,
    assert_never_mixed,
    local_jurors,
    needs,
    prompts_read,
    run_in_hosts,
    seated_examples,
)

pytestmark = needs("deepeval")


def test_the_example_leaves_scores_in_the_results_of_a_test_run(tmp_path: Path) -> None:
    with local_jurors() as server:
        seated_examples(tmp_path, server)
        ended = run_in_hosts(
            "deepeval", "test", "run", "test_summaries.py", cwd=tmp_path / "plugins" / "deepeval",
            DEEPEVAL_RESULTS_FOLDER=str(tmp_path / "results"),
        )  # fmt: skip

    assert ended.returncode == 1, ended.stdout + ended.stderr
    (results,) = (tmp_path / "results").glob("test_run_*.json")
    by_name = {case["name"]: case for case in json.loads(results.read_text())["testCases"]}
    assert {name: case["success"] for name, case in by_name.items()} == {
        "visit-1": True, "visit-2": False, "visit-3": False,
    }  # fmt: skip
    reached = {data["name"]: data["score"] for data in by_name["visit-1"]["metricsData"]}
    assert reached == {
        "accurate (three-readers)": 0.75, "thorough (three-readers)": 1.0, "overall (three-readers)": pytest.approx(0.85),
    }  # fmt: skip
    for data in by_name["visit-2"]["metricsData"]:
        assert data.get("score") is None
        assert data["success"] is False
        assert (
            "too few jurors voted: 1 of the 2 that are needed" in data["error"]
            or "this score needs a verdict on each of its parts" in data["error"]
        )
        assert "low abstains unparsable" in data["verboseLogs"]
    assert "Left wrist sprain after a fall" not in prompts_read(server)
    part = {data["name"]: data.get("score") for data in by_name["visit-3"]["metricsData"]}
    assert part["accurate (three-readers)"] is None and part["thorough (three-readers)"] == 1
    # One deliberation serves the three metrics.
    assert len(server.calls) == 3 + (3 + 2) * 2


def test_evaluate_gives_scores_reasons_costs_and_errors(tmp_path: Path) -> None:
    with local_jurors() as server:
        ended = run_in_hosts("python", Path(__file__).parent / "in_deepeval.py", server.url, cwd=tmp_path)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        hidden = [call.prompt for call in server.calls if '"reference" begins' not in call.prompt]
        shown = [call.prompt for call in server.calls if '"reference" begins' in call.prompt]
    found = json.loads(ended.stdout.splitlines()[-1])

    for way in ("async", "sync"):
        (hung, no, hung_data), (reached, maybe, data) = found[way]
        assert (hung, no, reached, maybe) == ("hung", False, "reached", False)
        assert [one["score"] for one in hung_data] == [None] * 3
        assert all(one["error"].startswith(("hung", "this score needs")) for one in hung_data)
        assert [(one["score"], one["success"]) for one in data] == [
            (0.75, False), (1.0, True), (pytest.approx(0.85), True),
        ]  # fmt: skip
        assert data[0]["reason"] == "4 by median, 100% of 3 votes for it"
        assert {one["threshold"] for one in data} == {0.8}
    costs = [one["evaluation_cost"] for _, _, data in found["async"] for one in data]
    tokens = sum(len(call.prompt) // 4 for call in server.calls[:8])
    assert sum(costs) * 1000 == pytest.approx(tokens, rel=0.2)
    assert costs.count(0.0) == 4
    assert {one["evaluation_cost"] for _, _, data in found["sync"] for one in data if one["score"]} <= {
        None,
        0.0,
    }
    ((_, _, opposite),) = found["opposite"]
    assert_never_mixed({one["name"].split(" ")[0]: one["score"] for one in opposite}, low=0, high=1)
    ((_, success, skipped),) = found["skipped"]
    assert success is True
    assert [one["name"] for one in skipped] == ["accurate (three-readers)"]
    assert hidden and not any(CANARY in prompt for prompt in hidden)
    assert shown and all(CANARY in prompt for prompt in shown)
