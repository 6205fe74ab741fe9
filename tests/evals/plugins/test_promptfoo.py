"""The promptfoo plug-in, in promptfoo itself: what its own result file holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT
from openai_server import ProviderServer
from plugin_hosts import CANARY, OPPOSITES, WHY_HUNG, assert_never_mixed, prompts_read, show_reference

from venire.evals.exchange.importing import import_records

HOST = ROOT / "build" / "promptfoo" / "node_modules" / ".bin" / "promptfoo"
pytestmark = pytest.mark.skipif(not HOST.exists(), reason="promptfoo is not installed: make promptfoo")


@pytest.fixture
def folder(examples: Path) -> Path:
    return examples / "promptfoo"


def evaluate(folder: Path, server: ProviderServer) -> list[dict[str, Any]]:
    """Run the example; the results as promptfoo wrote them, by test."""
    environment = {
        **os.environ,
        "JUROR": "server/juror",
        "JUROR_URL": server.url,
        "PROMPTFOO_PYTHON": sys.executable,
        "PROMPTFOO_CONFIG_DIR": str(folder / "state"),
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
    }
    command = [HOST, "eval", "-c", "promptfooconfig.yaml", "-o", "results.json", "--no-cache", "--no-write"]
    ended = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (folder / "results.json").exists(), ended.stdout + ended.stderr
    written = json.loads((folder / "results.json").read_text())
    return sorted(written["results"]["results"], key=lambda result: result["testIdx"])


def test_scores_arrive_in_promptfoos_own_results_and_a_hung_one_does_not_pass(
    folder: Path, server: ProviderServer
) -> None:
    reached, hung = evaluate(folder, server)

    assert reached["success"] is True
    assert reached["namedScores"] == {"accurate": 0.75, "thorough": 1.0, "overall": pytest.approx(0.85)}
    part = reached["gradingResult"]["componentResults"][0]
    assert part["metadata"]["deliberation"]["verdict"]["accurate"]["value"] == 4
    assert [each["reason"].split(":")[0] for each in part["componentResults"]] == ["accurate", "thorough"]
    assert hung["success"] is False
    assert hung["namedScores"] == {}
    part = hung["gradingResult"]["componentResults"][0]
    assert "accurate>=4: hung" in part["reason"]
    assert part["metadata"]["deliberation"]["verdict"]["accurate"]["value"] is None
    assert len(part["metadata"]["deliberation"]["abstentions"]) == 2


def test_one_worker_answers_all_assertions_and_its_log_is_read_back(
    folder: Path, server: ProviderServer
) -> None:
    config = folder / "promptfooconfig.yaml"
    text = config.read_text().replace("type: python", "type: javascript").replace("jury.py", "jury.mjs")
    config.write_text(text + text[text.index("  - description: all") :].replace("better by", "well by"))

    evaluate(folder, server)

    found = import_records("promptfoo", folder / "results.json")
    verdicts = {(each.case.split("/")[0], each.rater, each.attribute): each.value for each in found.ratings}
    assert verdicts == {
        (number, "three-readers", name): value
        for number in ("0", "2")
        for name, value in (("accurate", 4), ("thorough", 5))
    }
    assert len(found.records.skipped["attributes that are hung"]) == 4
    assert len(prompts_read(server).split("well by")) > 1


def test_juries_of_opposite_scores_are_never_mixed_and_the_best_of_several_outputs_is_selected(
    folder: Path, server: ProviderServer
) -> None:
    jury: dict[str, Any] = {"rubric": "../rubric.yaml", "jury": "../jury.yaml", "base_url": server.url}
    pair = jury | {"rubric": "preference", "model": "server/juror"}
    asserted: list[dict[str, Any]] = [
        {
            "type": "javascript",
            "value": "file://venire_jury.mjs",
            "config": jury | {"model": f"server/{name}", "prefix": f"{name}."},
        }
        for name in OPPOSITES
    ]
    select = {
        "type": "select-best", "value": "better", "provider": {"id": "file://venire_jury.py", "config": pair},
    }  # fmt: skip
    rows = [("Longer words.", "Brief."), ("The same.", "The same."), ("The wrist.", "No.")]
    (folder / "promptfooconfig.yaml").write_text(json.dumps({
        "prompts": ["{{one}}", "{{other}}"],
        "providers": ["echo"],
        "tests": [
            {"vars": {"one": "One text.", "other": "Another."}, "assert": asserted},
            *({"vars": {"one": one, "other": other}, "assert": [select]} for one, other in rows),
            {"vars": {"one": "No prefix.", "other": "Neither."}, "assert": [
                {**each, "config": {**each["config"], "prefix": ""}} for each in asserted
            ]},
        ],
    }))  # fmt: skip

    opposite, *_ = results = evaluate(folder, server)

    assert_never_mixed(opposite["namedScores"], low=0, high=1)
    assert not [name for name in opposite["namedScores"] if name.startswith("silent")]
    assert opposite["gradingResult"]["tokensUsed"]["numRequests"] == 3 + 3 + 3 * 2
    found = import_records("promptfoo", folder / "results.json")
    assert {each.rater for each in found.ratings if each.attribute != "select-best"} == {
        "low.three-readers",
        "high.three-readers",
    }
    assert [each.value for each in found.ratings if each.attribute == "select-best"] == [1, 0]
    # Two outputs of each of: two tests without a best output, and three juries under one name.
    assert len(found.records.skipped["assertions that ended without a verdict"]) == 2 * (2 + 3)
    unnamed = results[-1]
    assert unnamed["namedScores"] == {} and "two juries of this test" in unnamed["gradingResult"]["reason"]
    selected = {(each["testIdx"], each["promptIdx"]): each for each in results}
    assert [selected[test, prompt]["success"] for test in (1, 2, 3) for prompt in (0, 1)] == [True] + [
        False
    ] * 5
    for test, why in ((2, "0 against 1: tie"), (3, WHY_HUNG)):
        told = selected[test, 0]["gradingResult"]["reason"]
        assert "no output is preferred to every other" in told and why in told


def test_what_is_expected_reaches_a_juror_only_if_the_rubric_shows_it(
    folder: Path, server: ProviderServer
) -> None:
    config = folder / "promptfooconfig.yaml"
    config.write_text(config.read_text().replace("expected: ", f"expected: {CANARY} "))

    evaluate(folder, server)
    assert CANARY not in prompts_read(server)
    show_reference(folder.parent / "rubric.yaml")
    evaluate(folder, server)
    assert CANARY in prompts_read(server)


def test_a_config_that_cannot_be_used_says_what_it_may_have(folder: Path, server: ProviderServer) -> None:
    config = folder / "promptfooconfig.yaml"
    config.write_text(config.read_text().replace("jury: ", "jurry: "))

    first, _ = evaluate(folder, server)
    assert first["success"] is False
    assert "rubric and jury" in first["gradingResult"]["componentResults"][0]["reason"]
    assert not import_records("promptfoo", folder / "results.json").ratings
