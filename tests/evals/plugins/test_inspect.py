"""The scorer in Inspect itself: scores, unscored samples and the deliberation, as its own log gives them back."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from plugin_hosts import (
    EXAMPLES,
    HOSTS,
    assert_never_mixed,
    assert_reference_is_hidden_unless_shown,
    local_jurors,
    needs,
    run_in_hosts,
)

pytestmark = needs("inspect_ai")

ATTRIBUTES = {"accurate": 4.0, "thorough": 5.0, "overall": 4.4}
NONE_LOST = {"hung": 0.0, "abstentions": 0.0}
REACHED = ATTRIBUTES | NONE_LOST
PROGRAM = Path(__file__).parent / "in_inspect.py"


def run_with_tokenizers(*command: object, cwd: Path) -> str:
    # What Inspect's mock model counts tokens with would be fetched; LiteLLM brings a copy.
    (tokenizers,) = HOSTS.glob("lib/python*/site-packages/litellm/litellm_core_utils/tokenizers")
    ended = run_in_hosts(*command, cwd=cwd, TIKTOKEN_CACHE_DIR=str(tokenizers))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What one process read of the example's log, evaluated and then scored again, and of its own evaluations; and what was asked."""
    folder = tmp_path_factory.mktemp("inspect")
    with local_jurors() as server:
        jurors = ["model=server/juror", f"base_url={server.url}"]
        quiet = ("--display", "none")
        run_with_tokenizers(
            "inspect", "eval", "summaries.py", "--model", "mockllm/model", "--epochs", "2", "--log-dir", folder / "logs",
            "-T", "juror=server/juror", "-T", f"base_url={server.url}", *quiet, cwd=EXAMPLES / "inspect",
        )  # fmt: skip
        (log,) = (folder / "logs").glob("*.eval")
        first, asked = shutil.copy(log, folder / "first.eval"), len(server.calls)
        options = [f"rubric={EXAMPLES / 'rubric.yaml'}", f"jury={EXAMPLES / 'jury.yaml'}", *jurors]
        given = [part for option in options for part in ("-S", option)]
        scored = ["score", log, "--scorer", "venire/jury", *given, "--action", "overwrite", "--overwrite"]
        run_with_tokenizers("inspect", *scored, *quiet, cwd=folder)
        asked_again = len(server.calls) - asked
        said = run_with_tokenizers("python", PROGRAM, folder / "more", server.url, first, log, cwd=folder)
    return json.loads(said.splitlines()[-1]) | {"asked": (asked, asked_again), "server": server}


def test_the_example_leaves_scores_and_the_deliberation_in_inspects_log(found: Any) -> None:
    first, again = found["logs"]
    hung = dict.fromkeys(ATTRIBUTES) | {"hung": 2.0, "abstentions": 2.0}
    assert first["scores"] == [
        ["visit-1", 1, REACHED], ["visit-1", 2, REACHED], ["visit-2", 1, hung], ["visit-2", 2, hung],
    ]  # fmt: skip
    assert first["results"] == {
        "accurate": [1, 1, 4.0],
        "thorough": [1, 1, 5.0],
        "overall": [1, 1, 4.4],
        "hung": [2, 0, 1.0],
        "abstentions": [2, 0, 1.0],
    }
    assert "accurate   4        100% of 3" in first["explanation"]
    hanging = first["deliberation"]["visit-2"]
    assert hanging["verdict"]["accurate"]["status"] == "hung"
    assert {told["juror"] for told in hanging["abstentions"]} == {"low", "middle"}
    # Three jurors, two epochs; an answer that cannot be read is sent back once.
    assert found["asked"] == (2 * (3 + 3 + 2), 2 * (3 + 3 + 2))
    assert again["scores"] == first["scores"]


def test_what_a_sample_may_be_and_where_its_jurors_come_from(found: Any) -> None:
    assert found["blank"] == [None, REACHED]
    assert found["words"] == [{"tone=plain": 1.0, "tone=odd": 0.0} | NONE_LOST]
    assert sorted(found["both"]["arms"]) == ["one-reader", "three-readers"]
    assert found["both"]["scores"].pop("jury3") == REACHED
    juries = dict(zip(("low", "high", "silent"), ("jury", "jury1", "jury2"), strict=True))
    for read in (found["both"]["scores"], found["both"]["means"]):
        assert_never_mixed({
            f"{name}.{attribute}": read[jury][attribute] if jury in read else read[f"{jury}.{attribute}"]
            for name, jury in juries.items() for attribute in ATTRIBUTES
        })  # fmt: skip
    assert found["inspects_own"] == [REACHED]
    assert found["own_events"] == ["planted/writer", *["planted/juror"] * 3]
    assert found["loops"] == 1
    assert_reference_is_hidden_unless_shown(found["server"])


def test_inspects_own_logs_of_both_kinds_are_cases_and_ratings(found: Any) -> None:
    assert found["imported"] == [[2, [0.0, 1.0], ["4", "4"]]] * 2
